"""The table of factories: a row says which dtype a new tensor has, what is checked, and what its elements are.

Kernels of all overloads, ``_like``, ``new_`` and ``out=`` forms are made from a row. The schemas give names and order
of the arguments, and which of them an overload takes. A `Filled` factory fills what an empty one makes by operators of
the device; a `Computed` one computes values on the CPU and copies them where they belong. So a device from outside has
all factories once it has `empty.memory_format`, `empty_strided` and `copy_`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, dtype_of_number, int64
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.operator import Operator
from ..iteration.tensor_iterator import Number
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor, make_tensor
from ..tensor.tensor_meta import contiguous_meta
from ..tensor.versions import bump_version
from . import random_choices, random_numbers, ranges
from .allocation import COMPOSITE, COPY, EMPTY, empty_like, on_device, own_options, pinned, resized, without_change
from .arguments import check_layout
from .arrays import filled
from .deferred import Deferred
from .fill import fill_ones, fill_zeros
from .invoke import apply
from .operand_checks import check_fits
from .ranges import Plan, resize_range, resize_vector
from .registration import check_out_overlap, kernel, resize_out

EMPTY_LIKE = REGISTRY.find("empty_like")


class Filled(NamedTuple):
    """A factory that is filled in place: the dtype by its numbers, the filling, the numbers as a dtype holds them, and
    what fills a fresh tensor on the CPU."""

    dtype: Callable[..., DType]
    fill: Callable[..., object]
    check: Callable[..., tuple[Any, ...]] | None = None
    fresh: Callable[[Tensor], None] | None = None


class Computed(NamedTuple):
    """A factory whose values are computed: the dtype by its arguments, the plan, and how ``out=`` is resized for it.
    With ``out=`` the values are computed in its dtype, unless that is `converted` afterwards."""

    dtype: Callable[..., DType]
    plan: Callable[..., Plan]
    resize: Callable[[Tensor, tuple[int, ...]], object]
    converted: bool = False


def default_dtype(*arguments: Any, **named: Any) -> DType:
    """The default dtype."""
    return DEFAULTS.dtype


def index_dtype(*arguments: Any, **named: Any) -> DType:
    """int64."""
    return int64


def stored_value(operator: str, dtype: DType, value: Number) -> tuple[Number]:
    """`value` as fill_ takes it for `dtype`: real unless that is complex. RuntimeError when it does not fit."""
    check_fits(operator, value, dtype)
    return (value.real if isinstance(value, complex) and not dtype.is_complex else value,)


def deferred(place: str, plan: str) -> Deferred:
    """The function `plan` of a module that is loaded when it is first called."""
    return Deferred(f"{__package__}.{place}", plan)


def resize_checked(out: Tensor, sizes: tuple[int, ...]) -> None:
    """Resize `out`, with a warning if it had elements. RuntimeError when it overlaps itself."""
    check_out_overlap(out, [])
    resize_out(out, contiguous_meta(sizes, out.meta.dtype, out.meta.device))


FULL = Filled(dtype_of_number, lambda target, value: apply("fill_.Scalar", target, value), stored_value)
FACTORIES: dict[str, Filled | Computed] = {
    "zeros": Filled(default_dtype, lambda target: apply("zero_", target), fresh=fill_zeros),
    "ones": Filled(default_dtype, lambda target: apply("fill_.Scalar", target, 1), fresh=fill_ones),
    "full": FULL,
    "scalar_tensor": FULL._replace(dtype=default_dtype),
    "rand": Filled(default_dtype, functools.partial(apply, "uniform_")),
    "randn": Filled(default_dtype, functools.partial(apply, "normal_")),
    "randint": Filled(index_dtype, functools.partial(apply, "random_.from"), random_numbers.bounds),
    "randperm": Computed(index_dtype, random_choices.permutation, resized),
    "arange": Computed(ranges.arange_dtype, ranges.arange, resize_range),
    "linspace": Computed(ranges.linspace_dtype, ranges.linspace, resize_vector),
    "logspace": Computed(ranges.linspace_dtype, ranges.logspace, resize_vector),
    "eye": Computed(default_dtype, ranges.eye, resized),
    "tril_indices": Computed(index_dtype, deferred("numeric.tensor_shape", "lower_triangle"), resize_checked, True),
    "triu_indices": Computed(index_dtype, deferred("numeric.tensor_shape", "upper_triangle"), resize_checked, True),
    "bartlett_window": Computed(default_dtype, deferred("spectral.short_time", "bartlett"), resize_checked),
    "blackman_window": Computed(default_dtype, deferred("spectral.short_time", "blackman"), resize_checked),
    "hamming_window": Computed(default_dtype, deferred("spectral.short_time", "hamming"), resize_checked),
    "hann_window": Computed(default_dtype, deferred("spectral.short_time", "hann"), resize_checked),
    "kaiser_window": Computed(default_dtype, deferred("spectral.short_time", "kaiser"), resize_checked),
    "fft_fftfreq": Computed(default_dtype, deferred("spectral.transforms", "fftfreq"), resize_checked),
    "fft_rfftfreq": Computed(default_dtype, deferred("spectral.transforms", "rfftfreq"), resize_checked),
}
"""Public name -> what its kernels do. Those of the empty factories are in `allocation`."""


def filled_kernel(factory: Filled, name: str, operator: Operator) -> Callable[..., Tensor]:
    """Return the kernel of an overload of a filled factory."""

    @functools.cache
    def places() -> tuple[bool, int | None]:
        names = [argument.name for argument in operator.schema.positional]
        return names[0] == "self", names.index("size") if "size" in names else None

    def run(
        *given: Any, out: Tensor | None = None, generator: Any = None, dtype: DType | None = None, **options: Any
    ) -> Tensor:
        is_like, at = places()
        like, numbers = (given[0], given[1:]) if is_like else (None, given)
        size: Any = None
        if at is not None:
            size, numbers = given[at], given[is_like:at] + given[at + 1 :]
        source = like if out is None else out
        kind = dtype or (factory.dtype(*numbers) if source is None else source.meta.dtype)
        if factory.check is not None:
            numbers = factory.check(name, kind, *numbers)
        if out is not None:
            target = resized(out, size)
        elif like is None:
            target = call(EMPTY, () if at is None else size, dtype=kind, **options)
        elif at is None:
            alike = like.meta.device is cpu and not any(options.values())
            target = empty_like(like, dtype=dtype) if alike else apply("empty_like", like, dtype=dtype, **options)
        else:
            target = call(EMPTY, size, **own_options(like, {"dtype": dtype, **options}))
        if factory.fresh is not None and out is None and target.meta.device is cpu:
            factory.fresh(target)
            return target
        if generator is None:
            factory.fill(target, *numbers)
        else:
            factory.fill(target, *numbers, generator=generator)
        return without_change(target) if out is None else target

    return run


def computed_kernel(factory: Computed, name: str, operator: Operator) -> Callable[..., Tensor]:
    """Return the kernel of an overload of a computed factory."""

    @functools.cache
    def names() -> list[str]:
        return [argument.name for argument in operator.schema.positional]

    def run(
        *given: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
        pin_memory: bool | None = None, **generator: Any,
    ) -> Tensor:  # fmt: skip
        check_layout(name, layout)
        arguments = dict(zip(names(), given, strict=False)) | generator
        if out is not None:
            dtype, device = None if factory.converted else out.meta.dtype, out.meta.device
            if not out.meta.dtype.is_complex:  # a complex number without imaginary part is a real one there
                real = {key: one.real for key, one in arguments.items() if isinstance(one, complex) and not one.imag}
                arguments |= real
        kind = dtype or factory.dtype(**arguments)
        plan = factory.plan(kind, **arguments)

        def make(place: Device) -> Tensor:
            result = empty_tensor(plan.sizes, kind, place)
            if place is cpu and result.meta.numel:
                plan.fill(result)
            return result

        if out is not None:
            factory.resize(out, plan.sizes)
            if out.meta.device is cpu and out.meta.contiguous and out.meta.dtype is kind and not out.meta.lazy:
                bump_version(out)
                if out.meta.numel:
                    plan.fill(make_tensor(contiguous_meta(plan.sizes, kind), out.storage_impl, out.offset, None))
                return out
        result = on_device(as_device(device), make)
        if out is not None:
            call(COPY, out, reshape(result, out.meta.sizes))
            return out
        return pinned(result) if pin_memory else result

    return run


def quick_computed(name: str, kinds: str, least: int) -> Callable[[tuple[Any, ...], DType | None], Tensor | None]:
    """Return what makes a factory's tensor, on the CPU, of at least so many numbers of these `kinds`, "i" for an int,
    "n" for an int or a float; it returns None for anything else."""
    factory = FACTORIES[name]
    assert isinstance(factory, Computed)
    plan = functools.lru_cache(factory.plan) if {*kinds} == {"i"} else factory.plan

    def quick(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
        if not least <= len(given) <= len(kinds):
            return None
        for value, kind in zip(given, kinds, strict=False):
            if value.__class__ is not int and (kind == "i" or value.__class__ is not float):
                return None
        chosen = dtype or factory.dtype(*given)
        return ranges.planned(plan(chosen, *given), chosen)

    return quick


def register(base: str, factory: Filled | Computed) -> None:
    """Register the kernels of a factory: of its overloads, and of those of its ``new_`` and ``_like`` forms."""
    for name in (base, f"new_{base}", f"{base}_like"):
        for operator in REGISTRY.overloads(name):
            if isinstance(factory, Filled):
                made = filled_kernel(factory, name, operator)
            else:
                made = computed_kernel(factory, name, operator)
            made.__name__ = made.__qualname__ = name
            kernel(operator.name, COMPOSITE, derive=False)(made)


@kernel("zero_", COMPOSITE, derive=False)
def zero_(self: Tensor) -> Tensor:
    """fill_ of 0, for devices without a kernel of their own."""
    return apply("fill_.Scalar", self, 0)


@kernel("fill_.Scalar", COMPOSITE, derive=False)
def fill_scalar(self: Tensor, value: Number) -> Tensor:
    """copy_ of a number from the CPU, for devices without a kernel of their own. RuntimeError when it does not fit."""
    check_fits("fill_", value, self.meta.dtype)
    result: Tensor = call(COPY, self, filled((), self.meta.dtype, value))
    return result


for _base, _factory in FACTORIES.items():
    register(_base, _factory)
