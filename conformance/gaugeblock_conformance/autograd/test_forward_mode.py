"""Forward mode: tangents, and their agreement with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import DualLevel, NoGrad, Program, Rule, entered
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import duals
from .leaves import clear_log, gradient, leaf

_UNTOLD = NoReproducer("two sums that the test takes are compared")

X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])
# Smooth functions of a vector of positive numbers: operator, further arguments.
SMOOTH: list[tuple[Any, ...]] = [
    ("exp",), ("sin",), ("tanh",), ("sqrt",), ("log",), ("reciprocal",), ("sigmoid",), ("cumsum", 0), ("prod",),
    ("softmax.int", 0), ("log_softmax.int", 0), ("logsumexp", [0]), ("pow.Tensor_Scalar", 3), ("flip", [0]), ("var",),
    ("linalg_vector_norm",), ("unsqueeze", 0), ("select.int", 0, 1), ("outer", None), ("dot", None),
    ("div.Tensor", None), ("mul.Tensor", None), ("atan2", None), ("sort",), ("mean",), ("diag_embed",), ("cumprod", 0),
]  # fmt: skip


def _tangent(s: Session, y: Handle) -> Handle:
    """The tangent of a dual tensor, expected to be there."""
    _expect_tangent(s, y, True)
    found: Handle = s.parts(s.call("unpack_dual", y), 2)[1]
    return found


def _expect_tangent(s: Session, y: Handle, there: bool) -> None:
    found = s.parts(s.call("unpack_dual", y), 2)[1] is not None
    s.expect(found, there, f"a tangent of {s.origin(y)}", f"{s.text('unpack_dual', y)}[1] is not None", [y])


@requirement("autograd/forward-mode-gives-tangents")
@forall(program=duals.programs(), u=hs.lists(hs.integers(-3, 3), min_size=6, max_size=6))
def test_tangents_of_programs(s: Session, program: Program, u: list[int]) -> None:
    model = program.run(duals.call, duals.inputs(X, W))
    if np.abs(model.slope).max() > duals.EXACT:
        return
    direction = np.array(u, dtype=np.float64)
    with entered(s.call, DualLevel()):
        x, w = (s.call("make_dual", s.tensor(a), s.tensor(t)) for a, t in ((X, direction[:3]), (W, direction[3:])))
        y = program.run(s.call, [x, w])
        s.expect_values(y, model.value, signed_zero=False)
        s.expect_values(_tangent(s, y), direction @ model.slope, signed_zero=False)


@requirement("autograd/forward-mode-gives-tangents")
def test_without_tangents(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    with entered(s.call, DualLevel()):
        _expect_tangent(s, s.call("exp", x), False)
        dual = s.call("make_dual", x, s.tensor([3.0, 4.0]))
        s.expect_values(_tangent(s, s.call("mul.Tensor", dual, x)), [3.0, 8.0])
        s.expect_values(_tangent(s, s.call("sum", dual)), 7.0)
        _expect_tangent(s, s.call("detach", dual), False)
        y = s.call("mul.Scalar", dual, 2)
    _expect_tangent(s, y, False)


@requirement("autograd/forward-mode-gives-tangents")
def test_tangents_must_fit(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    with entered(s.call, DualLevel()):
        for tangent in (s.tensor([1.0]), s.tensor([1.0, 2.0, 3.0]), s.tensor(1.0)):
            s.expect_raises(RuntimeError, "make_dual", x, tangent)
    s.expect_raises(RuntimeError, "make_dual", x, s.tensor([1.0, 2.0]))


@requirement("autograd/forward-and-reverse-mode-agree")
@forall(which=hs.integers(0, len(SMOOTH) - 1), seed=hs.integers(0, 9999))
def test_adjoint_identity(s: Session, which: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.uniform(0.5, 3.0, (2, 4))
    direction = random.uniform(-1.0, 1.0, 4)
    operator, *arguments = SMOOTH[which]
    other = s.tensor(b)
    given = [other if value is None else value for value in arguments]

    def first(result: Any) -> Any:
        return result[0] if isinstance(result, list | tuple) else result

    with entered(s.call, DualLevel()):
        y = first(s.call(operator, s.call("make_dual", s.tensor(a), s.tensor(direction)), *given))
        along = s.read(_tangent(s, y)).copy()
    x = leaf(s, a)
    weight = random.uniform(-1.0, 1.0, along.shape)
    back = s.read(gradient(s, first(s.call(operator, x, *given)), x, s.tensor(weight)))
    left, right = float((weight * along).sum()), float((back * direction).sum())
    close = abs(left - right) <= 1e-10 * (1 + abs(left))
    s.expect(close, True, f"{operator}: {left!r} by the tangent, {right!r} by the gradient", _UNTOLD)


@requirement("autograd/missing-tangents-are-zeros")
@forall(count=hs.integers(1, 3), setup=hs.booleans(), materialize=hs.booleans())
def test_tangents_that_functions_get(s: Session, count: int, setup: bool, materialize: bool) -> None:
    clear_log(s)
    rule = Rule("scale", factor=3.0, label="f", setup=setup, materialize=materialize, tangent=True)
    function = s.call("define_function", rule)
    with entered(s.call, DualLevel()):
        x = s.call("make_dual", s.tensor([1.0, 2.0]), s.tensor([5.0, 7.0]))
        y = s.call("apply_function", function, x, *[s.tensor([1.0]) for _ in range(count - 1)])
        s.expect_values(_tangent(s, y), [15.0, 21.0])
    signs = "+" + ("+" if materialize else "-") * (count - 1)
    s.expect(s.call("autograd_log"), ("f forward", f"f jvp {signs}"), "calls of the function")


@requirement("autograd/out-forms-refuse-dual-tensors")
@forall(
    call=hs.sampled_from(("add.out", "mul.out", "sin.out", "exp.out", "cat.out", "sum.IntList_out")),
    written=hs.booleans(), recording=hs.booleans(),
)  # fmt: skip
def test_out_forms_of_dual_tensors(s: Session, call: str, written: bool, recording: bool) -> None:
    def given(x: Handle) -> tuple[Any, ...]:
        return {"add.out": (x, x), "mul.out": (x, x), "cat.out": ([x],), "sum.IntList_out": (x, [0])}.get(call, (x,))

    plain = s.tensor([1.0, 2.0])
    # The output already holds the result: some backends refuse the call only after writing it.
    out = s.call(call, *given(plain), out=s.call("zeros", () if call == "sum.IntList_out" else (2,)))
    with entered(s.call, DualLevel(), *([] if recording else [NoGrad()])):
        x = plain if written else s.call("make_dual", plain, s.tensor([5.0, 7.0]))
        target = s.call("make_dual", out, s.call("ones_like", out)) if written else out
        s.expect_raises(RuntimeError, call, *given(x), out=target)


@requirement("autograd/dual-tensors-do-not-nest")
@forall(part=hs.booleans(), tangent=hs.booleans())
def test_dual_tensors_of_dual_tensors(s: Session, part: bool, tangent: bool) -> None:
    with entered(s.call, DualLevel()):
        x = s.call("make_dual", s.tensor([1.0, 2.0]), s.tensor([5.0, 7.0]))
        x = s.call("narrow", x, 0, 0, 1) if part else x
        other = s.tensor([3.0] if part else [3.0, 4.0])
        s.expect_raises(RuntimeError, "make_dual", *((other, x) if tangent else (x, other)))


@requirement("autograd/results-have-tangents-of-their-own")
@forall(which=hs.integers(0, 5), factor=hs.integers(-3, 3))
def test_writes_to_results(s: Session, which: int, factor: int) -> None:
    plain = s.tensor([3.0, 4.0])
    tangent = s.tensor([5.0, 7.0])
    with entered(s.call, DualLevel()):
        x = s.call("make_dual", s.tensor([1.0, 2.0]), tangent)
        y = (
            lambda: s.call("copy_", s.call("clone", plain), x),
            lambda: s.call("add_.Tensor", s.call("clone", plain), x),
            lambda: s.call("add.Tensor", plain, x),
            lambda: s.call("add.Scalar", x, 1),
            lambda: s.call("clone", x),
            lambda: s.call("cat", [x]),
        )[which]()
        s.call("mul_.Scalar", y, factor)
        s.expect_values(_tangent(s, y), [5.0 * factor, 7.0 * factor], signed_zero=False)
        s.expect_values(_tangent(s, x), [5.0, 7.0])
    s.expect_values(tangent, [5.0, 7.0])
