"""Writes in place: what history they make, and which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import NoGrad, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .leaves import backward, expect_grad, gradient, leaf

# A view of a tensor of sizes (2, 3): operator, arguments, and the same of a NumPy array.
VIEWS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("select.int", (0, 1), lambda a: a[1]),
    ("select.int", (1, 0), lambda a: a[:, 0]),
    ("narrow", (1, 1, 2), lambda a: a[:, 1:3]),
    ("slice.Tensor", (1, 0, 3, 2), lambda a: a[:, 0:3:2]),
    ("t", (), lambda a: a.T),
    ("view", ((3, 2),), lambda a: a.reshape(3, 2)),
    ("unsqueeze", (1,), lambda a: a[:, None]),
    ("diagonal", (), lambda a: np.einsum("ii->i", a[:2, :2])),
    ("permute", ((1, 0),), lambda a: a.transpose(1, 0)),
    ("as_strided", ((2, 2), (3, 1), 1), lambda a: a[:, 1:3]),
    ("view_as", (None,), lambda a: a.reshape(2, 3)),
    ("__getitem__", ((slice(None), 2),), lambda a: a[:, 2]),
    ("__getitem__", ((..., slice(0, 2)),), lambda a: a[..., 0:2]),
]
# A write: operator, arguments, slope by the old value, slope by a leaf that takes part (None: there is none).
WRITES: list[tuple[str, tuple[Any, ...], float, float | None]] = [
    ("mul_.Scalar", (3,), 3.0, None), ("add_.Scalar", (5,), 1.0, None), ("zero_", (), 0.0, None),
    ("fill_.Scalar", (7,), 0.0, None), ("neg_", (), -1.0, None), ("add_.Tensor", ("leaf",), 1.0, 1.0),
    ("sub_.Tensor", ("leaf",), 1.0, -1.0), ("copy_", ("leaf",), 0.0, 1.0),
]  # fmt: skip
X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PLACES = hs.integers(0, len(VIEWS) - 1)
KINDS = hs.integers(0, len(WRITES) - 1)


def _view(s: Session, y: Handle, place: int) -> tuple[Handle, Any]:
    """The view of ``y`` and a mask of what it reaches."""
    operator, arguments, model = VIEWS[place]
    v = s.call(operator, y, *[s.tensor(X) if a is None else a for a in arguments])
    reached = np.zeros((2, 3), dtype=bool)
    model(reached)[...] = True
    return v, reached


def _write(s: Session, v: Handle, kind: int) -> tuple[float, float | None, Handle | None]:
    """Write into ``v``; the slopes, and the leaf that took part."""
    operator, arguments, slope, other = WRITES[kind]
    w = None if other is None else leaf(s, np.float64(2.0))
    s.call(operator, v, *[w if a == "leaf" else a for a in arguments])
    return slope, other, w


@requirement("autograd/write-through-a-view-reaches-the-base")
@forall(place=PLACES, second=PLACES, kind=KINDS)
def test_writes_through_views(s: Session, place: int, second: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    v, reached = _view(s, y, place)
    slope, other, w = _write(s, v, kind)
    weight = np.arange(1.0, 7.0).reshape(2, 3)
    s.call("backward", y, s.tensor(weight), retain_graph=True)
    want = 2 * weight * np.where(reached, slope, 1.0)
    expect_grad(s, x, want)
    if w is not None and other is not None:
        expect_grad(s, w, np.float64(other * weight[reached].sum()))
    later, seen = _view(s, y, second)
    s.expect_values(gradient(s, later, x), 2 * np.where(seen, np.where(reached, slope, 1.0), 0.0), signed_zero=False)


@requirement("autograd/write-to-the-base-reaches-its-views")
@forall(place=PLACES, kind=KINDS, other_view=hs.booleans(), second=PLACES)
def test_writes_to_bases(s: Session, place: int, kind: int, other_view: bool, second: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    v, seen = _view(s, y, place)
    target, reached = _view(s, y, second) if other_view else (y, np.ones((2, 3), dtype=bool))
    slope, other, w = _write(s, target, kind)
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
    v, reached = (y, np.ones((2, 3), dtype=bool)) if whole else _view(s, y, place)
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


@requirement("autograd/leaf-cannot-be-written")
@forall(place=PLACES, kind=KINDS, whole=hs.booleans())
def test_writes_to_leaves(s: Session, place: int, kind: int, whole: bool) -> None:
    x = leaf(s, X)
    operator, arguments, _, _ = WRITES[kind]
    given = [s.tensor(np.float64(2.0)) if a == "leaf" else a for a in arguments]
    target = x if whole else _view(s, x, place)[0]
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
        s.call(operator, x if whole else _view(s, x, place)[0], *given)
    s.expect(s.call("is_leaf", x), True, "is_leaf")
    s.expect(s.call("requires_grad", x), True, "requires_grad")
    values = s.read(x).copy()
    backward(s, s.call("mul.Tensor", x, x))
    expect_grad(s, x, 2 * values)


SAVING: list[tuple[Any, ...]] = [
    ("sin",), ("cos",), ("square",), ("mul.Tensor", "other"), ("div.Tensor", "other"), ("abs",), ("log",),
    ("pow.Tensor_Scalar", 3), ("prod",), ("mm", "other"),
]  # fmt: skip
RESULT = ("exp", "tanh", "sigmoid", "sqrt", "reciprocal")


@requirement("autograd/changed-saved-tensor-raises")
@forall(which=hs.integers(0, len(SAVING) - 1), through=hs.integers(-1, len(VIEWS) - 1), kind=KINDS, unrecorded=hs.booleans())  # fmt: skip
def test_changed_arguments(s: Session, which: int, through: int, kind: int, unrecorded: bool) -> None:
    x, other = leaf(s, X), leaf(s, X.T.copy() if SAVING[which][0] == "mm" else X)
    y = s.call("mul.Scalar", x, 2)
    operator, *arguments = SAVING[which]
    z = s.call("sum", s.call(operator, y, *[other if a == "other" else a for a in arguments]))
    with entered(s.call, *([NoGrad()] if unrecorded else [])):
        _write(s, y if through < 0 else _view(s, y, through)[0], kind)
    s.expect_raises(RuntimeError, "backward", z)


@requirement("autograd/changed-saved-tensor-raises")
@forall(operator=hs.sampled_from(RESULT), through=hs.integers(-1, len(VIEWS) - 1), kind=KINDS)
def test_changed_results(s: Session, operator: str, through: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call(operator, x)
    z = s.call("sum", s.call("clone", y))
    _write(s, y if through < 0 else _view(s, y, through)[0], kind)
    s.expect_raises(RuntimeError, "backward", z)


@requirement("autograd/changed-saved-tensor-raises")
def test_view_was_saved_and_base_changed(s: Session) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    z = s.call("sum", s.call("sin", s.call("select.int", y, 0, 0)))
    s.call("zero_", s.call("select.int", y, 0, 1))
    s.expect_raises(RuntimeError, "backward", z)


@requirement("autograd/changed-saved-tensor-raises")
def test_detached_tensor_was_changed(s: Session) -> None:
    x = leaf(s, X)
    y = s.call("exp", x)
    z = s.call("sum", y)
    s.call("zero_", s.call("detach", y))
    s.expect_raises(RuntimeError, "backward", z)


@requirement("autograd/changed-saved-tensor-raises")
def test_constant_was_changed(s: Session) -> None:
    x, c = leaf(s, X), s.call("clone", s.tensor(X))
    y = s.call("sum", s.call("mul.Tensor", x, c))
    s.call("add_.Scalar", c, 1)
    s.expect_raises(RuntimeError, "backward", y)


@requirement("autograd/changed-saved-tensor-is-named")
def test_text_of_changed_tensors(s: Session) -> None:
    y = s.call("mul.Scalar", leaf(s, X), 2)
    z = s.call("sum", s.call("sin", y))
    s.call("add_.Scalar", y, 1)
    s.expect_raises(RuntimeError, "backward", z, match="modified by an inplace operation")


@requirement("autograd/writes-to-unsaved-tensors-are-free")
@forall(
    operator=hs.sampled_from(("neg", "clone", "add.Scalar", "sum", "t", "cumsum", "mul.Scalar", "flip")),
    through=hs.integers(-1, len(VIEWS) - 1), kind=KINDS,
)  # fmt: skip
def test_changed_but_not_saved(s: Session, operator: str, through: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    arguments = {"add.Scalar": (1,), "cumsum": (0,), "mul.Scalar": (2,), "flip": ([0],)}.get(operator, ())
    z = s.call(operator, y, *arguments)
    if operator == "t":
        z = s.call("clone", z)
    _write(s, y if through < 0 else _view(s, y, through)[0], kind)
    slope = {"neg": -2.0, "mul.Scalar": 4.0}.get(operator, 2.0)
    want = np.array([[4.0] * 3, [2.0] * 3]) if operator == "cumsum" else np.full((2, 3), slope)
    s.expect_values(gradient(s, z, x), want)


@requirement("autograd/writes-to-unsaved-tensors-are-free")
@forall(operator=hs.sampled_from(("exp", "tanh", "sigmoid")))
def test_argument_of_a_saved_result(s: Session, operator: str) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    z = s.call(operator, y)
    values = s.read(z).copy()
    s.call("zero_", y)
    slopes = {"exp": values, "tanh": 1 - values**2, "sigmoid": values * (1 - values)}[operator]
    s.expect_close(gradient(s, z, x), 2 * slopes, 1e-12 * (1 + np.abs(slopes)))


@requirement("autograd/writes-to-unsaved-tensors-are-free")
def test_saved_after_the_write(s: Session) -> None:
    x = leaf(s, np.array([1.0, 2.0]))
    y = s.call("mul.Scalar", x, 2)
    s.call("mul_.Scalar", y, 3)
    s.expect_values(gradient(s, s.call("mul.Tensor", y, y), x), np.array([72.0, 144.0]))


@requirement("autograd/writes-to-unsaved-tensors-are-free")
def test_operators_in_place_keep_what_they_need(s: Session) -> None:
    def row(s: Session, operator: str, model: Any, *arguments: Any) -> None:
        a = np.array([0.5, 1.5])
        x, w = leaf(s, a), leaf(s, np.array([2.0, 3.0]))
        y = s.call("mul.Scalar", x, 2)
        s.call(operator, y, *[w if value is None else value for value in arguments])
        want = 2 * model(2 * a)
        s.expect_close(gradient(s, y, x), want, 1e-12 * (1 + np.abs(want)))

    b = np.array([2.0, 3.0])
    s.table(
        [
            ("mul_.Tensor", lambda t: b, None), ("exp_", np.exp), ("tanh_", lambda t: 1 - np.tanh(t) ** 2),
            ("sin_", np.cos), ("square_", lambda t: 2 * t), ("pow_.Scalar", lambda t: 3 * t**2, 3),
            ("div_.Tensor", lambda t: 1 / b, None), ("sqrt_", lambda t: 0.5 / np.sqrt(t)),
            ("reciprocal_", lambda t: -1 / t**2), ("clamp_", lambda t: (t <= 2).astype(float), 0, 2),
            ("relu_", lambda t: (t > 0).astype(float)), ("log_", lambda t: 1 / t), ("cos_", lambda t: -np.sin(t)),
            ("sigmoid_", lambda t: np.exp(-t) / (1 + np.exp(-t)) ** 2), ("abs_", np.sign),
        ],
        row,
    )  # fmt: skip


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


@requirement("autograd/unrecorded-view-cannot-be-written-recorded")
@forall(place=PLACES, kind=KINDS, inside=hs.booleans(), further=hs.booleans())
def test_writes_to_unrecorded_views(s: Session, place: int, kind: int, inside: bool, further: bool) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    write, given, _, _ = WRITES[kind]
    filled = [s.tensor(np.float64(2.0)) if a == "leaf" else a for a in given]
    with entered(s.call, NoGrad()):
        v, _ = _view(s, y, place)
        if inside:
            s.call(write, v, *filled)
    if inside:
        s.expect_values(gradient(s, y, x), np.full((2, 3), 2.0))
        return
    if further:
        v = s.call("unsqueeze", v, 0)
    s.expect_raises(RuntimeError, write, v, *filled)
    s.expect_values(y, 2 * X)


@requirement("autograd/view-that-cannot-follow-its-base-raises")
@forall(several=hs.booleans(), place=PLACES, kind=KINDS)
def test_views_that_cannot_follow(s: Session, several: bool, place: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call("mul.Scalar", x, 2)
    if several:
        v = s.call("unbind.int", y)[0]
    else:
        with entered(s.call, NoGrad()):
            v, _ = _view(s, y, place)
    _write(s, y, kind)
    s.expect_raises(RuntimeError, "mul.Tensor", v, v)
    s.call("backward", s.call("sum", y))
