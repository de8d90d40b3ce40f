"""What is recorded: gradients of scalars, which results require grad, control flow, leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import DType
from ..backend_autograd import NoGrad, entered
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import dtypes
from .leaves import backward, expect_grad, expect_node, gradient, leaf, leaf_of, small_floats

POINTWISE = ("neg", "exp", "sin", "tanh", "sigmoid", "abs", "clone", "square", "floor")


@requirement("autograd/gradient-of-a-scalar")
def test_weighted_sum(s: Session) -> None:
    x, w, b = (leaf(s, values) for values in ([1.0, 2.0], [3.0, 5.0], [7.0, 11.0]))
    s.call("backward", s.call("sum", s.call("add.Tensor", s.call("mul.Tensor", x, w), b)))
    expect_grad(s, x, [3.0, 5.0])
    expect_grad(s, w, [1.0, 2.0])
    expect_grad(s, b, [1.0, 1.0])


@requirement("autograd/gradient-of-a-scalar")
@forall(case=small_floats(), other=hs.integers(1, 9))
def test_products_in_any_layout(s: Session, case: TensorCase, other: int) -> None:
    x = leaf_of(s, case)
    w = leaf(s, np.full(case.sizes, float(other)))
    s.call("backward", s.call("sum", s.call("mul.Tensor", s.call("mul.Tensor", x, w), x)))
    expect_grad(s, x, 2.0 * other * case.array)
    expect_grad(s, w, case.array**2)


@requirement("autograd/recorded-iff-grad-is-needed")
@forall(
    operator=hs.sampled_from(POINTWISE),
    needs=hs.booleans(),
    recording=hs.booleans(),
    dtype=dtypes("float32", "float64", "float16", "complex64"),
)
def test_results_of_one_argument(s: Session, operator: str, needs: bool, recording: bool, dtype: str) -> None:
    if dtype == "complex64" and operator == "floor":
        return
    x = leaf(s, [1.0, 2.0], dtype) if needs else s.tensor([1.0, 2.0], dtype)
    with entered(s.call, *([] if recording else [NoGrad()])):
        y = s.call(operator, x)
        s.expect(s.call("requires_grad", y), needs and recording, f"requires_grad of {operator}'s result")
        expect_node(s, y, needs and recording)


@requirement("autograd/recorded-iff-grad-is-needed")
@forall(
    needs=hs.lists(hs.booleans(), min_size=3, max_size=3),
    operator=hs.sampled_from(("add.Tensor", "mul.Tensor", "cat", "where.self", "addcmul")),
    recording=hs.booleans(),
)
def test_results_of_several_arguments(s: Session, needs: list[bool], operator: str, recording: bool) -> None:
    tensors = [leaf(s, [1.0, 2.0]) if need else s.tensor([1.0, 2.0]) for need in needs]
    special: dict[str, list[Any]] = {
        "cat": [tensors], "where.self": [s.tensor([True, False], "bool"), *tensors[:2]], "addcmul": [*tensors],
    }  # fmt: skip
    args = special.get(operator, [*tensors[:2]])
    used = 3 if operator in ("cat", "addcmul") else 2
    with entered(s.call, *([] if recording else [NoGrad()])):
        y = s.call(operator, *args)
        s.expect(s.call("requires_grad", y), recording and any(needs[:used]), f"requires_grad of {operator}'s result")


@requirement("autograd/control-flow-is-differentiated-as-executed")
@forall(start=hs.integers(1, 40), bound=hs.integers(5, 60), factor=hs.integers(2, 4))
def test_loops_and_branches(s: Session, start: int, bound: int, factor: int) -> None:
    x = leaf(s, float(start), "float64")
    y, value, slope = x, float(start), 1.0
    while s.call("item", y) < bound:
        y, value, slope = s.call("mul.Scalar", y, factor), value * factor, slope * factor
    if value > 2 * bound:
        y, value, slope = s.call("mul.Tensor", y, y), value * value, 2 * value * slope
    if y is x:
        y = s.call("clone", y)
    s.expect_values(gradient(s, y, x), np.float64(slope))


@requirement("autograd/leaves-are-what-no-node-made")
@forall(path=hs.lists(hs.sampled_from(("mul", "detach", "view", "unrecorded")), max_size=4), needs=hs.booleans())
def test_leaves_and_results(s: Session, path: list[str], needs: bool) -> None:
    y: Handle = leaf(s, [1.0, 2.0]) if needs else s.tensor([1.0, 2.0])
    made, required = False, needs
    for step in path:
        if step == "unrecorded":
            with entered(s.call, NoGrad()):
                y = s.call("mul.Scalar", y, 2)
            made = required = False
        elif step == "detach":
            y, made, required = s.call("detach", y), False, False
        else:
            y = s.call("mul.Scalar", y, 2) if step == "mul" else s.call("view", y, (2, 1))
            y = s.call("view", y, (2,)) if step == "view" else y
            made = required
        s.expect(s.call("is_leaf", y), not (required and made), "is_leaf")
        s.expect(s.call("requires_grad", y), required, "requires_grad")


@requirement("autograd/integral-results-never-require-grad")
def test_integral_results(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        x = leaf(s, [[1.0, -2.0], [3.0, 4.5]])
        y = s.call(operator, x, *[x if a is None else a for a in arguments])
        for result in y if isinstance(y, list | tuple) else [y]:
            integral = not str(s.observe("dtype", result)).startswith(("float", "bfloat", "complex"))
            s.expect(s.call("requires_grad", result), not integral, f"requires_grad of {operator}'s result")
            expect_node(s, result, not integral)

    s.table(
        [
            ("argmax",), ("argmin",), ("gt.Scalar", 0), ("eq.Tensor", None), ("isnan",), ("signbit",),
            ("to.dtype", DType("int64")), ("to.dtype", DType("bool")), ("logical_not",), ("nonzero",),
            ("sort",), ("max.dim", 1), ("topk", 1), ("argsort",), ("any",), ("all",), ("mode",), ("kthvalue", 1),
            ("count_nonzero",), ("isfinite",),
        ],
        row,
    )  # fmt: skip


@requirement("autograd/integers-that-are-written-take-no-history", needs=("inplace",))
@forall(dtype=hs.sampled_from(("int64", "int32", "uint8", "bool")), recording=hs.booleans())
def test_written_integers(s: Session, dtype: str, recording: bool) -> None:
    x, one = leaf(s, [1.0, 0.0]), leaf(s, 1.0)
    first = s.tensor([True, False], "bool")
    writes: list[tuple[str, tuple[Any, ...], list[int]]] = [
        ("copy_", (x,), [1, 0]), ("__setitem__", (slice(0, 1), s.call("select.int", x, 0, 0)), [1, 0]),
        ("__setitem__", (first, one), [1, 0]), ("masked_fill_.Tensor", (first, one), [1, 0]),
        ("index_fill_.int_Tensor", (0, s.tensor([1], "int64"), one), [0, 1]), ("fill_.Tensor", (one,), [1, 1]),
    ]  # fmt: skip
    for operator, args, want in writes:
        y = s.tensor([0, 0], dtype)
        with entered(s.call, *([] if recording else [NoGrad()])):
            s.call(operator, y, *args)
        s.expect(s.call("requires_grad", y), False, f"requires_grad of {dtype} written by {operator}")
        expect_node(s, y, False)
        s.expect_values(y, np.array(want).astype(dtype))


@requirement("autograd/only-floating-and-complex-tensors-require-grad")
@forall(dtype=dtypes())
def test_which_dtypes_may_require_grad(s: Session, dtype: str) -> None:
    x = s.tensor([0, 1], dtype)
    if dtype.startswith(("float", "bfloat", "complex")):
        s.call("requires_grad_", x)
        s.expect(s.call("requires_grad", x), True, "requires_grad")
        return
    for operator, args in (("requires_grad_", (x,)), ("set_requires_grad", (x, True))):
        s.expect_raises(RuntimeError, operator, *args)
    s.expect(s.call("requires_grad", x), False, "requires_grad")


@requirement("autograd/variable-is-tensor")
def test_variable(s: Session) -> None:
    x, plain = leaf(s, [1.0]), s.tensor([1.0])
    s.expect(type(x.raw) is type(plain.raw), True, "one type", f"type({x.name}) is type({plain.name})", [x, plain])
    y = s.call("variable", x)
    same = isinstance(y, Handle) and type(y.raw) is type(x.raw)
    s.expect(same, True, "type of a variable", f"type({s.text('variable', x)}) is type({x.name})", [x])
    s.expect_values(y, [1.0])
    backward(s, s.call("mul.Scalar", x, 2))
    expect_grad(s, x, [2.0])
