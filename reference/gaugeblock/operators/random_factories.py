"""Fresh random tensors: rand, randn, randint, randperm, their _like forms, bernoulli and multinomial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.away import away, long_call
from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, int64
from ..core.errors import check_ints, check_sizes
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, preserve_format
from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.array_view import FEW, array_of, kept_array
from ..tensor.geometry import contiguous_geometry, only_ints
from ..tensor.metadata import resize_
from ..tensor.tensor import Tensor, empty_tensor, new_like
from .allocation import COPY, allocated, is_builtin, on_device, without_change
from .arguments import check_layout
from .arrays import STEPS, Array, computed, values
from .factory_kernels import COMPOSITE
from .generator import Generator, default_generator, generator_of
from .like_factories import empty_like
from .number_limits import check_fits
from .random_fill import INT64_END, WIDE, bernoulli_float, bernoulli_tensor, normal_, random_from, uniform_
from .registration import kernel

Fill = Callable[..., Tensor]


def _fresh(
    operator: str, size: Sequence[int], dtype: DType, layout: Layout | None, device: Device | str | None
) -> Tensor:
    check_layout(operator, layout)
    place = as_device(device)
    return allocated(contiguous_geometry(check_ints(operator, "size", size), dtype, place))


def _sized(out: Tensor, size: Sequence[int]) -> Tensor:
    return out if out.geometry.sizes == tuple(size) else resize_(out, tuple(size))


def _drawn(inplace: str, fill: Fill, target: Tensor, *arguments: Any, generator: Generator | None = None) -> Tensor:
    """`target`, fresh or out=, filled by the operator `inplace`, which the engine's own devices have as `fill`."""
    if is_builtin(target.geometry.device):
        return fill(target, *arguments, generator=generator)
    result: Tensor = call(REGISTRY.find(inplace), target, *arguments, generator=generator)
    return result


def _define(name: str, inplace: str, fill: Fill) -> None:
    def fresh(
        size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
        layout: Layout | None = None, device: Device | str | None = None, pin_memory: bool | None = None,
    ) -> Tensor:  # fmt: skip
        target = _fresh(name, size, dtype or DEFAULTS.dtype, layout, device)
        return without_change(_drawn(inplace, fill, target, generator=generator))

    def into(size: Sequence[int], *, generator: Generator | None = None, out: Tensor) -> Tensor:
        return _drawn(inplace, fill, _sized(out, size), generator=generator)

    def like(
        self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
        pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
    ) -> Tensor:  # fmt: skip
        return without_change(_drawn(inplace, fill, _like(self, dtype, layout, device, memory_format)))

    fresh.__doc__ = f"A fresh tensor filled by {fill.__name__}; of the default dtype unless `dtype` is given."
    kernel(name, COMPOSITE, derive=False)(fresh)
    kernel(name + ".generator", COMPOSITE, derive=False)(fresh)
    kernel(name + ".out", COMPOSITE, derive=False)(into)
    kernel(name + ".generator_out", COMPOSITE, derive=False)(into)
    kernel(name + "_like", COMPOSITE, derive=False)(like)


def _like(
    self: Tensor,
    dtype: DType | None,
    layout: Layout | None,
    device: Device | str | None,
    memory_format: MemoryFormat | None,
) -> Tensor:
    return empty_like(self, dtype=dtype, layout=layout, device=device, memory_format=memory_format or preserve_format)


_define("rand", "uniform_", uniform_)
_define("randn", "normal_", normal_)


@kernel("randint.low_generator", COMPOSITE, derive=False)
@kernel("randint.low", COMPOSITE, derive=False)
def randint_low(
    low: int, high: int, size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
    layout: Layout | None = None, device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Integers uniform in [low, high), int64 unless `dtype` is given. Raises RuntimeError when they do not fit."""
    target = _fresh("randint", size, dtype or int64, layout, device)
    return without_change(_drawn("random_.from", random_from, target, low, high, generator=generator))


@kernel("randint.generator", COMPOSITE, derive=False)
@kernel("randint", COMPOSITE, derive=False)
def randint(high: int, size: Sequence[int], **options: Any) -> Tensor:
    """randint from 0."""
    return randint_low(0, high, size, **options)


@kernel("randint.low_generator_out", COMPOSITE, derive=False)
@kernel("randint.low_out", COMPOSITE, derive=False)
def randint_low_out(
    low: int, high: int, size: Sequence[int], *, generator: Generator | None = None, out: Tensor
) -> Tensor:
    """randint into `out`, in its dtype."""
    return _drawn("random_.from", random_from, _sized(out, size), low, high, generator=generator)


@kernel("randint.generator_out", COMPOSITE, derive=False)
@kernel("randint.out", COMPOSITE, derive=False)
def randint_out(high: int, size: Sequence[int], *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """randint from 0 into `out`, in its dtype."""
    return randint_low_out(0, high, size, generator=generator, out=out)


@kernel("randint_like.low_dtype", COMPOSITE, derive=False)
def randint_like_low(
    self: Tensor, low: int, high: int, *, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """randint with sizes, strides and dtype like those of `self`."""
    target = _like(self, dtype, layout, device, memory_format)
    return without_change(_drawn("random_.from", random_from, target, low, high))


@kernel("randint_like", COMPOSITE, derive=False)
def randint_like(self: Tensor, high: int, **options: Any) -> Tensor:
    """randint_like from 0."""
    return randint_like_low(self, 0, high, **options)


@kernel("randperm.generator", COMPOSITE, derive=False)
@kernel("randperm", COMPOSITE, derive=False)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a random permutation of the integers below `n`, int64 unless `dtype` is given.

    Raises RuntimeError for a dtype too narrow for `n`, NotImplementedError for bool and complex.
    """
    check_layout("randperm", layout)
    check_sizes("randperm", (n,))
    kind = dtype or int64
    if kind.kind in (0, 3):
        raise NotImplementedError(f"\"randperm\" not implemented for '{UPSTREAM_NAMES[kind.name]}'")
    check_fits("randperm", max(n - 1, 0), kind)

    def make(place: Device) -> Tensor:
        result = empty_tensor((n,), kind, place)
        return _permutation(result, n, generator) if place is cpu else result

    return without_change(on_device(as_device(device), make))


def _permutation(result: Tensor, n: int, generator: Generator | None) -> Tensor:
    array_of(result)[...] = away(STEPS * n, generator_of("randperm", generator).permutation, n)
    return result


@kernel("randperm.generator_out", COMPOSITE, derive=False)
@kernel("randperm.out", COMPOSITE, derive=False)
def randperm_out(n: int, *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """randperm into `out`, in its dtype."""
    geometry = out.geometry
    made = randperm(n, generator=generator, dtype=geometry.dtype, device=geometry.device)
    result: Tensor = call(COPY, _sized(out, (n,)), made)
    return result


@kernel("bernoulli", COMPOSITE)
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 of the probability that stands in `self`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError."""
    target = _like(self, None, None, None, None)
    return without_change(_drawn("bernoulli_.Tensor", bernoulli_tensor, target, self, generator=generator))


@kernel("bernoulli.p", COMPOSITE, derive=False)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """1 of probability `p`, else 0, with sizes and dtype of `self`. Raises RuntimeError outside [0, 1]."""
    target = _like(self, None, None, None, None)
    return without_change(_drawn("bernoulli_.float", bernoulli_float, target, p, generator=generator))


@kernel("multinomial")
def multinomial(
    self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the weights in `self`, row by row for a matrix.

    Raises RuntimeError for weights that are negative, not finite or all zero, and for too many samples.
    """
    geometry = self.geometry
    if not geometry.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {geometry.dtype.name}")
    if geometry.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {geometry.ndim}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > geometry.sizes[-1]:
        raise RuntimeError(f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples}")
    draw = generator_of("multinomial", generator)
    sizes = (*geometry.sizes[:-1], num_samples)
    return computed(sizes, int64, geometry.device, lambda: _choices(values(self), num_samples, replacement, draw))


def _choices(given: Array, count: int, replacement: bool, draw: np.random.Generator) -> Array:
    """Along the last axis, `count` indices drawn with the weights `given`."""
    weights = given.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement:
        sums = np.cumsum(weights, -1)
        points = draw.random((*weights.shape[:-1], count)) * sums[..., -1:]
        chosen = (points[..., None] >= sums[..., None, :]).sum(-1)
        last = weights.shape[-1] - 1 - np.argmax(weights[..., ::-1] > 0, -1)
        return np.asarray(np.minimum(chosen, last[..., None]))
    with np.errstate(all="ignore"):
        races = np.where(weights > 0, draw.standard_exponential(weights.shape) / weights, np.inf)
    return np.asarray(np.argsort(races, -1, kind="stable")[..., :count])


def quick_rand(size: tuple[Any, ...]) -> Tensor | None:
    """rand of sizes that are ints, on the CPU in the default dtype; None for anything else."""
    result = _quick(size)
    if result is not None:
        geometry = result.geometry
        draw = default_generator.draw.random
        draw = draw if geometry.numel <= FEW else long_call(STEPS * geometry.numel, draw)
        draw(None, geometry.dtype.numpy.type, _target(result))
    return result


def quick_randn(size: tuple[Any, ...]) -> Tensor | None:
    """randn of sizes that are ints, on the CPU in the default dtype; None for anything else."""
    result = _quick(size)
    if result is not None:
        geometry = result.geometry
        draw = default_generator.draw.standard_normal
        draw = draw if geometry.numel <= FEW else long_call(STEPS * geometry.numel, draw)
        draw(None, geometry.dtype.numpy.type, _target(result))
    return result


def quick_randint(given: tuple[Any, ...]) -> Tensor | None:
    """randint of a range of 64-bit ints and sizes in a tuple, on the CPU; None for anything else."""
    if len(given) not in (2, 3) or given[-1].__class__ is not tuple or not only_ints(given[:-1] + given[-1]):
        return None
    low, high = (0, given[0]) if len(given) == 2 else given[:2]
    if not -INT64_END <= low < high <= INT64_END:
        return None
    result = new_like(contiguous_geometry(given[-1], int64))
    count = result.geometry.numel
    if count:
        draw = default_generator.draw.integers
        draw = draw if count <= FEW else long_call(STEPS * count, draw)
        _target(result)[...] = draw(low, high, count, np.int64).reshape(given[-1])
    return result


def quick_randperm(given: tuple[Any, ...]) -> Tensor | None:
    """randperm of an int, on the CPU; None for anything else."""
    if len(given) != 1 or given[0].__class__ is not int or given[0] <= 0:
        return None
    result = new_like(contiguous_geometry(given, int64))
    _target(result)[...] = away(STEPS * given[0], default_generator.draw.permutation, given[0])
    return result


def _quick(size: tuple[Any, ...]) -> Tensor | None:
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    dtype = DEFAULTS.dtype
    if not size or not only_ints(size) or dtype not in WIDE:
        return None
    geometry = contiguous_geometry(size, dtype)
    return new_like(geometry) if geometry.numel else None


def _target(result: Tensor) -> Array:
    geometry = result.geometry
    return kept_array(geometry, result.pointer) if geometry.numel <= FEW else array_of(result)
