"""autocast: a mode in which operators cast their operands to a narrower or a wider floating dtype."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Self

from ..core.device import named_device
from ..core.dtype import DType, bfloat16, float16
from ..core.errors import type_error
from ..core.warn import warn
from ..dispatch.keys import FUNCTIONALITY_BIT
from ..dispatch.state import STATE, enter_special, leave_special
from .casting import CASTING, install

KEYS = {"cpu": FUNCTIONALITY_BIT["AutocastCPU"], "cuda": FUNCTIONALITY_BIT["AutocastCUDA"]}
"""Device type -> the key whose kernels cast; a thread excludes it while the mode is off."""
DTYPES = (bfloat16, float16)


def _device_type(function: str, device_type: object) -> str:
    """Return the type of a device that has a mode. TypeError for what is no text, RuntimeError for other devices."""
    if not isinstance(device_type, str):
        type_error(function, "device_type", device_type, "str")
    kind = str(named_device(device_type).type)
    if kind not in KEYS:
        raise RuntimeError(f"{function}(): there is no autocast for device type {kind!r}; use one of {', '.join(KEYS)}")
    return kind


def _switch(kind: str, enabled: bool) -> None:
    """Turn the mode of this thread on or off."""
    if enabled:
        install(kind)
    if enabled == bool(STATE.exclude & KEYS[kind]):
        if enabled:
            STATE.exclude &= ~KEYS[kind]
            enter_special()
        else:
            STATE.exclude |= KEYS[kind]
            leave_special()


class autocast(ContextDecorator):
    """``with autocast("cpu"):``, or a decorator: operators of the casting lists compute in `dtype`, by default bfloat16
    on the CPU and float16 on CUDA devices, or in float32. ``enabled=False`` leaves the mode for a while.

    A float32 leaf that requires a gradient is cast once, until the outermost mode ends, unless `cache_enabled` is
    false. Raises RuntimeError for a device without the mode. Another `dtype` than a 16-bit one switches the mode off
    with a warning. Source: torch.autocast.
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast(): argument 'device_type' must be str, not {type(device_type).__name__}")
        self.device = _device_type("autocast", device_type)
        if dtype is not None and not isinstance(dtype, DType):
            type_error("autocast", "dtype", dtype, "dtype")
        self.dtype = CASTING.dtypes[self.device] if dtype is None else dtype
        self.cache = CASTING.cache_enabled if cache_enabled is None else cache_enabled
        self.enabled = enabled
        if enabled and self.dtype not in DTYPES:
            allowed = ", ".join(one.name for one in DTYPES)
            warn(f"autocast(): dtype {self.dtype.name} is not supported, so the mode is off; use one of {allowed}")
            self.enabled = False
        self._before: list[tuple[bool, DType, bool]] = []

    def __enter__(self) -> Self:
        kind = self.device
        self._before.append((is_autocast_enabled(kind), CASTING.dtypes[kind], CASTING.cache_enabled))
        _switch(kind, self.enabled)
        CASTING.dtypes = {**CASTING.dtypes, kind: self.dtype}
        CASTING.cache_enabled = self.cache
        CASTING.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        enabled, dtype, cache = self._before.pop()
        CASTING.depth -= 1
        if not CASTING.depth:
            CASTING.cast.clear()
        _switch(self.device, enabled)
        CASTING.dtypes = {**CASTING.dtypes, self.device: dtype}
        CASTING.cache_enabled = cache


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether this thread casts on a device type. RuntimeError for a device without the mode."""
    return not STATE.exclude & KEYS[_device_type("is_autocast_enabled", device_type)]


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Turn casting in this thread on or off. TypeError for what is no bool, RuntimeError for other devices."""
    if not isinstance(enabled, bool):
        type_error("set_autocast_enabled", "enabled", enabled, "bool")
    _switch(_device_type("set_autocast_enabled", device_type), enabled)


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype that operators are cast to in this thread. RuntimeError for a device without the mode."""
    return CASTING.dtypes[_device_type("get_autocast_dtype", device_type)]


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the dtype that operators are cast to in this thread. TypeError for what is no dtype, RuntimeError."""
    if not isinstance(dtype, DType):
        type_error("set_autocast_dtype", "dtype", dtype, "dtype")
    CASTING.dtypes = {**CASTING.dtypes, _device_type("set_autocast_dtype", device_type): dtype}


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is a mode for a device type. RuntimeError for a name that is no device."""
    if not isinstance(device_type, str):
        type_error("is_autocast_available", "device_type", device_type, "str")
    return str(named_device(device_type).type) in KEYS


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of leaves are kept in this thread."""
    return CASTING.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of leaves in this thread, or make them anew at each call. TypeError for what is no bool."""
    if not isinstance(enabled, bool):
        type_error("set_autocast_cache_enabled", "enabled", enabled, "bool")
    CASTING.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the casts that this thread keeps."""
    CASTING.cast.clear()


def autocast_increment_nesting() -> int:
    """Count one more mode of this thread, whose end forgets no casts before the outermost one; return the count."""
    CASTING.depth += 1
    return CASTING.depth


def autocast_decrement_nesting() -> int:
    """Take back one `autocast_increment_nesting` and return the count."""
    CASTING.depth -= 1
    return CASTING.depth
