"""The three forms of a pointwise operator: a new result, in place on self, into out=."""

from __future__ import annotations

import warnings

from ..iteration.overlap import check_no_partial_overlap
from ..iteration.resize import resize_output
from ..tensor.tensor import Tensor, new_like
from ..tensor.versions import bump_version
from .extents import extent_of
from .pointwise_call import Call
from .pointwise_plan import Plan, arguments, fitted, plan_call, tensors_of
from .pointwise_rule import PointwiseRule


def run_functional(rule: PointwiseRule, call: Call) -> Tensor:
    """A new tensor."""
    plan = plan_call(rule, call, None, inplace=False)
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    result = new_like(plan.geometry)
    if plan.launch is not None:
        plan.launch.run([result.pointer, *arguments(call)])
    return result


def run_into(rule: PointwiseRule, call: Call, out: Tensor, *, inplace: bool) -> Tensor:
    """`out`, written and its version raised by one; left alone when any check fails."""
    plan = plan_call(rule, call, out, inplace=inplace)
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    check_against_inputs(out, call)
    values = arguments(call)
    if plan.through_copy:
        _write_converted(rule, call, plan, out)
        return out
    if plan.resize:
        resize_output(out, plan.geometry, warn=warnings.warn)
        values = arguments(call)
    if plan.launch is not None:
        plan.launch.run([out.pointer, *values])
    bump_version(out)
    return out


def check_against_inputs(out: Tensor, call: Call) -> None:
    """RuntimeError when `out` shares part of its bytes with an input."""
    storage = out.storage
    for tensor in tensors_of(call):
        if tensor.storage is storage and tensor is not out:
            check_no_partial_overlap(extent_of(out), extent_of(tensor))


def _write_converted(rule: PointwiseRule, call: Call, plan: Plan, out: Tensor) -> None:
    """A result that has to be rounded to half precision first, then converted to what `out` holds."""
    from .copy import copy_values

    result = run_functional(rule, call)
    if plan.resize:
        resize_output(out, plan.geometry, warn=warnings.warn)
    copy_values(out, result)
    bump_version(out)

