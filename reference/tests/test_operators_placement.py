"""Parts replaced, values reduced where they meet, diagonals, splits, and copies of views, by hand."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

X = gb.arange(6.0).view(2, 3)


def test_parts_replaced() -> None:
    assert gb.select_scatter(X, gb.tensor([7.0, 8.0]), 1, -1).tolist() == [[0, 1, 7], [3, 4, 8]]
    assert gb.slice_scatter(X, gb.zeros(2, 2), 1, 0, None, 2).tolist() == [[0, 1, 0], [0, 4, 0]]
    assert gb.diagonal_scatter(X, gb.tensor([9.0, 9.0])).tolist() == [[9, 1, 2], [3, 9, 5]]
    assert gb.as_strided_scatter(X, gb.zeros(2), (2,), (3,)).tolist() == [[0, 1, 2], [0, 4, 5]]
    assert gb.select_scatter(X.t(), gb.zeros(2), 0, 0).stride() == (1, 3)
    assert X.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError, match="slice size = \\[2\\]"):
        gb.select_scatter(X, gb.zeros(3), 1, 0)


@pytest.mark.parametrize(
    ("reduce", "kept", "alone"),
    [
        ("sum", [[7, 1, 2], [3, 4, 5]], [[7, 1, 2], [3, 4, 5]]),
        ("prod", [[0, 1, 2], [3, 4, 5]], [[10, 1, 2], [3, 4, 5]]),
        ("mean", [[7 / 3, 1, 2], [3, 4, 5]], [[3.5, 1, 2], [3, 4, 5]]),
        ("amax", [[5, 1, 2], [3, 4, 5]], [[5, 1, 2], [3, 4, 5]]),
        ("amin", [[0, 1, 2], [3, 4, 5]], [[2, 1, 2], [3, 4, 5]]),
    ],
)
def test_values_that_meet(reduce: str, kept: list[list[float]], alone: list[list[float]]) -> None:
    index, source = gb.tensor([[0, 0]]).t(), gb.tensor([[2.0], [5.0]])
    found = gb.scatter_reduce(X, 0, index, source, reduce)
    assert found.flatten().tolist() == pytest.approx([v for row in kept for v in row])
    found = X.clone().scatter_reduce_(0, index, source, reduce, include_self=False)
    assert found.flatten().tolist() == pytest.approx([v for row in alone for v in row])


def test_index_reduce() -> None:
    places, source = gb.tensor([1, 1]), gb.tensor([[2, 2, 2], [3, 3, 3]])
    x = X.long()
    assert x.index_reduce(0, places, source, "prod").tolist() == [[0, 1, 2], [18, 24, 30]]
    assert x.index_reduce(0, places, source, "mean", include_self=False).tolist() == [[0, 1, 2], [2, 2, 2]]
    assert x.index_reduce(0, places, -source, "mean").tolist()[1] == [-1, -1, 0]
    assert x.index_reduce_(0, places, source, "amax") is x and x[1].tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match="but got sum"):
        x.index_reduce(0, places, source, "sum")
    with pytest.raises(IndexError):
        x.index_reduce(0, places + 1, source, "prod")


def test_diagonals() -> None:
    assert gb.diag_embed(gb.tensor([[1, 2]]), 1).tolist() == [[[0, 1, 0], [0, 0, 2], [0, 0, 0]]]
    assert gb.diag_embed(gb.ones(4, 2), 0, 0, 2).shape == (2, 4, 2)
    assert gb.diagflat(gb.tensor([[1, 2]]), -1).tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    tall = gb.zeros(7, 3)
    assert tall.fill_diagonal_(1, wrap=True).sum(1).tolist() == [1, 1, 1, 0, 1, 1, 1]
    assert gb.zeros(2, 2, 2).fill_diagonal_(3).sum().item() == 6
    assert gb.tril_indices(3, 3, -1).tolist() == [[1, 2, 2], [0, 0, 1]]
    assert gb.triu_indices(2, 3, 1, dtype=gb.int32).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert gb.nonzero_static(gb.tensor([0, 1, 1]), size=3).tolist() == [[1], [2], [-1]]


def test_stacks_and_splits() -> None:
    assert [t.shape for t in gb.atleast_3d(gb.tensor(1), gb.ones(2), X)] == [(1, 1, 1), (1, 2, 1), (2, 3, 1)]
    assert gb.atleast_2d(X[0]).data_ptr() == X.data_ptr() and gb.atleast_1d([X[0]])[0].shape == (3,)
    assert gb.column_stack([gb.tensor([1, 2]), gb.tensor([[3, 4], [5, 6]])]).tolist() == [[1, 3, 4], [2, 5, 6]]
    assert [t.tolist() for t in gb.hsplit(X, [1])] == [[[0], [3]], [[1, 2], [4, 5]]]
    assert [t.tolist() for t in gb.vsplit(X, 2)] == [[[0, 1, 2]], [[3, 4, 5]]]
    for call, message in ((lambda: gb.dsplit(X, 1), "at least 3"), (lambda: gb.hsplit(X, 2), "not divisible")):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_fill_and_sum_to_size() -> None:
    assert gb.fill(X, 2).tolist() == [[2] * 3] * 2 and gb.fill(X, gb.tensor(1)).dtype is gb.float32
    assert X.sum_to_size(3).tolist() == [3, 5, 7] and X.sum_to_size(2, 1).tolist() == [[3], [12]]
    with pytest.raises(RuntimeError, match="not expandable"):
        X.sum_to_size(2)


@pytest.mark.parametrize(
    ("name", "arguments", "shape"),
    [
        ("transpose_copy", (0, 1), (3, 2)),
        ("select_copy", (1, 0), (2,)),
        ("unsqueeze_copy", (0,), (1, 2, 3)),
        ("expand_copy", ((4, 2, 3),), (4, 2, 3)),
        ("view_copy", ((3, 2),), (3, 2)),
        ("narrow_copy", (1, 1, 2), (2, 2)),
        ("diagonal_copy", (), (2,)),
    ],
)
def test_copies_of_views(name: str, arguments: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    copy = getattr(gb, name)(X, *arguments)
    assert copy.shape == shape and copy.is_contiguous()
    assert copy.untyped_storage().data_ptr() != X.untyped_storage().data_ptr()
    assert getattr(gb, name)(X.to("meta"), *arguments).shape == shape


def test_copies_of_lists() -> None:
    assert [part.tolist() for part in gb.unbind_copy(X)] == [[0, 1, 2], [3, 4, 5]]
    assert [part.shape for part in gb.split_copy(X, 2, 1)] == [(2, 2), (2, 1)]


def test_unravelled_places() -> None:
    rows, columns = gb.unravel_index(gb.tensor([[5, 11], [0, -1]]), (3, 4))
    assert rows.tolist() == [[1, 2], [0, 2]] and columns.tolist() == [[1, 3], [0, 3]]
    with pytest.raises(TypeError, match="integer dtype"):
        gb.unravel_index(gb.ones(1), 3)


def test_conjugates_at_once_and_unsafe_splits() -> None:
    z = gb.tensor([1 + 2j])
    assert gb.conj_physical(z).tolist() == [1 - 2j] and not gb.conj_physical(z).is_conj()
    assert z.conj_physical_() is z and z.tolist() == [1 - 2j] and gb.conj_physical(X) is X
    assert [part.tolist() for part in gb.unsafe_chunk(X, 2)] == [[[0, 1, 2]], [[3, 4, 5]]]
    assert [part.shape for part in X.unsafe_split(2, 1)] == [(2, 2), (2, 1)]
