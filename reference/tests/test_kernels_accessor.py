"""Accessors: checked once, right for any view, unchecked afterwards; packed ones carry everything by value."""

from __future__ import annotations

import gc
import struct

import gaugeblock as gb
import pytest
from gaugeblock.iteration.dimensions import INT32_MAX, fits_32bit
from gaugeblock.kernels.accessor import PackedAccessor, accessor, packed_accessor


def views() -> dict[str, gb.Tensor]:
    base = gb.arange(24, dtype=gb.float32).reshape(4, 6)
    return {
        "plain": base,
        "transposed": base.t(),
        "sliced": base[1:, ::2],
        "expanded": base[:1].expand(5, 6),
        "narrow": gb.arange(24, dtype=gb.float32)[3:15].reshape(3, 4),
    }


@pytest.mark.parametrize("name", views())
def test_equals_indexing(name: str) -> None:
    tensor = views()[name]
    for access in (accessor(tensor, gb.float32, 2), packed_accessor(tensor, gb.float32, 2)):
        assert access.sizes == tuple(tensor.shape)
        for i in range(tensor.shape[0]):
            row = access[i]
            for j in range(tensor.shape[1]):
                assert access[i, j] == row[j] == tensor[i, j].item()


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_writes_through_strides(name: str) -> None:
    dtype = getattr(gb, name)
    tensor = gb.zeros(4, 6, dtype=dtype)
    access = accessor(tensor[1:, ::2].t(), dtype, 2)
    access[2, 1] = 1
    access[0][0] = 1
    assert tensor[2, 4].item() == 1 == tensor[1, 0].item()
    assert tensor.to(gb.bool).sum().item() == 2


def test_other_dtype_or_rank_is_refused_at_creation() -> None:
    with pytest.raises(RuntimeError, match="expected a tensor of dtype float64 but got float32"):
        accessor(gb.ones(2), gb.float64, 1)
    with pytest.raises(RuntimeError, match="expected a tensor with 2 dims but got 1"):
        packed_accessor(gb.ones(2), gb.float32, 2)
    with pytest.raises(RuntimeError, match="no memory"):
        accessor(gb.empty(2, device="meta"), gb.float32, 1)
    with pytest.raises(RuntimeError, match="32 or 64"):
        accessor(gb.ones(2), gb.float32, 1, index_bits=16)
    with pytest.raises(RuntimeError, match="lazily"):
        accessor(gb.ones(2, dtype=gb.complex64).conj(), gb.complex64, 1)


def test_32_bit_limits() -> None:
    assert fits_32bit((1 << 29,), [(4,)])
    assert not fits_32bit(((1 << 29) + 1,), [(4,)])
    assert fits_32bit((INT32_MAX,), [(1,)])
    assert not fits_32bit((INT32_MAX + 1,), [(0,)])
    assert fits_32bit((0, 1 << 40), [(1 << 42, 4)])
    wide = gb.empty_strided((2, 2), (1 << 29, 1), dtype=gb.float32)
    assert accessor(wide, gb.float32, 2).index_bits == 64
    with pytest.raises(RuntimeError, match="32-bit indices cannot reach every byte"):
        accessor(wide, gb.float32, 2, index_bits=32)


def test_packed_outlives_the_handle() -> None:
    base = gb.arange(6, dtype=gb.int32).reshape(2, 3)
    handle = base.t()
    packed = packed_accessor(handle, gb.int32, 2)
    del handle
    gc.collect()
    assert [packed[j, i] for i in range(2) for j in range(3)] == list(range(6))


def test_accessor_keeps_memory_alive() -> None:
    access = accessor(gb.arange(1000, dtype=gb.int64), gb.int64, 1)
    gc.collect()
    other = gb.zeros(1000, dtype=gb.int64)
    assert access[999] == 999
    assert other[999].item() == 0


def test_bytes_of_a_packed_accessor() -> None:
    tensor = gb.zeros(2, 3)
    packed = packed_accessor(tensor, gb.float32, 2, index_bits=32)
    assert packed.to_bytes() == struct.pack("=Q4i", tensor.data_ptr(), 2, 3, 3, 1)
    wide: PackedAccessor = packed_accessor(tensor, gb.float32, 2)
    assert len(wide.to_bytes()) == 8 + 4 * 8
