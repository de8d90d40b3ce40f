"""Random numbers: filling in place (uniform_, normal_ and their kin), bernoulli, multinomial, what rand is made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import away
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, float16, float32, float64, int64
from ..core.errors import check_sizes
from ..core.limits import finfo, iinfo
from ..core.warn import warn
from ..dispatch.dispatcher import REGISTRY, call
from ..iteration.overlap import check_no_internal_overlap
from ..kernels.compiler import Builtin
from ..tensor.array_view import array_of
from ..tensor.reinterpret import view_as_real
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import contiguous_meta, only_ints
from ..tensor.versions import bump_version
from ..tensor.views import expand
from .allocation import COMPOSITE, empty_like, without_change
from .arrays import STEPS, Array, computed, values
from .generator import Generator, default_generator, generator_of, stream_of
from .operand_checks import check_fits, check_implemented
from .ranges import Plan
from .registration import kernel

MANTISSA_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}
WIDE = (float32, float64)
INT64_END = 1 << 63
LONG_SPAN = 1 << 32
"""So many integers or more are drawn by NumPy."""


def _refuse(operator: str, dtype: DType) -> NotImplementedError:
    return NotImplementedError(f"\"{operator}\" not implemented for '{dtype.name}'")


def store(self: Tensor, draw: Callable[[], Any]) -> Tensor:
    """Write the array that ``draw()`` gives into `self` and count the change; nothing is drawn without memory."""
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    bump_version(self)
    if self.meta.device is cpu and self.meta.numel:
        array = array_of(real_parts(self))

        def fill() -> None:
            array[...] = draw()

        away(100 * array.size, fill)
    return self


def real_parts(self: Tensor) -> Tensor:
    """`self`, or its real view when it is complex."""
    return view_as_real(self) if self.meta.dtype.is_complex else self


_LOOPS: dict[tuple[str, DType], Builtin] = {}
"""The compiled loops of random numbers by distribution and dtype, of the instruction set of this process."""


def draw_into(pointer: int, count: int, name: str, dtype: DType, stream: Generator, *numbers: float) -> None:
    """Write `count` numbers of a distribution of `kernels.random` to an address."""
    loop = _LOOPS.get((name, dtype))
    if loop is None:
        from ..kernels.random import random_kernel

        loop = _LOOPS[name, dtype] = random_kernel(name, dtype)
    loop(pointer, pointer, *stream.next_call(), *numbers, count)


def drawn_array(sizes: tuple[int, ...], name: str, dtype: DType, stream: Generator, *numbers: float) -> Array:
    """An array of numbers of a distribution of `kernels.random`."""
    array = np.empty(sizes, dtype.numpy)
    draw_into(array.__array_interface__["data"][0], array.size, name, dtype, stream, *numbers)
    return array


def unit_values(stream: Generator, sizes: tuple[int, ...], dtype: DType) -> Array:
    """Multiples of the dtype's spacing below 1, uniform in [0, 1)."""
    drawn = drawn_array(sizes, "uniform", float64 if dtype is float64 else float32, stream, 0.0, 1.0, 1.0)
    if dtype in WIDE:
        return drawn
    steps = np.float32(1 << MANTISSA_BITS[dtype])
    return (np.floor(drawn * steps) / steps).astype(dtype.numpy)


def fill_drawn(self: Tensor, name: str, stream: Generator, *numbers: float) -> Tensor:
    """Fill a contiguous tensor on the CPU by the loop of its dtype."""
    if self.meta.numel:
        draw_into(self.pointer, self.meta.numel, name, self.meta.dtype, stream, *numbers)
    return self


def is_direct(self: Tensor, dtypes: tuple[DType, ...]) -> bool:
    """Whether a loop of `kernels.random` may write into `self`, for which it has these dtypes."""
    meta = self.meta
    return meta.dtype in dtypes and meta.contiguous and meta.device is cpu and not meta.lazy


@kernel("uniform_", derive=False)
def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers uniform in [from, to), for complex each component.

    Raises RuntimeError when `to` is below `from` or does not fit, NotImplementedError for integers and bool.
    """
    dtype = self.meta.dtype.to_real()
    if not dtype.is_floating_point:
        raise _refuse("uniform_", dtype)
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    largest = finfo(dtype).max
    for name, value in (("from", from_), ("to", to)):
        if not abs(value) <= largest:
            raise RuntimeError(f"uniform_(): {name} is out of bounds for {dtype.name}: {value}")
    if not to - from_ <= largest:
        raise RuntimeError(
            f"uniform_(): expects to - from <= {largest}, the largest {dtype.name}, got from={from_} and to={to}"
        )
    stream = stream_of("uniform_", generator)
    if is_direct(self, WIDE):
        bump_version(self)
        return fill_drawn(self, "uniform", stream, float(from_), float(to - from_), _below(from_, to, dtype))
    sizes = real_parts(self).meta.sizes
    return store(self, lambda: _uniform(unit_values(stream, sizes, dtype), from_, to, dtype))


def _uniform(drawn: Array, low: float, high: float, dtype: DType) -> Array:
    """Numbers of [0, 1) moved to [low, high)."""
    if (low, high) == (0, 1):
        return drawn
    wide: Array = drawn.astype(np.float64 if dtype is float64 else np.float32)
    moved = (wide * (high - low) + low).astype(dtype.numpy)
    return np.minimum(moved, dtype.numpy.type(_below(low, high, dtype))) if high > low else moved


@functools.lru_cache(64)
def _below(low: float, high: float, dtype: DType) -> float:
    """The number of a dtype before `high`, toward `low`."""
    return float(np.nextafter(np.asarray(high, dtype.numpy), np.asarray(low, dtype.numpy)))


@kernel("normal_", derive=False)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the normal distribution; a complex one has independent components of variance std**2 / 2.

    Raises RuntimeError for a negative `std`, NotImplementedError for integers and bool.
    """
    dtype = self.meta.dtype
    if dtype.kind < 2:
        raise _refuse("normal_", dtype)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    stream = stream_of("normal_", generator)
    if is_direct(self, WIDE):
        bump_version(self)
        return fill_drawn(self, "normal", stream, float(mean), float(std))
    sizes, wide = real_parts(self).meta.sizes, float64 if dtype.to_real() is float64 else float32
    return store(self, lambda: _normal(drawn_array(sizes, "normal", wide, stream, 0.0, 1.0), self, mean, std))


def _normal(drawn: Array, self: Tensor, mean: float, std: float) -> Array:
    """Numbers of the standard normal distribution moved to `mean` and `std`; complex ones in their last dim."""
    if self.meta.dtype.is_complex:
        drawn = drawn * drawn.dtype.type(std / 2**0.5)
        drawn[..., 0] += mean
    elif (mean, std) != (0, 1):
        drawn = drawn * drawn.dtype.type(std) + drawn.dtype.type(mean)
    return drawn


def check_range(low: int, high: int, dtype: DType) -> None:
    """Raise RuntimeError unless [low, high) has a number and all of them fit, NotImplementedError for complex."""
    if dtype.is_complex:
        raise _refuse("random_", dtype)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    least, most = _limits(dtype)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {value}")
        if dtype.is_floating_point and abs(value) > 1 << MANTISSA_BITS[dtype]:
            warn(
                f"random_(): {name} is out of bounds [-(2^{MANTISSA_BITS[dtype]}), 2^{MANTISSA_BITS[dtype]}]: "
                f"{dtype.name} does not hold every integer in this range"
            )


def _limits(dtype: DType) -> tuple[float, float]:
    """Return the lowest and the highest finite number of a real dtype."""
    if dtype is bool_:
        return 0, 1
    limits = finfo(dtype) if dtype.is_floating_point else iinfo(dtype)
    return limits.min, limits.max


def integer_values(stream: Generator, low: int, high: int, sizes: tuple[int, ...]) -> Array:
    """Integers uniform in [low, high)."""
    if high - low < LONG_SPAN and high <= INT64_END:
        return drawn_array(sizes, "integers", int64, stream, low, high - low)
    return stream.draw.integers(low, high, sizes, np.uint64 if high > INT64_END else np.int64)


@kernel("random_.from", derive=False)
def random_from(self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None) -> Tensor:
    """Fill with integers uniform in [from, to), up to the dtype's largest for None. Raises RuntimeError."""
    dtype = self.meta.dtype
    high = _largest(dtype) + 1 if to is None else to
    check_range(from_, high, dtype)
    stream = stream_of("random_", generator)
    if high - from_ < LONG_SPAN and is_direct(self, (int64,)):
        bump_version(self)
        return fill_drawn(self, "integers", stream, from_, high - from_)
    return store(self, lambda: integer_values(stream, from_, high, self.meta.sizes))


@kernel("random_.to", derive=False)
def random_to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
    """Fill with integers uniform in [0, to). Raises RuntimeError."""
    return random_from(self, 0, to, generator=generator)


@kernel("random_", derive=False)
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Fill with integers uniform from 0 to the dtype's largest (of a float: the last with all smaller ones exact)."""
    return random_from(self, 0, None, generator=generator)


def _largest(dtype: DType) -> int:
    if dtype.is_floating_point:
        return 1 << MANTISSA_BITS[dtype]
    return 1 if dtype is bool_ else 0 if dtype.is_complex else int(iinfo(dtype).max)


@kernel("bernoulli_.float", derive=False)
def bernoulli_float(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 of probability `p`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError for complex."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    if self.meta.dtype.is_complex:
        raise _refuse("bernoulli_", self.meta.dtype)
    stream = stream_of("bernoulli_", generator)
    if is_direct(self, WIDE):
        bump_version(self)
        return fill_drawn(self, "bernoulli", stream, float(p))
    return store(self, lambda: unit_values(stream, self.meta.sizes, float64) < p)


@kernel("bernoulli_.Tensor", derive=False)
def bernoulli_tensor(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 of the probability in `p`, which expands to `self`. Raises as bernoulli_."""
    if self.meta.dtype.is_complex or not p.meta.dtype.is_floating_point:
        raise _refuse("bernoulli_", self.meta.dtype if self.meta.dtype.is_complex else p.meta.dtype)
    wide, stream = expand(p, self.meta.sizes), stream_of("bernoulli_", generator)

    def drawn() -> Array:
        chances = values(wide)
        if not ((chances >= 0) & (chances <= 1)).all():
            raise RuntimeError("bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true for every probability")
        return unit_values(stream, self.meta.sizes, float64) < chances

    return store(self, drawn)


@kernel("exponential_", derive=False)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the exponential distribution. Raises RuntimeError unless `lambd` > 0 and dtype is real."""
    dtype = self.meta.dtype
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {dtype.name}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    draw = generator_of("exponential_", generator)
    return store(self, lambda: draw.standard_exponential(self.meta.sizes) / lambd)


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
    check_implemented("randperm", dtype, dtype.kind in (1, 2))
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
    if is_direct(target, WIDE):
        fill_drawn(target, "uniform", default_generator, 0.0, 1.0, 1.0)
    else:
        without_change(uniform_(target))


def fill_normal(target: Tensor) -> None:
    """Fill a fresh tensor on the CPU with standard normal numbers. NotImplementedError for integers and bool."""
    if is_direct(target, WIDE):
        fill_drawn(target, "normal", default_generator, 0.0, 1.0)
    else:
        without_change(normal_(target))


def quick_randint(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return randint of a range of 64-bit ints and sizes in a tuple, on the CPU; None for anything else."""
    if dtype is not None or len(given) not in (2, 3) or given[-1].__class__ not in (tuple, list):
        return None
    low, high = (0, given[0]) if len(given) == 2 else given[:2]
    sizes = tuple(given[-1])
    if not only_ints((low, high, *sizes)) or not -INT64_END <= low < high <= INT64_END:
        return None
    result = new_like(contiguous_meta(sizes, int64))
    if high - low < LONG_SPAN:
        return fill_drawn(result, "integers", default_generator, low, high - low)
    array_of(result)[...] = integer_values(default_generator, low, high, sizes)
    return result
