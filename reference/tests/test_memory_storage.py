"""Storages: sharing, lifetime, resizing under tensors, foreign memory."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import subprocess
import sys
import weakref
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.interop.blob import from_blob
from gaugeblock.memory.elements import read_element, write_element
from gaugeblock.memory.untyped import UntypedStorage

BYTES = 24


@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (2, 0, 3), (5, 1, 2)])
@pytest.mark.parametrize("name", ["bool", "int16", "float32", "bfloat16", "complex128"])
def test_fresh_tensors_own_exactly_their_bytes(shape: tuple[int, ...], name: str) -> None:
    x = gb.zeros(shape, dtype=getattr(gb, name))
    assert x.untyped_storage().nbytes() == x.numel() * x.element_size() == x.nbytes
    assert x.data_ptr() % 64 == 0
    assert bytes(x.untyped_storage()) == bytes(x.nbytes)


def test_views_share_and_keep_the_whole_storage() -> None:
    x = gb.arange(12).view(3, 4)
    view = x[1]
    alive = weakref.ref(x.storage)
    assert view.untyped_storage() == x.untyped_storage()
    assert hash(view.untyped_storage()) == hash(x.untyped_storage())
    assert x.clone().untyped_storage() != x.untyped_storage()
    del x
    gc.collect()
    assert view.untyped_storage().nbytes() == 96
    assert view.tolist() == [4, 5, 6, 7]
    del view
    gc.collect()
    assert alive() is None


def test_the_handle_reads_and_writes_bytes() -> None:
    x = gb.tensor([1, 256], dtype=gb.int16)
    handle = x.untyped_storage()
    assert (handle.tolist(), list(handle), len(handle), handle[-1]) == ([1, 0, 0, 1], [1, 0, 0, 1], 4, 1)
    handle[1] = 1
    assert x.tolist() == [257, 256]
    copied = handle.clone()
    handle.fill_(0)
    assert x.tolist() == [0, 0]
    handle.copy_(copied)
    assert x.tolist() == [257, 256]
    with pytest.raises(IndexError):
        handle[4]
    with pytest.raises(RuntimeError, match="sizes differ"):
        handle.copy_(UntypedStorage(3))


def test_tensors_that_no_longer_fit_raise_and_recover() -> None:
    x = gb.arange(6, dtype=gb.float32)
    head, tail, empty = x[:2], x[4:], x[6:]
    assert x.untyped_storage().resize_(16).nbytes() == 16
    assert head.tolist() == [0.0, 1.0]
    assert empty.tolist() == []
    for broken in (x, tail):
        assert isinstance(broken, gb.Tensor)
        for use in (lambda t=broken: t.tolist(), lambda t=broken: t + 1, lambda t=broken: t.data_ptr()):
            with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
                use()
    x.untyped_storage().resize_(BYTES)
    assert x[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert type(tail) is gb.Tensor
    assert tail.data_ptr() == x.data_ptr() + 16


def test_a_storage_resized_to_nothing_cannot_be_read() -> None:
    x = gb.ones(4)
    x.untyped_storage().resize_(0)
    uses = (
        lambda: x + 1,
        lambda: x.tolist(),
        lambda: x.fill_(0),
        lambda: repr(x),
        lambda: x[0],
        lambda: x[1:],
        lambda: x[..., 1],
        lambda: x.t(),
        lambda: x.detach(),
        lambda: x.data,
        lambda: x.view(2, 2),
        lambda: x.clone(),
        lambda: copy.copy(x),
        lambda: copy.deepcopy(x),
        lambda: pickle.loads(pickle.dumps(x)),
        lambda: x.numpy(),
    )
    for use in uses:
        with pytest.raises(RuntimeError, match=r"out of bounds|do not fit"):
            use()


def test_growing_a_tensor_keeps_elements_and_moves_its_views() -> None:
    x = gb.arange(4)
    view = x[1:3]
    x.resize_(1000)
    assert x[:4].tolist() == [0, 1, 2, 3]
    assert view.tolist() == [1, 2]
    assert view.data_ptr() == x.data_ptr() + 8
    x.resize_(2)
    assert x.untyped_storage().nbytes() == 8000


def test_impossible_resizes_change_nothing() -> None:
    x = gb.arange(4)
    for nbytes in (-1, 1 << 60):
        with pytest.raises(RuntimeError):
            x.untyped_storage().resize_(nbytes)
    with pytest.raises(RuntimeError, match="negative"):
        x.resize_(-1)
    assert (x.tolist(), x._version) == ([0, 1, 2, 3], 0)


def _buffer(count: int) -> Any:
    return (ctypes.c_int32 * count)(*range(count))


def test_a_blob_is_deleted_once_after_its_last_view() -> None:
    buffer = _buffer(6)
    calls: list[int] = []
    address = ctypes.addressof(buffer)
    x = from_blob(address, (2, 3), gb.int32, deleter=calls.append)
    view = x.t()
    assert (x.tolist(), x.data_ptr()) == ([[0, 1, 2], [3, 4, 5]], address)
    del x
    gc.collect()
    assert calls == []
    assert view[1].tolist() == [1, 4]
    del view
    gc.collect()
    assert calls == [address]


def test_an_empty_blob_is_deleted_too() -> None:
    calls: list[int] = []
    x = from_blob(0, (0,), gb.int32, deleter=calls.append)
    del x
    gc.collect()
    assert calls == [0]


def test_foreign_memory_does_not_grow() -> None:
    buffer = _buffer(6)
    for x in (
        from_blob(ctypes.addressof(buffer), (6,), gb.int32),
        gb.from_numpy(np.arange(6)),
        gb.frombuffer(bytearray(24), dtype=gb.int32),
    ):
        x.resize_(3)
        assert x.shape == (3,)
        with pytest.raises(RuntimeError, match="not resizable"):
            x.resize_(12)
        with pytest.raises(RuntimeError, match="not resizable"):
            x.untyped_storage().resize_(100)


def test_lending_memory_to_numpy_forbids_growth() -> None:
    x = gb.arange(6)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)
    x.resize_(3)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


def test_bad_blobs_raise() -> None:
    with pytest.raises(RuntimeError, match="null"):
        from_blob(0, (2,), gb.int32)
    with pytest.raises(RuntimeError, match="negative"):
        from_blob(64, (-2,), gb.int32)
    with pytest.raises(RuntimeError, match="strides"):
        from_blob(64, (2,), gb.int32, strides=(-1,))


@pytest.mark.parametrize(
    ("name", "value"),
    [("bool", True), ("int8", -3), ("uint64", 2**64 - 1), ("float16", 1.5), ("bfloat16", -2.5), ("complex64", 1 - 2j)],
)
def test_single_elements(name: str, value: Any) -> None:
    dtype = getattr(gb, name)
    x = gb.zeros(3, dtype=dtype)
    address = x.data_ptr() + dtype.itemsize
    write_element(address, dtype, value)
    assert read_element(address, dtype) == value
    assert x.tolist() == [0, value, 0]


def test_young_tensors_are_found_without_a_look_at_frozen_ones() -> None:
    # Alone in a process: among threads all objects are looked at.
    code = """
import gc
import gaugeblock as gb
gb.zeros(4)[1:].untyped_storage().resize_(4000)
gc.collect()
gc.freeze()
frozen = gc.get_freeze_count()
other = gb.zeros(4)
view = other[1:]
other.untyped_storage().resize_(4000)
print(view.data_ptr() == other.data_ptr() + 4, gc.get_freeze_count() > frozen // 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True True\n", done.stderr


def test_tensors_of_every_age_follow_a_resized_storage() -> None:
    base = gb.zeros(4)
    old = [base[1:], base.view(2, 2)]
    gc.collect()
    young = [base.detach(), base[2:]]
    for size in (400, 4000, 40000):
        base.untyped_storage().resize_(size)
        base.resize_(size // 4)
        for tensor in (base, *old, *young):
            assert tensor.data_ptr() == base.untyped_storage().data_ptr() + 4 * tensor.storage_offset()
    gc.collect()
    gc.freeze()
    other = gb.zeros(4)
    view = other[1:]
    other.untyped_storage().resize_(4000)
    assert view.data_ptr() == other.data_ptr() + 4
    third = gb.zeros(0).set_(other.untyped_storage(), 0, (2000,), (1,))
    assert view.data_ptr() == other.data_ptr() + 4 == third.data_ptr() + 4
    base.untyped_storage().resize_(8)
    gc.unfreeze()
    for tensor in (base, *old, *young):
        with pytest.raises(RuntimeError, match="out of bounds"):
            tensor.add(1)
