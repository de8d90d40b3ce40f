"""Random tensors: what rand, randn, randint and randperm are made of, bernoulli and multinomial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.away import away, long_call
from ..core.dtype import DType, int64
from ..core.errors import check_sizes
from ..core.promotion import UPSTREAM_NAMES
from ..dispatch.dispatcher import REGISTRY, call
from ..tensor.array_view import FEW, array_of, kept_array
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta, only_ints
from .allocation import COMPOSITE, empty_like, without_change
from .arrays import STEPS, Array, computed, values
from .generator import Generator, default_generator, generator_of
from .number_limits import check_fits
from .random_fill import INT64_END, WIDE, normal_, uniform_
from .ranges import Plan
from .registration import kernel


def drawn(inplace: str) -> Callable[..., Tensor]:
    """Return the function that fills a tensor by the operator `inplace`."""
    operator = REGISTRY.find(inplace)

    def fill(target: Tensor, *arguments: Any, generator: Generator | None = None) -> Tensor:
        result: Tensor = call(operator, target, *arguments, generator=generator)
        return result

    return fill


def bounds(operator: str, dtype: DType, *given: int) -> tuple[int, ...]:
    """The lowest integer and the one after the highest; the lowest is 0 by default."""
    return given if len(given) == 2 else (0, *given)


def permutation(dtype: DType, n: int, generator: Generator | None = None) -> Plan:
    """A random permutation of the integers below `n`.

    Raises RuntimeError for a dtype too narrow for `n`, NotImplementedError for bool and complex.
    """
    check_sizes("randperm", (n,))
    if dtype.kind in (0, 3):
        raise NotImplementedError(f"\"randperm\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")
    check_fits("randperm", max(n - 1, 0), dtype)

    def fill(result: Tensor) -> None:
        array_of(result)[...] = away(STEPS * n, generator_of("randperm", generator).permutation, n)

    return Plan((n,), fill)


@kernel("bernoulli", COMPOSITE)
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 of the probability that stands in `self`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError."""
    return without_change(drawn("bernoulli_.Tensor")(empty_like(self), self, generator=generator))


@kernel("bernoulli.p", COMPOSITE, derive=False)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """1 of probability `p`, else 0, with sizes and dtype of `self`. Raises RuntimeError outside [0, 1]."""
    return without_change(drawn("bernoulli_.float")(empty_like(self), p, generator=generator))


@kernel("multinomial")
def multinomial(
    self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the weights in `self`, row by row for a matrix.

    Raises RuntimeError for weights that are negative, not finite or all zero, and for too many samples.
    """
    meta = self.meta
    if not meta.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {meta.dtype.name}")
    if meta.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {meta.ndim}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > meta.sizes[-1]:
        raise RuntimeError(f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples}")
    draw = generator_of("multinomial", generator)
    sizes = (*meta.sizes[:-1], num_samples)
    return computed(sizes, int64, meta.device, lambda: _choices(values(self), num_samples, replacement, draw))


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


def fill_uniform(target: Tensor) -> None:
    """Fill a fresh tensor on the CPU with numbers uniform in [0, 1). NotImplementedError for integers and bool."""
    if target.meta.dtype in WIDE and target.meta.contiguous:
        _draw_into(target, default_generator.draw.random)
    else:
        without_change(uniform_(target))


def fill_normal(target: Tensor) -> None:
    """Fill a fresh tensor on the CPU with standard normal numbers. NotImplementedError for integers and bool."""
    if target.meta.dtype in WIDE and target.meta.contiguous:
        _draw_into(target, default_generator.draw.standard_normal)
    else:
        without_change(normal_(target))


def _draw_into(target: Tensor, draw: Callable[..., Any]) -> None:
    meta = target.meta
    if meta.numel:
        draw = draw if meta.numel <= FEW else long_call(STEPS * meta.numel, draw)
        draw(None, meta.dtype.numpy.type, _array(target))


def _array(target: Tensor) -> Array:
    meta = target.meta
    return kept_array(meta, target.pointer) if meta.numel <= FEW else array_of(target)


def quick_randint(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return randint of a range of 64-bit ints and sizes in a tuple, on the CPU; None for anything else."""
    if dtype is not None or len(given) not in (2, 3) or given[-1].__class__ is not tuple:
        return None
    low, high = (0, given[0]) if len(given) == 2 else given[:2]
    if not only_ints((low, high, *given[-1])) or not -INT64_END <= low < high <= INT64_END:
        return None
    result = new_like(contiguous_meta(given[-1], int64))
    count = result.meta.numel
    if count:
        draw = default_generator.draw.integers
        draw = draw if count <= FEW else long_call(STEPS * count, draw)
        _array(result)[...] = draw(low, high, count, np.int64).reshape(given[-1])
    return result


def quick_randperm(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return randperm of an int, on the CPU; None for anything else."""
    if dtype is not None or len(given) != 1 or given[0].__class__ is not int or given[0] <= 0:
        return None
    result = new_like(contiguous_meta(given, int64))
    _array(result)[...] = away(STEPS * given[0], default_generator.draw.permutation, given[0])
    return result


