"""Scans of columns, side by side as lanes: bit for bit those of the same elements laid out as rows."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import float64
from gaugeblock.kernels import scan
from gaugeblock.kernels.scan import scan_kernel

SUMS = ("cumsum", "cumprod")
REAL = ("cummax", "cummin")
CASES = [
    *((name, dtype) for name in SUMS for dtype in ("bool", "int8", "int64", "bfloat16", "float32", "complex128")),
    *((name, dtype) for name in REAL for dtype in ("bool", "uint8", "int32", "float16", "float64")),
    *(("logcumsumexp", dtype) for dtype in ("float16", "float32", "float64")),
    ("cumsum", "float64"), ("cumprod", "complex64"),
]  # fmt: skip
WIDTH = scan.neighbours()
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 5e-324, 3e38)


def drawn(shape: tuple[int, ...], dtype: str) -> gb.Tensor:
    """Small numbers, many of them equal; special ones here and there."""
    random = np.random.default_rng(sum(shape))
    numbers = random.integers(-2, 4, shape) * 0.5
    places = random.integers(0, numbers.size, 1 + numbers.size // 50)
    special = SPECIAL if "float" in dtype or "complex" in dtype else (1.0,)
    numbers.reshape(-1)[places] = random.choice(special, len(places))
    if dtype == "uint8":
        numbers = np.abs(numbers)
    return gb.from_numpy(numbers).to(getattr(gb, dtype))


def bits(tensor: gb.Tensor) -> bytes:
    """The elements as they lie in memory, every NaN the same."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor = gb.where(tensor != tensor, gb.full_like(tensor, 7.0), tensor)
    return tensor.contiguous().view(gb.uint8).numpy().tobytes()


def results(found: object) -> list[gb.Tensor]:
    return [found] if isinstance(found, gb.Tensor) else list(found)  # type: ignore[call-overload]


@pytest.mark.parametrize("columns", [WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 5])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_columns_are_scanned_as_rows_are(name: str, dtype: str, columns: int) -> None:
    for rows in (1, 2, 9):
        x = drawn((rows, columns), dtype)
        across = results(getattr(gb, name)(x, 0))
        along = results(getattr(gb, name)(x.t().contiguous(), 1))
        assert [bits(a) for a in across] == [bits(b.t().contiguous()) for b in along]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", ["cumsum", "cummax"])
def test_dims_before_and_behind(name: str, dim: int) -> None:
    """A dim in the middle; a view whose rows lie apart; one whose columns do."""
    whole = drawn((5, 7, 2 * WIDTH + 6), "float32")
    for x in (whole, whole[:, ::2, 3:], whole[..., ::2], whole.transpose(0, 1)):
        across = results(getattr(gb, name)(x, dim))
        along = results(getattr(gb, name)(x.movedim(dim, -1).contiguous(), -1))
        assert [bits(a) for a in across] == [bits(b.movedim(-1, dim).contiguous()) for b in along]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_extremes_of_contiguous_rows_are_those_of_single_elements(name: str, dtype: str) -> None:
    """Vectors that bring nothing new, rising and falling rows, ties, NaN, zeros of both signs."""
    for length in (1, 7, 16, 63, 64, 65, 130, 400):
        mixed = drawn((3, length), dtype)
        rising = gb.arange(length).to(getattr(gb, dtype)).expand(3, length)
        for x in (mixed, rising.contiguous(), rising.flip(1), mixed.abs().neg() if dtype[0] in "fi" else mixed):
            apart = gb.stack([x, x], -1)[..., 0]
            values, places = getattr(gb, name)(x, 1)
            assert [bits(values), bits(places)] == [bits(one) for one in getattr(gb, name)(apart, 1)]
            row, extreme, at = x[1].tolist(), None, 0
            for place, number in enumerate(row):
                stays = extreme is not None and (number < extreme if name == "cummax" else number > extreme)
                if not stays and not (extreme != extreme and number == number):
                    extreme, at = number, place
                assert places[1, place].item() == at


def test_sums_of_columns() -> None:
    x = gb.arange(3 * (WIDTH + 2), dtype=gb.int64).view(3, WIDTH + 2)
    found = gb.cumsum(x, 0)
    assert found[:, 0].tolist() == [0, WIDTH + 2, 3 * WIDTH + 6]
    assert found[:, -1].tolist() == [WIDTH + 1, 3 * WIDTH + 4, 6 * WIDTH + 9]
    values, places = gb.cummax(gb.tensor([[1.0], [3.0], [3.0], [float("nan")], [9.0]]).expand(5, WIDTH).contiguous(), 0)
    assert values[:3, -1].tolist() == [1.0, 3.0, 3.0]
    assert values[3:].isnan().all().item()
    assert places[:, -1].tolist() == [0, 1, 2, 3, 3]


def test_columns_in_place_and_into_an_out() -> None:
    x = gb.ones(4, 2 * WIDTH + 3)
    out = gb.empty(4, 2 * WIDTH + 3)
    for _ in range(3):
        assert gb.cumsum(x, 0, out=out) is out
        assert out[:, -1].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert x.cumsum_(0) is x
    assert x.sum(1).tolist() == [(2 * WIDTH + 3) * k for k in (1.0, 2.0, 3.0, 4.0)]


def test_the_kernel_itself() -> None:
    array = np.arange(4.0 * WIDTH).reshape(4, WIDTH)
    out = np.empty_like(array)
    kernel = scan_kernel("sum", scan.running_sum(float64), float64, float64, (float64,), WIDTH)
    step = array.strides[0]
    kernel(out.ctypes.data, array.ctypes.data, 1, 4, step, step)
    np.testing.assert_array_equal(out, array.cumsum(0))
