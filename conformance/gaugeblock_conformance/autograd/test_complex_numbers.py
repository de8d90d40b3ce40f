"""Gradients of complex functions: conjugate Wirtinger, in closed form and by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import backward, expect_grad, gradient, leaf

Holomorphic = tuple[Callable[[Any], Any], Callable[[Any], Any]]
HOLOMORPHIC: dict[str, Holomorphic] = {
    "exp": (np.exp, np.exp), "sin": (np.sin, np.cos), "square": (lambda z: z * z, lambda z: 2 * z),
    "reciprocal": (lambda z: 1 / z, lambda z: -1 / z**2), "log": (np.log, lambda z: 1 / z),
    "sqrt": (np.sqrt, lambda z: 0.5 / np.sqrt(z)), "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "neg": (lambda z: -z, lambda z: -1 + 0 * z), "cosh": (np.cosh, np.sinh),
}  # fmt: skip
PARTS: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "real": np.real, "imag": np.imag, "angle": np.angle, "conj": np.conj, "sgn": lambda z: z / np.abs(z),
}  # fmt: skip
POINTS = hs.tuples(hs.sampled_from((-2.0, -0.5, 0.25, 1.0, 3.0)), hs.sampled_from((-1.5, -0.25, 0.5, 2.0)))


@requirement("autograd/complex-gradients-are-conjugate-wirtinger")
@forall(operator=hs.sampled_from(tuple(HOLOMORPHIC)), points=hs.lists(POINTS, min_size=1, max_size=5), seed=POINTS)
def test_holomorphic(s: Session, operator: str, points: list[tuple[float, float]], seed: tuple[float, float]) -> None:
    a = np.array([complex(*p) for p in points])
    z = leaf(s, a)
    weight = np.full(len(a), complex(*seed))
    want = weight * np.conj(HOLOMORPHIC[operator][1](a))
    got = gradient(s, s.call(operator, z), z, s.tensor(weight))
    s.expect_close(got, want, 1e-12 * (1 + np.abs(want)))


@requirement("autograd/complex-gradients-are-conjugate-wirtinger")
@forall(operator=hs.sampled_from(tuple(PARTS)), points=hs.lists(POINTS, min_size=1, max_size=5), seed=POINTS)
def test_functions_of_both_parts(
    s: Session, operator: str, points: list[tuple[float, float]], seed: tuple[float, float]
) -> None:
    a = np.array([complex(*p) for p in points])
    z, f, step = leaf(s, a), PARTS[operator], 1e-6
    y = s.call(operator, z)
    real = not str(s.observe("dtype", y)).startswith("complex")
    weight = np.full(len(a), seed[0] if real else complex(*seed))
    by_x = (f(a + step) - f(a - step)) / (2 * step)
    by_y = (f(a + 1j * step) - f(a - 1j * step)) / (2 * step)
    want = (np.conj(weight) * by_x).real + 1j * (np.conj(weight) * by_y).real
    s.expect_close(gradient(s, y, z, s.tensor(weight)), want, 1e-7 * (1 + np.abs(want)))


@requirement("autograd/complex-gradients-are-conjugate-wirtinger")
@forall(
    operator=hs.sampled_from(("mul.Tensor", "div.Tensor", "add.Tensor", "sub.Tensor")), first=POINTS, second=POINTS,
    seed=POINTS,
)  # fmt: skip
def test_pairs(
    s: Session, operator: str, first: tuple[float, float], second: tuple[float, float], seed: tuple[float, float]
) -> None:
    a, b, g = complex(*first), complex(*second), complex(*seed)
    x, y = leaf(s, [a], "complex128"), leaf(s, [b], "complex128")
    s.call("backward", s.call(operator, x, y), s.tensor([g], "complex128"))
    by_a, by_b = {
        "mul.Tensor": (b, a), "div.Tensor": (1 / b, -a / b**2), "add.Tensor": (1, 1), "sub.Tensor": (1, -1),
    }[operator]  # fmt: skip
    for variable, slope in ((x, by_a), (y, by_b)):
        got = s.call("grad", variable)
        s.expect_close(got, np.array([g * np.conj(slope)]), 1e-12 * (1 + abs(g * slope)))


@requirement("autograd/complex-gradients-are-conjugate-wirtinger")
def test_descent(s: Session) -> None:
    z = leaf(s, [3 + 4j], "complex128")
    backward(s, s.call("abs", z))
    s.expect_values(s.call("grad", z), np.array([0.6 + 0.8j]), ulp=2)


@requirement("autograd/complex-gradients-are-conjugate-wirtinger", needs=("matmul",))
def test_matrix_products(s: Session) -> None:
    a, b = np.array([[1 + 2j, 3j]]), np.array([[2 - 1j], [1 + 1j]])
    x, y = leaf(s, a), leaf(s, b)
    s.call("backward", s.call("mm", x, y), s.tensor(np.array([[1 - 1j]])))
    expect_grad(s, x, (1 - 1j) * b.conj().T)
    expect_grad(s, y, (1 - 1j) * a.conj().T)


@requirement("autograd/complex-gradients-are-conjugate-wirtinger")
def test_views_of_parts(s: Session) -> None:
    z = leaf(s, [1 + 2j, 3 - 1j], "complex128")
    pairs = s.call("view_as_real", z)
    g = gradient(s, pairs, z, s.tensor(np.array([[1.0, 2.0], [3.0, 4.0]])))
    s.expect_values(g, np.array([1 + 2j, 3 + 4j]))
    y = s.call("mul.Tensor", s.call("conj", z), z)
    g = gradient(s, s.call("real", y), z)
    s.expect_values(g, np.array([2 + 4j, 6 - 2j]), signed_zero=False)
