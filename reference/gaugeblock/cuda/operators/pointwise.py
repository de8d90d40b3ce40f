"""Pointwise operators: the plan of the CPU's call over the device's addresses, for PTX or for the CPU's own loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...operators.launch import Launch
from ...operators.pointwise import RULES
from ...operators.pointwise_call import Call, call_builder
from ...operators.pointwise_plan import arguments, fitted, plan_call
from ...operators.pointwise_rule import PointwiseRule
from ...tensor.tensor import Tensor
from .twins import host_views


def _forms() -> dict[str, tuple[PointwiseRule, str]]:
    found: dict[str, tuple[PointwiseRule, str]] = {}
    for rule in RULES.values():
        forms = ((rule.row.name, "fresh"), (rule.row.inplace_name, "inplace"), (rule.row.out_name, "out"))
        found.update({name: (rule, form) for name, form in forms if name is not None})
    return found


FORMS = _forms()
"""Operator -> the rule of its row, and whether its result is fresh, self or out=."""


class Loop(NamedTuple):
    """A loop and its values, outputs first, addresses of the device among them; `kept` has to stay until it has run.

    `given` has the tensors and numbers behind the values of the inputs.
    """

    launch: Launch
    values: list[Any]
    kept: Any
    given: list[Any]


def pointwise_loop(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> Loop | None:
    """The loop of a pointwise call that writes to `result`; None where it takes more than one."""
    rule, form = FORMS[name]
    built: Call = call_builder(rule.name)(*args, **{key: value for key, value in kwargs.items() if key != "out"})
    return loop_of(rule, form, built, result)


def loop_of(rule: PointwiseRule, form: str, built: Call, result: Tensor) -> Loop | None:
    """The loop of a formula's call that writes to `result`, fresh, self or out= as `form` says."""
    views = host_views()
    call: Call = views.of(built)
    target = views.of(result)
    plan = plan_call(rule, call, None if form == "fresh" else target, inplace=form == "inplace")
    if plan.launch is None or plan.through_copy or plan.resize:
        return None
    given = [*(() if built.condition is None else (built.condition,)), *built.operands, *built.extras]
    return Loop(plan.launch, [result.pointer, *arguments(fitted(rule, call, plan.common))], call, given)
