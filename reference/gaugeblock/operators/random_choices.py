"""Random choices: bernoulli, numbers drawn by others for each element, multinomial, permutations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ..core.away import away
from ..core.device import cpu
from ..core.dtype import DType, float32, float64, int64
from ..core.errors import check_sizes
from ..kernels.bound_call import Fresh, Into, nothing
from ..tensor.scalars import item
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_like, recalled
from ..tensor.versions import data_of
from ..tensor.views import expand
from .allocation import COMPOSITE, allocated, empty_like, without_change
from .composition import Part, composite
from .copy import copy_values
from .generator import Generator, default_generator, stream_of
from .invoke import apply
from .launch import element_launch
from .operand_checks import check_fits, check_implemented
from .plan import Filling, Planned, plannable
from .random_numbers import WIDE, chance_of, draw_into, drawing, loop_dtype, refusal, written
from .ranges import Plan
from .registration import kernel

SHUFFLING = 64
"""Steps of work for each element of a permutation, whose places lie anywhere in memory."""


@kernel("bernoulli", COMPOSITE)
@plannable
def bernoulli(self: Tensor, *, generator: Generator | None = None) -> Tensor | Filling | Planned[Tensor]:
    """1 of the probability that stands in `self`, else 0. Raises RuntimeError outside [0, 1], NotImplementedError."""
    self = apply("resolve_neg", self) if self.meta.lazy else self
    meta = self.meta
    if not meta.dtype.is_floating_point:
        raise refusal("bernoulli_", meta.dtype)
    made = meta_like(meta)
    if meta.device is not cpu:
        return drawn(made, lambda out: apply("bernoulli_.Tensor", out, self, generator=generator))
    stream = stream_of("bernoulli", generator)
    if _is_drawn_directly(meta):
        return drawn_by_element("bernoulli", made, stream, (self,), _check_chances)
    if not meta.numel:
        return drawn(made, nothing)
    fresh = recalled(meta.plans, "bernoulli", _compared, meta)
    if stream is not default_generator and fresh.kernel is not None:
        fresh = fresh._replace(kernel=partial(fresh.kernel, stream=stream))
    call = fresh.native() if stream is default_generator else None
    return Planned.unrun(fresh, (self,), call, (self,), check=_check_chances)


def _is_drawn_directly(meta: TensorMeta) -> bool:
    """Return whether a loop writes random numbers to the memory of a tensor, or reads such numbers there."""
    return meta.dtype in WIDE and meta.device is cpu and meta.numel > 0 and meta.contiguous and not meta.lazy


def _compared(chances: TensorMeta) -> Fresh:
    """Return the call that draws uniform numbers and compares them with chances, of which it refuses some."""
    made, uniform = meta_like(chances), contiguous_meta(chances.sizes, float64)
    launch = element_launch("bernoulli", made, [uniform, chances], float64)
    assert launch is not None
    loop, tail = launch.call()

    def run(result: int, numbers: int, given: int, stream: Generator = default_generator) -> None:
        draw_into(numbers, chances.numel, "uniform", float64, stream, 0.0, 1.0, 1.0)
        loop(result, numbers, given, *tail)

    return Fresh(run, (made, uniform), (), temporary=1, refusing=True)


def drawn_by_element(
    name: str, made: TensorMeta, stream: Generator, given: tuple[Any, ...], check: Callable[..., object],
    allowed: Callable[..., bool] | None = None,
) -> Planned[Tensor]:  # fmt: skip
    """Draw numbers of a distribution of `kernels.random` by other numbers for each element: those of tensors that
    broadcast to the sizes of the result. `check` raises what tensors that are refused deserve; numbers are looked at by
    `allowed`."""
    wide = contiguous_meta(made.sizes, made.dtype if made.dtype in WIDE else float32)
    memory = "".join(["m" if isinstance(one, Tensor) else "d" for one in given])
    fresh = Fresh(drawing(name, wide.dtype, memory), (wide,), (stream.address, wide.numel), refusing=True)
    kept = stream is default_generator
    given = tuple([apply("resolve_neg", one) if isinstance(one, Tensor) and one.meta.lazy else one for one in given])
    readers = [_reader(wide, one.meta) if isinstance(one, Tensor) else None for one in given]
    if wide is made and allowed is None and not any(readers):
        return Planned.unrun(fresh, given, fresh.native() if kept else None, given, check=check)

    def take(*given: Any) -> list[Any] | None:
        if allowed is not None and not allowed(*given):
            return None
        return [one if read is None else read(one) for read, one in zip(readers, given, strict=True)]

    plan: Planned[Tensor] = Planned.taking(fresh, take, given, kept=kept, check=check)
    return plan if wide is made else Planned(apply("to.dtype", plan.result, made.dtype), None)


def _reader(wide: TensorMeta, given: TensorMeta) -> Callable[[Tensor], Tensor] | None:
    """Return the call that lays a tensor out as a loop reads it for results of a meta; None where it lies so."""
    launch = None if given is wide else element_launch("identity", wide, [given], wide.dtype)
    if launch is None:
        return None
    loop, tail = launch.call()
    return Fresh(loop, (wide,), tail).native()


def _check_chances(chances: Tensor) -> None:
    ends: Any = apply("aminmax", chances)
    if not 0 <= item(ends[0]) <= item(ends[1]) <= 1:
        raise RuntimeError("bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true for every probability")


def drawn(meta: TensorMeta, draw: Callable[[Tensor], object]) -> Filling:
    """Fill a tensor of any device by `draw`."""
    return Filling((meta,), lambda out: draw(data_of(out)), new=allocated)


@kernel("bernoulli_.Tensor", derive=False)
@plannable
def bernoulli_tensor(
    self: Tensor, p: Tensor, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with 1 of the probability in `p`, which expands to `self`. Raises as bernoulli_."""
    meta = self.meta
    if meta.dtype.is_complex or not p.meta.dtype.is_floating_point:
        raise refusal("bernoulli_", meta.dtype if meta.dtype.is_complex else p.meta.dtype)
    chances = expand(p, meta.sizes)
    written(self, lambda sizes: bernoulli(chances, generator=generator))
    if generator is not None or p.meta.sizes != meta.sizes or meta.lazy or not _is_drawn_directly(p.meta):
        return self
    launch, draw = element_launch("identity", meta, [p.meta], meta.dtype), bernoulli.planned(p).call
    if launch is None or draw is None:
        return self
    loop, tail = launch.call()
    write = Into(loop, tail).native()
    return Planned(self, lambda self, p: None if (drawn := draw(p)) is None else write(self, drawn), (self, p))


@kernel("bernoulli.p", COMPOSITE, derive=False)
@plannable
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor | Planned[Tensor]:
    """1 of probability `p`, else 0, with sizes and dtype of `self`. Raises RuntimeError outside [0, 1]."""
    chance_of(p)
    made = meta_like(self.meta)
    stream = stream_of("bernoulli", generator) if made.device is cpu else None
    if stream is not default_generator or not made.numel or loop_dtype("bernoulli", made.dtype) is not made.dtype:
        return without_change(apply("bernoulli_.float", empty_like(self), p, generator=generator))
    draw = Fresh(drawing("bernoulli", made.dtype), (made,), (stream.address, made.numel))
    return Planned.taking(draw, lambda self, p: (p,) if 0 <= p <= 1 else None, (self, p))


@kernel("multinomial")
@composite
def multinomial(
    part: Part, self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
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
    sizes = (*meta.sizes[:-1], num_samples)
    if meta.device is not cpu or not meta.numel:
        return part.new(contiguous_meta(sizes, int64, meta.device))
    part.run(_check_weights, self)
    weights = part("to.dtype", self, float64)
    if not replacement or num_samples == 1:
        times = part("exponential_", part("empty_like", weights), generator=generator)
        races = part("div.Tensor", weights, times)
        if num_samples == 1:
            return part("argmax", races, -1, True)
        return part.several("topk", races, num_samples)[1]  # type: ignore[no-any-return]
    sums = part("cumsum", weights, -1)
    total = part("slice.Tensor", sums, -1, meta.sizes[-1] - 1)
    # No point is the total itself, so that what has no weight is never chosen.
    points = part("uniform_", part("new_empty", sums, sizes), 0.0, 1.0 - 2.0**-52, generator=generator)
    return part("searchsorted.Tensor", sums, part("mul.Tensor", points, total), right=True)


def _check_weights(weights: Tensor) -> None:
    rows = apply("amax", weights, -1) if weights.meta.ndim > 1 else weights
    most: Any = apply("aminmax", rows)
    least = apply("amin", weights) if rows is not weights else most[0]
    if not (item(least) >= 0 and item(most[1]) < float("inf")):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not item(most[0] if rows is not weights else most[1]) > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def permutation(dtype: DType, n: int, generator: Generator | None = None) -> Plan:
    """Return a random permutation of the integers below `n`. Raises RuntimeError for a dtype too narrow for `n`,
    NotImplementedError for bool and complex."""
    check_sizes("randperm", (n,))
    check_implemented("randperm", dtype, dtype.kind in (1, 2) and dtype.computes)
    check_fits("randperm", max(n - 1, 0), dtype)

    stream = stream_of("randperm", generator)

    def fill(result: Tensor) -> None:
        wide = result if dtype is int64 else new_like(contiguous_meta((n,), int64))
        away(SHUFFLING * n, shuffling(), wide.pointer, stream.address, n)
        if wide is not result:
            copy_values(result, wide)

    return Plan((n,), fill)


@cache
def shuffling() -> Callable[[int, int, int], None]:
    """Return what writes a random permutation of as many integers to an address, of a generator's state at another."""
    from ..kernels.random import shuffle_kernel

    draw, shuffle = drawing("places", int64), shuffle_kernel()

    def run(result: int, state: int, count: int) -> None:
        draw(result, state, count)
        shuffle(result, count)

    return run
