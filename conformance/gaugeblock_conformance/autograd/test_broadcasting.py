"""Broadcasting and promotion, undone on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, DType
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import broadcastable, dtypes, operands
from ..strategies.shapes import Sizes
from ..strategies.tensors import WRITABLE
from .leaves import backward, expect_grad, gradient, leaf, leaf_of

FLOATS = ("float32", "float64", "float16", "bfloat16")
SLOPES = {"add.Tensor": (1.0, 1.0), "sub.Tensor": (1.0, -1.0)}


def summed(array: Array, sizes: Sizes) -> Array:
    """The array summed over what broadcasting made of ``sizes``."""
    lead = array.ndim - len(sizes)
    axes = (*range(lead), *(lead + k for k, n in enumerate(sizes) if n == 1 and array.shape[lead + k] != 1))
    return np.asarray(array.sum(axis=axes)).reshape(sizes)


@requirement("autograd/broadcasting-is-summed-over")
@forall(
    pair=operands(2, ("float64",), layouts=WRITABLE, kind="small", empty=True, max_dims=3),
    operator=hs.sampled_from(("mul.Tensor", "add.Tensor", "sub.Tensor")),
)
def test_broadcast_pairs(s: Session, pair: tuple[TensorCase, TensorCase], operator: str) -> None:
    x, y = (leaf_of(s, case) for case in pair)
    a, b = (case.array for case in pair)
    backward(s, s.call(operator, x, y))
    whole = np.broadcast_shapes(a.shape, b.shape)
    slopes: tuple[Any, Any] = (b, a) if operator == "mul.Tensor" else SLOPES[operator]
    for variable, slope, case in zip((x, y), slopes, pair, strict=True):
        expect_grad(s, variable, summed(np.array(np.broadcast_to(slope, whole)), case.sizes))


@requirement("autograd/broadcasting-is-summed-over")
@forall(shapes=broadcastable(3, max_dims=3, empty=False), operator=hs.sampled_from(("where", "addcmul", "lerp")))
def test_broadcast_of_three(s: Session, shapes: tuple[Sizes, Sizes, Sizes], operator: str) -> None:
    arrays = [np.full(sizes, float(k + 2)) for k, sizes in enumerate(shapes)]
    whole = np.broadcast_shapes(*shapes)
    if operator == "where":
        mask = np.arange(np.prod(shapes[0], dtype=int)).reshape(shapes[0]) % 2 == 0
        x, y = leaf(s, arrays[1]), leaf(s, arrays[2])
        backward(s, s.call("where.self", s.tensor(mask), x, y))
        taken = np.broadcast_to(mask, whole).astype(float)
        expect_grad(s, x, summed(taken, shapes[1]))
        expect_grad(s, y, summed(1 - taken, shapes[2]))
        return
    leaves = [leaf(s, a) for a in arrays]
    a, b, c = arrays
    slopes: tuple[Any, Any, Any]
    if operator == "addcmul":
        backward(s, s.call("addcmul", *leaves))
        slopes = (1.0, c, b)
    else:
        backward(s, s.call("lerp.Tensor", *leaves))
        slopes = (1 - c, c, np.broadcast_to(b, whole) - a)
    for variable, slope, sizes in zip(leaves, slopes, shapes, strict=True):
        expect_grad(s, variable, summed(np.array(np.broadcast_to(slope, whole)), sizes))


@requirement("autograd/broadcasting-is-summed-over")
@forall(shapes=broadcastable(2, max_dims=3, empty=False))
def test_expanded_views(s: Session, shapes: tuple[Sizes, Sizes]) -> None:
    whole = np.broadcast_shapes(*shapes)
    x = leaf(s, np.ones(shapes[0]))
    weight = np.arange(1.0, 1 + np.prod(whole, dtype=int)).reshape(whole)
    g = gradient(s, s.call("expand", x, whole), x, s.tensor(weight))
    s.expect_values(g, summed(weight, shapes[0]))


@requirement("autograd/promotion-is-undone")
@forall(
    first=dtypes(*FLOATS),
    second=dtypes(*FLOATS, "int64", "bool", "uint8"),
    operator=hs.sampled_from(("mul.Tensor", "add.Tensor", "div.Tensor")),
)
def test_promoted_pairs(s: Session, first: str, second: str, operator: str) -> None:
    x, floating = leaf(s, [2.0, 4.0], first), second not in ("int64", "bool", "uint8")
    y = leaf(s, [1.0, 1.0], second) if floating else s.tensor([1, 1], second)
    z = s.call(operator, x, y)
    backward(s, z)
    want = {"mul.Tensor": (1.0, [2.0, 4.0]), "add.Tensor": (1.0, [1.0, 1.0]), "div.Tensor": (1.0, [-2.0, -4.0])}
    slope, other = want[operator]
    expect_grad(s, x, [slope, slope], first)
    if floating:
        expect_grad(s, y, other, second)


@requirement("autograd/promotion-is-undone")
@forall(first=dtypes(*FLOATS), second=dtypes(*FLOATS))
def test_conversions(s: Session, first: str, second: str) -> None:
    x = leaf(s, [2.0, 4.0], first)
    y = s.call("to.dtype", x, DType(second))
    s.expect(s.call("requires_grad", y), True, "requires_grad of a conversion")
    backward(s, s.call("mul.Scalar", y, 3))
    expect_grad(s, x, [3.0, 3.0], first)


@requirement("autograd/promotion-is-undone")
def test_promoted_inside_a_join(s: Session) -> None:
    x, y = leaf(s, [1.0], "float32"), leaf(s, [2.0, 3.0], "float64")
    backward(s, s.call("mul.Tensor", s.call("cat", [x, y]), s.tensor([5.0, 6.0, 7.0], "float64")))
    expect_grad(s, x, [5.0], "float32")
    expect_grad(s, y, [6.0, 7.0], "float64")


@requirement("autograd/gradient-of-a-real-operand-is-real")
@forall(
    operator=hs.sampled_from(("mul.Tensor", "add.Tensor", "sub.Tensor")),
    pair=operands(2, ("float64",), layouts=WRITABLE, kind="small", empty=False, max_dims=2),
    swapped=hs.booleans(),
)
def test_real_and_complex(s: Session, operator: str, pair: tuple[TensorCase, TensorCase], swapped: bool) -> None:
    a, b = pair[0].array, pair[1].array + 3j
    x, z = leaf_of(s, pair[0]), leaf(s, b)
    y = s.call(operator, z, x) if swapped else s.call(operator, x, z)
    whole = np.broadcast_shapes(a.shape, b.shape)
    seed = np.full(whole, 2 - 1j)
    s.call("backward", y, s.tensor(seed))
    sign = -1.0 if operator == "sub.Tensor" else 1.0
    by_real = seed * b.conj() if operator == "mul.Tensor" else seed * (sign if swapped else 1.0)
    by_complex = seed * a if operator == "mul.Tensor" else seed * (1.0 if swapped else sign)
    expect_grad(s, x, summed(np.array(by_real.real), pair[0].sizes))
    expect_grad(s, z, summed(np.array(by_complex), pair[1].sizes))
