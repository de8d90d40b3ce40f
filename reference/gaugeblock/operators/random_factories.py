"""Fresh random tensors: rand, randn, randint, randperm, their _like forms, bernoulli and multinomial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, int64
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, preserve_format
from ..tensor.array_view import array_of
from ..tensor.metadata import resize_
from ..tensor.tensor import Tensor, empty_tensor
from ..tensor.versions import bump_version
from .arguments import check_layout
from .arrays import Array, computed, values
from .factories import empty_like
from .generator import Generator, generator_of
from .number_limits import check_fits
from .random_fill import bernoulli_float, bernoulli_tensor, normal_, random_from, uniform_
from .registration import kernel

Fill = Callable[..., Tensor]


def _fresh(
    operator: str, size: Sequence[int], dtype: DType, layout: Layout | None, device: Device | str | None
) -> Tensor:
    check_layout(operator, layout)
    return empty_tensor(tuple(size), dtype, as_device(device))


def _sized(out: Tensor, size: Sequence[int]) -> Tensor:
    return out if out.geometry.sizes == tuple(size) else resize_(out, tuple(size))


def _unchanged(tensor: Tensor) -> Tensor:
    tensor.storage.version = 0
    return tensor


def _define(name: str, fill: Fill) -> None:
    def fresh(
        size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
        layout: Layout | None = None, device: Device | str | None = None, pin_memory: bool | None = None,
    ) -> Tensor:  # fmt: skip
        return _unchanged(fill(_fresh(name, size, dtype or DEFAULTS.dtype, layout, device), generator=generator))

    def into(size: Sequence[int], *, generator: Generator | None = None, out: Tensor) -> Tensor:
        return fill(_sized(out, size), generator=generator)

    def like(
        self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
        pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
    ) -> Tensor:  # fmt: skip
        return _unchanged(fill(_like(self, dtype, layout, device, memory_format)))

    fresh.__doc__ = f"A fresh tensor filled by {fill.__name__}; of the default dtype unless `dtype` is given."
    kernel(name, derive=False)(fresh)
    kernel(name + ".generator", derive=False)(fresh)
    kernel(name + ".out", derive=False)(into)
    kernel(name + ".generator_out", derive=False)(into)
    kernel(name + "_like", derive=False)(like)


def _like(
    self: Tensor,
    dtype: DType | None,
    layout: Layout | None,
    device: Device | str | None,
    memory_format: MemoryFormat | None,
) -> Tensor:
    return empty_like(self, dtype=dtype, layout=layout, device=device, memory_format=memory_format or preserve_format)


_define("rand", uniform_)
_define("randn", normal_)


@kernel("randint.low_generator", derive=False)
@kernel("randint.low", derive=False)
def randint_low(
    low: int, high: int, size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
    layout: Layout | None = None, device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Integers uniform in [low, high), int64 unless `dtype` is given. Raises RuntimeError when they do not fit."""
    return _unchanged(
        random_from(_fresh("randint", size, dtype or int64, layout, device), low, high, generator=generator)
    )


@kernel("randint.generator", derive=False)
@kernel("randint", derive=False)
def randint(high: int, size: Sequence[int], **options: Any) -> Tensor:
    """randint from 0."""
    return randint_low(0, high, size, **options)


@kernel("randint.low_generator_out", derive=False)
@kernel("randint.low_out", derive=False)
def randint_low_out(
    low: int, high: int, size: Sequence[int], *, generator: Generator | None = None, out: Tensor
) -> Tensor:
    """randint into `out`, in its dtype."""
    return random_from(_sized(out, size), low, high, generator=generator)


@kernel("randint.generator_out", derive=False)
@kernel("randint.out", derive=False)
def randint_out(high: int, size: Sequence[int], *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """randint from 0 into `out`, in its dtype."""
    return randint_low_out(0, high, size, generator=generator, out=out)


@kernel("randint_like.low_dtype", derive=False)
def randint_like_low(
    self: Tensor, low: int, high: int, *, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """randint with sizes, strides and dtype like those of `self`."""
    return _unchanged(random_from(_like(self, dtype, layout, device, memory_format), low, high))


@kernel("randint_like", derive=False)
def randint_like(self: Tensor, high: int, **options: Any) -> Tensor:
    """randint_like from 0."""
    return randint_like_low(self, 0, high, **options)


@kernel("randperm.generator", derive=False)
@kernel("randperm", derive=False)
def randperm(
    n: int, *, generator: Generator | None = None, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """The integers below `n` in random order, int64 unless `dtype` is given. Raises RuntimeError for a narrow dtype."""
    result = _fresh("randperm", (n,), dtype or int64, layout, device)
    return _unchanged(_permutation(result, n, generator))


def _permutation(result: Tensor, n: int, generator: Generator | None) -> Tensor:
    check_fits("randperm", max(n - 1, 0), result.geometry.dtype)
    if result.geometry.device is cpu:
        array_of(result)[...] = generator_of("randperm", generator).permutation(n)
    bump_version(result)
    return result


@kernel("randperm.generator_out", derive=False)
@kernel("randperm.out", derive=False)
def randperm_out(n: int, *, generator: Generator | None = None, out: Tensor) -> Tensor:
    """randperm into `out`, in its dtype."""
    return _permutation(_sized(out, (n,)), n, generator)


@kernel("bernoulli")
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 of the probability that stands in `self`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError."""
    return _unchanged(bernoulli_tensor(_like(self, None, None, None, None), self, generator=generator))


@kernel("bernoulli.p", derive=False)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """1 of probability `p`, else 0, with sizes and dtype of `self`. Raises RuntimeError outside [0, 1]."""
    return _unchanged(bernoulli_float(_like(self, None, None, None, None), p, generator=generator))


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
