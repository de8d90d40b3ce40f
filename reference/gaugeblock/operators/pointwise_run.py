"""The three forms of a pointwise operator: a new result, in place on self, into out=."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..iteration.overlap import check_no_partial_overlap
from ..iteration.resize import resize_output
from ..tensor.tensor import Tensor, new_like
from ..tensor.versions import bump_version
from .extents import extent_of
from .number_limits import LARGEST_HALF
from .pointwise_call import Call
from .pointwise_plan import Plan, arguments, fitted, plan_call, tensors_of
from .pointwise_rule import PointwiseRule
from .prepared import Ordered, noted


def run_functional(rule: PointwiseRule, call: Call) -> Tensor:
    """A new tensor."""
    plan = plan_call(rule, call, None, inplace=False)
    given = call
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    result = new_like(plan.geometry)
    if plan.launch is not None:
        plan.launch.run([result.pointer, *arguments(call)])
        noted(rule.base, result, PointwiseNote(plan, given))
    return result


class PointwiseNote(NamedTuple):
    """What a runner can be made of, if the binding wants one."""

    plan: Plan
    call: Call

    def ordered(self) -> Ordered | None:
        """The runner; None where more has to be looked at than geometries and kinds."""
        return runner_for(self.plan, self.call)

    def into(self) -> Ordered | None:
        """The runner whose first argument is out=; it gives None too when out= shares the memory of another."""
        ordered = runner_for(self.plan, self.call)
        if ordered is None or self.plan.launch is None:
            return None
        builtin, tail = self.plan.launch.call()

        def run_one(out: Tensor, self: Tensor) -> Tensor | None:
            if self.storage_impl is out.storage_impl:
                return None
            bump_version(out)
            builtin(out.pointer, self.pointer, *tail)
            return out

        def run_two(out: Tensor, self: Tensor, other: Tensor) -> Tensor | None:
            storage = out.storage_impl
            if self.storage_impl is storage or other.storage_impl is storage:
                return None
            bump_version(out)
            builtin(out.pointer, self.pointer, other.pointer, *tail)
            return out

        def run(out: Tensor, *given: Any) -> Tensor | None:
            values, storage = [], out.storage_impl
            for one in given:
                if one.__class__ is Tensor:
                    if one.storage_impl is storage:
                        return None
                    values.append(one.pointer)
                elif -LARGEST_HALF <= one <= LARGEST_HALF:
                    values.append(one)
                else:
                    return None
            bump_version(out)
            builtin(out.pointer, *values, *tail)
            return out

        if all(isinstance(one, Tensor) for one in ordered.operands) and len(ordered.operands) < 3:
            return Ordered(ordered.operands, run_one if len(ordered.operands) == 1 else run_two)
        return Ordered(ordered.operands, run)


    def within(self) -> Ordered | None:
        """The runner that writes into its first argument; it gives None too when another shares that one's memory."""
        ordered = runner_for(self.plan, self.call)
        if ordered is None or self.plan.launch is None:
            return None
        builtin, tail = self.plan.launch.call()

        def run(self: Tensor, *given: Any) -> Tensor | None:
            values, storage = [self.pointer], self.storage_impl
            for one in given:
                if one.__class__ is Tensor:
                    if one.storage_impl is storage and one is not self:
                        return None
                    values.append(one.pointer)
                elif one is not None:
                    if not -LARGEST_HALF <= one <= LARGEST_HALF:
                        return None
                    values.append(one)
            bump_version(self)
            builtin(self.pointer, *values, *tail)
            return self

        return Ordered(ordered.operands, run)


def runner_for(plan: Plan, call: Call) -> Ordered | None:
    """What runs calls on operands of the same geometries and kinds; None where more has to be looked at.

    The runner itself gives None for a number that may not fit the dtype.
    """
    launch = plan.launch
    condition = () if call.condition is None else (call.condition,)
    operands = (*condition, *call.operands, *call.extras)
    tensors = [one for one in call.operands if isinstance(one, Tensor)]
    numbers = len(operands) - len(tensors) - len(condition)
    if launch is None or plan.through_copy or call.weights or not tensors:
        return None
    if numbers and (plan.common.kind != 2 or all(one.geometry.dtype.kind < 2 for one in tensors)):
        return None
    builtin, tail = launch.call()
    geometry = plan.geometry

    def run_tensors(*given: Any) -> Tensor:
        result = new_like(geometry)
        builtin(result.pointer, *[one.pointer for one in given if one is not None], *tail)
        return result

    def run_mixed(*given: Any) -> Tensor | None:
        values = []
        for one in given:
            if one.__class__ is Tensor:
                values.append(one.pointer)
            elif one is not None:
                if not -LARGEST_HALF <= one <= LARGEST_HALF:
                    return None
                values.append(one)
        result = new_like(geometry)
        builtin(result.pointer, *values, *tail)
        return result

    return Ordered(operands, run_mixed if numbers else run_tensors)


def run_into(rule: PointwiseRule, call: Call, out: Tensor, *, inplace: bool) -> Tensor:
    """`out`, written and its version raised by one; left alone when any check fails."""
    plan = plan_call(rule, call, out, inplace=inplace)
    given = call
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    check_against_inputs(out, call)
    values = arguments(call)
    if plan.through_copy:
        _write_converted(rule, call, plan, out)
        return out
    bump_version(out)
    if plan.resize:
        resize_output(out, plan.geometry)
        values = arguments(call)
    if plan.launch is not None:
        plan.launch.run([out.pointer, *values])
        if not plan.resize:
            noted(rule.base + "_" if inplace else rule.base, out, PointwiseNote(plan, given))
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
        resize_output(out, plan.geometry)
    bump_version(out)
    copy_values(out, result)
