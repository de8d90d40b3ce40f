"""Random numbers: filling in place (uniform_, normal_ and their kin), and what rand is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.dtype import FLOAT8, DType, bfloat16, bool_, float16, float32, float64, int64, uint64
from ..core.limits import finfo, iinfo
from ..core.warn import warn
from ..iteration.overlap import check_no_internal_overlap
from ..kernels.bound_call import Fresh, Into
from ..kernels.compiler import Builtin
from ..tensor.array_view import array_of
from ..tensor.reinterpret import view_as_real
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, only_ints
from ..tensor.versions import bump_version
from .allocation import without_change
from .arrays import from_array
from .copy import copy_values
from .generator import Generator, default_generator, stream_of
from .invoke import apply
from .plan import Planned, computed, plannable
from .registration import kernel

MANTISSA_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}
WIDE = (float32, float64)
WHOLE = ("integers", "geometric", "bernoulli")
"""Distributions with loops for integers and bool."""
INT64_END = 1 << 63
LONG_SPAN = 1 << 32
"""So many integers or more are drawn by NumPy."""


def refusal(operator: str, dtype: DType) -> NotImplementedError:
    """Return the error for a dtype that an operator does not fill."""
    return NotImplementedError(f"\"{operator}\" not implemented for '{dtype.name}'")


_LOOPS: dict[tuple[str, ...], Builtin] = {}
"""The compiled loops of random numbers, of the instruction set of this process."""


def drawing(name: str, dtype: DType, memory: str = "") -> Builtin:
    """Return the loop of a distribution of `kernels.random`."""
    loop = _LOOPS.get((name, dtype.name, memory))
    if loop is None:
        from ..kernels.random import random_kernel

        loop = _LOOPS[name, dtype.name, memory] = random_kernel(name, dtype, memory)
    return loop


def draw_into(pointer: int, count: int, name: str, dtype: DType, stream: Generator, *numbers: float) -> None:
    """Write `count` numbers of a distribution of `kernels.random` to an address."""
    drawing(name, dtype)(pointer, *numbers, stream.address, count)


def drawn_tensor(sizes: tuple[int, ...], name: str, dtype: DType, stream: Generator, *numbers: float) -> Tensor:
    """A fresh tensor of numbers of a distribution of `kernels.random`, which has a loop for the dtype."""
    result = new_like(contiguous_meta(sizes, dtype))
    if result.meta.numel:
        draw_into(result.pointer, result.meta.numel, name, dtype, stream, *numbers)
    return result


@cache
def loop_dtype(name: str, dtype: DType) -> DType:
    """Return the dtype of the loop that fills tensors of a dtype: their own if there is one."""
    kind = dtype.to_real()
    if kind in WIDE or (name in WHOLE and kind.kind < 2):
        return kind
    return float32


Numbers = tuple[float, ...]


def filled(
    self: Tensor, name: str, stream: Generator, numbers: Callable[..., Numbers], *given: float, operator: str = ""
) -> Tensor | Planned[Tensor]:  # fmt: skip
    """Fill a tensor by a distribution of `kernels.random` and count the change; nothing is drawn without memory. Its
    loop takes `numbers` of those that are given, or raises an error. The call is planned for the default generator."""
    meta = self.meta
    dtype, taken = loop_dtype(name, meta.dtype), numbers(*given)
    if meta.dtype is not dtype or not meta.dense or meta.device is not cpu or meta.lazy:
        return written(self, lambda sizes: drawn_tensor(sizes, name, dtype, stream, *taken))
    bump_version(self)
    if not meta.numel:
        return self
    draw_into(self.pointer, meta.numel, name, dtype, stream, *taken)
    if stream is not default_generator:
        return self
    loop, tail = drawing(name, dtype), (stream.address, meta.numel)
    if given == USUAL.get(operator, ()):
        return Planned(self, Into(loop, (*taken, *tail)).native(), (self,))
    into = Into(loop, tail).native()
    return Planned(self, lambda self, *given: into(self, *numbers(*given)), (self, *given))


USUAL: dict[str, Numbers] = {
    "uniform_": (0, 1), "normal_": (0, 1), "bernoulli_": (0.5,), "exponential_": (1,), "cauchy_": (0, 1),
    "log_normal_": (1, 2),
}  # fmt: skip
"""Operator -> the numbers that most calls leave out, as their default."""


def written(self: Tensor, draw: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """Write what is drawn for the sizes of a tensor, or of its real view, into it, and count the change."""
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    bump_version(self)
    if self.meta.device is cpu and self.meta.numel:
        parts = view_as_real(self) if self.meta.dtype.is_complex else self
        copy_values(parts, draw(parts.meta.sizes))
    return self


@kernel("uniform_", derive=False)
@plannable
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with numbers uniform in [from, to), for complex each component. Raises RuntimeError when `to` is below
    `from` or does not fit, NotImplementedError for integers and bool."""
    dtype = self.meta.dtype.to_real()
    if not dtype.is_floating_point or dtype in FLOAT8:
        raise refusal("uniform_", dtype)
    if dtype in WIDE:
        stream = stream_of("uniform_", generator)
        return filled(self, "uniform", stream, partial(_range_of, dtype), from_, to, operator="uniform_")
    _range_of(dtype, from_, to)
    stream = stream_of("uniform_", generator)
    return written(self, lambda sizes: _uniform_half(stream, sizes, from_, to, dtype))


@lru_cache(64)
def _range_of(dtype: DType, low: float, high: float) -> Numbers:
    """Return the lowest number of a range, its length, and the last number. Raises RuntimeError for bad ranges."""
    if (low, high) == (0, 1):
        return 0.0, 1.0, 1.0
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    largest = finfo(dtype).max
    for name, value in (("from", low), ("to", high)):
        if not abs(value) <= largest:
            raise RuntimeError(f"uniform_(): {name} is out of bounds for {dtype.name}: {value}")
    if not high - low <= largest:
        raise RuntimeError(
            f"uniform_(): expects to - from <= {largest}, the largest {dtype.name}, got from={low} and to={high}"
        )
    return float(low), float(high - low), _below(low, high, dtype)


def _uniform_half(stream: Generator, sizes: tuple[int, ...], low: float, high: float, dtype: DType) -> Tensor:
    """Multiples of the spacing of a half dtype below 1, uniform in [0, 1), moved to [low, high)."""
    steps = np.float32(1 << MANTISSA_BITS[dtype])
    drawn = np.floor(array_of(drawn_tensor(sizes, "uniform", float32, stream, 0.0, 1.0, 1.0)) * steps) / steps
    moved = (drawn * (high - low) + low).astype(dtype.numpy)
    return from_array(np.minimum(moved, dtype.numpy.type(_below(low, high, dtype))) if high > low else moved, dtype)


@lru_cache(64)
def _below(low: float, high: float, dtype: DType) -> float:
    """The number of a dtype before `high`, toward `low`."""
    return float(np.nextafter(np.asarray(high, dtype.numpy), np.asarray(low, dtype.numpy)))


@kernel("normal_", derive=False)
@plannable
def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with numbers of the normal distribution; a complex one has independent components of variance std**2 / 2.
    Raises RuntimeError for a negative `std`, NotImplementedError for integers and bool."""
    dtype = self.meta.dtype
    if dtype.kind < 2 or dtype in FLOAT8:
        raise refusal("normal_", dtype)
    stream = stream_of("normal_", generator)
    if not dtype.is_complex:
        return filled(self, "normal", stream, normal_numbers, mean, std, operator="normal_")
    normal_numbers(mean, std)
    wide = float64 if dtype.to_real() is float64 else float32

    def draw(sizes: tuple[int, ...]) -> Tensor:
        parts = drawn_tensor(sizes, "normal", wide, stream, 0.0, std / 2**0.5)
        apply("add_.Scalar", apply("select.int", parts, -1, 0), mean)
        return parts

    return written(self, draw)


def normal_numbers(mean: float, std: float) -> Numbers:
    """Return mean and standard deviation. Raises RuntimeError for a negative one."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return float(mean), float(std)


def check_range(low: int, high: int, dtype: DType) -> None:
    """Raise RuntimeError unless [low, high) has a number and all of them fit, NotImplementedError for complex."""
    if dtype.is_complex:
        raise refusal("random_", dtype)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    least, most = _limits(dtype)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {value}")
        if not is_exact(value, dtype):
            warn(
                f"random_(): {name} is out of bounds [-(2^{MANTISSA_BITS[dtype]}), 2^{MANTISSA_BITS[dtype]}]: "
                f"{dtype.name} does not hold every integer in this range"
            )


def is_exact(value: int, dtype: DType) -> bool:
    """Return whether a dtype holds every integer up to the size of a value that is in its range."""
    return not dtype.is_floating_point or abs(value) <= 1 << MANTISSA_BITS[dtype]


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
@plannable
def random_from(
    self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with integers uniform in [from, to), up to the dtype's largest for None. Raises RuntimeError."""
    return _integers_in(self, from_, to, generator)


def _integers_in(self: Tensor, from_: int, to: int | None, generator: Generator | None) -> Tensor | Planned[Tensor]:
    dtype = self.meta.dtype
    high = _largest(dtype) + 1 if to is None else to
    check_range(from_, high, dtype)
    stream = stream_of("random_", generator)
    if high - from_ >= LONG_SPAN:
        return written(self, lambda sizes: _integers(stream, from_, high, sizes))
    found = filled(self, "integers", stream, lambda: (from_, high - from_))
    warns = not (is_exact(from_, dtype) and is_exact(high - 1, dtype))
    return computed(found) if warns else found


@kernel("random_.to", derive=False)
@plannable
def random_to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor | Planned[Tensor]:
    """Fill with integers uniform in [0, to). Raises RuntimeError."""
    return _integers_in(self, 0, to, generator)


@kernel("random_", derive=False)
@plannable
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor | Planned[Tensor]:
    """Fill with integers uniform from 0 to the dtype's largest (of a float: the last with all smaller ones exact)."""
    return _integers_in(self, 0, None, generator)


def _largest(dtype: DType) -> int:
    if dtype.is_floating_point:
        return 1 << MANTISSA_BITS[dtype]
    return 1 if dtype is bool_ else 0 if dtype.is_complex else int(iinfo(dtype).max)


@kernel("bernoulli_.float", derive=False)
@plannable
def bernoulli_float(
    self: Tensor, p: float = 0.5, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with 1 of probability `p`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError for complex."""
    chance_of(p)
    if self.meta.dtype.is_complex:
        raise refusal("bernoulli_", self.meta.dtype)
    stream = stream_of("bernoulli_", generator)
    return filled(self, "bernoulli", stream, chance_of, p, operator="bernoulli_")


def chance_of(p: float) -> Numbers:
    """Return a probability as a loop takes it. Raises RuntimeError outside [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return (float(p),)


@kernel("exponential_", derive=False)
@plannable
def exponential_(
    self: Tensor, lambd: float = 1, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with numbers of the exponential distribution. Raises RuntimeError unless `lambd` > 0 and dtype is real."""
    dtype = self.meta.dtype
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {dtype.name}"
        )
    stream = stream_of("exponential_", generator)
    return filled(self, "exponential", stream, _rate, lambd, operator="exponential_")


def _rate(lambd: float) -> Numbers:
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return (float(lambd),)


def bounds(operator: str, dtype: DType, *given: int) -> tuple[int, ...]:
    """The lowest integer and the one after the highest; the lowest is 0 by default."""
    return given if len(given) == 2 else (0, *given)


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


def quick_randint_like(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return randint_like of a dense tensor on the CPU and a range of ints that its dtype holds; None for anything
    else."""
    if len(given) not in (2, 3) or dtype is not None or not only_ints(given[1:]) or given[0].__class__ is not Tensor:
        return None
    meta = given[0].meta
    low, high = bounds("randint_like", meta.dtype, *given[1:])
    small = 0 <= low < high <= 128 and meta.dtype.kind in (1, 2)
    if not small or meta.dtype is not loop_dtype("integers", meta.dtype) or not _is_made_directly(meta):
        return None
    result = new_like(meta)
    draw_into(result.pointer, meta.numel, "integers", meta.dtype, default_generator, low, high - low)
    return result


def _is_made_directly(meta: TensorMeta) -> bool:
    """Return whether a loop may fill a new tensor of a meta."""
    return meta.dense and meta.device is cpu and not meta.lazy and not meta.has_autograd and meta.numel > 0


def drawing_call(meta: TensorMeta, name: str = "", *numbers: float) -> Callable[[], Tensor] | None:
    """Return the call that draws a new tensor of a distribution; None where its dtype has no loop."""
    if not name or loop_dtype(name, meta.dtype) is not meta.dtype:
        return None
    return Fresh(drawing(name, meta.dtype), (meta,), (*numbers, default_generator.address, meta.numel)).native()
