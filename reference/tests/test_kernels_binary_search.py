"""Binary search in rows in ascending order, NaN last; runs of equal elements."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

import gaugeblock as gb
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAN, INF = math.nan, math.inf
NUMBERS = st.sampled_from((0.0, -0.0, 1.0, 2.0, -3.5, INF, -INF, NAN, 2.0**-24))


def key(value: float) -> tuple[bool, float]:
    """Return what orders numbers, NaN last and zeros of both signs alike."""
    return (True, 0.0) if value != value else (False, value + 0)


@given(
    st.lists(NUMBERS, max_size=40),
    st.lists(NUMBERS, max_size=20),
    st.booleans(),
    st.sampled_from(("float16", "float64")),
)
def test_places_in_a_row(sequence: list[float], wanted: list[float], right: bool, dtype: str) -> None:
    ordered, kind = sorted(sequence, key=key), getattr(gb, dtype)
    found = gb.searchsorted(gb.tensor(ordered, dtype=kind), gb.tensor(wanted, dtype=kind), right=right)
    search = bisect_right if right else bisect_left
    assert found.tolist() == [search(ordered, key(value), key=key) for value in wanted]


def test_rows_of_their_own_and_other_layouts() -> None:
    sequence = gb.tensor([[1, 3, 5], [2, 4, 6]])
    wanted = gb.tensor([[3, 6], [3, 6]])
    assert gb.searchsorted(sequence, wanted).tolist() == [[1, 3], [1, 2]]
    assert gb.searchsorted(sequence.t().contiguous().t(), wanted.t().contiguous().t()).tolist() == [[1, 3], [1, 2]]
    assert gb.searchsorted(sequence[0], wanted.reshape(2, 1, 2), out_int32=True).tolist() == [[[1, 3]], [[1, 3]]]
    assert gb.searchsorted(gb.zeros(2, 0), gb.zeros(2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert gb.searchsorted(gb.tensor([5, 1, 3]), gb.tensor([3]), sorter=gb.tensor([1, 2, 0])).tolist() == [1]
    assert gb.searchsorted(gb.tensor([0.5, 1.5]), gb.tensor([1])).tolist() == [1]


@given(st.lists(NUMBERS, max_size=40), st.sampled_from(("bfloat16", "float32")))
def test_distinct_values(row: list[float], dtype: str) -> None:
    x = gb.tensor(row, dtype=getattr(gb, dtype))
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    ordered = sorted((value for value in set(x.tolist()) if value == value), key=key)
    missing = [NAN] * sum(value != value for value in row)
    assert repr([value + 0 for value in values.tolist()]) == repr([value + 0 for value in ordered] + missing)
    assert sum(counts.tolist()) == len(row) == inverse.numel()
    assert repr([value + 0 for value in values[inverse].tolist()]) == repr([value + 0 for value in x.tolist()])
    assert repr(x.unique().tolist()) == repr(values.tolist())


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float64"])
def test_distinct_values_of_a_matrix(dtype: str) -> None:
    x = gb.tensor([[1, 0, 1], [0, 0, 1]]).to(getattr(gb, dtype))
    values, inverse, counts = x.t().unique(return_inverse=True, return_counts=True)
    assert values.to(gb.int64).tolist() == [0, 1] and counts.tolist() == [3, 3]
    assert inverse.tolist() == [[1, 0], [0, 0], [1, 1]]


@pytest.mark.parametrize("dtype", [gb.float32, gb.int64], ids=str)
def test_places_of_numbers(dtype: object) -> None:
    row = [0, 1, 1, 3, 9]
    sequence, strided = gb.tensor(row, dtype=dtype), gb.tensor(row, dtype=dtype).repeat_interleave(2)[::2]
    for number in (1, 2, 0.5, 3.0, True, -1, 1 << 62):
        for _ in range(3):
            for bounds in (sequence, strided):
                assert gb.searchsorted(bounds, number).item() == bisect_left(row, number)
                assert gb.bucketize(number, bounds, right=True).item() == bisect_right(row, number)
    out = gb.empty((), dtype=gb.int64)
    for number in (1, 3, 1 << 62):
        assert gb.searchsorted(sequence, number, out=out) is out and out.item() == bisect_left(row, number)


def test_numbers_have_the_default_dtype_of_the_call() -> None:
    sequence = gb.tensor([1, 2**24, 2**24 + 1])
    for dtype, place in ((gb.float32, 1), (gb.float64, 2), (gb.float32, 1)):
        gb.set_default_dtype(dtype)
        try:
            for _ in range(3):
                assert gb.bucketize(2.0**24 + 1, sequence).item() == place
        finally:
            gb.set_default_dtype(gb.float32)


@given(st.lists(NUMBERS, max_size=40), st.lists(NUMBERS, max_size=300), st.booleans())
def test_membership(elements: list[float], tests: list[float], invert: bool) -> None:
    found = gb.isin(gb.tensor(elements), gb.tensor(tests), invert=invert)
    assert found.tolist() == [(one in set(tests) and one == one) != invert for one in elements]
    for one in elements[:2]:
        assert gb.isin(one, gb.tensor(tests), invert=invert).item() == ((one in set(tests) and one == one) != invert)
