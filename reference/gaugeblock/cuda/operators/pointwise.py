"""Pointwise operators: the plan of the CPU's call over the device's addresses, and the launch of its loop.

A driver with a queue of its own (the simulated one) runs the CPU's loops as they are; on others they are launched as
PTX for their iteration space, loaded once per driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...kernels.pointwise import Launch, PointwiseKernel
from ...operators.launch import element_launch
from ...operators.pointwise import Call, PointwiseRule, arguments, fitted, plan_call
from ...operators.pointwise_operators import CALLS, RULES, call_builder
from ...tensor.tensor import Tensor
from ..devices import Runtime, current_handle, runtime
from ..ptx import prepare
from .deferred import enqueue
from .meta_call import host_aliases

FORMS: dict[str, tuple[PointwiseRule, str]] = {
    name: (rule, form)
    for rule in RULES.values()
    for form, name in (("fresh", rule.row.name), ("inplace", rule.row.inplace_name), ("out", rule.row.out_name))
    if name is not None
}
"""Operator -> the rule of its row, and whether its result is fresh, self or out=."""
COMPONENTS = {"frexp.Tensor": "frexp", "complex": "complex", "polar": "polar"}
"""Operator with other dtypes of results than of operands -> its formula."""
KERNELS = frozenset(FORMS) | frozenset(COMPONENTS)
"""Operators with PTX of their own."""


class Loop(NamedTuple):
    """A loop and its values, outputs first, addresses of the device among them; `kept` has to stay until it has run."""

    launch: Launch
    values: list[Any]
    kept: Any


def pointwise_loop(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], results: Sequence[Tensor]
) -> Loop | None:
    """The loop of a pointwise call that writes to `results`; None where it takes more than one."""
    if name in COMPONENTS:
        return _components_loop(COMPONENTS[name], args, results)
    rule, form = FORMS[name]
    build = CALLS.get(name) or call_builder(rule.name)
    aliases, result = host_aliases(), results[0]
    call: Call = aliases.of(build(*args, **{key: value for key, value in kwargs.items() if key != "out"}))
    target = aliases.of(result)
    plan = plan_call(rule, call, None if form == "fresh" else target, inplace=form == "inplace")
    if plan.launch is None or plan.through_copy or plan.resize:
        return None
    return Loop(plan.launch, [result.pointer, *arguments(fitted(rule, call, plan.common))], call)


def _components_loop(formula: str, args: tuple[Any, ...], results: Sequence[Tensor]) -> Loop | None:
    """The loop of numbers taken apart or put together, over the shape of the results."""
    aliases = host_aliases()
    inputs = [aliases.of(value) for value in args]
    first, *more = (aliases.of(one).meta for one in results)
    operands = [one.meta for one in inputs]
    launch = element_launch(formula, first, operands, operands[0].dtype if more else first.dtype.to_real(), more)
    if launch is None:
        return None
    return Loop(launch, [*(one.pointer for one in results), *(one.pointer for one in inputs)], inputs)


def launch_loop(launch: Launch, values: Sequence[Any], index: int) -> None:
    """Put a loop over device memory on the current stream; `values` are addresses and numbers, outputs first."""
    assert isinstance(launch.kernel, PointwiseKernel)
    found = runtime()
    device = found.driver.properties(index)
    capability, multiprocessors = (device.major, device.minor), device.multi_processor_count
    prepared = prepare(launch.kernel, launch.shape, tuple(launch.strides), capability, multiprocessors)
    plan = prepared.plan(values)
    function = _function(found, index, plan.image, plan.name)
    stream = current_handle(index)
    found.driver.launch(index, function, plan.grid, plan.block, plan.shared_bytes, stream, plan.arguments)


def _function(found: Runtime, index: int, image: bytes, name: str) -> int:
    known = found.functions.get((index, name))
    if known is None:
        module = found.driver.module_load(index, image)
        known = found.functions[index, name] = found.driver.module_function(index, module, name)
    return known


LIMITS = {"n": (-(1 << 63), 1 << 63), **dict.fromkeys("iudc", (-(1 << 63), 1 << 64))}
"""Which whole numbers a kernel takes, by the kind of its operand; addresses are among both."""


def loop_entry(operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
    """Return what runs `launch` on other addresses and numbers, for the entry of a fast path.

    It is called with the result's address, addresses and numbers of the operands, and a number that it has no need of;
    the tensors among `operands` tell device and traffic.
    """
    tensors = [one for one in operands if isinstance(one, Tensor)]
    index = tensors[0].meta.device.index or 0
    nbytes = 2 * sum(one.meta.nbytes for one in tensors)

    def run(*values: Any) -> None:
        if hasattr(runtime().driver, "enqueue"):
            enqueue(index, operator, launch.run, (values[:-1],), nbytes)
        else:
            launch_loop(launch, values[:-1], index)

    signature = getattr(launch.kernel, "signature", None)
    limits = [LIMITS[kind] for kind in (signature.kinds if signature else "") if kind in LIMITS]
    if not limits:
        return run
    least, end = limits[0]

    def run_checked(*values: Any) -> None:
        for value in values:
            if value.__class__ is int and not least <= value < end:
                raise OverflowError(f"int {'too big' if value >= end else 'too small'} to convert: {value}")
        run(*values)

    return run_checked
