"""NumPy arrays and buffers: sharing, refusals, conversions."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
NAMES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_shared_both_ways(name: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(name)
    x = gb.from_numpy(array)
    assert (x.dtype, x.data_ptr()) == (getattr(gb, name), array.ctypes.data)
    array[0, 0] = 1
    assert x[0, 0].item() == 1
    back = x.numpy()
    assert back.dtype == array.dtype and back.ctypes.data == array.ctypes.data
    assert np.asarray(x.t()).strides == array.T.strides


@given(st.data())
def test_strided_arrays_keep_their_layout(data: st.DataObject) -> None:
    array = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    steps = [slice(data.draw(st.integers(0, 3)), None, data.draw(st.integers(1, 3))) for _ in range(3)]
    part = array[tuple(steps)].transpose(data.draw(st.permutations(range(3))))
    x = gb.from_numpy(part)
    assert x.shape == part.shape
    assert x.tolist() == part.tolist()
    if part.size:
        assert x.stride() == tuple(step // 4 for step in part.strides)
        assert x.numpy().strides == part.strides
    else:
        assert x.numpy().shape == part.shape


def test_owners_stay_alive() -> None:
    class Owner(np.ndarray[Any, Any]):
        pass

    array = np.arange(4).view(Owner)
    alive = weakref.ref(array)
    x = gb.from_numpy(array)[1:]
    del array
    gc.collect()
    assert alive() is not None and x.tolist() == [1, 2, 3]
    del x
    gc.collect()
    assert alive() is None


def test_lent_arrays_keep_the_storage_alive() -> None:
    x = gb.arange(1000)
    alive = weakref.ref(x.storage_impl)
    array = x[10:].numpy()[5:]
    del x
    gc.collect()
    assert alive() is not None and array[0] == 15
    del array
    gc.collect()
    assert alive() is None


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gb.from_numpy([1]), TypeError, "np.ndarray"),
    (lambda: gb.from_numpy(np.float32(1)), TypeError, "np.ndarray"),
    (lambda: gb.from_numpy(np.array(["a"])), TypeError, "str_"),
    (lambda: gb.from_numpy(np.zeros(2, "m8[s]")), TypeError, "timedelta64"),
    (lambda: gb.from_numpy(np.zeros(2, object)), TypeError, "object_"),
    (lambda: gb.from_numpy(np.arange(3)[::-1]), ValueError, "negative"),
    (lambda: gb.from_numpy(np.arange(3, dtype=np.dtype("i4").newbyteorder("S"))), ValueError, "byte order"),
    (lambda: gb.from_numpy(np.zeros(3, [("a", "i1"), ("b", "i4")])["b"]), ValueError, "multiple"),
    (lambda: gb.zeros(2, dtype=gb.bfloat16).numpy(), TypeError, "BFloat16"),
    (lambda: gb.zeros(2, device="meta").numpy(), TypeError, "meta"),
    (lambda: gb.zeros(2, requires_grad=True).numpy(), RuntimeError, "detach"),
    (lambda: gb.zeros(2, dtype=gb.complex64).conj().numpy(), RuntimeError, "resolve_conj"),
    (lambda: gb.tensor([1 + 2j]).conj().imag.numpy(), RuntimeError, "resolve_neg"),
    (lambda: gb.frombuffer([1], dtype=gb.int8), ValueError, "buffer protocol"),
    (lambda: gb.frombuffer(bytearray(), dtype=gb.int8), ValueError, "must not be 0"),
    (lambda: gb.frombuffer(bytearray(4), dtype=gb.int8, count=0), ValueError, "must not be 0"),
    (lambda: gb.frombuffer(bytearray(4), dtype=gb.int8, offset=4), ValueError, "offset"),
    (lambda: gb.frombuffer(bytearray(4), dtype=gb.int8, offset=-1), ValueError, "offset"),
    (lambda: gb.frombuffer(bytearray(3), dtype=gb.int16), ValueError, "multiple of element size"),
    (lambda: gb.frombuffer(bytearray(4), dtype=gb.int16, count=3), ValueError, "actual buffer length"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals(case: int) -> None:
    use, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        use()


def test_force_detaches_and_resolves() -> None:
    assert gb.zeros(2, requires_grad=True).numpy(force=True).tolist() == [0.0, 0.0]
    assert gb.tensor([1 + 2j]).conj().numpy(force=True).tolist() == [1 - 2j]


def test_read_only_memory_warns() -> None:
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        gb.from_numpy(array)
    with pytest.warns(UserWarning, match="not writable"):
        assert gb.frombuffer(b"ab", dtype=gb.uint8).tolist() == [97, 98]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gb.tensor(array).tolist() == [0, 1, 2]


def test_buffers_are_shared() -> None:
    buffer = bytearray(b"\x00\x01\x00\x02\x00\x03")
    x = gb.frombuffer(buffer, dtype=gb.int16, offset=1, count=2)
    assert x.tolist() == [1, 2]
    buffer[1] = 5
    assert x.tolist() == [5, 2]


def test_asarray_converts_and_copies_on_request() -> None:
    x = gb.arange(3)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(x), np.asarray(x))
    assert gb.zeros(0, 3).numpy().shape == (0, 3)
    assert np.add(np.arange(3), x.numpy()).tolist() == [0, 2, 4]


def test_as_tensor_shares_what_it_can() -> None:
    array, x = np.arange(3), gb.arange(3)
    assert gb.as_tensor(x) is x
    assert gb.as_tensor(array).data_ptr() == array.ctypes.data
    assert gb.as_tensor(array, dtype=gb.float32).tolist() == [0.0, 1.0, 2.0]
    assert gb.as_tensor(x, dtype=gb.float32).dtype is gb.float32
    assert gb.asarray([1, 2]).tolist() == [1, 2]
    assert gb.asarray(array, copy=True).data_ptr() != array.ctypes.data
    with pytest.raises(ValueError, match="copy=False"):
        gb.asarray([1, 2], copy=False)


def test_bfloat16_goes_through_its_own_numpy_dtype() -> None:
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    x = gb.from_numpy(array)
    assert (x.dtype, x.tolist()) == (gb.bfloat16, [1.5, -2.0])
