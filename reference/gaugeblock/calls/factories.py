"""Factories as functions and methods: a call on the CPU that needs no dispatcher is served on the spot.

Everything else (other options, devices, overrides, modes, numbers that are tensors) goes the general path of all
bindings, which reads the schemas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.device import Device, cpu
from ..core.dtype import DEFAULTS, DType
from ..core.errors import UINT64_MAX
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.allocation import leave, quick_empty_strided, quick_new
from ..operators.factories import quick_computed
from ..operators.fill import AT_ONCE, fill_ones, fill_zeros, filling, quick_full, quick_full_like, quick_scalar_tensor
from ..operators.random_numbers import fill_normal, fill_uniform, quick_randint
from ..operators.ranges import quick_arange, quick_linspace
from ..tensor.getters import set_requires_grad
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta, meta_of, only_ints, without_autograd
from .call_cache import ENABLED
from .caller import Caller
from .overloads import LOWEST, functions, methods

Quick = Callable[[tuple[Any, ...], DType | None], Tensor | None]
FILLS: dict[str, Callable[[Tensor], object]] = {
    "empty": leave, "zeros": fill_zeros, "ones": fill_ones, "rand": fill_uniform, "randn": fill_normal,
}  # fmt: skip
"""Factory of sizes -> what fills a fresh tensor on the CPU."""
NUMBERS, MOST_KEPT = {"zeros": 0, "ones": 1}, 1024
"""Factory of sizes -> the number that fills its tensors, of whose calls the second one for some sizes is kept."""
QUICK: dict[str, Quick] = {
    "arange": quick_arange, "empty_strided": quick_empty_strided, "full": quick_full, "full_like": quick_full_like,
    "new_empty_strided": quick_new(quick_empty_strided), "randint": quick_randint,
    "new_full": quick_new(functools.partial(quick_full, operator="new_full")),
    "scalar_tensor": quick_scalar_tensor, "eye": quick_computed("eye", "ii", 1),
    "linspace": quick_linspace, "logspace": quick_computed("logspace", "nni", 3),
    "randperm": quick_computed("randperm", "i", 1),
    "fft_fftfreq": quick_computed("fft_fftfreq", "in", 1), "fft_rfftfreq": quick_computed("fft_rfftfreq", "in", 1),
}  # fmt: skip
"""Other factory -> what makes its result of the arguments given by position and the dtype, on the CPU; or None."""


@functools.cache
def general(name: str) -> Caller:
    """Return the general path of a factory."""
    is_method = name.startswith("new_")
    caller = Caller((methods() if is_method else functions())[name], is_method=is_method)
    if not is_method:
        caller.publish(FUNCTIONS[name])
    return caller


def _given(options: dict[str, Any], dtype: Any, device: Any, requires_grad: Any) -> dict[str, Any]:
    """Return the options of a call with those that are given."""
    if dtype is not None:
        options["dtype"] = dtype
    if device is not None:
        options["device"] = device
    if requires_grad:
        options["requires_grad"] = requires_grad
    return options


def _without_generator(name: str) -> dict[str, None]:
    """Return the options of a call that names no generator where there may be one."""
    return dict.fromkeys(["generator"] if any("? generator" in one.text for one in REGISTRY.overloads(name)) else [])


def _plain_sizes(size: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return sizes given one by one, or as one tuple or list; None for others than ints."""
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return sizes if only_ints(sizes) else None


def _of_sizes(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``zeros(2, 3)`` or the like."""
    operator = REGISTRY.find("empty.memory_format" if name == "empty" else name)
    unseeded, number = _without_generator(name), NUMBERS.get(name)
    kept: dict[tuple[Any, ...], Callable[[], Any] | None] = {}

    def factory(*size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        key: tuple[Any, ...] | None = None
        if number is not None and size and device is None and not (options or SPECIAL or requires_grad):
            given = size[0] if len(size) == 1 and size[0].__class__ is tuple else size
            if only_ints(given) and (dtype is None or dtype.__class__ is DType):
                key = (given, dtype, DEFAULTS.dtype)
                make = kept.get(key)
                if make is not None:
                    return make()
        more = options and options != unseeded
        sizes = None if more or SPECIAL or not size else _plain_sizes(size)
        kind = DEFAULTS.dtype if dtype is None else dtype
        if sizes is not None and kind.__class__ is DType:
            if device is None or device is cpu or device == "cpu":
                result = new_like(contiguous_meta(sizes, kind))
                fill(result)
                if key is not None and number is not None and ENABLED and result.meta.nbytes <= AT_ONCE:
                    kept[key] = filling(result.meta, number) if key in kept else None
                    if len(kept) > MOST_KEPT:
                        kept.clear()
                return set_requires_grad(result, True) if requires_grad else result
            if isinstance(device, (Device, str)) and not requires_grad:
                return call(operator, sizes, dtype=dtype, device=Device(device))
        return general(name)(*size, **_given(options, dtype, device, requires_grad))

    return factory


def _of_sizes_new(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``x.new_zeros(2, 3)`` or the like."""

    def method(self: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Any:
        if size and not options and not SPECIAL and self.__class__ is Tensor and self.meta.device is cpu:
            sizes, kind = _plain_sizes(size), self.meta.dtype if dtype is None else dtype
            if sizes is not None and kind.__class__ is DType:
                result = new_like(contiguous_meta(sizes, kind))
                fill(result)
                return result
        return general(name)(self, *size, **_given(options, dtype, None, False))

    return method


def _of_tensor(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``zeros_like(x)`` or the like."""

    def factory(*input: Any, dtype: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        if len(input) == 1 and input[0].__class__ is Tensor and not options and not SPECIAL:
            meta = input[0].meta
            if meta.dense and meta.device is cpu and not meta.lazy:
                meta = without_autograd(meta) if meta.has_autograd else meta
                if dtype.__class__ is DType:
                    meta = meta_of(meta.sizes, meta.strides, dtype)
                if dtype is None or meta.dtype is dtype:
                    result = new_like(meta)
                    fill(result)
                    return set_requires_grad(result, True) if requires_grad else result
        return general(name)(*input, **_given(options, dtype, None, requires_grad))

    return factory


def _of_values(name: str, quick: Quick) -> Callable[..., Tensor]:
    """Return ``full((2, 3), 1.0)`` or the like."""
    unseeded = _without_generator(name)

    def factory(*given: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        known = (dtype is None or dtype.__class__ is DType) and (not options or options == unseeded)
        if known and not SPECIAL and (device is None or device is cpu or device == "cpu"):
            for one in given:
                if one.__class__ is int and not LOWEST <= one <= UINT64_MAX:
                    break
            else:
                result = quick(given, dtype)
                if result is not None:
                    return set_requires_grad(result, True) if requires_grad else result
        return general(name)(*given, **_given(options, dtype, device, requires_grad))

    return factory


def _made(name: str) -> Callable[..., Tensor]:
    base = name.removeprefix("new_").removesuffix("_like")
    if name in QUICK:
        made = _of_values(name, QUICK[name])
    elif name.startswith("new_"):
        made = _of_sizes_new(name, FILLS[base])
    elif name.endswith("_like"):
        made = _of_tensor(name, FILLS[base])
    else:
        made = _of_sizes(name, FILLS[base])
    made.__name__ = name
    made.__qualname__ = f"Tensor.{name}" if name.startswith("new_") else name
    made.__module__ = "gaugeblock"
    made.__doc__ = "\n".join(one.text for one in REGISTRY.overloads(name) if " out)" not in one.text)
    return made


METHODS = {name: _made(name) for name in ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")}
"""Factories that are Tensor methods."""
FUNCTIONS = {name: _made(name) for name in (*FILLS, *(f"{one}_like" for one in FILLS), *QUICK) if name not in METHODS}
"""Factories that are functions of the module."""
