"""Pointwise operators: the plan of the CPU's call over the device's addresses, and the launch of its loop.

A driver with a queue of its own (the simulated one) runs the CPU's loops as they are; on others they are launched as
PTX for their iteration space, loaded once per driver. A loop is cached for other tensors with the same metas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.dtype import DEFAULTS
from ...kernels.pointwise import Launch, PointwiseKernel
from ...operators.launch import element_launch
from ...operators.pointwise import Call, PointwiseRule, arguments, fitted, plan_call
from ...operators.pointwise_operators import CALLS, RULES, call_builder
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, remember
from ..devices import Runtime, current_handle, runtime
from ..ptx import prepare
from .deferred import enqueue
from .meta_call import host_aliases


def _forms() -> dict[str, tuple[PointwiseRule, str]]:
    found: dict[str, tuple[PointwiseRule, str]] = {}
    for rule in RULES.values():
        forms = ((rule.row.name, "fresh"), (rule.row.inplace_name, "inplace"), (rule.row.out_name, "out"))
        found.update({name: (rule, form) for name, form in forms if name is not None})
    return found


FORMS = _forms()
"""Operator -> the rule of its row, and whether its result is fresh, self or out=."""
FRESH = frozenset(name for name, (_, form) in FORMS.items() if form == "fresh")
"""Operators whose results have memory of their own."""
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
    aliases, result = host_aliases(), results[0]
    call: Call = aliases.of(built)
    target = aliases.of(result)
    plan = plan_call(rule, call, None if form == "fresh" else target, inplace=form == "inplace")
    if plan.launch is None or plan.through_copy or plan.resize:
        return None
    given = [*(() if built.condition is None else (built.condition,)), *built.operands, *built.extras]
    return Loop(plan.launch, [result.pointer, *arguments(fitted(rule, call, plan.common))], call, given)


def _components_loop(formula: str, args: tuple[Any, ...], results: Sequence[Tensor]) -> Loop | None:
    """The loop of numbers taken apart or put together, over the shape of the results."""
    aliases = host_aliases()
    inputs = [aliases.of(value) for value in args]
    first, *more = (aliases.of(one).meta for one in results)
    operands = [one.meta for one in inputs]
    launch = element_launch(formula, first, operands, operands[0].dtype if more else first.dtype.to_real(), more)
    if launch is None:
        return None
    return Loop(launch, [*(one.pointer for one in results), *(one.pointer for one in inputs)], inputs, list(args))


def put_loop(index: int, operator: str, launch: Launch, values: list[Any], nbytes: int) -> None:
    """Put a loop over addresses and numbers, outputs first, on the current stream of a device."""
    if hasattr(runtime().driver, "enqueue"):
        enqueue(index, operator, launch.run, (values,), nbytes)
    else:
        launch_loop(launch, values, index)


def launch_loop(launch: Launch, values: Sequence[Any], index: int) -> None:
    """Put a loop over device memory on the current stream; `values` are addresses and numbers, outputs first."""
    assert isinstance(launch.kernel, PointwiseKernel)
    found = runtime()
    properties = found.driver.properties(index)
    prepared = prepare(
        launch.kernel, launch.shape, tuple(launch.strides), properties.compute_capability, properties.multiprocessors
    )
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
        put_loop(index, operator, launch, list(values[:-1]), nbytes)

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


class CachedLoop:
    """The loop of a call, which metas and numbers alone determine, and its values; at the first slot stands the
    result's address, and `slots` says at which others the address of which argument."""

    __slots__ = ("device", "launch", "meta", "nbytes", "slots", "values")

    def __init__(
        self,
        meta: TensorMeta,
        launch: Launch,
        values: list[Any],
        slots: list[tuple[int, int]],
        device: int,
        nbytes: int,
    ) -> None:
        self.meta = meta
        self.launch = launch
        self.values = values
        self.slots = slots
        self.device = device
        self.nbytes = nbytes

    def run(self, name: str, args: tuple[Any, ...]) -> Tensor:
        """The result of the call with other tensors, its loop put on the current stream. Raises OutOfMemoryError."""
        result = new_like(self.meta)
        values = self.values.copy()
        values[0] = result.pointer
        for slot, place in self.slots:
            values[slot] = args[place].pointer
        put_loop(self.device, name, self.launch, values, self.nbytes)
        return result


def call_key(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A call but for the elements of its tensors; None where that is more than metas and numbers."""
    parts: list[Any] = [name, DEFAULTS.dtype]
    for value in args:
        kind = value.__class__
        if kind is Tensor:
            parts.append(value.meta)
        elif _plain(value, kind):
            parts += kind, value
        else:
            return None
    for option, value in kwargs.items():
        if not _plain(value, value.__class__):
            return None
        parts += option, value.__class__, value
    return tuple(parts)


def _plain(value: Any, kind: type) -> bool:
    """Return whether a number equals no other of its kind, as 0.0 and -0.0 do, and itself, as NaN does not."""
    return kind in (bool, int) or (kind is float and value == value and value != 0.0)


def cached_loop(args: tuple[Any, ...], key: Any) -> CachedLoop | None:
    """Return the loop of an earlier call with this key."""
    anchor = _anchor(args)
    return None if anchor is None else anchor.plans.get(key)


def _anchor(args: tuple[Any, ...]) -> TensorMeta | None:
    """The meta of the first tensor."""
    for value in args:
        if value.__class__ is Tensor:
            meta: TensorMeta = value.meta
            return meta
    return None


def cache_loop(args: tuple[Any, ...], key: Any, loop: Loop, result: Tensor, device: int, nbytes: int) -> None:
    """Cache the loop of a call whose tensors are on the device, each given once, and its operands as they are."""
    anchor = _anchor(args)
    meta = result.meta
    if anchor is None or not meta.dense or result.storage_impl.version or result.offset:
        return
    slots = []
    for slot, value in enumerate(loop.given, 1):
        if isinstance(value, Tensor):
            places = [place for place, given in enumerate(args) if given is value]
            if len(places) != 1 or value.meta.device is not meta.device:
                return
            slots.append((slot, places[0]))
    if len(slots) == sum(isinstance(value, Tensor) for value in args):
        remember(anchor.plans, key, CachedLoop(meta, loop.launch, loop.values, slots, device, nbytes))
