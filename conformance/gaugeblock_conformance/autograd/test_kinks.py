"""Points without a derivative: steps, kinks, ties, zeros in products and powers, and what `where` lets through."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import dtypes
from .leaves import backward, expect_grad, gradient, leaf

STEPS = ("round", "floor", "ceil", "trunc", "sign")
EXTREMA = {"max": max, "amax": max, "min": min, "amin": min}


@requirement("autograd/step-functions-have-gradient-zero")
@forall(
    operator=hs.sampled_from(STEPS),
    values=hs.lists(hs.sampled_from((-2.5, -1.0, -0.4, 0.0, 0.5, 1.0, 7.25)), min_size=1, max_size=20),
    dtype=dtypes("float32", "float64", "float16"),
)
def test_steps(s: Session, operator: str, values: list[float], dtype: str) -> None:
    x = leaf(s, values, dtype)
    y = s.call(operator, x)
    s.expect(s.call("requires_grad", y), True, f"requires_grad of {operator}'s result")
    s.expect_values(gradient(s, y, x), [0.0] * len(values), dtype=dtype, signed_zero=False)


KINKS: list[tuple[Any, ...]] = [
    ("abs", [-2.0, 0.0, 3.0], [-1.0, 0.0, 1.0]),
    ("relu", [-2.0, 0.0, 3.0], [0.0, 0.0, 1.0]),
    ("sqrt", [0.0, 4.0], [inf, 0.25]),
    ("log", [0.0, 4.0], [inf, 0.25]),
    ("clamp", [-1.5, -1.0, 0.0, 2.0, 2.5], [0.0, 1.0, 1.0, 1.0, 0.0], -1, 2),
    ("clamp_min", [-1.5, -1.0, 0.0], [0.0, 1.0, 1.0], -1),
    ("clamp_max", [1.5, 2.0, 2.5], [1.0, 1.0, 0.0], 2),
    ("norm.Scalar", [0.0, 0.0], [0.0, 0.0]),
    ("norm.Scalar", [3.0, 4.0], [0.6, 0.8]),
    ("linalg_vector_norm", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
]


BOUNDS: list[tuple[Any, ...]] = [
    ("hardtanh", [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    ("hardswish", [-4.0, -3.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.5, 1.0, 1.0]),
    ("leaky_relu", [-2.0, 0.0, 3.0], [0.25, 0.25, 1.0], 0.25),
    ("relu6", [0.0, 3.0, 6.0, 7.0], [0.0, 1.0, 0.0, 0.0]),
]


@requirement("autograd/kinks-have-a-chosen-slope")
def test_kinks(s: Session) -> None:
    s.table(KINKS, _expect_slopes)


@requirement("autograd/bounds-of-activations-have-a-chosen-slope")
def test_bounds_of_activations(s: Session) -> None:
    s.table(BOUNDS, _expect_slopes)


def _expect_slopes(s: Session, operator: str, at: list[float], slopes: list[float], *arguments: Any) -> None:
    x = leaf(s, at, "float64")
    s.expect_values(gradient(s, s.call(operator, x, *arguments), x), np.array(slopes), ulp=2, signed_zero=False)


@requirement("autograd/kinks-have-a-chosen-slope")
@forall(
    values=hs.lists(hs.sampled_from((-2.0, -1.0, 0.0, 1.0, 2.0)), min_size=1, max_size=40),
    low=hs.sampled_from((-2, -1, 0)), high=hs.sampled_from((0, 1, 2)),
)  # fmt: skip
def test_kinks_in_vectors(s: Session, values: list[float], low: int, high: int) -> None:
    a = np.array(values)
    for operator, args, want in (
        ("abs", (), np.sign(a)),
        ("relu", (), (a > 0).astype(float)),
        ("clamp", (low, high), ((a >= low) & (a <= high)).astype(float)),
    ):
        x = leaf(s, a)
        s.expect_values(gradient(s, s.call(operator, x, *args), x), want, signed_zero=False)


@requirement("autograd/kinks-have-a-chosen-slope", needs=("complex",))
def test_magnitude_of_complex_zero(s: Session) -> None:
    z = leaf(s, [0j, 3 + 4j], "complex128")
    s.expect_values(gradient(s, s.call("abs", z), z), np.array([0j, 0.6 + 0.8j]), ulp=2, signed_zero=False)


@requirement("autograd/ties-share-the-gradient")
@forall(operator=hs.sampled_from(tuple(EXTREMA)), values=hs.lists(hs.integers(-2, 2), min_size=1, max_size=12))
def test_ties_in_extrema(s: Session, operator: str, values: list[int]) -> None:
    a = np.array(values, dtype=np.float64)
    x = leaf(s, a)
    best = a == EXTREMA[operator](values)
    s.expect_values(gradient(s, s.call(operator, x), x), best / best.sum(), ulp=1)


@requirement("autograd/ties-share-the-gradient")
@forall(
    operator=hs.sampled_from(("amax", "amin")),
    rows=hs.lists(hs.lists(hs.integers(-1, 1), min_size=3, max_size=3), min_size=1, max_size=4),
    dim=hs.integers(0, 1),
)
def test_ties_in_dims(s: Session, operator: str, rows: list[list[int]], dim: int) -> None:
    a = np.array(rows, dtype=np.float64)
    x = leaf(s, a)
    best = a == getattr(a, operator[1:])(axis=dim, keepdims=True)
    s.expect_values(gradient(s, s.call(operator, x, [dim]), x), best / best.sum(axis=dim, keepdims=True), ulp=1)


@requirement("autograd/ties-share-the-gradient")
@forall(
    operator=hs.sampled_from(("maximum", "minimum")),
    pairs=hs.lists(hs.tuples(hs.integers(-1, 1), hs.integers(-1, 1)), min_size=1, max_size=20),
)
def test_ties_between_operands(s: Session, operator: str, pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    x, y = leaf(s, a), leaf(s, b)
    backward(s, s.call(operator, x, y))
    first = a > b if operator == "maximum" else a < b
    expect_grad(s, x, np.where(a == b, 0.5, first))
    expect_grad(s, y, np.where(a == b, 0.5, ~first))


@requirement("autograd/index-decides-a-tie-along-a-dim")
@forall(
    operator=hs.sampled_from(("max.dim", "min.dim", "median.dim", "sort", "topk", "kthvalue", "mode", "cummax")),
    rows=hs.lists(hs.lists(hs.integers(-1, 1), min_size=4, max_size=4), min_size=1, max_size=4),
    dim=hs.integers(0, 1),
)  # fmt: skip
def test_indices_take_the_gradient(s: Session, operator: str, rows: list[list[int]], dim: int) -> None:
    a = np.array(rows, dtype=np.float64)
    x = leaf(s, a)
    args = {"topk": (min(2, a.shape[dim]), dim), "kthvalue": (1, dim)}.get(operator, (dim,))
    values, index = s.parts(s.call(operator, x, *args), 2)
    where = s.read(index).copy()
    dropped = where.ndim < a.ndim
    weight = np.arange(1.0, 1 + where.size).reshape(where.shape)
    want = np.zeros_like(a)
    grid: list[Any] = list(np.indices(where.shape if not dropped else np.expand_dims(where, dim).shape))
    grid[dim] = np.expand_dims(where, dim) if dropped else where
    np.add.at(want, tuple(grid), np.expand_dims(weight, dim) if dropped else weight)
    s.expect_values(gradient(s, values, x, s.tensor(weight)), want, signed_zero=False)


@requirement("autograd/zeros-in-products-are-exact")
@forall(values=hs.lists(hs.integers(-2, 3), min_size=1, max_size=7), dim=hs.booleans())
def test_products_with_zeros(s: Session, values: list[int], dim: bool) -> None:
    a = np.array(values, dtype=np.float64)
    x = leaf(s, a)
    y = s.call("prod.dim_int", x, 0) if dim else s.call("prod", x)
    want = np.array([np.prod(np.delete(a, k)) for k in range(len(a))])
    s.expect_values(gradient(s, y, x), want, ulp=2, signed_zero=False)


@requirement("autograd/zeros-in-products-are-exact")
@forall(
    rows=hs.lists(hs.lists(hs.integers(-1, 2), min_size=3, max_size=3), min_size=1, max_size=4), dim=hs.integers(0, 1)
)
def test_running_products_with_zeros(s: Session, rows: list[list[int]], dim: int) -> None:
    a = np.array(rows, dtype=np.float64)
    x = leaf(s, a)
    got = gradient(s, s.call("cumprod", x, dim), x)
    want = np.zeros_like(a)
    for at in np.ndindex(*a.shape):
        without = a.copy()
        without[at] = 1.0
        want[at] = np.take(np.cumprod(without, axis=dim), range(at[dim], a.shape[dim]), axis=dim)[
            tuple(slice(None) if k == dim else i for k, i in enumerate(at))
        ].sum()
    s.expect_values(got, want, ulp=8, signed_zero=False)


@requirement("autograd/powers-are-differentiable-at-zero")
def test_powers_at_zero(s: Session) -> None:
    def row(s: Session, exponent: float, slope: float) -> None:
        x = leaf(s, [0.0], "float64")
        s.expect_values(gradient(s, s.call("pow.Tensor_Scalar", x, exponent), x), np.array([slope]))
        x, n = leaf(s, [0.0], "float64"), leaf(s, [exponent], "float64")
        backward(s, s.call("pow.Tensor_Tensor", x, n))
        expect_grad(s, x, np.array([slope]))
        expect_grad(s, n, np.array([0.0]))

    s.table([(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (0, 0.0), (1, 1.0), (2, 0.0)], row)


@requirement("autograd/powers-are-differentiable-at-zero")
def test_exponent_at_zero(s: Session) -> None:
    n = leaf(s, [0.0, 2.0], "float64")
    s.expect_values(gradient(s, s.call("pow.Scalar", 0, n), n), np.array([0.0, 0.0]))


@requirement("autograd/where-lets-nan-through")
def test_untaken_branches(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        x = leaf(s, [0.0, 4.0], "float64")
        y = s.call("where.self", s.call("gt.Scalar", x, 1), s.call(operator, x, *arguments), x)
        slopes = gradient(s, y, x)
        got = s.read(slopes)
        first, second = (s.dialect.element(slopes.name, (k,)) for k in (0, 1))
        s.expect(bool(np.isnan(got[0])), True, "NaN behind the untaken branch", f"bool({first} != {first})", [slopes])
        s.expect(bool(np.isnan(got[1])), False, "NaN behind the taken branch", f"bool({second} != {second})", [slopes])

    s.table([("sqrt",), ("log",), ("rsqrt",), ("reciprocal",), ("pow.Tensor_Scalar", 0.5)], row)


@requirement("autograd/where-lets-nan-through")
@forall(mask=hs.lists(hs.booleans(), min_size=1, max_size=12))
def test_branches_get_masked_gradients(s: Session, mask: list[bool]) -> None:
    taken = np.array(mask)
    x, y = leaf(s, np.ones(len(mask))), leaf(s, np.ones(len(mask)))
    result: Handle = s.call("where.self", s.tensor(taken), x, y)
    s.call("backward", result, s.tensor(np.arange(1.0, 1 + len(mask))))
    weight = np.arange(1.0, 1 + len(mask))
    expect_grad(s, x, np.where(taken, weight, 0.0))
    expect_grad(s, y, np.where(taken, 0.0, weight))
