"""Reading and writing at computed places: gather, take, nonzero, scatter and the index_ family."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


def ints(*values: int) -> Any:
    return gb.tensor(list(values))


def test_index_select() -> None:
    x = gb.arange(6).view(2, 3)
    assert x.index_select(1, ints(2, 0)).tolist() == [[2, 0], [5, 3]]
    assert x.t().index_select(-1, ints(1).int() if hasattr(x, "int") else ints(1)).tolist() == [[3], [4], [5]]
    assert gb.index_select(gb.tensor(5), 0, ints(0)).tolist() == 5
    with pytest.raises(IndexError, match="index 2 is out of bounds"):
        x.index_select(0, ints(2))
    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        x.index_select(0, ints(-1))
    with pytest.raises(RuntimeError, match="int32 or int64"):
        x.index_select(0, gb.tensor([0.0]))
    with pytest.raises(IndexError, match="supposed to be a vector"):
        x.index_select(0, gb.tensor([[0]]))


def test_gather() -> None:
    x = gb.arange(6).view(2, 3)
    assert x.gather(1, gb.tensor([[2, 0], [1, 1]])).tolist() == [[2, 0], [4, 4]]
    assert x.gather(0, gb.tensor([[1, 0]])).tolist() == [[3, 1]]
    assert gb.gather(gb.tensor(5), 0, ints(0, 0)).tolist() == [5, 5]
    assert tuple(x.gather(0, gb.empty(0, 0, dtype=gb.int64)).shape) == (0, 0)
    for index, message in (
        (gb.tensor([[3]]), "out of bounds"),
        (gb.tensor([[-1]]), "out of bounds"),
        (ints(0), "same number of dimensions"),
        (gb.zeros(3, 1, dtype=gb.int64), "Size does not"),
    ):
        with pytest.raises(RuntimeError, match=message):
            x.gather(1, index)


def test_take_and_take_along_dim() -> None:
    x = gb.arange(6).view(2, 3).t()
    assert x.take(gb.tensor([[0, -1], [1, 2]])).tolist() == [[0, 5], [3, 1]]
    with pytest.raises(IndexError, match="tried to access index 6"):
        x.take(ints(6))
    with pytest.raises(RuntimeError, match="int64"):
        x.take(gb.tensor([0.0]))
    assert gb.take_along_dim(x, gb.tensor([[1]]), 1).tolist() == [[3], [4], [5]]
    assert gb.take_along_dim(x, ints(4, 0)).tolist() == [2, 0]


def test_masked_select_and_nonzero() -> None:
    x = gb.tensor([[1, 0], [0, 2]])
    assert x.masked_select(gb.tensor([True, False])).tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="BoolTensor"):
        x.masked_select(ints(0, 1))
    assert x.nonzero().tolist() == [[0, 0], [1, 1]]
    assert [part.tolist() for part in x.nonzero(as_tuple=True)] == [[0, 1], [0, 1]]
    assert tuple(gb.nonzero(gb.tensor(5)).shape) == (1, 0)
    assert tuple(gb.nonzero(gb.tensor(0)).shape) == (0, 0)
    assert gb.argwhere(gb.tensor([0.0, float("nan"), -0.0])).tolist() == [[1]]


def test_scatter() -> None:
    x = gb.zeros(2, 3)
    assert x.scatter(1, gb.tensor([[0, 2]]), gb.tensor([[5.0, 6.0]])).tolist() == [[5, 0, 6], [0, 0, 0]]
    assert x.scatter(0, gb.tensor([[1, 0, 1]]), 4).tolist() == [[0, 4, 0], [4, 0, 4]]
    assert x.scatter_add(1, gb.tensor([[1, 1, 1]]), gb.ones(1, 3)).tolist() == [[0, 3, 0], [0, 0, 0]]
    assert x._version == 0
    assert x.scatter_(1, gb.tensor([[0]]), 1) is x
    assert x._version == 1 and x.tolist() == [[1, 0, 0], [0, 0, 0]]
    for index, src, message in (
        (gb.tensor([[3]]), gb.ones(1, 1), "out of bounds"),
        (gb.tensor([[0]]), gb.ones(1, 1, dtype=gb.int64), "to be equal to src.dtype"),
        (gb.tensor([[0, 1]]), gb.ones(1, 1), "no larger size than src"),
    ):
        with pytest.raises(RuntimeError, match=message):
            x.scatter_(1, index, src)
    assert x._version == 1


def test_index_family() -> None:
    x = gb.zeros(3)
    assert x.index_add(0, ints(0, 0), gb.tensor([1.0, 2.0]), alpha=2).tolist() == [6, 0, 0]
    assert x.index_copy(0, ints(2, 0), gb.tensor([1.0, 2.0])).tolist() == [2, 0, 1]
    assert x.index_fill(0, ints(-1), 5).tolist() == [0, 0, 5]
    assert x.put(ints(0, 0), gb.tensor([1.0, 2.0]), accumulate=True).tolist() == [3, 0, 0]
    mask = gb.tensor([True, False, True])
    assert x.masked_scatter(mask, gb.tensor([1.0, 2.0, 3.0])).tolist() == [1, 0, 2]
    with pytest.raises(RuntimeError, match="Number of elements of source"):
        x.masked_scatter(mask, gb.tensor([1.0]))
    with pytest.raises(IndexError, match="out of bounds"):
        x.index_add(0, ints(3), gb.ones(1))
    assert x.tolist() == [0, 0, 0]


def test_put_counts_places_row_by_row_whatever_the_strides() -> None:
    x, source = gb.arange(6).view(3, 2).t(), gb.tensor([[10, 0], [20, 0]])[:, 0]
    index = gb.tensor([[1, 9], [5, 9]])[:, 0]
    for last in (30, 40, 50):  # the first calls are kept
        source[1] = last
        found = x.put(index, source)
        assert found.tolist() == [[0, 10, 4], [1, 3, last]] and found.stride() == x.stride() == (1, 2)
    assert x.put(-index, source, accumulate=True).tolist() == [[0, 52, 4], [1, 3, 15]]
    with pytest.raises(IndexError, match="out of range"):
        x.put(index + 1, source)


def test_out_forms_resize_and_check() -> None:
    x = gb.arange(6).view(2, 3)
    out = gb.empty(0, dtype=gb.int64)
    assert gb.index_select(x, 0, ints(1), out=out) is out
    assert out.tolist() == [[3, 4, 5]] and out._version > 0
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        gb.gather(x, 0, gb.tensor([[0]]), out=gb.empty(1, 1))


def test_nothing_is_read_from_an_empty_dim() -> None:
    empty = gb.zeros(0, 3)
    for call in (lambda: empty[ints(0)], lambda: gb.zeros(0).index_select(0, ints(1)), lambda: empty[ints(-1).int()]):
        with pytest.raises(IndexError, match=r"out of (range|bounds)|empty"):
            call()
    with pytest.raises(RuntimeError, match="dim 0 of self, which is indexed, must not be empty"):
        empty.index_select(0, ints(1))
    with pytest.raises(RuntimeError, match="index 0 is out of bounds for dimension 0 with size 0"):
        gb.gather(empty, 0, gb.zeros(2, 3, dtype=gb.int64))
    assert empty[gb.zeros(0, dtype=gb.int64)].shape == (0, 3)
    assert gb.gather(gb.zeros(3, 0), 0, gb.zeros(2, 0, dtype=gb.int64)).shape == (2, 0)


def test_where_of_a_condition_alone() -> None:
    rows, columns = gb.where(gb.tensor([[True, False], [False, True]]))
    assert rows.tolist() == columns.tolist() == [0, 1] and rows.dtype is gb.int64
    assert gb.where(gb.tensor([0, 3, 2]))[0].tolist() == [1, 2]
    assert gb.where(condition=gb.tensor(2.5))[0].tolist() == [0] and gb.where(gb.zeros(0, 2))[1].shape == (0,)
    x = gb.arange(4.0)
    assert x[gb.where(x > 1)].tolist() == [2.0, 3.0]
