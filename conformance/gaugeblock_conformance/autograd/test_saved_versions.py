"""Saved tensors that were written to before the backward pass needs them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import NoGrad, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import gradient, leaf
from .writing import KINDS, VIEWS, X, view_of, write_to

SAVING: list[tuple[Any, ...]] = [
    ("sin",), ("cos",), ("square",), ("mul.Tensor", "other"), ("div.Tensor", "other"), ("abs",), ("log",),
    ("pow.Tensor_Scalar", 3), ("prod",), ("mm", "other"),
]  # fmt: skip
RESULT = ("exp", "tanh", "sigmoid", "sqrt", "reciprocal")


@requirement("autograd/changed-saved-tensor-raises")
@forall(
    which=hs.integers(0, len(SAVING) - 1), through=hs.integers(-1, len(VIEWS) - 1), kind=KINDS, unrecorded=hs.booleans()
)
def test_changed_arguments(s: Session, which: int, through: int, kind: int, unrecorded: bool) -> None:
    x, other = leaf(s, X), leaf(s, X.T.copy() if SAVING[which][0] == "mm" else X)
    y = s.call("mul.Scalar", x, 2)
    operator, *arguments = SAVING[which]
    z = s.call("sum", s.call(operator, y, *[other if a == "other" else a for a in arguments]))
    with entered(s.call, *([NoGrad()] if unrecorded else [])):
        write_to(s, y if through < 0 else view_of(s, y, through)[0], kind)
    s.expect_raises(RuntimeError, "backward", z)


@requirement("autograd/changed-saved-tensor-raises")
@forall(operator=hs.sampled_from(RESULT), through=hs.integers(-1, len(VIEWS) - 1), kind=KINDS)
def test_changed_results(s: Session, operator: str, through: int, kind: int) -> None:
    x = leaf(s, X)
    y = s.call(operator, x)
    z = s.call("sum", s.call("clone", y))
    write_to(s, y if through < 0 else view_of(s, y, through)[0], kind)
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
    """Nodes that save one input, two inputs or the result, which is then written to directly or through a view."""

    def row(s: Session, operator: str, operands: int, result: bool, view: bool) -> None:
        y = s.call("mul.Scalar", leaf(s, X), 2)
        z = s.call(operator, *[y] * operands)
        changed = z if result else y
        total = s.call("sum", z)
        s.call("add_.Scalar", s.call("detach", changed) if view else changed, 1)
        s.expect_raises(RuntimeError, "backward", total, match="modified by an inplace operation")

    nodes = (("sin", 1, False), ("mul.Tensor", 2, False), ("atan2", 2, False), ("exp", 1, True), ("tanh", 1, True))
    s.table([(*node, view) for node in nodes for view in (False, True)], row)


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
    write_to(s, y if through < 0 else view_of(s, y, through)[0], kind)
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
