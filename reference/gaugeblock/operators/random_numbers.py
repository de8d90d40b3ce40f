"""Random numbers: filling in place (uniform_, normal_ and their kin), bernoulli, multinomial, what rand is made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import away
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, float16, float32, float64, int64, uint64
from ..core.errors import check_sizes
from ..core.limits import finfo, iinfo
from ..core.warn import warn
from ..iteration.overlap import check_no_internal_overlap
from ..kernels.bound_call import Fresh
from ..kernels.compiler import Builtin
from ..tensor.array_view import array_of
from ..tensor.reinterpret import view_as_real
from ..tensor.scalars import item
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_like, only_ints, recalled
from ..tensor.versions import bump_version, data_of
from ..tensor.views import expand
from .allocation import COMPOSITE, allocated, empty_like, without_change
from .arrays import STEPS, Array, filled_arrays, from_array
from .copy import copy_values
from .generator import Generator, default_generator, generator_of, stream_of
from .invoke import apply
from .launch import element_launch
from .operand_checks import check_fits, check_implemented
from .plan import Filling, Planned, plannable
from .ranges import Plan
from .registration import kernel

MANTISSA_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}
WIDE = (float32, float64)
INT64_END = 1 << 63
LONG_SPAN = 1 << 32
"""So many integers or more are drawn by NumPy."""


def _refuse(operator: str, dtype: DType) -> NotImplementedError:
    return NotImplementedError(f"\"{operator}\" not implemented for '{dtype.name}'")


_LOOPS: dict[tuple[str, DType], Builtin] = {}
"""The compiled loops of random numbers by distribution and dtype, of the instruction set of this process."""


def draw_into(pointer: int, count: int, name: str, dtype: DType, stream: Generator, *numbers: float) -> None:
    """Write `count` numbers of a distribution of `kernels.random` to an address."""
    loop = _LOOPS.get((name, dtype))
    if loop is None:
        from ..kernels.random import random_kernel

        loop = _LOOPS[name, dtype] = random_kernel(name, dtype)
    loop(pointer, pointer, *stream.next_call(), *numbers, count)


def drawn_tensor(sizes: tuple[int, ...], name: str, dtype: DType, stream: Generator, *numbers: float) -> Tensor:
    """A fresh tensor of numbers of a distribution of `kernels.random`, which has a loop for the dtype."""
    result = new_like(contiguous_meta(sizes, dtype))
    if result.meta.numel:
        draw_into(result.pointer, result.meta.numel, name, dtype, stream, *numbers)
    return result


@functools.cache
def _loop_dtype(name: str, dtype: DType) -> DType:
    """Return the dtype of the loop that fills tensors of a dtype: their own if there is one."""
    kind = dtype.to_real()
    if kind in WIDE or (name == "integers" and kind.kind == 1):
        return kind
    return int64 if kind.kind < 2 and name in ("integers", "geometric", "bernoulli") else float32


def filled(self: Tensor, name: str, stream: Generator, *numbers: float) -> Tensor:
    """Fill a tensor by a distribution of `kernels.random` and count the change; nothing is drawn without memory."""
    meta = self.meta
    dtype = _loop_dtype(name, meta.dtype)
    if meta.dtype is dtype and meta.dense and meta.device is cpu and not meta.lazy:
        bump_version(self)
        if meta.numel:
            draw_into(self.pointer, meta.numel, name, dtype, stream, *numbers)
        return self
    return written(self, lambda sizes: drawn_tensor(sizes, name, dtype, stream, *numbers))


def written(self: Tensor, draw: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """Write what is drawn for the sizes of a tensor, or of its real view, into it, and count the change."""
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    bump_version(self)
    if self.meta.device is cpu and self.meta.numel:
        parts = view_as_real(self) if self.meta.dtype.is_complex else self
        copy_values(parts, draw(parts.meta.sizes))
    return self


@kernel("uniform_", derive=False)
def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers uniform in [from, to), for complex each component. Raises RuntimeError when `to` is below
    `from` or does not fit, NotImplementedError for integers and bool."""
    dtype = self.meta.dtype.to_real()
    if not dtype.is_floating_point:
        raise _refuse("uniform_", dtype)
    if dtype in WIDE and (from_, to) == (0, 1):
        return filled(self, "uniform", stream_of("uniform_", generator), 0.0, 1.0, 1.0)
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
    if dtype in WIDE:
        return filled(self, "uniform", stream, float(from_), float(to - from_), _below(from_, to, dtype))
    return written(self, lambda sizes: _uniform_half(stream, sizes, from_, to, dtype))


def _uniform_half(stream: Generator, sizes: tuple[int, ...], low: float, high: float, dtype: DType) -> Tensor:
    """Multiples of the spacing of a half dtype below 1, uniform in [0, 1), moved to [low, high)."""
    steps = np.float32(1 << MANTISSA_BITS[dtype])
    drawn = np.floor(array_of(drawn_tensor(sizes, "uniform", float32, stream, 0.0, 1.0, 1.0)) * steps) / steps
    moved = (drawn * (high - low) + low).astype(dtype.numpy)
    return from_array(np.minimum(moved, dtype.numpy.type(_below(low, high, dtype))) if high > low else moved, dtype)


@functools.lru_cache(64)
def _below(low: float, high: float, dtype: DType) -> float:
    """The number of a dtype before `high`, toward `low`."""
    return float(np.nextafter(np.asarray(high, dtype.numpy), np.asarray(low, dtype.numpy)))


@kernel("normal_", derive=False)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the normal distribution; a complex one has independent components of variance std**2 / 2.
    Raises RuntimeError for a negative `std`, NotImplementedError for integers and bool."""
    dtype = self.meta.dtype
    if dtype.kind < 2:
        raise _refuse("normal_", dtype)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    stream = stream_of("normal_", generator)
    if not dtype.is_complex:
        return filled(self, "normal", stream, float(mean), float(std))
    wide = float64 if dtype.to_real() is float64 else float32

    def draw(sizes: tuple[int, ...]) -> Tensor:
        parts = drawn_tensor(sizes, "normal", wide, stream, 0.0, std / 2**0.5)
        apply("add_.Scalar", apply("select.int", parts, -1, 0), mean)
        return parts

    return written(self, draw)


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


def _integers(stream: Generator, low: int, high: int, sizes: tuple[int, ...]) -> Tensor:
    """Integers uniform in [low, high), of which there are LONG_SPAN or more."""
    dtype = uint64 if high > INT64_END else int64
    return from_array(stream.draw.integers(low, high, sizes, dtype.numpy), dtype)


@kernel("random_.from", derive=False)
def random_from(self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None) -> Tensor:
    """Fill with integers uniform in [from, to), up to the dtype's largest for None. Raises RuntimeError."""
    dtype = self.meta.dtype
    high = _largest(dtype) + 1 if to is None else to
    check_range(from_, high, dtype)
    stream = stream_of("random_", generator)
    if high - from_ < LONG_SPAN:
        return filled(self, "integers", stream, from_, high - from_)
    return written(self, lambda sizes: _integers(stream, from_, high, sizes))


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
    return filled(self, "bernoulli", stream_of("bernoulli_", generator), float(p))


@kernel("bernoulli_.Tensor", derive=False)
def bernoulli_tensor(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 of the probability in `p`, which expands to `self`. Raises as bernoulli_."""
    if self.meta.dtype.is_complex or not p.meta.dtype.is_floating_point:
        raise _refuse("bernoulli_", self.meta.dtype if self.meta.dtype.is_complex else p.meta.dtype)
    chances, stream = expand(p, self.meta.sizes), stream_of("bernoulli_", generator)

    def draw(sizes: tuple[int, ...]) -> Tensor:
        _check_chances(p)
        return apply("lt.Tensor", drawn_tensor(sizes, "uniform", float64, stream, 0.0, 1.0, 1.0), chances)

    return written(self, draw)


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
    return filled(self, "exponential", stream_of("exponential_", generator), float(lambd))


def bounds(operator: str, dtype: DType, *given: int) -> tuple[int, ...]:
    """The lowest integer and the one after the highest; the lowest is 0 by default."""
    return given if len(given) == 2 else (0, *given)


def permutation(dtype: DType, n: int, generator: Generator | None = None) -> Plan:
    """A random permutation of the integers below `n`. Raises RuntimeError for a dtype too narrow for `n`,
    NotImplementedError for bool and complex."""
    check_sizes("randperm", (n,))
    check_implemented("randperm", dtype, dtype.kind in (1, 2))
    check_fits("randperm", max(n - 1, 0), dtype)

    def fill(result: Tensor) -> None:
        array_of(result)[...] = away(STEPS * n, generator_of("randperm", generator).permutation, n)

    return Plan((n,), fill)


@kernel("bernoulli", COMPOSITE)
@plannable
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor | Filling | Planned[Tensor]:
    """1 of the probability that stands in `self`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError."""
    meta = self.meta
    if generator is None and meta.dtype.is_floating_point and meta.device is cpu and meta.numel and not meta.lazy:
        fresh = recalled(meta.plans, "bernoulli", _compared, meta)
        return Planned.unrun(fresh, (self,), fresh.native(), (self,), check=_check_chances)
    return drawn(meta_like(self.meta), lambda out: apply("bernoulli_.Tensor", out, self, generator=generator))


def _compared(chances: TensorMeta) -> Fresh:
    """Return the call that draws uniform numbers and compares them with chances, of which it refuses some."""
    made, uniform = meta_like(chances), contiguous_meta(chances.sizes, float64)
    launch = element_launch("bernoulli", made, [uniform, chances], float64)
    assert launch is not None
    loop, tail = launch.call()

    def run(result: int, numbers: int, given: int) -> None:
        draw_into(numbers, chances.numel, "uniform", float64, stream_of("bernoulli", None), 0.0, 1.0, 1.0)
        loop(result, numbers, given, *tail)

    return Fresh(run, (made, uniform), (), temporary=1, refusing=True)


def _check_chances(chances: Tensor) -> None:
    ends: Any = apply("aminmax", chances)
    if not 0 <= item(ends[0]) <= item(ends[1]) <= 1:
        raise RuntimeError("bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true for every probability")


def drawn(meta: TensorMeta, draw: Callable[[Tensor], object]) -> Filling:
    """Fill a tensor of any device by `draw`."""
    return Filling((meta,), lambda out: draw(data_of(out)), new=allocated)


@kernel("bernoulli.p", COMPOSITE, derive=False)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """1 of probability `p`, else 0, with sizes and dtype of `self`. Raises RuntimeError outside [0, 1]."""
    return without_change(apply("bernoulli_.float", empty_like(self), p, generator=generator))


@kernel("multinomial")
@plannable
def multinomial(
    self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor | Filling:
    """Indices drawn with the weights in `self`, row by row for a matrix. Raises RuntimeError for weights that are
    negative, not finite or all zero, and for too many samples."""
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
    wanted = (contiguous_meta, (*meta.sizes[:-1], num_samples), int64)
    return filled_arrays(
        None, (self,), lambda array: (_choices(array, num_samples, replacement, draw),), wanted
    )


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
    _fill(target, uniform_, "uniform", 0.0, 1.0, 1.0)


def fill_normal(target: Tensor) -> None:
    """Fill a fresh tensor on the CPU with standard normal numbers. NotImplementedError for integers and bool."""
    _fill(target, normal_, "normal", 0.0, 1.0)


def _fill(target: Tensor, general: Callable[[Tensor], Tensor], name: str, *numbers: float) -> None:
    """Fill a fresh dense tensor on the CPU: those of float32 and float64 by the loop of a distribution."""
    meta = target.meta
    if meta.dtype not in WIDE:
        without_change(general(target))
    elif meta.numel:
        draw_into(target.pointer, meta.numel, name, meta.dtype, stream_of(name, None), *numbers)


def quick_randint(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return randint of a range of 64-bit ints and sizes in a tuple, on the CPU; None for anything else."""
    if dtype is not None or len(given) not in (2, 3) or given[-1].__class__ not in (tuple, list):
        return None
    low, high = (0, given[0]) if len(given) == 2 else given[:2]
    sizes = tuple(given[-1])
    if not only_ints((low, high, *sizes)) or not -INT64_END <= low < high <= INT64_END:
        return None
    if high - low < LONG_SPAN:
        return drawn_tensor(sizes, "integers", int64, default_generator, low, high - low)
    return apply("to.dtype", _integers(default_generator, low, high, sizes), int64)
