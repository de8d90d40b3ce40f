"""Graphs that are walked again, and gradients that are themselves recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Program
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import duals
from .leaves import backward, gradient, leaf

SAVING = frozenset({"mul.Tensor", "square", "exp", "sin", "pow.Tensor_Scalar"})
X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])


def _saves(program: Program) -> bool:
    """Return whether a node behind the last value saved a tensor."""
    needed = {len(program.steps) + 1}
    for k in range(len(program.steps) - 1, -1, -1):
        if k + 2 in needed:
            if program.steps[k][0] in SAVING:
                return True
            needed |= {a.number for a in program.steps[k][1:] if hasattr(a, "number")}
    return False


@requirement("autograd/saved-tensors-are-freed-by-the-pass", "autograd/sums-save-no-tensor")
@forall(program=duals.programs())
def test_second_pass(s: Session, program: Program) -> None:
    model = duals.inputs(X, W)
    want = program.run(duals.call, model)
    if np.abs(want.slope).max() > duals.EXACT:
        return
    x, w = leaf(s, X), leaf(s, W)
    y = s.call("sum", program.run(s.call, [x, w]))
    s.call("backward", y)
    if _saves(program):
        s.expect_raises(RuntimeError, "backward", y)
        return
    s.call("backward", y)
    for variable, expected in zip((x, w), duals.gradients(want, model), strict=True):
        found = s.call("grad", variable)
        if isinstance(found, Handle):
            s.expect_values(found, 2 * expected, signed_zero=False)
        elif expected.any():
            s.expect_of_last(True, False, "a gradient that is missing", "{} is None")


@requirement("autograd/saved-tensors-are-freed-by-the-pass")
def test_nodes_that_save(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        x = leaf(s, [1.0, 2.0])
        y = s.call("sum", s.call(operator, x, *[x if a is None else a for a in arguments]))
        s.call("backward", y)
        s.expect_raises(RuntimeError, "backward", y)

    s.table(
        [("exp",), ("sin",), ("mul.Tensor", None), ("div.Tensor", None), ("pow.Tensor_Scalar", 3), ("sqrt",), ("tanh",),
         ("prod",), ("abs",), ("log_softmax.int", 0)], row,
    )  # fmt: skip


@requirement("autograd/saved-tensors-are-freed-by-the-pass")
def test_part_of_a_freed_graph(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    shared = s.call("exp", x)
    one, other = s.call("neg", shared), s.call("mul.Scalar", shared, 2)
    backward(s, one)
    s.expect_raises(RuntimeError, "backward", s.call("sum", other))


@requirement("autograd/sums-save-no-tensor")
def test_linear_graphs(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        x = leaf(s, [[1.0, 2.0], [3.0, 4.0]])
        y = s.call("sum", s.call(operator, x, *[x if a is None else a for a in arguments]))
        for _ in range(3):
            s.call("backward", y)
        single = s.call("grad", x)
        again = leaf(s, [[1.0, 2.0], [3.0, 4.0]])
        y = s.call("sum", s.call(operator, again, *[again if a is None else a for a in arguments]))
        s.expect_values(single, 3 * s.read(gradient(s, y, again)).copy())

    s.table(
        [("add.Tensor", None), ("sub.Tensor", None), ("neg",), ("sum",), ("sum.dim_IntList", [0]), ("t",), ("clone",),
         ("view", (4,)), ("select.int", 0, 1), ("mean",), ("flip", [0]), ("cumsum", 1)], row,
    )  # fmt: skip


@requirement("autograd/retained-graph-can-be-walked-again")
@forall(program=duals.programs(), passes=hs.integers(2, 4))
def test_retained_graphs(s: Session, program: Program, passes: int) -> None:
    model = duals.inputs(X, W)
    want = program.run(duals.call, model)
    if np.abs(want.slope).max() > duals.EXACT:
        return
    x, w = leaf(s, X), leaf(s, W)
    y = s.call("sum", program.run(s.call, [x, w]))
    for _ in range(passes - 1):
        s.call("backward", y, retain_graph=True)
    s.call("backward", y)
    for variable, expected in zip((x, w), duals.gradients(want, model), strict=True):
        found = s.call("grad", variable)
        if isinstance(found, Handle):
            s.expect_values(found, passes * expected, signed_zero=False)
    if _saves(program):
        s.expect_raises(RuntimeError, "backward", y)


@requirement("autograd/created-graph-is-differentiable")
@forall(power=hs.integers(1, 6), order=hs.integers(1, 5), at=hs.integers(-3, 3))
def test_derivatives_of_powers(s: Session, power: int, order: int, at: int) -> None:
    x = leaf(s, [float(at)], "float64")
    y, factor = s.call("pow.Tensor_Scalar", x, power), 1.0
    for k in range(order):
        if not s.call("requires_grad", y):
            if k < power:
                s.expect_of_last(False, True, "requires_grad of a derivative that is not constant", "{}")
            return
        y = gradient(s, y, x, create_graph=True)
        factor *= max(power - k, 0)
    left = max(power - order, 0)
    s.expect_values(y, np.array([factor * float(at) ** left if factor else 0.0]), ulp=4, signed_zero=False)


@requirement("autograd/created-graph-is-differentiable")
@forall(program=duals.programs(1, steps=6))
def test_gradients_of_gradients(s: Session, program: Program) -> None:
    x = leaf(s, X)
    y = program.run(s.call, [x])
    first = gradient(s, y, x, create_graph=True)
    model = duals.inputs(X)
    if np.abs(program.run(duals.call, model).slope).max() > duals.EXACT**0.5:
        return
    steps, columns = 1e-4, []
    for k in range(3):
        moved = [X + sign * steps * np.eye(3)[k] for sign in (1, -1)]
        values = [duals.gradients(program.run(duals.call, found), found)[0] for found in map(duals.inputs, moved)]
        columns.append((values[0] - values[1]) / (2 * steps))
    want = np.stack(columns).sum(axis=1)
    if not s.call("requires_grad", first):
        if np.abs(want).max() >= 1e-3:
            s.expect_of_last(False, True, "requires_grad of a gradient that depends on something", "{}")
        return
    found = gradient(s, first, x, allow_unused=True, materialize_grads=True)
    s.expect_close(found, want, 1e-3 * (1 + np.abs(want).max()))


LINEAR_PIECES: tuple[tuple[str, tuple[Any, ...], list[float]], ...] = (
    ("relu", (), [0.0, 1.0, 1.0, 0.0]),
    ("leaky_relu", (0.5,), [0.5, 1.0, 1.0, 0.5]),
    ("hardtanh", (-2.0, 2.0), [1.0, 1.0, 0.0, 0.0]),
    ("max_pool2d", ([2, 2],), [0.0, 0.0, 1.0, 0.0]),
    ("avg_pool2d", ([2, 2],), [0.25, 0.25, 0.25, 0.25]),
    ("adaptive_avg_pool2d", ([2, 1],), [0.5, 0.5, 0.5, 0.5]),
)
"""Operators with their arguments, and their slopes at -1, 1, 3 and -4."""


@requirement("autograd/created-gradient-of-a-linear-piece-requires-grad")
def test_gradients_of_constant_slopes(s: Session) -> None:
    def row(s: Session, operator: str, arguments: tuple[Any, ...], slopes: list[float]) -> None:
        x = leaf(s, [[[[-1.0, 1.0], [3.0, -4.0]]]], "float64")
        g = gradient(s, s.call(operator, x, *arguments), x, create_graph=True)
        s.expect_values(g, np.array(slopes).reshape(1, 1, 2, 2))
        s.expect(s.call("requires_grad", g), True, f"requires_grad of a gradient of {operator}")
        s.expect_values(gradient(s, s.call("mul.Tensor", g, g), x), np.zeros((1, 1, 2, 2)), signed_zero=False)

    s.table(LINEAR_PIECES, row)


@requirement("autograd/created-graph-is-retained")
def test_graph_after_creating(s: Session) -> None:
    x = leaf(s, [2.0])
    y = s.call("mul.Tensor", s.call("mul.Tensor", x, x), x)
    for _ in range(3):
        s.expect_values(gradient(s, y, x, create_graph=True), [12.0])
    s.expect_values(gradient(s, y, x, create_graph=True, retain_graph=False), [12.0])
    s.expect_raises(RuntimeError, "backward", y)


@requirement("autograd/created-graph-is-differentiable")
def test_backward_that_creates_a_graph(s: Session) -> None:
    x = leaf(s, [2.0])
    y = s.call("pow.Tensor_Scalar", x, 3)
    s.call("backward", y, create_graph=True)
    g = s.call("grad", x)
    s.expect_values(g, [12.0])
    s.expect(s.call("requires_grad", g), True, "requires_grad of a created gradient")
    s.expect_values(gradient(s, g, x), [12.0])
    s.call("set_grad", x, None)


@requirement("autograd/created-graph-is-differentiable")
def test_seed_is_differentiated_too(s: Session) -> None:
    x, v = leaf(s, [2.0, 3.0]), leaf(s, [5.0, 7.0])
    y = s.call("mul.Tensor", x, x)
    g = gradient(s, y, x, v, create_graph=True)
    s.expect_values(g, [20.0, 42.0])
    s.expect_values(gradient(s, g, v, retain_graph=True), [4.0, 6.0])
    s.expect_values(gradient(s, g, x), [10.0, 14.0])
