"""Factories as functions and methods: a call on the CPU that needs no dispatcher is served on the spot.

Everything else (other options, devices, overrides, modes, numbers that are tensors) goes the general path of all
bindings, which reads the schemas. From the second call with the same arguments on, a kept call makes the tensor
(`kept_factories`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.determinism import MODE as DETERMINISM
from ..core.device import Device, cpu
from ..core.dtype import DEFAULTS, DType
from ..core.errors import UINT64_MAX
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.operator import Operator
from ..operators.allocation import leave, quick_empty_strided, quick_new
from ..operators.factories import FACTORIES, quick_computed
from ..operators.fill import fill_ones, fill_zeros, quick_full, quick_full_like, quick_scalar_tensor
from ..operators.random_numbers import fill_normal, fill_uniform, quick_randint, quick_randint_like
from ..operators.ranges import quick_arange, quick_linspace
from ..tensor.getters import set_requires_grad
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta, meta_of, only_ints, without_autograd
from .caller import Caller
from .kept_factories import EMPTY, keep, key_of
from .overloads import LOWEST, functions, methods

Quick = Callable[[tuple[Any, ...], DType | None], Tensor | None]
FILLS: dict[str, Callable[[Tensor], object]] = {
    "empty": leave, "zeros": fill_zeros, "ones": fill_ones, "rand": fill_uniform, "randn": fill_normal,
}  # fmt: skip
"""Factory of sizes -> what fills a fresh tensor on the CPU."""
QUICK: dict[str, Quick] = {
    "arange": quick_arange, "empty_strided": quick_empty_strided, "full": quick_full, "full_like": quick_full_like,
    "new_empty_strided": quick_new(quick_empty_strided), "randint": quick_randint, "randint_like": quick_randint_like,
    "new_full": quick_new(functools.partial(quick_full, operator="new_full")),
    "scalar_tensor": quick_scalar_tensor, "eye": quick_computed("eye", "ii", 1),
    "linspace": quick_linspace, "logspace": quick_computed("logspace", "nni", 3),
    "randperm": quick_computed("randperm", "i", 1),
    "fft_fftfreq": quick_computed("fft_fftfreq", "in", 1), "fft_rfftfreq": quick_computed("fft_rfftfreq", "in", 1),
}  # fmt: skip
"""Other factory -> what makes its result of the arguments given by position and the dtype, on the CPU; or None."""
SLOW = frozenset(FACTORIES) - {*FILLS, *QUICK}
"""Factories whose first call takes the general path."""


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
    listed = size[0].__class__ is not int and len(size) == 1 and isinstance(size[0], (tuple, list))
    sizes = tuple(size[0]) if listed else size
    return sizes if only_ints(sizes) else None


def _of_sizes(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``zeros(2, 3)`` or the like."""
    operator = REGISTRY.find("empty.memory_format" if name == "empty" else name)
    unseeded, empty = _without_generator(name), name in EMPTY
    kept: dict[Any, Any] = {}

    def factory(*size: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        plain = not (options and options != unseeded) and not SPECIAL and (dtype is None or dtype.__class__ is DType)
        key = key_of(size, dtype) if plain and device is None else None
        make = kept.get(key)
        if make and not requires_grad and not (empty and DETERMINISM.enabled):
            return make()
        sizes = _plain_sizes(size) if plain and size else None
        if sizes is not None:
            if device is None or device is cpu or device == "cpu":
                result = new_like(contiguous_meta(sizes, DEFAULTS.dtype if dtype is None else dtype))
                fill(result)
                if key is not None:
                    keep(kept, key, name, result, size)
                return set_requires_grad(result, True) if requires_grad else result
            if isinstance(device, (Device, str)) and not requires_grad:
                return call(operator, sizes, dtype=dtype or DEFAULTS.dtype, device=Device(device))
        return general(name)(*size, **_given(options, dtype, device, requires_grad))

    return factory


def _of_sizes_new(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``x.new_zeros(2, 3)`` or the like."""
    empty = name.removeprefix("new_") in EMPTY

    def method(self: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Any:
        plain = not (options or SPECIAL) and self.__class__ is Tensor and (dtype is None or dtype.__class__ is DType)
        if size and plain and self.meta.device is cpu:
            calls = self.meta.calls
            key = name, key_of(size, dtype)
            make = calls.get(key)
            if make and not (empty and DETERMINISM.enabled):
                return make()
            sizes = _plain_sizes(size)
            if sizes is not None:
                result = new_like(contiguous_meta(sizes, dtype or self.meta.dtype))
                fill(result)
                keep(calls, key, name, result, size)
                return result
        return general(name)(self, *size, **_given(options, dtype, None, False))

    return method


def _of_tensor(name: str, fill: Callable[[Tensor], object]) -> Callable[..., Tensor]:
    """Return ``zeros_like(x)`` or the like."""
    empty = name.removesuffix("_like") in EMPTY

    def factory(*input: Any, dtype: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        plain = dtype is None or dtype.__class__ is DType
        if plain and len(input) == 1 and input[0].__class__ is Tensor and not options and not SPECIAL:
            meta = input[0].meta
            make = meta.calls.get((name, dtype))
            if make and not requires_grad and not (empty and DETERMINISM.enabled):
                return make()
            if meta.dense and meta.device is cpu and not meta.lazy and not meta.dtype.quantized:
                made = without_autograd(meta) if meta.has_autograd else meta
                made = meta_of(meta.sizes, meta.strides, dtype) if dtype.__class__ is DType else made
                if dtype is None or made.dtype is dtype:
                    result = new_like(made)
                    fill(result)
                    keep(meta.calls, (name, dtype), name, result)
                    return set_requires_grad(result, True) if requires_grad else result
        return general(name)(*input, **_given(options, dtype, None, requires_grad))

    return factory


def _of_values(name: str, quick: Quick | None) -> Callable[..., Tensor]:
    """Return ``full((2, 3), 1.0)`` or the like; without a quick form the first call takes the general path."""
    unseeded, empty = _without_generator(name), name in EMPTY
    kept: dict[Any, Any] = {}

    def factory(*given: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        if SPECIAL or not (dtype is None or dtype.__class__ is DType):
            return general(name)(*given, **_given(options, dtype, device, requires_grad))
        more = options if options != unseeded else {}
        key = key_of((given, more) if more else given, dtype) if device is None else None
        make = kept.get(key)
        if make and not requires_grad and not (empty and DETERMINISM.enabled):
            return make()
        result = _at_once(quick, given, dtype) if not more and device in HERE else None
        if result is None:
            result = general(name)(*given, **_given(options, dtype, device, False))
        if key is not None:
            keep(kept, key, name, result, given, more)
        return set_requires_grad(result, True) if requires_grad else result

    return factory


HERE = (None, cpu, "cpu")


def _at_once(quick: Quick | None, given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return what the quick form of a factory makes, if there is one."""
    if quick is None or any(one.__class__ is int and not LOWEST <= one <= UINT64_MAX for one in given):
        return None
    return quick(given, dtype)


def _of_values_like(name: str, quick: Quick) -> Callable[..., Tensor]:
    """Return ``full_like(x, 1.0)``, ``x.new_full((2, 3), 1.0)`` or the like."""
    unseeded, empty = _without_generator(name), name.removeprefix("new_") in EMPTY

    def factory(*given: Any, dtype: Any = None, device: Any = None, requires_grad: Any = False, **options: Any) -> Any:
        plain = not SPECIAL and (not options or options == unseeded) and (dtype is None or dtype.__class__ is DType)
        if plain and device is None and given and given[0].__class__ is Tensor and not given[0].meta.has_autograd:
            calls, numbers = given[0].meta.calls, given[1:]
            key = name, key_of(numbers, dtype)
            make = calls.get(key)
            if make and not requires_grad and not (empty and DETERMINISM.enabled):
                return make()
            result = _at_once(quick, given, dtype)
            if result is not None:
                if key[1] is not None:
                    keep(calls, key, name, result, numbers)
                return set_requires_grad(result, True) if requires_grad else result
        return general(name)(*given, **_given(options, dtype, device, requires_grad))

    return factory


def of_numbers(name: str, bound: Callable[..., Tensor], count: int) -> Callable[..., Tensor]:
    """Return ``normal(0.0, 1.0, (2, 3))`` or the like, a factory if so many values are given; else `bound` runs."""
    unseeded = _without_generator(name)
    kept: dict[Any, Any] = {}

    def factory(*given: Any, **options: Any) -> Any:
        if len(given) != count or SPECIAL or (options and options != unseeded):
            return bound(*given, **options)
        key = key_of(given, None)
        make = kept.get(key)
        if make:
            return make()
        result = bound(*given)
        if key is not None:
            keep(kept, key, name, result, given)
        return result

    return _named(name, factory)


def of_schema(operator: Operator, checked: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a factory as a function of its schema's arguments, which `checked` takes; for other operators that one."""
    base, name = operator.name.partition(".")[0], f"call of {operator.name}"
    tensors = sum(argument.base_type == "Tensor" for argument in operator.schema.arguments)
    of_tensor = base in METHODS or base.endswith("_like")
    if tensors != of_tensor or not (base in METHODS or base in FUNCTIONS):
        return checked
    empty = base.removeprefix("new_").removesuffix("_like") in EMPTY
    kept: dict[Any, Any] = {}

    def factory(*given: Any, **options: Any) -> Any:
        dtype = options.get("dtype")
        plain = not SPECIAL and len(options) == (dtype.__class__ is DType)
        if not plain or (of_tensor and not (given and given[0].__class__ is Tensor)):
            return checked(*given, **options)
        calls, numbers = (given[0].meta.calls, given[1:]) if of_tensor else (kept, given)
        key = name, key_of(numbers, dtype)
        make = calls.get(key)
        if make and not (empty and DETERMINISM.enabled):
            return make()
        result = checked(*given, **options)
        if key[1] is not None:
            keep(calls, key, base, result, numbers)
        return result

    return factory


def _made(name: str) -> Callable[..., Tensor]:
    base = name.removeprefix("new_").removesuffix("_like")
    if name in QUICK and base != name:
        made = _of_values_like(name, QUICK[name])
    elif name in QUICK or name in SLOW:
        made = _of_values(name, QUICK.get(name))
    elif name.startswith("new_"):
        made = _of_sizes_new(name, FILLS[base])
    elif name.endswith("_like"):
        made = _of_tensor(name, FILLS[base])
    else:
        made = _of_sizes(name, FILLS[base])
    return _named(name, made)


def _named(name: str, made: Callable[..., Tensor]) -> Callable[..., Tensor]:
    made.__name__ = name
    made.__qualname__ = f"Tensor.{name}" if name.startswith("new_") else name
    made.__module__ = "gaugeblock"
    made.__doc__ = "\n".join(one.text for one in REGISTRY.overloads(name) if " out)" not in one.text)
    return made


METHODS = {name: _made(name) for name in ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")}
"""Factories that are Tensor methods."""
FUNCTIONS = {
    name: _made(name) for name in (*FILLS, *(f"{one}_like" for one in FILLS), *QUICK, *SLOW) if name not in METHODS
}  # fmt: skip
"""Factories that are functions of the module."""
NUMBERED = {"normal": 3}
"""Function that is a factory where no tensor is given -> how many values it is given then."""
