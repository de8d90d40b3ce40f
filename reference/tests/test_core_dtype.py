"""DType, Device, Size and the default dtype."""

from __future__ import annotations

import copy
import pickle

import gaugeblock as gb
import pytest
from gaugeblock.core.device import Device, as_device
from gaugeblock.core.dtype import ALL_DTYPES, DType, dtype_from_numpy, dtype_of_number
from gaugeblock.core.size import Size

ITEMSIZES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
}


def test_item_sizes_and_categories() -> None:
    assert {dtype.name: dtype.itemsize for dtype in ALL_DTYPES} == ITEMSIZES
    for dtype in ALL_DTYPES:
        assert dtype.is_complex == dtype.name.startswith("complex")
        assert dtype.is_floating_point == ("float" in dtype.name)
        assert dtype.is_signed == (not dtype.name.startswith(("uint", "bool")))
        assert dtype_from_numpy(dtype.numpy) is (None if dtype is gb.complex32 else dtype)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda dtype: dtype.name)
def test_a_dtype_is_one_object(dtype: DType) -> None:
    assert copy.deepcopy(dtype) is copy.copy(dtype) is pickle.loads(pickle.dumps(dtype)) is dtype
    assert repr(dtype) == f"gaugeblock.{dtype.name}"


def test_real_and_complex_counterparts() -> None:
    assert gb.complex32.to_real() is gb.float16
    assert gb.float16.to_complex() is gb.complex32.to_complex() is gb.chalf is gb.complex32
    assert gb.complex64.to_real() is gb.float32
    assert gb.complex128.to_real() is gb.float64
    assert gb.float64.to_complex() is gb.complex128
    assert gb.bfloat16.to_complex() is gb.complex64


def test_default_dtype_rules_numbers_and_their_complex() -> None:
    try:
        gb.set_default_dtype(gb.float64)
        assert gb.get_default_dtype() is gb.float64
        assert dtype_of_number(1.0) is gb.float64
        assert dtype_of_number(1j) is gb.complex128
        gb.set_default_dtype(gb.float16)
        assert dtype_of_number(1j) is gb.tensor([1j]).dtype is gb.complex32
    finally:
        gb.set_default_dtype(gb.float32)
    assert [dtype_of_number(value) for value in (True, 1, 1.0, 1j)] == [gb.bool, gb.int64, gb.float32, gb.complex64]
    with pytest.raises(TypeError, match="set_default_dtype"):
        gb.set_default_dtype(gb.int32)


def test_devices_are_interned() -> None:
    assert Device("cpu") is Device("cpu") is Device(Device("cpu"))
    assert Device("cpu:0") is Device("cpu", 0)
    assert Device("cpu:0") != Device("cpu")
    assert as_device("cpu:0") is as_device(None) is Device("cpu")
    assert pickle.loads(pickle.dumps(Device("cuda", 1))) is Device("cuda:1")
    assert (repr(Device("cuda:1")), str(Device("cuda:1"))) == ("device(type='cuda', index=1)", "cuda:1")


@pytest.mark.parametrize("text", ["", "tpu", "cpu:", "cpu:01", "cpu:x", "cuda:-1"])
def test_unknown_device_strings_raise(text: str) -> None:
    with pytest.raises(RuntimeError, match=r"device\(\)"):
        Device(text)


def test_size_is_a_tuple_with_numel() -> None:
    size = Size((2, 3, 4))
    assert size == (2, 3, 4)
    assert size.numel() == 24
    assert isinstance(size[1:], Size) and isinstance(size.__add__((1,)), Size) and isinstance(size * 2, Size)
    assert size[0] == 2
    assert repr(size) == "gaugeblock.Size([2, 3, 4])"
    assert pickle.loads(pickle.dumps(size)) == size
    with pytest.raises(TypeError, match="item 1"):
        Size((1, 2.5))  # type: ignore[arg-type]


def test_limits() -> None:
    assert (gb.finfo(gb.float32).eps, gb.finfo(gb.bfloat16).eps) == (2.0**-23, 2.0**-7)
    assert (gb.finfo(gb.complex32).max, gb.finfo(gb.complex32).dtype) == (65504.0, "float16")
    assert gb.finfo(gb.complex64).max == gb.finfo(gb.float32).max == gb.finfo().max
    assert (gb.iinfo(gb.int8).min, gb.iinfo(gb.uint64).max) == (-128, 2**64 - 1)
    assert gb.finfo(gb.float16).tiny == 2.0**-14
    for wrong in (gb.int8, gb.bool):
        with pytest.raises(TypeError, match="finfo"):
            gb.finfo(wrong)
    for wrong in (gb.float32, gb.bool):
        with pytest.raises(TypeError, match="iinfo"):
            gb.iinfo(wrong)
