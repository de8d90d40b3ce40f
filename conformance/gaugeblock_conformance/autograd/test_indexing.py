"""Gradients of reads by index, and of selected parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import gradient, leaf, leaf_of, small_floats


@requirement("autograd/repeated-indices-accumulate")
@forall(
    index=hs.lists(hs.integers(-4, 3), min_size=0, max_size=20),
    operator=hs.sampled_from(("__getitem__", "index_select", "gather", "take", "embedding")),
)
def test_repeated_indices(s: Session, index: list[int], operator: str) -> None:
    where = np.array(index, dtype=np.int64)
    if operator != "__getitem__":
        where = where % 4
    weight = np.arange(1.0, 1 + len(index))
    want = np.zeros(4)
    np.add.at(want, where, weight)
    x = leaf(s, np.zeros((4, 1)) if operator == "embedding" else np.zeros(4))
    i = s.tensor(where)
    args: dict[str, Any] = {
        "__getitem__": (x, i), "index_select": (x, 0, i), "gather": (x, 0, i), "take": (x, i), "embedding": (x, i),
    }  # fmt: skip
    seed = weight.reshape(-1, 1) if operator == "embedding" else weight
    got = gradient(s, s.call(operator, *args[operator]), x, s.tensor(seed))
    s.expect_values(got, want.reshape(-1, 1) if operator == "embedding" else want)


@requirement("autograd/repeated-indices-accumulate")
@forall(case=small_floats(max_dims=2), rows=hs.lists(hs.integers(0, 5), min_size=1, max_size=6))
def test_repeated_rows(s: Session, case: TensorCase, rows: list[int]) -> None:
    if not case.sizes:
        return
    where = np.array(rows, dtype=np.int64) % case.sizes[0]
    x = leaf_of(s, case)
    weight = np.arange(1.0, 1 + case.array[where].size).reshape(case.array[where].shape)
    want = np.zeros(case.sizes)
    np.add.at(want, where, weight)
    s.expect_values(gradient(s, s.call("__getitem__", x, s.tensor(where)), x, s.tensor(weight)), want)


@requirement("autograd/repeated-indices-accumulate")
def test_pairs_of_indices_and_masks(s: Session) -> None:
    x = leaf(s, np.zeros((3, 3)))
    i, j = s.tensor([0, 2, 2], "int64"), s.tensor([1, 0, 0], "int64")
    got = gradient(s, s.call("__getitem__", x, (i, j)), x, s.tensor(np.array([1.0, 2.0, 3.0])))
    s.expect_values(got, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]))
    mask = s.tensor([[True, False, False], [False, True, False], [False, False, True]], "bool")
    for operator in ("__getitem__", "masked_select"):
        got = gradient(s, s.call(operator, x, mask), x, s.tensor(np.array([1.0, 2.0, 3.0])))
        s.expect_values(got, np.diag([1.0, 2.0, 3.0]))


def _index(dims: tuple[int, ...], picks: list[tuple[int, int, int, int]]) -> tuple[Any, ...]:
    """A basic index into the dims: an int, or a slice with a step."""
    found: list[Any] = []
    for n, (kind, start, stop, step) in zip(dims, picks, strict=False):
        found.append(start % n if kind == 0 else slice(start % (n + 1), stop % (n + 2), 1 + step % 3))
    return tuple(found)


@requirement("autograd/parts-scatter-into-zeros")
@forall(
    case=small_floats(),
    picks=hs.lists(hs.tuples(hs.integers(0, 2), *[hs.integers(0, 9)] * 3), min_size=0, max_size=3),
)
def test_basic_indices(s: Session, case: TensorCase, picks: list[tuple[int, int, int, int]]) -> None:
    index = _index(case.sizes, picks)
    x = leaf_of(s, case)
    y = s.call("__getitem__", x, index)
    part = case.array[index]
    weight = np.arange(1.0, 1 + part.size).reshape(part.shape)
    want = np.zeros(case.sizes)
    want[index] = weight
    if y.raw is x.raw:
        return
    s.expect_values(gradient(s, y, x, s.tensor(weight)), want)


VIEWS: list[tuple[Any, ...]] = [
    ("select.int", lambda a: a[:, 1], 1, 1), ("narrow", lambda a: a[:, 1:3], 1, 1, 2), ("t", lambda a: a.T),
    ("slice.Tensor", lambda a: a[::2], 0, 0, 3, 2), ("diagonal", lambda a: a.diagonal()),
    ("unfold", lambda a: np.stack([a[:, 0:2], a[:, 1:3], a[:, 2:4]], axis=1), 1, 2, 1),
    ("view", lambda a: a.reshape(12), (12,)), ("unsqueeze", lambda a: a[:, None], 1),
    ("permute", lambda a: a.transpose(1, 0), (1, 0)), ("expand", lambda a: np.broadcast_to(a, (2, 3, 4)), (2, 3, 4)),
    ("movedim.int", lambda a: np.moveaxis(a, 0, 1), 0, 1), ("tril", np.tril),
    ("as_strided", lambda a: a.reshape(-1)[1:7:2], (3,), (2,), 1),
    ("flip", lambda a: a[::-1], [0]), ("roll", lambda a: np.roll(a, 1), 1), ("flatten.using_ints", np.ravel),
]  # fmt: skip


@requirement("autograd/parts-scatter-into-zeros")
def test_views(s: Session) -> None:
    places = np.arange(12).reshape(3, 4)

    def row(s: Session, operator: str, model: Any, *arguments: Any) -> None:
        x = leaf(s, np.ones((3, 4)))
        y = s.call(operator, x, *arguments)
        moved = np.array(model(places + 1))
        weight = np.arange(1.0, 1 + moved.size).reshape(moved.shape)
        want = np.zeros(13)
        np.add.at(want, moved, weight)
        s.expect_values(gradient(s, y, x, s.tensor(weight)), want[1:].reshape(3, 4), signed_zero=False)

    s.table(VIEWS, row)


@requirement("autograd/parts-scatter-into-zeros")
def test_overlapping_parts(s: Session) -> None:
    x = leaf(s, np.ones(4))
    y = s.call("as_strided", s.call("mul.Scalar", x, 2), (3, 2), (1, 1), 0)
    s.expect_values(gradient(s, y, x), np.array([2.0, 4.0, 4.0, 2.0]))
