"""Pointwise operators: the plan of the CPU's call over the device's addresses, for PTX or for the CPU's own loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...kernels.pointwise import Launch
from ...operators.launch import element_launch
from ...operators.pointwise import Call, PointwiseRule, arguments, fitted, plan_call
from ...operators.pointwise_operators import CALLS, RULES, call_builder
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
COMPONENTS = {"frexp.Tensor": "frexp", "complex": "complex", "polar": "polar"}
"""Operator with other dtypes of results than of operands -> its formula."""
KERNELS = frozenset(FORMS) | frozenset(COMPONENTS)
"""Operators with PTX of their own."""


class Loop(NamedTuple):
    """A loop and its values, outputs first, addresses of the device among them; `kept` has to stay until it has run.

    `given` has the tensors and numbers behind the values of the inputs.
    """

    launch: Launch
    values: list[Any]
    kept: Any
    given: list[Any]


def pointwise_loop(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], results: Sequence[Tensor]
) -> Loop | None:
    """The loop of a pointwise call that writes to `results`; None where it takes more than one."""
    if name in COMPONENTS:
        return _components_loop(COMPONENTS[name], args, results)
    rule, form = FORMS[name]
    build = CALLS.get(name) or call_builder(rule.name)
    built: Call = build(*args, **{key: value for key, value in kwargs.items() if key != "out"})
    views, result = host_views(), results[0]
    call: Call = views.of(built)
    target = views.of(result)
    plan = plan_call(rule, call, None if form == "fresh" else target, inplace=form == "inplace")
    if plan.launch is None or plan.through_copy or plan.resize:
        return None
    given = [*(() if built.condition is None else (built.condition,)), *built.operands, *built.extras]
    return Loop(plan.launch, [result.pointer, *arguments(fitted(rule, call, plan.common))], call, given)


def _components_loop(formula: str, args: tuple[Any, ...], results: Sequence[Tensor]) -> Loop | None:
    """The loop of numbers taken apart or put together, over the shape of the results."""
    views = host_views()
    inputs = [views.of(value) for value in args]
    first, *more = (views.of(one).meta for one in results)
    operands = [one.meta for one in inputs]
    launch = element_launch(formula, first, operands, operands[0].dtype if more else first.dtype.to_real(), more)
    if launch is None:
        return None
    return Loop(launch, [*(one.pointer for one in results), *(one.pointer for one in inputs)], inputs, list(args))
