"""Where gradients end: fields of leaves, what `grad` returns, chosen and unused inputs, kept gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Program
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import LAYOUTS
from . import duals
from .leaves import backward, expect_grad, gradient, gradients, leaf, leaf_of, ones_like, small_floats

X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])


@requirement("autograd/backward-accumulates")
@forall(factors=hs.lists(hs.integers(-3, 3), min_size=1, max_size=5))
def test_passes_add_up(s: Session, factors: list[int]) -> None:
    x = leaf(s, [1.0, 2.0], "float64")
    for k, factor in enumerate(factors):
        backward(s, s.call("mul.Scalar", x, factor))
        expect_grad(s, x, np.full(2, float(sum(factors[: k + 1]))))


@requirement("autograd/backward-accumulates")
def test_given_gradient_is_added_to(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    s.call("set_grad", x, s.call("clone", s.tensor([10.0, 20.0])))
    backward(s, s.call("mul.Tensor", x, x))
    expect_grad(s, x, [12.0, 24.0])


@requirement("autograd/grad-leaves-the-fields-alone", "autograd/uses-of-a-tensor-add-up")
@forall(program=duals.programs(), filled=hs.booleans())
def test_gradients_of_programs(s: Session, program: Program, filled: bool) -> None:
    model = duals.inputs(X, W)
    want = program.run(duals.call, model)
    if np.abs(want.slope).max() > duals.EXACT:
        return
    x, w = leaf(s, X), leaf(s, W)
    if filled:
        s.call("set_grad", x, s.call("clone", s.tensor([7.0, 7.0, 7.0], "float64")))
    y = program.run(s.call, [x, w])
    found = gradients(s, y, [w, x], retain_graph=True, materialize_grads=True)
    expected = duals.gradients(want, model)
    for got, array in zip(s.parts(found, 2), expected[::-1], strict=True):
        s.expect_values(got, array, signed_zero=False)
    expect_grad(s, x, np.full(3, 7.0) if filled else None)
    expect_grad(s, w, None)
    backward(s, y, inputs=[x])
    if 0 in duals.reached(program):
        expect_grad(s, x, expected[0] + 7.0 if filled else expected[0])
    expect_grad(s, w, None)


@requirement("autograd/grad-leaves-the-fields-alone")
def test_gradients_by_results(s: Session) -> None:
    x = leaf(s, [2.0])
    y = s.call("mul.Tensor", x, x)
    z = s.call("mul.Scalar", y, 5)
    for got, want in zip(s.parts(gradients(s, z, [y, x, z]), 3), (5.0, 20.0, 1.0), strict=True):
        s.expect_values(got, [want])
    expect_grad(s, x, None)


@requirement("autograd/uses-of-a-tensor-add-up")
@forall(uses=hs.integers(1, 8), case=small_floats())
def test_fan_out(s: Session, uses: int, case: TensorCase) -> None:
    x = leaf_of(s, case)
    y = s.call("mul.Tensor", x, x)
    parts = [s.call("mul.Scalar", y, k) for k in range(1, uses + 1)]
    total = parts[0]
    for part in parts[1:]:
        total = s.call("add.Tensor", part, total)
    backward(s, total)
    expect_grad(s, x, uses * (uses + 1) * case.array)


@requirement("autograd/missing-output-gradients-are-zero")
@forall(used=hs.lists(hs.integers(0, 3), min_size=1, max_size=3, unique=True), way=hs.integers(0, 2))
def test_some_parts_used(s: Session, used: list[int], way: int) -> None:
    x = leaf(s, np.arange(8.0).reshape(4, 2))
    if way == 0:
        parts = s.call("unbind.int", x)
    else:
        parts = s.call("split.Tensor", x, 1) if way == 1 else s.call("chunk", x, 4)
    want = np.zeros((4, 2))
    total: Handle | None = None
    for k in used:
        want[k] = k + 1.0
        part = s.call("sum", s.call("mul.Scalar", parts[k], k + 1))
        total = part if total is None else s.call("add.Tensor", total, part)
    s.call("backward", total)
    expect_grad(s, x, want)


@requirement("autograd/missing-output-gradients-are-zero")
def test_one_of_two_results(s: Session) -> None:
    x = leaf(s, [[4.0, 0.0], [0.0, 2.0]], "float64")
    q, _ = s.call("linalg_qr", x)
    s.expect_shape(gradient(s, q, x), (2, 2))
    values, _ = s.call("sort", leaf(s, [3.0, 1.0]))
    s.call("backward", s.call("sum", values))


@requirement("autograd/unused-input-raises")
@forall(used=hs.lists(hs.booleans(), min_size=1, max_size=4))
def test_unused_inputs(s: Session, used: list[bool]) -> None:
    leaves = [leaf(s, [1.0, 2.0]) for _ in used]
    y = s.call("mul.Scalar", leaf(s, [1.0, 1.0]), 1)
    for x, use in zip(leaves, used, strict=True):
        y = s.call("add.Tensor", y, x) if use else y
    if all(used):
        for got in gradients(s, y, leaves):
            s.expect_values(got, [1.0, 1.0])
    else:
        s.expect_raises(RuntimeError, "gradients", y, leaves, [ones_like(s, y)])


@requirement("autograd/unused-input-may-be-allowed")
@forall(used=hs.lists(hs.booleans(), min_size=1, max_size=4), zeros=hs.booleans())
def test_allowed_unused_inputs(s: Session, used: list[bool], zeros: bool) -> None:
    leaves = [leaf(s, [1.0, 2.0]) for _ in used]
    y = s.call("mul.Scalar", leaf(s, [1.0, 1.0]), 1)
    for x, use in zip(leaves, used, strict=True):
        y = s.call("add.Tensor", y, x) if use else y
    flags: dict[str, Any] = {"materialize_grads": True} if zeros else {"allow_unused": True}
    found = gradients(s, y, leaves, **flags)
    s.expect_of_last(len(found), len(used), "number of gradients", "len({})")
    for k, (got, use) in enumerate(zip(found, used, strict=True)):
        if use or zeros:
            s.expect_of_last(isinstance(got, Handle), True, "a gradient", f"{{}}[{k}] is not None")
            s.expect_values(got, [float(use)] * 2)
        else:
            s.expect_of_last(got is None, True, "no gradient for an unused input", f"{{}}[{k}] is None")


@requirement("autograd/chosen-inputs-alone-accumulate")
@forall(chosen=hs.lists(hs.booleans(), min_size=1, max_size=4).filter(any), middle=hs.booleans())
def test_chosen_inputs(s: Session, chosen: list[bool], middle: bool) -> None:
    leaves = [leaf(s, [1.0, 2.0]) for _ in chosen]
    y = s.call("mul.Scalar", leaves[0], 3)
    for x in leaves[1:]:
        y = s.call("add.Tensor", y, s.call("mul.Scalar", x, 3))
    inputs = [x for x, choice in zip(leaves, chosen, strict=True) if choice]
    if middle:
        s.call("retain_grad", y)
    backward(s, y, inputs=[*inputs, y] if middle else inputs)
    for x, choice in zip(leaves, chosen, strict=True):
        expect_grad(s, x, [3.0, 3.0] if choice else None)
    if middle:
        expect_grad(s, y, [1.0, 1.0])


@requirement("autograd/assigned-gradient-must-fit")
def test_assigned_gradients(s: Session) -> None:
    def row(s: Session, sizes: tuple[int, ...], dtype: str, fits: bool) -> None:
        x = leaf(s, [1.0, 2.0])
        value = s.tensor(np.full(sizes, 5.0), dtype)
        if fits:
            s.call("set_grad", x, value)
            expect_grad(s, x, [5.0, 5.0])
            s.call("set_grad", x, None)
        else:
            s.expect_raises(RuntimeError, "set_grad", x, value)
        expect_grad(s, x, None)

    s.table(
        [
            ((2,), "float32", True), ((3,), "float32", False), ((), "float32", False), ((1, 2), "float32", False),
            ((2, 1), "float32", False), ((1,), "float32", False), ((0,), "float32", False),
            ((2,), "float64", False), ((2,), "float16", False), ((2,), "int64", False),
        ],
        row,
    )  # fmt: skip


@requirement("autograd/assigned-gradient-must-fit", needs=("meta", "device.multi"))
def test_gradient_on_another_device(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    s.without_data()
    s.expect_raises(RuntimeError, "set_grad", x, s.call("empty.memory_format", (2,), device="meta"))


@requirement("autograd/plain-gradients-are-not-recorded")
@forall(power=hs.integers(2, 4), way=hs.booleans())
def test_gradients_are_plain(s: Session, power: int, way: bool) -> None:
    x = leaf(s, 2.0, "float64")
    y = s.call("pow.Tensor_Scalar", x, power)
    if way:
        s.call("backward", y)
        g = s.call("grad", x)
    else:
        g = gradient(s, y, x)
    s.expect(s.call("requires_grad", g), False, "requires_grad of a gradient")
    s.expect_values(g, np.float64(power * 2.0 ** (power - 1)))
    s.expect_raises(RuntimeError, "gradients", g, [x])
    s.expect_raises(RuntimeError, "backward", g)


@requirement("autograd/gradient-has-the-strides-of-its-leaf")
@forall(case=small_floats(layouts=LAYOUTS[:5]), way=hs.integers(0, 2))
def test_strides_of_gradients(s: Session, case: TensorCase, way: int) -> None:
    x = leaf_of(s, case)
    other = s.tensor(np.full(case.sizes, 2.0))
    y = s.call("mul.Tensor", x, other) if way else s.call("clone", x)
    backward(s, s.call("exp", y) if way == 2 else y)
    dense = sorted((step, n) for step, n in zip(case.strides, case.sizes, strict=True) if n > 1)
    reach = 1
    for step, n in dense:
        if step != reach:
            return
        reach *= n
    g = s.call("grad", x)
    got = tuple(s.observe("strides", g))
    strides = case.strides
    shown = [got[k] for k, n in enumerate(case.sizes) if n > 1]
    want = [strides[k] for k, n in enumerate(case.sizes) if n > 1]
    sizes, steps = s.dialect.observe("shape", x.name), s.dialect.observe("strides", g.name)
    expression = f"[step for n, step in zip({sizes}, {steps}) if n > 1]"
    s.expect(shown, want, "strides of the gradient", expression, [x, g])


@requirement("autograd/gradient-has-the-strides-of-its-leaf")
def test_strides_of_a_transposed_leaf(s: Session) -> None:
    x = s.call("t", s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    s.call("requires_grad_", x)
    backward(s, s.call("mul.Tensor", x, s.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])))
    s.expect_strides(s.call("grad", x), (1, 3))
