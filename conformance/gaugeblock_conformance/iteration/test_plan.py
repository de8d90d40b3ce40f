"""The iteration plan: which loops are left, in which order, and how often the kernel runs."""

from __future__ import annotations

from math import prod
from typing import cast

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase, default_strides
from ..forall import forall
from ..iteration_plan import IterationPlan
from ..requirement import requirement
from ..session import Handle, Session
from .model import broadcast, broadcast_strides, collapse, output_strides


def _plan(s: Session, *tensors: Handle, promote: bool = False) -> IterationPlan:
    made = s.guard("iteration_plan", lambda: s.backend.iteration_plan([t.raw for t in tensors], promote))  # type: ignore[attr-defined]
    return cast(IterationPlan, made)


def _loops(plan: IterationPlan) -> tuple[int, ...]:
    """The loops of the plan without those of one step; (1,) for a single element."""
    return tuple(n for n in plan.shape if n != 1) or (1,)


def _expected(cases: tuple[TensorCase, ...]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Loops and byte strides (output first) of the model."""
    result = broadcast(*[c.sizes for c in cases])
    assert result is not None
    operands = [output_strides(cases), *[broadcast_strides(c, result) for c in cases]]
    widths = [numpy_dtype(cases[0].dtype).itemsize, *[numpy_dtype(c.dtype).itemsize for c in cases]]
    scaled = [tuple(step * width for step in strides) for strides, width in zip(operands, widths, strict=True)]
    loops, steps = collapse(result, scaled)
    kept = [k for k, n in enumerate(loops) if n != 1]
    return tuple(loops[k] for k in kept) or (1,), [tuple(own[k] for k in kept) for own in steps]


def _case(sizes: tuple[int, ...], strides: tuple[int, ...] | None = None) -> TensorCase:
    return TensorCase("float32", sizes, default_strides(sizes) if strides is None else strides, kind="small")


@requirement("iteration/dims-collapse-when-strides-continue")
def test_collapse_goldens(s: Session) -> None:
    def row(s: Session, case: TensorCase, loops: tuple[int, ...]) -> None:
        s.expect(_loops(_plan(s, s.build(case))), loops, "loops of the plan")

    s.table(
        [
            (_case((3, 4)), (12,)),
            (_case((2, 3, 4)), (24,)),
            (_case((3, 2), (4, 2)), (6,)),
            (_case((3, 2), (5, 2)), (2, 3)),
            (_case((4, 3), (1, 4)), (12,)),
            (_case((2, 3, 4), (24, 4, 1)), (12, 2)),
        ],
        row,
    )


@requirement("iteration/dims-collapse-when-strides-continue")
@forall(xs=st.operands(2, "float32", kind="small", empty=False))
def test_loops_are_the_models(s: Session, xs: tuple[TensorCase, ...]) -> None:
    plan = _plan(s, *[s.build(x) for x in xs])
    loops, _ = _expected(xs)
    s.expect(_loops(plan), loops, "loops of the plan")


@requirement("iteration/one-operand-blocks-collapsing")
def test_blockers(s: Session) -> None:
    def row(s: Session, other: TensorCase, loops: tuple[int, ...]) -> None:
        s.expect(_loops(_plan(s, s.build(_case((3, 4))), s.build(other))), loops, "loops of the plan")

    s.table(
        [
            (_case((3, 4)), (12,)),
            (_case((4,)), (4, 3)),
            (_case((3, 1)), (4, 3)),
            (_case((3, 4), (1, 3)), (4, 3)),
            (_case((3, 4), (6, 1)), (4, 3)),
            (_case(()), (12,)),
            (_case((1, 1)), (12,)),
        ],
        row,
    )


@requirement("iteration/unit-dims-never-block-collapsing")
def test_unit_dims(s: Session) -> None:
    def row(s: Session, case: TensorCase, loops: tuple[int, ...]) -> None:
        s.expect(_loops(_plan(s, s.build(case))), loops, "loops of the plan")

    s.table(
        [
            (_case((1, 3, 1, 4, 1)), (12,)),
            (_case((3, 1, 4), (4, 99, 1)), (12,)),
            (_case((1, 1)), (1,)),
            (_case(()), (1,)),
        ],
        row,
    )
    scalar = _plan(s, s.build(_case(())), s.build(_case(())))
    s.expect((scalar.runs, scalar.visits), (1, 1), "runs and visits of operands without dims")


@requirement("iteration/empty-range-calls-no-kernel")
@forall(xs=st.operands(2, "float32", kind="small"))
def test_visits_are_the_elements(s: Session, xs: tuple[TensorCase, ...]) -> None:
    result = broadcast(*[x.sizes for x in xs])
    assert result is not None
    plan = _plan(s, *[s.build(x) for x in xs])
    s.expect(plan.visits, prod(result), "elements visited")
    if 0 in result:
        s.expect(plan.runs, 0, "calls of the kernel")


@requirement("iteration/smallest-stride-runs-innermost")
@forall(xs=st.operands(2, "float32", kind="small", empty=False))
def test_strides_grow_outward(s: Session, xs: tuple[TensorCase, ...]) -> None:
    plan = _plan(s, *[s.build(x) for x in xs])
    steps = [step for step, n in zip(plan.strides[0], plan.shape, strict=True) if n != 1]
    s.expect(steps, sorted(steps), "output strides from the innermost loop outward")
    _, strides = _expected(xs)
    got = [tuple(t for t, n in zip(row, plan.shape, strict=True) if n != 1) for row in plan.strides]
    s.expect(got, strides, "byte strides of the plan")


@requirement("iteration/iterator-promotes-on-request")
def test_promotion_is_asked_for(s: Session) -> None:
    x, y = s.tensor([1.0, 2.0]), s.tensor([1, 2], "int32")
    s.expect(_plan(s, x, y, promote=True).dtype, "float32", "common dtype")
    s.expect(_plan(s, s.tensor([1, 2], "int16"), y, promote=True).dtype, "int32", "common dtype")
    s.expect(_plan(s, x, x).dtype, "float32", "common dtype")
    try:
        s.backend.iteration_plan([x.raw, y.raw], False)  # type: ignore[attr-defined]
    except RuntimeError:
        return
    message = "an iterator without promotion accepted mixed dtypes"
    raise s.failure(message, "RuntimeError", "a plan", [f"print({x.name}, {y.name})"], {x.name, y.name})
