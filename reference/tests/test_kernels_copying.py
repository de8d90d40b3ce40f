"""Rows copied as they are: lengths around those of vectors, item sizes, reverse order, what lies beside them."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest

DTYPES = ("int8", "bool", "float16", "int32", "float32", "float64", "complex64", "complex128")
LENGTHS = (*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 200)


def numbers(rows: int, columns: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(columns).integers(0, 100, (rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_any_length_are_copied_and_nothing_beside_them(dtype: str) -> None:
    for length in LENGTHS:
        array = numbers(3, length + 3, dtype)
        place = numbers(3, length + 2, dtype)
        expected = place.copy()
        expected[:, 1:-1] = array[:, 2:-1]
        gb.from_numpy(place)[:, 1:-1].copy_(gb.from_numpy(array)[:, 2:-1])
        assert np.array_equal(place, expected)
        assert np.array_equal(gb.from_numpy(array)[:, 2:-1].clone().numpy(), array[:, 2:-1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_any_length_are_reversed(dtype: str) -> None:
    for length in LENGTHS:
        array = numbers(3, length + 1, dtype)
        x = gb.from_numpy(array)[:, 1:]
        for dims in ((0,), (1,), (0, 1)):
            assert np.array_equal(x.flip(dims).numpy(), np.flip(array[:, 1:], dims))
            assert np.array_equal(x.t().flip(dims).numpy(), np.flip(array[:, 1:].T, dims))
            assert np.array_equal(x[:, ::2].flip(dims).numpy(), np.flip(array[:, 1::2], dims))


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_short_rows_are_copied_and_nothing_beside_them(dtype: str) -> None:
    for length in LENGTHS[:-4]:
        array = np.stack([numbers(40, length + 3, dtype)] * 2)
        place = np.stack([numbers(40, length + 2, dtype)] * 2)
        expected = place.copy()
        expected[:, ::-1, 1:-1] = array[:, :, 2:-1]
        gb.from_numpy(place)[:, :, 1:-1].copy_(gb.from_numpy(array)[:, :, 2:-1].flip(1))
        assert np.array_equal(place, expected)
        turned = gb.from_numpy(array).permute(1, 0, 2).contiguous()
        assert np.array_equal(turned.numpy(), array.transpose(1, 0, 2))
        assert np.array_equal(gb.from_numpy(array)[..., 1:].flip(0, 1).numpy(), array[::-1, ::-1, 1:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_repeated_element_fills_rows(dtype: str) -> None:
    for length in LENGTHS:
        array = numbers(3, 1, dtype)
        x = gb.from_numpy(array).expand(3, length)
        assert np.array_equal(x.contiguous().numpy(), np.repeat(array, length, 1))
        assert np.array_equal(x.flip(0).numpy(), np.repeat(array[::-1], length, 1))


def test_reversing_keeps_every_bit() -> None:
    bits = np.arange(0x7F800001, 0x7F800081, dtype=np.uint32)
    assert np.array_equal(gb.from_numpy(bits.view(np.float32)).flip(0).numpy().view(np.uint32), bits[::-1])


def test_a_tensor_is_copied_to_itself() -> None:
    x = gb.arange(21.0)
    assert x.copy_(x).tolist() == [*range(21)]
