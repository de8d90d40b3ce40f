"""Entries of the fast paths: written into a geometry's `plans` by the general path once it has run a call.

Under a binding's key stands either a tuple for the generated code or False, which says "not this geometry":

    "add.Tensor"                       (builtin, result geometry, count)              both operands of this geometry
    ("add.Tensor", other geometry)     (builtin, result geometry, its last arguments) operands of two geometries
    "add.Tensor float"                 (builtin, result geometry, count)              a number as the other operand
    "add.Tensor reversed float"        the same with the number first
    "add_.Tensor"                      (builtin, count)                               in place
    ("add_.Tensor", other geometry)    as for two geometries out of place, in another storage
"""

from __future__ import annotations

from operator import is_
from typing import Any

from ..core.device import cpu
from ..dispatch.state import FAST_GLOBALS
from ..operators.device_loops import DEVICE_LOOPS, DeviceLoops
from ..operators.pointwise import RULES
from ..operators.pointwise_call import call_builder
from ..operators.pointwise_plan import Plan, plan_call
from ..operators.pointwise_rule import PointwiseRule
from ..tensor.geometry import Geometry, remember
from ..tensor.tensor import Tensor
from .carry import teach
from .source import BOUNDED


def learn(row_name: str, key: Any, *operands: Any, inplace: bool = False) -> None:
    """Find out whether calls like this one may take the fast path, and note the entry under `key`."""
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    plans = tensors[0].geometry.plans
    if key in plans or FAST_GLOBALS["SPECIAL"]:
        return
    rule = RULES[row_name]
    plan: Plan | None = None
    device = tensors[0].geometry.device
    loops = DEVICE_LOOPS.get(device.type) if device is not cpu else None
    if all(_plain(tensor.geometry) for tensor in tensors) and _independent_of_default_dtype(rule, operands):
        apart = any(tensor.geometry.device is not device for tensor in tensors)
        planned = operands if loops is None or apart else loops.on_host(operands)
        call = call_builder(row_name)(*planned)
        plan = plan_call(rule, call, planned[0] if inplace else None, inplace=inplace)
        same_order = len(call.operands) == len(operands) and all(map(is_, call.operands, planned))
        unfit = call.fit and (rule.base not in BOUNDED or plan is None or plan.common.kind != 2)
        weighty = any(weight.__class__ is not int for weight in call.weights)
        if not same_order or unfit or call.extras or weighty or call.condition is not None:
            plan = None
    if loops is None:
        entry = remember(plans, key, _entry(plan, key, inplace))
        if plan is not None and plan.geometry.numel:
            teach(key, tensors[0].geometry, entry)
    else:
        remember(plans, key, _device_entry(loops, row_name, plan, key, operands, inplace))


def _entry(plan: Plan | None, key: Any, inplace: bool) -> Any:
    if plan is None or plan.launch is None or plan.through_copy:
        return False
    launch = plan.launch
    if isinstance(key, tuple):
        tail = (launch.count,) if launch.contiguous else launch.tail
        return (launch.builtin(), plan.geometry, tail)
    kernel = launch.counted()
    return (kernel, launch.count) if inplace else (kernel, plan.geometry, launch.count)


def _device_entry(
    loops: DeviceLoops, row_name: str, plan: Plan | None, key: Any, operands: tuple[Any, ...], inplace: bool
) -> Any:
    """The entry of a plan over CPU tensors that stand for a device's."""
    if plan is None or plan.launch is None or plan.through_copy or not plan.geometry.numel:
        return False
    kernel = loops.entry(row_name, plan.launch, operands)
    device = next(operand for operand in operands if isinstance(operand, Tensor)).geometry.device
    geometry = loops.geometry(plan.geometry, device)
    count = plan.launch.count
    if isinstance(key, tuple):
        return (kernel, geometry, (count,))
    return (kernel, count) if inplace else (kernel, geometry, count)


def _plain(geometry: Geometry) -> bool:
    return geometry.lazy == 0 and not geometry.watched


def _independent_of_default_dtype(rule: PointwiseRule, operands: tuple[Any, ...]) -> bool:
    kind = max(operand.geometry.dtype.kind for operand in operands if isinstance(operand, Tensor))
    if kind >= 2:
        return True
    numbers = [operand for operand in operands if not isinstance(operand, Tensor)]
    return rule.row.promotion != "int_to_float" and not any(isinstance(n, (float, complex)) for n in numbers)
