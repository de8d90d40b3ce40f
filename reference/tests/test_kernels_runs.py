"""Runs of equal elements in a row, and of equal rows in a matrix, which may be put in order first."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAN = math.nan
DTYPES = ("bool", "uint8", "int8", "int16", "uint64", "int64", "float16", "bfloat16", "float32", "float64")
SIZES = (0, 1, 2, 3, 9, 10, 40)


def comes_first(row: list[float]) -> list[tuple[bool, float]]:
    """Return what orders rows: NaN last, zeros of both signs alike."""
    return [(True, 0.0) if value != value else (False, value + 0) for value in row]


def runs(rows: list[list[float]], in_order: bool) -> tuple[list[list[float]], list[int], list[int]]:
    """Return the first of each run of equal rows, the run of each, and the lengths of the runs."""
    order = sorted(range(len(rows)), key=lambda k: [] if in_order else comes_first(rows[k]))
    first: list[list[float]] = []
    inverse, counts = [0] * len(rows), []
    for before, k in zip([None, *order[:-1]], order, strict=True) if order else ():
        if before is None or any(a != b or a != a for a, b in zip(rows[before], rows[k], strict=True)):
            first.append(rows[k])
            counts.append(0)
        inverse[k] = len(first) - 1
        counts[-1] += 1
    return first, inverse, counts


@st.composite
def matrices(draw: st.DrawFn) -> tuple[str, list[list[float]]]:
    """Draw a dtype and rows of few different numbers, with rows that are there more than once."""
    dtype = draw(st.sampled_from(DTYPES))
    some: list[float] = [0, 1] if dtype == "bool" else [0, 1, 2, 3]
    if dtype[0] == "i":
        some = [0, -1, 1, -128]
    elif "float" in dtype:
        some = [0.0, -0.0, 1.5, -math.inf, draw(st.sampled_from((NAN, 1.5)))]
    count, width = (draw(st.sampled_from(SIZES)) for _ in range(2))
    random = draw(st.randoms(use_true_random=False))
    different = [[random.choice(some) for _ in range(width)] for _ in range(draw(st.integers(1, 5)))]
    rows = [list(random.choice(different)) for _ in range(count)]
    for row in rows:
        if width and random.random() < 0.2:
            row[random.randrange(width)] = random.choice(some)
    return dtype, rows


def plain(value: Any) -> str:
    """Return nested lists as text, in which NaN equals itself and zeros have signs."""
    return str(value)


@given(matrices(), st.booleans())
def test_rows(matrix: tuple[str, list[list[float]]], in_order: bool) -> None:
    dtype, rows = matrix
    width = len(rows[0]) if rows else 3
    x = gb.tensor(rows, dtype=getattr(gb, dtype)).reshape(len(rows), width)
    wanted = runs(x.tolist(), in_order)
    distinct = gb.unique_consecutive if in_order else gb.unique
    for given_dim, matrix_of in ((0, x), (1, x.t().contiguous())):
        values, inverse, counts = distinct(matrix_of, return_inverse=True, return_counts=True, dim=given_dim)
        turned = values if given_dim == 0 else values.t()
        assert turned.is_contiguous() and turned.shape == (len(wanted[0]), width)
        assert plain(turned.tolist()) == plain(wanted[0])
        assert (inverse.tolist(), counts.tolist()) == wanted[1:]
        only = distinct(matrix_of, dim=given_dim)
        assert plain(only.tolist()) == plain(values.tolist())
        assert distinct(matrix_of, return_counts=True, dim=given_dim)[1].tolist() == wanted[2]
        assert distinct(matrix_of, return_inverse=True, dim=given_dim)[1].tolist() == wanted[1]


@given(matrices(), st.booleans())
def test_elements(matrix: tuple[str, list[list[float]]], in_order: bool) -> None:
    dtype, rows = matrix
    x = gb.tensor(rows, dtype=getattr(gb, dtype)).reshape(len(rows), -1 if rows else 3)
    flat = [[value] for row in x.tolist() for value in row]
    wanted = runs(flat, in_order)
    distinct = gb.unique_consecutive if in_order else gb.unique
    for given_tensor in (x, x.t().contiguous().t()):
        values, inverse, counts = distinct(given_tensor, return_inverse=True, return_counts=True)
        assert plain([[value] for value in values.tolist()]) == plain(wanted[0])
        assert inverse.shape == x.shape
        assert (inverse.reshape(-1).tolist(), counts.tolist()) == wanted[1:]
        assert distinct(given_tensor, return_counts=True)[1].tolist() == wanted[2]


def test_parts_of_other_shapes() -> None:
    x = gb.tensor([[[2, 1], [0, 5]], [[2, 1], [0, 4]], [[2, 1], [0, 5]]])
    assert gb.unique(x, dim=0).tolist() == [[[2, 1], [0, 4]], [[2, 1], [0, 5]]]
    assert gb.unique_consecutive(x, dim=0).shape == (3, 2, 2)
    assert gb.unique(x, dim=-1).tolist() == [[[1, 2], [5, 0]], [[1, 2], [4, 0]], [[1, 2], [5, 0]]]
    assert gb.unique(x.transpose(0, 2), dim=2).tolist() == gb.unique(x, dim=0).transpose(0, 2).tolist()
    assert gb.unique(gb.tensor([[1 + 2j, 2j], [1 + 2j, 3j]]).conj().imag, dim=0).tolist() == [[-2, -3], [-2, -2]]


def test_no_elements() -> None:
    assert [one.shape for one in gb.unique(gb.zeros(3, 0), return_inverse=True, dim=0)] == [(1, 0), (3,)]
    assert [one.shape for one in gb.unique(gb.zeros(0, 3), return_counts=True, dim=0)] == [(0, 3), (0,)]
    assert gb.unique(gb.empty(0, 2**62), dim=0).shape == (0, 2**62)


@pytest.mark.parametrize("distinct", [gb.unique, gb.unique_consecutive])
def test_refused(distinct: Any) -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        distinct(gb.zeros(2, 2), dim=2)
    with pytest.raises(NotImplementedError):
        distinct(gb.zeros(2, 2, dtype=gb.complex64), dim=0)
