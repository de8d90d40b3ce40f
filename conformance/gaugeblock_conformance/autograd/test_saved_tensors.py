"""Hooks for saved tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import NoGrad, SavedTensorsHooks, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import backward, clear_log, expect_grad, gradient, leaf

SAVES = {"sin": 1, "exp": 1, "neg": 0, "add": 0, "mul": 2, "tanh": 1}
SLOPES: dict[str, Any] = {
    "sin": np.cos, "exp": np.exp, "neg": lambda a: -np.ones_like(a), "add": lambda a: 2 * np.ones_like(a),
    "mul": lambda a: 2 * a, "tanh": lambda a: 1 - np.tanh(a) ** 2,
}  # fmt: skip


def _apply(s: Session, hooks: SavedTensorsHooks, operator: str, x: Any) -> Any:
    """The operator on ``x``, its saved tensors packed; made without the repetition that checks other calls."""
    full = {"add": "add.Tensor", "mul": "mul.Tensor"}.get(operator, operator)
    return s.call("under", hooks, full, x, *([x] if operator in ("add", "mul") else []))


@requirement("autograd/saved-tensors-can-be-packed")
@forall(operator=hs.sampled_from(tuple(SAVES)), action=hs.sampled_from(("same", "copy")), passes=hs.integers(1, 3))
def test_packing(s: Session, operator: str, action: str, passes: int) -> None:
    clear_log(s)
    a = np.array([0.5, -1.0, 2.0])
    x = leaf(s, a)
    y = _apply(s, SavedTensorsHooks("h", action), operator, x)
    s.expect(s.call("autograd_log"), ("h pack",) * SAVES[operator], "packed tensors")
    total = s.call("sum", y)
    for turn in range(1, passes + 1):
        s.call("backward", total, retain_graph=turn < passes)
    s.expect(s.call("autograd_log"), ("h unpack",) * (SAVES[operator] * passes), "unpacked tensors")
    want = passes * SLOPES[operator](a)
    s.expect_close(s.call("grad", x), want, 1e-12 * (1 + np.abs(want)))


@requirement("autograd/saved-tensors-can-be-packed")
def test_unpacked_value_counts(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    y = _apply(s, SavedTensorsHooks("h", "scale", 10), "mul", x)
    backward(s, y)
    expect_grad(s, x, [20.0, 40.0])
    clear_log(s)


@requirement("autograd/saved-tensors-can-be-packed")
def test_innermost_hooks_pack(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    with entered(s.call, SavedTensorsHooks("outer", "same")):
        y = _apply(s, SavedTensorsHooks("inner", "same"), "sin", x)
    backward(s, y)
    s.expect(s.call("autograd_log"), ("inner pack", "inner unpack"), "hooks that ran")


@requirement("autograd/saved-tensors-can-be-packed")
def test_nothing_is_packed_unrecorded(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    with entered(s.call, NoGrad()):
        _apply(s, SavedTensorsHooks("h", "same"), "sin", x)
    _apply(s, SavedTensorsHooks("h", "same"), "sin", s.tensor([1.0]))
    s.expect(s.call("autograd_log"), (), "hooks that ran")


@requirement("autograd/saved-tensors-can-be-packed")
def test_exception_while_packing(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    _, error = s.attempt("under", SavedTensorsHooks("h", "raise", "KeyError"), "sin", x)
    s.expect_refusal(error, KeyError, "the exception of a packing hook")
    clear_log(s)
    backward(s, s.call("mul.Tensor", x, x))
    expect_grad(s, x, [2.0, 4.0])


@requirement("autograd/unpacked-tensors-count-in-recorded-gradients")
@forall(factor=hs.integers(-3, 3), is_leaf=hs.booleans(), order=hs.integers(1, 3))
def test_unpacked_value_counts_in_recorded_gradients(s: Session, factor: int, is_leaf: bool, order: int) -> None:
    a = np.array([1.0, -2.0])
    x = leaf(s, a)
    y = x if is_leaf else s.call("mul.Scalar", x, 1)
    z = s.call("under", SavedTensorsHooks("h", "scale", factor), "pow.Tensor_Scalar", y, 3)
    clear_log(s)
    # The first gradient is 3 u^2 with the unpacked value u = factor x, which is differentiated as if it were x.
    want = 3 * (factor * a) ** 2
    for turn in range(1, order + 1):
        z = gradient(s, z, x, create_graph=True)
        s.expect_values(z, want, signed_zero=False)
        want = 6 * factor * a if turn == 1 else np.full(2, 6.0)
    clear_log(s)


@requirement("autograd/packing-may-not-write")
@forall(operator=hs.sampled_from(("sin", "exp", "mul", "tanh")), is_leaf=hs.booleans())
def test_packing_that_writes(s: Session, operator: str, is_leaf: bool) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    y = x if is_leaf else s.call("mul.Scalar", x, 3)
    full = {"mul": "mul.Tensor"}.get(operator, operator)
    further = [s.tensor([3.0, 4.0])] if operator == "mul" else []
    # The write changes no value, because a refused call must leave tensors unchanged.
    s.expect_raises(RuntimeError, "under", SavedTensorsHooks("h", "write", 1), full, y, *further)
    clear_log(s)
