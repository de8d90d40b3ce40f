"""The kernels of vmap's keys: a rule of the operator, its parts if it is composed, or a loop over the examples.

FuncTorchBatched is the key of examples of a batch; FuncTorchVmapMode is included while a vmap runs, so that random
operators come here whose arguments are the same for all examples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..calls.functions import ops
from ..dispatch.dispatcher import REGISTRY, call, composed
from ..dispatch.keys import map_tensors, tensors_in
from ..dispatch.operator import FALLTHROUGH, Operator
from ..operators.generator import default_generator
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from .batched_tensor import ITEM, LEVELS, batched, batched_in, is_batched, level_of, running
from .batching_rules import RULES, Given, check_written, is_inplace, pointwise

CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, which may go another "
    "way for each example; use where"
)
DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape, which may be another one for each "
    "example. Attempted to vmap over {}"
)
NOT_BATCHED = "vmap: {} is not batched: it gives one answer for all examples"
REFUSED: dict[str, str] = {
    "item": ITEM, "_local_scalar_dense": ITEM, "is_nonzero": CONTROL_FLOW, "equal": NOT_BATCHED,
    "allclose": NOT_BATCHED,
    **dict.fromkeys(
        """nonzero argwhere masked_select _unique2 unique_dim unique_consecutive bincount where
        repeat_interleave.Tensor repeat_interleave.self_Tensor""".split(),
        DYNAMIC,
    ),
}  # fmt: skip
"""Operators whose result depends on values -> what vmap says of them."""
RANDOM_ERROR = (
    "vmap: called random operation {} while in randomness error mode. Use randomness='same' or randomness='different', "
    "or call it outside of vmap"
)
RANDOM_INPLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor: {} writes one tensor that is the same "
    "for all examples"
)
NO_OUT = "Batching rule not implemented for {}; the loop over examples does not work on out= or views"


def arguments(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Given:
    """Return the arguments of a call by name, with the defaults of those that may stand by position."""
    known = operator.by_name(args, kwargs)
    schema = operator.schema
    made = {one.name: known.get(one.name, one.default and one.default_value) for one in schema.positional}
    return made | {one.name: known[one.name] for one in schema.keyword_only if one.name in known}


def _wrapped(result: Any, level: int) -> Any:
    return map_tensors(lambda one: batched(one, level), result)


def batch(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call an operator that is given examples of a batch."""
    level = level_of((*args, *kwargs.values()))
    refused = REFUSED.get(operator.name)
    if refused is not None:
        raise RuntimeError(refused.format(operator.qualified_name))
    if operator.schema.is_out:
        raise RuntimeError(NO_OUT.format(operator.qualified_name))
    size = next(one.value.meta.sizes[0] for one in batched_in((*args, *kwargs.values())) if one.level == level)
    with running(LEVELS.running[: level - 1]):
        given = arguments(operator, args, kwargs)
        rule = RULES.get(operator.name)
        parts = None if rule else composed(operator, keys)
        if rule is None and parts is None and _is_pointwise(operator):
            rule = pointwise
        if parts is None:
            check_written(operator, given, level)
        result = NotImplemented if rule is None else rule(operator, given, level, size)
    if result is not NotImplemented:
        return next(iter(given.values())) if is_inplace(operator) else _wrapped(result, level)
    if parts is not None:
        return parts(*args, **kwargs)
    with running(LEVELS.running[: level - 1]):
        return _looped(operator, given, level, size)


def _is_pointwise(operator: Operator) -> bool:
    base = operator.name.partition(".")[0]
    row = rows().get(operator.name) or rows().get(_functional_name(operator.name))
    return row is not None and row.family == "pointwise" and not base.endswith("out")


def _functional_name(name: str) -> str:
    base, _, overload = name.partition(".")
    functional = base.removesuffix("_")
    return f"{functional}.{overload}" if overload else functional


def _looped(operator: Operator, given: Given, level: int, size: int, before: Callable[[], None] | None = None) -> Any:
    """Call an operator on one example after the other and stack the results; `before` runs before each call."""
    if any(one.alias is not None and not one.alias.mutable for one in operator.schema.returns):
        raise RuntimeError(NO_OUT.format(operator.qualified_name))
    found = [_on_example(operator, given, level, place, before) for place in range(size)]
    if is_inplace(operator):
        return next(iter(given.values()))
    if not size:
        shapes = _on_example(operator, map_values(given, level), level, 0, before)
        return map_tensors(lambda one: batched(one.new_empty((0, *one.shape)), level), shapes)
    return _stacked(found, level)


def map_values(given: Given, level: int) -> Given:
    """Return the arguments with one example of zeros in place of an empty batch."""

    def some(one: Any) -> Any:
        return batched(one.value.new_zeros((1, *one.shape)), level) if is_batched(one, level) else one

    return {name: map_tensors(some, value) for name, value in given.items()}


def _on_example(operator: Operator, given: Given, level: int, place: int, before: Callable[[], None] | None) -> Any:
    if before is not None:
        before()
    pick = {
        name: map_tensors(lambda one: one.value.select(0, place) if is_batched(one, level) else one, value)
        for name, value in given.items()
    }
    positional = [pick[argument.name] for argument in operator.schema.positional]
    options = {argument.name: pick[argument.name] for argument in operator.schema.keyword_only if argument.name in pick}
    return call(operator, *positional, **options)


def _stacked(found: list[Any], level: int) -> Any:
    first = found[0]
    if isinstance(first, Tensor):
        return batched(ops.stack(found), level)
    if isinstance(first, (tuple, list)):
        parts = [_stacked([one[place] for one in found], level) for place in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return first


def random(operator: Operator) -> Callable[..., Any]:
    """Return the kernel of a random operator while a vmap runs."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        level = len(LEVELS.running)
        size, randomness = LEVELS.running[-1]
        if randomness == "error":
            raise RuntimeError(RANDOM_ERROR.format(operator.qualified_name))
        given = arguments(operator, args, kwargs)
        mapped = any(is_batched(one, level) for one in tensors_in(given.values()))
        inplace = is_inplace(operator)
        if inplace and randomness == "different" and not is_batched(next(iter(given.values())), level):
            raise RuntimeError(RANDOM_INPLACE.format(operator.qualified_name))
        with running(LEVELS.running[:-1]):
            if mapped:
                check_written(operator, given, level)
            if randomness == "same" and not mapped:
                return call(operator, *args, **kwargs)
            return _looped(operator, given, level, size, _again(given) if randomness == "same" else None)

    return draw


def _again(given: Given) -> Callable[[], None]:
    """Return what sets the generators that a call may use back to where they are now."""
    own = given.get("generator")
    used = (default_generator, *_generators_of_devices()) if own is None else (own,)
    states = [(generator, generator.get_state()) for generator in used]

    def back() -> None:
        for generator, state in states:
            generator.set_state(state)

    return back


def _generators_of_devices() -> tuple[Any, ...]:
    """Return the default generators of the CUDA devices; none before the first of them is used."""
    module = sys.modules.get(f"{__package__.partition('.')[0]}.cuda.random")
    return module.default_generators() if module is not None and module.is_available() else ()


def install() -> None:
    """Register the kernels."""
    REGISTRY.register_fallback("FuncTorchBatched", batch, own=True)
    REGISTRY.register_fallback("FuncTorchVmapMode", FALLTHROUGH, own=True)
    drawn = [row for row in rows().values() if row.family == "random"]
    for name in dict.fromkeys(name for row in drawn for name in (row.name, row.inplace_name) if name is not None):
        if composed(REGISTRY.find(name), 0) is None:
            REGISTRY.put_below(name, "FuncTorchVmapMode", random(REGISTRY.find(name)))


