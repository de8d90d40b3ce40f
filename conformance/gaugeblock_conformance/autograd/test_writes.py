"""Writes in place: what history they make, and which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import NoGrad, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import backward, expect_grad, gradient, leaf
from .writing import FURTHER, KINDS, PLACES, WRITES, X, view_of, write_to


@requirement("autograd/write-through-a-view-reaches-the-base")
@forall(place=PLACES, second=PLACES, kind=KINDS)
def test_writes_through_views(s: Session, place: int, second: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    v, reached = view_of(s, y, place)
    slope, other, w = write_to(s, v, kind)
    weight = np.arange(1.0, 7.0).reshape(2, 3)
    s.call("backward", y, s.tensor(weight), retain_graph=True)
    want = 2 * weight * np.where(reached, slope, 1.0)
    expect_grad(s, x, want)
    if w is not None and other is not None:
        expect_grad(s, w, np.float64(other * weight[reached].sum()))
    later, seen = view_of(s, y, second)
    s.expect_values(gradient(s, later, x), 2 * np.where(seen, np.where(reached, slope, 1.0), 0.0), signed_zero=False)


@requirement("autograd/write-through-a-view-reaches-the-base")
def test_writes_through_every_view(s: Session) -> None:
    def one(s: Session, operator: str, arguments: Any, model: Any) -> None:
        x = leaf(s, X)
        y = s.call("mul.Scalar", x, 2)
        views = s.call(operator, *arguments(s, y))
        s.call("mul_.Scalar", views[0] if isinstance(views, list | tuple) else views, 3)
        factor = np.ones((2, 3))
        model(factor)[...] = 3.0
        s.expect_values(y, 2 * X * factor)
        s.expect_values(gradient(s, y, x), 2 * factor)

    s.table(FURTHER, one)


@requirement("autograd/write-through-a-view-reaches-the-base")
@forall(indexing=hs.sampled_from(("ij", "xy")), place=hs.integers(0, 1), kind=KINDS)
def test_writes_through_grids(s: Session, indexing: str, place: int, kind: int) -> None:
    x = leaf(s, X[0])
    y = s.call("mul.Scalar", x, 2)
    lines = [s.tensor(X[:1, 0]), y] if place else [y, s.tensor(X[:1, 0])]
    grid = s.call("meshgrid.indexing", lines, indexing=indexing)[place]
    slope, _, _ = write_to(s, grid, kind)
    s.expect_values(gradient(s, y, x), np.full(3, 2 * slope), signed_zero=False)


@requirement("autograd/write-to-the-base-reaches-its-views")
@forall(place=PLACES, kind=KINDS, other_view=hs.booleans(), second=PLACES)
def test_writes_to_bases(s: Session, place: int, kind: int, other_view: bool, second: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    v, seen = view_of(s, y, place)
    target, reached = view_of(s, y, second) if other_view else (y, np.ones((2, 3), dtype=bool))
    slope, other, w = write_to(s, target, kind)
    s.expect(s.call("is_leaf", v), False, "is_leaf of the view")
    got = gradient(s, v, x, retain_graph=True)
    s.expect_values(got, 2 * np.where(seen, np.where(reached, slope, 1.0), 0.0), signed_zero=False)
    if w is not None and other is not None:
        found = gradient(s, v, w, allow_unused=True, materialize_grads=True)
        s.expect_values(found, np.float64(other * (seen & reached).sum()), signed_zero=False)


@requirement("autograd/write-of-a-differentiable-value-is-recorded")
@forall(place=PLACES, whole=hs.booleans(), operator=hs.sampled_from(("add_.Tensor", "copy_", "sub_.Tensor")))
def test_writes_to_plain_tensors(s: Session, place: int, whole: bool, operator: str) -> None:
    y = s.call("clone", s.tensor(X))
    v, reached = (y, np.ones((2, 3), dtype=bool)) if whole else view_of(s, y, place)
    w = leaf(s, np.float64(2.0))
    s.call(operator, v, s.call("mul.Tensor", w, w))
    s.expect(s.call("requires_grad", v), True, "requires_grad of what was written to")
    s.expect(s.call("requires_grad", y), True, "requires_grad of the base")
    s.expect(s.call("is_leaf", y), False, "is_leaf of the base")
    sign = -1.0 if operator == "sub_.Tensor" else 1.0
    s.expect_values(gradient(s, y, w), np.float64(sign * 4.0 * reached.sum()))


@requirement("autograd/write-of-a-differentiable-value-is-recorded", needs=("index.set",))
def test_assignments(s: Session) -> None:
    x = leaf(s, np.array([2.0, 3.0]))
    y = s.call("zeros_like", s.tensor(X))
    s.call("__setitem__", y, (1, slice(0, 2)), s.call("mul.Tensor", x, x))
    s.call("__setitem__", y, (0, slice(0, 2)), x)
    s.call("__setitem__", y, (0, 1), 5.0)
    s.expect_values(gradient(s, y, x), np.array([5.0, 6.0]))


@requirement("autograd/view-follows-a-base-that-came-to-require-grad")
@forall(place=PLACES, kind=KINDS, asked=hs.booleans())
def test_writes_to_views_of_formerly_plain_bases(s: Session, place: int, kind: int, asked: bool) -> None:
    x = leaf(s, X)
    y = s.call("clone", s.tensor(X))
    v, reached = view_of(s, y, place)
    s.call("copy_", y, x)
    if asked:
        s.expect(s.call("requires_grad", v), True, "requires_grad of the view")
        s.expect(s.call("is_leaf", v), False, "is_leaf of the view")
    slope, _, _ = write_to(s, v, kind)
    s.expect_values(gradient(s, y, x), np.where(reached, slope, 1.0), signed_zero=False)


@requirement("autograd/leaf-cannot-be-written")
@forall(place=PLACES, kind=KINDS, whole=hs.booleans())
def test_writes_to_leaves(s: Session, place: int, kind: int, whole: bool) -> None:
    x = leaf(s, X)
    operator, arguments, _, _ = WRITES[kind]
    given = [s.tensor(np.float64(2.0)) if a == "leaf" else a for a in arguments]
    target = x if whole else view_of(s, x, place)[0]
    s.expect_raises(RuntimeError, operator, target, *given)
    s.expect_values(x, X)
    s.expect(s.call("is_leaf", x), True, "is_leaf")
    backward(s, s.call("mul.Scalar", x, 2))
    expect_grad(s, x, np.full((2, 3), 2.0))


@requirement("autograd/leaf-can-be-written-unrecorded")
@forall(place=PLACES, kind=KINDS, whole=hs.booleans())
def test_unrecorded_writes_to_leaves(s: Session, place: int, kind: int, whole: bool) -> None:
    x = leaf(s, X)
    operator, arguments, _, _ = WRITES[kind]
    given = [s.tensor(np.float64(2.0)) if a == "leaf" else a for a in arguments]
    with entered(s.call, NoGrad()):
        s.call(operator, x if whole else view_of(s, x, place)[0], *given)
    s.expect(s.call("is_leaf", x), True, "is_leaf")
    s.expect(s.call("requires_grad", x), True, "requires_grad")
    values = s.read(x).copy()
    backward(s, s.call("mul.Tensor", x, x))
    expect_grad(s, x, 2 * values)


@requirement("autograd/data-bypasses-the-version")
def test_writes_to_data(s: Session) -> None:
    x = leaf(s, np.array([2.0]))
    y = s.call("mul.Tensor", x, x)
    data = s.call("data", x)
    s.expect(s.call("requires_grad", data), False, "requires_grad of data")
    s.call("fill_.Scalar", data, 10)
    s.call("backward", y)
    expect_grad(s, x, np.array([20.0]))


SEVERAL: list[tuple[Any, ...]] = [
    ("unbind.int",), ("unbind.int", 1), ("split.Tensor", 1), ("split_with_sizes", [1, 2], 1), ("chunk", 2),
]  # fmt: skip


@requirement("autograd/one-of-several-views-cannot-be-written")
@forall(which=hs.integers(0, len(SEVERAL) - 1), part=hs.integers(0, 5), kind=KINDS, further=hs.booleans())
def test_writes_to_one_of_several_views(s: Session, which: int, part: int, kind: int, further: bool) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    operator, *arguments = SEVERAL[which]
    parts = s.call(operator, y, *arguments)
    v = parts[part % len(parts)]
    if further:
        v = s.call("unsqueeze", v, 0)
    write, given, _, _ = WRITES[kind]
    s.expect_raises(RuntimeError, write, v, *[s.tensor(np.float64(2.0)) if a == "leaf" else a for a in given])
    s.expect_values(y, 2 * X)
    total = s.call("sum", s.call("mul.Scalar", parts[0], 3))
    s.call("backward", total)
    with entered(s.call, NoGrad()):
        s.call("zero_", v)


UNSAFE: list[tuple[Any, ...]] = [
    ("unsafe_split.Tensor", 1), ("unsafe_split_with_sizes", [1, 1]), ("unsafe_chunk", 2),
]  # fmt: skip


@requirement("autograd/unsafe-parts-may-be-written")
@forall(which=hs.integers(0, len(UNSAFE) - 1), part=hs.integers(0, 1), kind=KINDS)
def test_writes_to_unsafe_parts(s: Session, which: int, part: int, kind: int) -> None:
    x = leaf(s, X)
    operator, *arguments = UNSAFE[which]
    parts = s.call(operator, s.call("mul.Scalar", x, 2), *arguments)
    slope, other, w = write_to(s, parts[part], kind)
    total = s.call("add.Tensor", parts[0], parts[1])
    want = np.full((2, 3), 2.0)
    want[part] *= slope
    s.expect_values(gradient(s, total, x, retain_graph=True), want, signed_zero=False)
    if w is not None and other is not None:
        s.expect_values(gradient(s, total, w), np.float64(3 * other))


@requirement("autograd/unrecorded-view-cannot-be-written-recorded")
@forall(place=PLACES, kind=KINDS, inside=hs.booleans(), further=hs.booleans())
def test_writes_to_unrecorded_views(s: Session, place: int, kind: int, inside: bool, further: bool) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    write, given, _, _ = WRITES[kind]
    filled = [s.tensor(np.float64(2.0)) if a == "leaf" else a for a in given]
    with entered(s.call, NoGrad()):
        v, _ = view_of(s, y, place)
        if inside:
            s.call(write, v, *filled)
    if inside:
        s.expect_values(gradient(s, y, x), np.full((2, 3), 2.0))
        return
    if further:
        v = s.call("unsqueeze", v, 0)
    s.expect_raises(RuntimeError, write, v, *filled)
    s.expect_values(y, 2 * X)


@requirement("autograd/unrecorded-view-of-a-plain-tensor-cannot-be-written-recorded")
@forall(place=PLACES, further=hs.booleans(), late=hs.booleans())
def test_recorded_writes_to_unrecorded_plain_views(s: Session, place: int, further: bool, late: bool) -> None:
    x = s.tensor(X)
    with entered(s.call, NoGrad()):
        v, _ = view_of(s, x, place)
        if further and not late:
            v = s.call("unsqueeze", v, 0)
    if further and late:
        v = s.call("unsqueeze", v, 0)
    s.call("mul_.Scalar", v, 1)
    s.expect_raises(RuntimeError, "mul_.Tensor", v, leaf(s, np.array(3.0)))
    s.expect_values(x, X)
    s.expect(s.call("requires_grad", x), False, "requires_grad of the tensor")


@requirement("autograd/view-that-cannot-follow-its-base-raises")
@forall(several=hs.booleans(), place=PLACES, kind=KINDS)
def test_views_that_cannot_follow(s: Session, several: bool, place: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    if several:
        v = s.call("unbind.int", y)[0]
    else:
        with entered(s.call, NoGrad()):
            v, _ = view_of(s, y, place)
    write_to(s, y, kind)
    s.expect_raises(RuntimeError, "mul.Tensor", v, v)
    s.call("backward", s.call("sum", y))


@requirement("autograd/view-of-a-later-leaf-cannot-be-written")
@forall(place=PLACES, kind=KINDS, unrecorded=hs.booleans(), second=hs.none() | PLACES)
def test_writes_to_views_of_later_leaves(
    s: Session, place: int, kind: int, unrecorded: bool, second: int | None
) -> None:
    x = s.tensor(X)
    with entered(s.call, *([NoGrad()] if unrecorded else [])):
        v, _ = view_of(s, x, place)
    if second is not None:
        view_of(s, x, second)
    s.call("requires_grad_", x)
    operator, arguments, _, _ = WRITES[kind]
    given = [leaf(s, np.float64(2.0)) if a == "leaf" else a for a in arguments]
    s.expect_raises(RuntimeError, operator, v, *given)
    with entered(s.call, NoGrad()):
        s.call("add_.Scalar", v, 0)
    s.expect_values(s.call("detach", x), X)
    s.expect(s.call("is_leaf", x), True, f"is_leaf of {x.name}")
