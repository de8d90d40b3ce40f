"""The gradient that a backward pass begins with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Program
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import broadcastable, sizes
from ..strategies.shapes import Sizes
from . import duals
from .leaves import expect_grad, gradient, leaf

X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])


@requirement("autograd/missing-seed-stands-for-one")
@forall(dims=sizes(max_dims=3))
def test_backward_without_a_seed(s: Session, dims: Sizes) -> None:
    x = leaf(s, np.full(dims, 3.0))
    y = s.call("mul.Tensor", x, x)
    if np.prod(dims, dtype=int) == 1:
        s.call("backward", y)
        expect_grad(s, x, np.full(dims, 6.0))
    else:
        s.expect_raises(RuntimeError, "backward", y)
        s.expect_raises(RuntimeError, "gradients", y, [x])
        expect_grad(s, x, None)


@requirement("autograd/seed-has-the-sizes-of-the-result")
@forall(shapes=broadcastable(2, max_dims=3), same=hs.booleans())
def test_sizes_of_seeds(s: Session, shapes: tuple[Sizes, Sizes], same: bool) -> None:
    dims, other = shapes[0], shapes[0] if same else shapes[1]
    x = leaf(s, np.full(dims, 3.0))
    y = s.call("mul.Scalar", x, 2)
    seed = s.tensor(np.full(other, 5.0))
    if dims == other:
        s.call("backward", y, seed)
        expect_grad(s, x, np.full(dims, 10.0))
    else:
        s.expect_raises(RuntimeError, "backward", y, seed)
        s.expect_raises(RuntimeError, "gradients", y, [x], [seed])
        expect_grad(s, x, None)


@requirement("autograd/seed-has-the-sizes-of-the-result")
def test_seeds_that_broadcast(s: Session) -> None:
    x = leaf(s, [[1.0, 2.0], [3.0, 4.0]])
    y = s.call("mul.Scalar", x, 2)
    for seed in ([1.0, 1.0], [[1.0], [1.0]], [[1.0, 1.0]], 1.0, [[[1.0, 1.0], [1.0, 1.0]]], [1.0, 1.0, 1.0, 1.0]):
        s.expect_raises(RuntimeError, "backward", y, s.tensor(seed))
    s.call("backward", y, s.tensor([[1.0, 2.0], [3.0, 4.0]]))
    expect_grad(s, x, [[2.0, 4.0], [6.0, 8.0]])


@requirement("autograd/backward-multiplies-by-the-transposed-jacobian")
@forall(program=duals.programs(), u=hs.integers(-4, 4), v=hs.integers(-4, 4), kind=hs.integers(0, 2))
def test_products_with_the_jacobian(s: Session, program: Program, u: int, v: int, kind: int) -> None:
    model = duals.inputs(X, W)
    want = program.run(duals.call, model)
    if np.abs(want.slope).max() > duals.EXACT:
        return
    x, w = leaf(s, X), leaf(s, W)
    y = program.run(s.call, [x, w])
    seed = np.array([[u, v, 0.0], [v, u, u], [0.0, 0.0, v]][kind])
    grads = s.call("gradients", y, [x, w], [s.tensor(seed)], materialize_grads=True)
    for got, expected in zip(s.parts(grads, 2), duals.gradients(want, model, seed), strict=True):
        s.expect_values(got, expected, signed_zero=False)


@requirement("autograd/backward-multiplies-by-the-transposed-jacobian")
@forall(program=duals.programs(1), a=hs.integers(-4, 4), b=hs.integers(-4, 4))
def test_linear_in_the_seed(s: Session, program: Program, a: int, b: int) -> None:
    if np.abs(program.run(duals.call, duals.inputs(X)).slope).max() > duals.EXACT:
        return
    x = leaf(s, X)
    y = program.run(s.call, [x])
    u, v = np.array([1.0, 0.0, 2.0]), np.array([0.0, -3.0, 1.0])
    parts = [s.read(gradient(s, y, x, s.tensor(seed), retain_graph=True)).copy() for seed in (u, v)]
    s.expect_values(gradient(s, y, x, s.tensor(a * u + b * v)), a * parts[0] + b * parts[1], signed_zero=False)


@requirement("autograd/complex-result-needs-a-seed")
def test_complex_results(s: Session) -> None:
    z = leaf(s, 3 + 4j, "complex64")
    y = s.call("mul.Tensor", z, z)
    s.expect_raises(RuntimeError, "backward", y)
    expect_grad(s, z, None)
    s.call("backward", y, s.tensor(1 + 0j, "complex64"))
    expect_grad(s, z, 6 - 8j, "complex64")


@requirement("autograd/backward-without-a-graph-raises")
@forall(dims=sizes(max_dims=2, empty=False), derived=hs.booleans())
def test_results_without_a_graph(s: Session, dims: Sizes, derived: bool) -> None:
    x, other = s.tensor(np.ones(dims)), leaf(s, [1.0])
    y = s.call("sum", s.call("mul.Scalar", x, 2)) if derived else s.call("sum", x)
    s.expect_raises(RuntimeError, "backward", y)
    s.expect_raises(RuntimeError, "gradients", y, [other])
    expect_grad(s, other, None)


@requirement("autograd/missing-graph-is-said")
def test_text_without_a_graph(s: Session) -> None:
    x, other = leaf(s, [2.0]), leaf(s, [3.0])
    constant: Handle = s.tensor(1.0)
    text = "does not require grad and does not have a grad_fn"
    for y in (constant, s.call("sum", s.call("detach", x)), s.call("sum", s.call("gt.Scalar", x, 1.0))):
        s.expect_raises(RuntimeError, "backward", y, match=text)
        s.expect_raises(RuntimeError, "gradients", y, [other], match=text)
