"""Pointwise operators: a kernel for every form of every pointwise row, on CPU and Meta, and the running of its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import REGISTRY
from ..iteration.dimensions import resize_output
from ..iteration.overlap import check_no_partial_overlap
from ..kernels.bound_call import Fresh, Into
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.versions import bump_version
from .launch import Launch
from .operand_checks import extent_of
from .plan import Plannable, Planned
from .pointwise_call import CALLS, Call, call_builder
from .pointwise_plan import Plan, PointwiseRule, arguments, fitted, plan_call, tensors_of
from .rows import Row, rows


def run_functional(rule: PointwiseRule, call: Call) -> Tensor:
    """Return a new tensor."""
    plan = plan_call(rule, call, None, inplace=False)
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    result = new_like(plan.meta)
    if plan.launch is not None:
        plan.launch.run([result.pointer, *arguments(call)])
    return result


def planned_functional(rule: PointwiseRule, call: Call) -> Planned[Tensor]:
    """Return a new tensor and its call."""
    result = run_functional(rule, call)
    loop = loop_of(rule, call, None, inplace=False)
    if loop is None:
        return Planned(result, None)
    return Planned(result, loop.fresh().native(), loop.operands, loop.generic)


def planned_into(rule: PointwiseRule, call: Call, out: Tensor, *, inplace: bool) -> Planned[Tensor]:
    """Return `out`, written, and the call that writes."""
    loop = loop_of(rule, call, out, inplace=inplace)
    run_into(rule, call, out, inplace=inplace)
    if loop is None:
        return Planned(out, None)
    return Planned(out, loop.into(read=inplace).native(), loop.operands, loop.generic)


class Loop:
    """The loop of a call, if metas and classes of numbers decide it: what is launched, the meta of the result, the
    operands in order, and whether numbers are limited to what fits every floating dtype."""

    __slots__ = ("launch", "limited", "operands", "result")

    def __init__(self, launch: Launch, result: TensorMeta, operands: tuple[Any, ...], limited: bool) -> None:
        self.launch = launch
        self.result = result
        self.operands = operands
        self.limited = limited

    @property
    def generic(self) -> bool:
        """Whether it runs over one contiguous run of elements."""
        return self.launch.contiguous

    def fresh(self) -> Fresh:
        """Return the call that writes into a new tensor."""
        kernel, tail = self.launch.call()
        return Fresh(kernel, (self.result,), tail, self.limited)

    def into(self, *, read: bool) -> Into:
        """Return the call that writes into its first argument."""
        kernel, tail = self.launch.call()
        return Into(kernel, tail, self.limited, read)


def loop_of(rule: PointwiseRule, call: Call, out: Tensor | None, *, inplace: bool) -> Loop | None:
    """Return the loop of a call, without running it."""
    plan = plan_call(rule, call, out, inplace=inplace)
    apart = inplace and (call.condition is not None or call.operands[0] is not out)
    if plan.launch is None or plan.resize or apart or not _is_decided(plan, call):
        return None
    operands = _operands(call) if out is None or inplace else (out, *_operands(call))
    return Loop(plan.launch, plan.meta, operands, _is_limited(call))


def _operands(call: Call) -> tuple[Any, ...]:
    return (*(() if call.condition is None else (call.condition,)), *call.operands, *call.extras)


def _is_limited(call: Call) -> bool:
    """Return whether each number must fit the dtype that is computed in."""
    numbers = any(not isinstance(one, Tensor) for one in call.operands)
    return bool(call.extras) or (call.fit and numbers)


def _is_decided(plan: Plan, call: Call) -> bool:
    """Return whether metas and classes of numbers decide all that the plan does: not the default dtype, and not the
    values of numbers, but that they fit floating dtypes."""
    tensors = [one.meta for one in _operands(call) if isinstance(one, Tensor)]
    if plan.through_copy or call.weights or call.valued or any(one.lazy or one.watched for one in tensors):
        return False
    if plan.common.kind >= 2 and all(one.dtype.kind < 2 for one in tensors):
        return False
    return plan.common.kind == 2 or not _is_limited(call)


def run_into(rule: PointwiseRule, call: Call, out: Tensor, *, inplace: bool) -> Tensor:
    """Return `out`, written and its version raised by one; it is left alone when any check fails."""
    plan = plan_call(rule, call, out, inplace=inplace)
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    check_against_inputs(out, call)
    values = arguments(call)
    if plan.through_copy:
        _write_converted(rule, call, plan, out)
        return out
    bump_version(out)
    if plan.resize:
        resize_output(out, plan.meta)
        values = arguments(call)
    if plan.launch is not None:
        plan.launch.run([out.pointer, *values])
    return out


def check_against_inputs(out: Tensor, call: Call) -> None:
    """RuntimeError when `out` shares part of its bytes with an input."""
    storage = out.storage_impl
    for tensor in tensors_of(call):
        if tensor.storage_impl is storage and tensor is not out:
            check_no_partial_overlap(extent_of(out), extent_of(tensor))


def _write_converted(rule: PointwiseRule, call: Call, plan: Plan, out: Tensor) -> None:
    """A result that has to be rounded to half precision first, then converted to what `out` holds."""
    from .copy import copy_values

    result = run_functional(rule, call)
    if plan.resize:
        resize_output(out, plan.meta)
    bump_version(out)
    copy_values(out, result)


WITHOUT_FORMULA = frozenset(
    {"mvlgamma", "special_multigammaln", "frexp", "polar", "complex", "isreal", "float_power"}
)
"""Pointwise operators without overload that modules of their own register."""
RULES: dict[str, PointwiseRule] = {}
"""Rule of each pointwise row by name."""


def register_row(row: Row) -> None:
    """Register the functional, in-place and out= kernels of one row."""
    rule = RULES[row.name] = PointwiseRule(row)
    build = call_builder(row.name)
    for name, form in ((row.name, Functional), (row.inplace_name, InPlace), (row.out_name, Out)):
        if name is not None:
            REGISTRY.put(name, ("CPU", "Meta"), form(name, rule, CALLS.get(name, build)))


class Form(Plannable[..., Tensor]):
    """A kernel of a pointwise operator; `build` makes a call of the operator's arguments."""

    def __init__(self, name: str, rule: PointwiseRule, build: Callable[..., Call]) -> None:
        self.__qualname__ = self.__name__ = name
        self.rule = rule
        self.build = build


class Functional(Form):
    """The form with a new result."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        return run_functional(self.rule, self.build(*args, **kwargs))

    def planned(self, *args: Any, **kwargs: Any) -> Planned[Tensor]:
        """Return the result together with the call behind it."""
        return planned_functional(self.rule, self.build(*args, **kwargs))

    def loop(self, *args: Any, **kwargs: Any) -> Loop | None:
        """Return the loop of a call without running it."""
        return loop_of(self.rule, self.build(*args, **kwargs), None, inplace=False)


class InPlace(Form):
    """The form that writes into its first argument."""

    def __call__(self, first: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return run_into(self.rule, self.build(first, *args, **kwargs), first, inplace=True)

    def planned(self, first: Tensor, *args: Any, **kwargs: Any) -> Planned[Tensor]:
        """Return the first argument, written, together with the call that writes."""
        return planned_into(self.rule, self.build(first, *args, **kwargs), first, inplace=True)

    def loop(self, first: Tensor, *args: Any, **kwargs: Any) -> Loop | None:
        """Return the loop of a call without running it."""
        return loop_of(self.rule, self.build(first, *args, **kwargs), first, inplace=True)


class Out(Form):
    """The form that writes into `out`."""

    def __call__(self, *args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return run_into(self.rule, self.build(*args, **kwargs), out, inplace=False)

    def planned(self, *args: Any, out: Tensor, **kwargs: Any) -> Planned[Tensor]:
        """Return `out`, written, together with the call that writes."""
        return planned_into(self.rule, self.build(*args, **kwargs), out, inplace=False)


def register_pointwise() -> None:
    """Register every pointwise row of the spec that has a formula."""
    for row in rows().values():
        if row.family == "pointwise" and row.base not in WITHOUT_FORMULA:
            register_row(row)
