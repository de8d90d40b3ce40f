"""Storages that move to memory other processes can map: what stays, what moves along, what is left behind."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.memory import segment
from hypothesis import given, settings
from hypothesis import strategies as st


def mappings() -> int:
    """The segments that this process has mapped."""
    return Path("/proc/self/maps").read_text().count("memfd:gaugeblock")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_values_strides_and_object_stay() -> None:
    x = gb.arange(6).reshape(2, 3).t()
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert x.stride() == (1, 3)
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]]


@settings(max_examples=20)  # each looks through all objects of the process for tensors over the storage
@given(
    values=st.lists(st.floats(width=32), min_size=1, max_size=40), start=st.integers(0, 3), step=st.integers(1, 3),
    through_view=st.booleans(),
)  # fmt: skip
def test_views_move_along(values: list[float], start: int, step: int, through_view: bool) -> None:
    x = gb.tensor(values, dtype=gb.float32)
    want = np.array(values, np.float32)
    view = x[start::step]
    (view if through_view else x).share_memory_()
    assert x.is_shared() and view.is_shared()
    np.testing.assert_array_equal(x.numpy().view(np.int32), want.view(np.int32))
    np.testing.assert_array_equal(view.numpy().view(np.int32), want[start::step].view(np.int32))
    assert view.untyped_storage() == x.untyped_storage()
    x.fill_(7)
    assert view.tolist() == [7.0] * len(want[start::step])


@pytest.mark.parametrize(
    ("sizes", "dtype"), [((), "float32"), ((0,), "int64"), ((2, 0, 3), "float32"), ((2,), "bool"), ((2,), "bfloat16")]
)
def test_all_sizes_and_dtypes(sizes: tuple[int, ...], dtype: str) -> None:
    x = gb.ones(sizes, dtype=getattr(gb, dtype))
    before = x.tolist()
    assert x.share_memory_().is_shared()
    assert x.tolist() == before


@pytest.mark.parametrize("threads", [False, True])
def test_a_tensor_that_shares_its_storage_with_none_is_not_searched(
    threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, searched = threading.Event(), []
    other = threading.Thread(target=end.wait)
    for name in ("get_referrers", "get_objects"):
        monkeypatch.setattr(gc, name, lambda *args: searched.append(args) or [])
    x = gb.arange(4)
    if threads:
        other.start()
    try:
        assert x.share_memory_().tolist() == [0, 1, 2, 3]
    finally:
        end.set()
    if threads:
        other.join()
    assert x.is_shared()
    assert searched == []


def test_sharing_twice_moves_nothing() -> None:
    x = gb.ones(5).share_memory_()
    address = x.data_ptr()
    x[2:].share_memory_()
    x.untyped_storage().share_memory_()
    assert x.data_ptr() == address


def test_version_stays() -> None:
    x = gb.ones(5)
    x.add_(1)
    assert x.share_memory_()._version == 1


def test_array_is_left_behind_and_freed() -> None:
    array = np.ones(3)
    gone = weakref.ref(array)
    x = gb.from_numpy(array).share_memory_()
    array[0] = 5
    x[1] = 7
    assert array.tolist() == [5.0, 1.0, 1.0]
    assert x.tolist() == [1.0, 7.0, 1.0]
    del array
    assert gone() is None


@pytest.mark.parametrize("make", [lambda: gb.arange(3000), lambda: gb.from_numpy(np.arange(3000))])
def test_exported_arrays_keep_the_old_memory(make: Any) -> None:
    x = make()
    array = x.numpy()
    exported = np.from_dlpack(x)
    x.share_memory_().fill_(-1)
    junk = [gb.full((3000,), 9) for _ in range(8)]
    assert array.tolist() == exported.tolist() == list(range(3000))
    assert len(junk) == 8
    assert x.max().item() == -1


def test_foreign_deleter_runs_once_the_memory_is_left() -> None:
    array, freed = np.arange(4.0), []
    x = gb.from_blob(array.ctypes.data, (4,), gb.float64, deleter=freed.append)
    x.share_memory_()
    assert freed == [array.ctypes.data]
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_arrays_of_shared_memory_share_it() -> None:
    x = gb.zeros(3).share_memory_()
    x.numpy()[1] = 5
    assert x.tolist() == [0.0, 5.0, 0.0]


def test_shared_memory_does_not_grow() -> None:
    x = gb.ones(3).share_memory_()
    for grow in (lambda: x.resize_(4), lambda: x.untyped_storage().resize_(100), lambda: gb.ones(4, out=x)):
        with pytest.raises(RuntimeError, match="not resizable"):
            grow()
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert x.resize_(2).tolist() == [1.0, 1.0]
    assert not x.untyped_storage().resizable()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
def test_last_tensor_unmaps_and_closes() -> None:
    gc.collect()
    before = mappings(), descriptors()
    x = gb.ones(1000).share_memory_()
    view = x[3:]
    assert mappings() == before[0] + 1
    del x
    assert view.sum().item() == 997.0
    del view
    assert (mappings(), descriptors()) == before


def test_gradients_go_on() -> None:
    x = gb.ones(3, requires_grad=True)
    y = (x * x).sum()
    x.share_memory_()
    y.backward()
    assert x.is_leaf and x.is_shared()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_modules_share_parameters_gradients_and_buffers() -> None:
    module = gb.nn.BatchNorm1d(3)
    module(gb.ones(2, 3)).sum().backward()
    assert module.share_memory() is module
    tensors = [*module.parameters(), *module.buffers(), *(one.grad for one in module.parameters())]
    assert all(one.is_shared() for one in tensors)


def test_storages_share_too() -> None:
    x = gb.ones(3)
    storage = x.untyped_storage()
    assert not storage.is_shared()
    assert storage.share_memory_() is storage
    assert storage.is_shared() and x.is_shared()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_no_memory_on_the_cpu_is_refused() -> None:
    with pytest.raises(RuntimeError, match="only available on CPU, got a storage on meta"):
        gb.ones(2, device="meta").share_memory_()


def test_size_that_cannot_be_had_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = gb.ones(2)

    def refuse(descriptor: int, nbytes: int) -> None:
        raise OSError(28, "No space left on device")

    before = descriptors()
    monkeypatch.setattr(segment.os, "ftruncate", refuse)
    with pytest.raises(RuntimeError, match="cannot get 8 bytes of shared memory: No space left on device"):
        x.share_memory_()
    assert descriptors() == before
    assert x.tolist() == [1.0, 1.0]
    assert not x.is_shared()


def test_segments_cannot_be_cut_short() -> None:
    x = gb.ones(2000).share_memory_()
    descriptor, nbytes = x.untyped_storage()._share_fd_cpu_()
    assert nbytes == 8000
    for size in (0, 10**6):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)


def test_opened_by_descriptor() -> None:
    x = gb.arange(4, dtype=gb.int32)
    descriptor, nbytes = x.untyped_storage()._share_fd_cpu_()
    storage = gb.UntypedStorage._new_shared_fd_cpu(descriptor, nbytes)
    assert storage == x.untyped_storage()
    with pytest.raises(RuntimeError, match="has 16 bytes, not 17"):
        gb.UntypedStorage._new_shared_fd_cpu(descriptor, 17)
    with pytest.raises(RuntimeError, match="argument 'fd' is -1"):
        gb.UntypedStorage._new_shared_fd_cpu(-1, 16)
    with pytest.raises(RuntimeError, match="0 bytes has no handle"):
        gb.empty(0).untyped_storage()._share_fd_cpu_()


def test_sharing_while_other_threads_read() -> None:
    x, stop, wrong = gb.ones(5000), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            if x.sum().item() != 5000.0:
                wrong.append(x.tolist())

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            x = gb.ones(5000)
            x.share_memory_()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
