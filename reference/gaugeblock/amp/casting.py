"""The kernels of the autocast keys: they cast the operands of a call and hand it on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.away import carried
from ..core.dtype import DType, bfloat16, float16, float32, float64
from ..core.fork_safety import fork_safe
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.guards import ExcludeDispatchKeyGuard
from ..dispatch.keys import AUTOCAST_MASK, DispatchKeySet, map_tensors, tensors_in
from ..dispatch.operator import Operator
from ..tensor.tensor import Tensor
from .casting_lists import POLICIES

KEY_NAMES = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}
ALL_KEYS = DispatchKeySet(mask=AUTOCAST_MASK)
_LOCK = fork_safe(threading.Lock())
_INSTALLED: set[str] = set()

Policy = Callable[[str, Operator, tuple[Any, ...], dict[str, Any]], Any]


class CastingState(threading.local):
    """What this thread casts to on each device type, how many modes it is in, and the casts of leaves that it keeps:
    the leaf by its identity, so that it stays alive, and its cast."""

    def __init__(self) -> None:
        self.dtypes: dict[str, DType] = {"cpu": bfloat16, "cuda": float16}
        self.cache_enabled = True
        self.depth = 0
        self.cast: dict[tuple[int, DType], tuple[Tensor, Tensor]] = {}


CASTING = carried(CastingState())


def _takes_part(value: Any, device: str) -> bool:
    """Return whether a mode casts an argument: a floating tensor on its device type, but for float64."""
    if not isinstance(value, Tensor):
        return False
    meta = value.meta
    return meta.device.type == device and meta.dtype.kind == 2 and meta.dtype is not float64


def _cast(value: Tensor, dtype: DType) -> Tensor:
    """Return a tensor in a dtype; that of a float32 leaf that requires a gradient is kept."""
    if value.meta.dtype is dtype:
        return value
    any_value: Any = value
    kept = (
        CASTING.cache_enabled and value.meta.dtype is float32 and any_value.requires_grad and any_value.is_leaf
        and value.base is None
    )  # fmt: skip
    if not kept:
        made: Tensor = any_value.to(dtype)
        return made
    found = CASTING.cast.get((id(value), dtype))
    if found is None:
        found = CASTING.cast[id(value), dtype] = (value, any_value.to(dtype))
    return found[1]


def _cast_all(device: str, dtype: DType, tree: Any) -> Any:
    return map_tensors(lambda one: _cast(one, dtype) if _takes_part(one, device) else one, tree)


def _called_in(device: str, dtype: DType, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return call(operator, *_cast_all(device, dtype, args), **_cast_all(device, dtype, kwargs))


def _lower(device: str, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _called_in(device, CASTING.dtypes[device], operator, args, kwargs)


def _float32(device: str, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _called_in(device, float32, operator, args, kwargs)


def _widest(device: str, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    lower = CASTING.dtypes[device]
    given = {one.meta.dtype for one in tensors_in((*args, *kwargs.values())) if _takes_part(one, device)}
    other = given - {lower, float32}
    if other:
        names = ", ".join(sorted(one.name for one in other))
        raise RuntimeError(f"{operator.name}(): autocast joins {lower.name} and float32, got {names} beside them")
    return _called_in(device, float32 if float32 in given else lower, operator, args, kwargs)


def _dtype(device: str, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = operator.by_name(args, kwargs)
    if not _takes_part(args[0], device) or given.get("dtype") is not None:
        return call(operator, *args, **kwargs)
    names = [argument.name for argument in operator.schema.positional]
    if "dtype" not in names[: len(args)]:
        return call(operator, *args, **{**kwargs, "dtype": float32})
    place = names.index("dtype")
    return call(operator, *args[:place], float32, *args[place + 1 :], **kwargs)


def _banned(device: str, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise RuntimeError(
        f"{operator.name}(): its float16 gradients overflow under autocast; use "
        f"binary_cross_entropy_with_logits, or leave the mode by autocast({device!r}, enabled=False)"
    )


DOES: dict[str, Policy] = {
    "lower": _lower, "float32": _float32, "widest": _widest, "dtype": _dtype, "banned": _banned,
}  # fmt: skip


def _kernel(device: str, operator: Operator, policy: Policy) -> Callable[..., Any]:
    """Return the kernel of an autocast key: what the policy does, without autocast in what it calls."""

    def cast(*args: Any, **kwargs: Any) -> Any:
        with ExcludeDispatchKeyGuard(ALL_KEYS):
            return policy(device, operator, args, kwargs)

    return cast


def install(device: str) -> None:
    """Register the kernels of a device type that the engine has operators for, the first time."""
    if device in _INSTALLED:
        return
    with _LOCK:
        if device in _INSTALLED:
            return
        for name, policy in POLICIES[device].items():
            operator = REGISTRY.operators.get(name)
            if operator is not None:
                REGISTRY.put_below(name, KEY_NAMES[device], _kernel(device, operator, DOES[policy]))
        _INSTALLED.add(device)
