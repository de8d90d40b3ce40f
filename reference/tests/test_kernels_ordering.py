"""Ordering of rows: short ones by comparing all elements, longer ones digit by digit, the longest in scratch memory."""

from __future__ import annotations

import math

import gaugeblock as gb
import pytest
from gaugeblock.kernels.ordering import LOCAL
from hypothesis import given
from hypothesis import strategies as st

NAN, INF = math.nan, math.inf
SIZES = (1, 2, 12, 13, 32, 33, 300, LOCAL, LOCAL + 1)
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0**-24, -(2.0**-24))
ENDS = {
    name: (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for name in INTS
    for bits in [int("".join(filter(str.isdigit, name)))]
}


def key(value: float) -> tuple[bool, float]:
    """Return what orders numbers, NaN last and zeros of both signs alike."""
    return (True, 0.0) if value != value else (False, value + 0)


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, list[float]]:
    """Draw a dtype and a row of numbers that it holds, few of them different or all."""
    dtype = draw(st.sampled_from((*FLOATS, *INTS)))
    size = draw(st.sampled_from(SIZES))
    if dtype in FLOATS:
        some = [*draw(st.lists(st.floats(width=16), max_size=30)), *SPECIAL]
        some = gb.tensor(some, dtype=getattr(gb, dtype)).tolist()
    else:
        some = [*draw(st.lists(st.integers(*ENDS[dtype]), max_size=30)), *ENDS[dtype], 0, 1]
    random = draw(st.randoms(use_true_random=False))
    return dtype, [random.choice(some) for _ in range(size)]


def made(dtype: str, row: list[float]) -> gb.Tensor:
    return gb.tensor(row, dtype=getattr(gb, dtype))


def stable(row: list[float], descending: bool) -> list[int]:
    if not descending:
        return sorted(range(len(row)), key=lambda k: key(row[k]))
    order = sorted(range(len(row) - 1, -1, -1), key=lambda k: key(row[k]))
    return order[::-1]


@given(rows(), st.booleans())
def test_rows_are_sorted_stably(drawn: tuple[str, list[float]], descending: bool) -> None:
    dtype, row = drawn
    values, indices = made(dtype, row).sort(descending=descending)
    order = stable(row, descending)
    assert indices.tolist() == order
    assert repr(values.tolist()) == repr([row[k] for k in order])


@given(rows(), st.data())
def test_selection_finds_what_sorting_finds(drawn: tuple[str, list[float]], data: st.DataObject) -> None:
    dtype, row = drawn
    x, k = made(dtype, row), data.draw(st.integers(1, len(row)))
    largest = data.draw(st.booleans())
    assert x.topk(k, largest=largest)[1].tolist() == stable(row, largest)[:k]
    order = stable(row, False)
    assert x.kthvalue(k)[1].item() == order[k - 1]
    missing = sum(value != value for value in row)
    middle = (len(row) - 1) // 2
    assert x.median(0)[1].item() == order[middle if not missing else len(row) - missing]
    assert x.nanmedian(0)[1].item() == order[max(len(row) - missing - 1, 0) // 2]
    for name in ("median", "nanmedian"):
        assert repr(getattr(x, name)().item()) == repr(getattr(x, name)(0)[0].item())


@given(rows())
def test_the_mode_is_the_smallest_of_the_most_frequent(drawn: tuple[str, list[float]]) -> None:
    dtype, row = drawn
    counts = {value: row.count(value) for value in row if value == value}
    value, place = made(dtype, row).mode()
    if not counts:
        assert value.item() != value.item()
        return
    most = max(counts.values())
    wanted = min(one for one, count in counts.items() if count == most)
    assert value.item() == wanted
    assert place.item() == max(k for k, one in enumerate(row) if one == wanted)


@pytest.mark.parametrize("size", [5, 100, 3000])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_rows_in_any_layout(dim: int, size: int) -> None:
    sizes = [3, 3, 3]
    sizes[dim] = size
    base = (gb.arange(9 * size) * 7919 % 1009).reshape(*sizes)
    wide = gb.zeros(6, *sizes[1:], 2, dtype=gb.int64) if dim else gb.zeros(2 * size, 3, 3, 2, dtype=gb.int64)
    views = [base, base.transpose(0, 2).contiguous().transpose(0, 2), wide[::2, ..., 1].copy_(base)]
    expected = [sorted(row) for row in base.movedim(dim, -1).reshape(9, size).tolist()]
    for view in views:
        values, indices = view.sort(dim)
        assert values.movedim(dim, -1).reshape(9, size).tolist() == expected
        assert view.gather(dim, indices).equal(values)
        assert view.kthvalue(2, dim)[0].reshape(9).tolist() == [row[1] for row in expected]
        assert view.topk(2, dim, largest=False)[0].equal(values.narrow(dim, 0, 2))
        assert view.median() == base.flatten().sort()[0][(base.numel() - 1) // 2]


def test_many_dims() -> None:
    x = gb.tensor([3.0, 1.0, 2.0]).reshape(*[1] * 40, 3, *[1] * 20)
    assert x.sort(40)[1].flatten().tolist() == [1, 2, 0]
    assert x.median(40)[0].shape == (1,) * 60
    assert x.median().item() == 2.0


def test_a_long_row_leaves_its_operand_as_it_was() -> None:
    x = gb.arange(200_000, 0, -1, dtype=gb.float32)
    before = x.clone()
    assert x.sort()[0].equal(gb.arange(1, 200_001, dtype=gb.float32))
    assert x.topk(3)[0].tolist() == [200_000, 199_999, 199_998]
    assert x.median().item() == 100_000
    assert x.equal(before)


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32", "int16"])
@pytest.mark.parametrize("step", [1, 64, 4096, 2**40])
def test_the_mode_of_many_different_numbers(dtype: str, step: int) -> None:
    size = min(3000, (2**15 - 1) // step + 1) if dtype == "int16" else 3000
    row = [step * k for k in range(size)]
    last = max(size - 2, 0)
    row.append(row[last])
    value, place = gb.tensor(row, dtype=getattr(gb, dtype)).mode()
    assert (value.item(), place.item()) == (row[last], size)
