"""Random numbers of further distributions: Cauchy, log-normal, geometric, Poisson, binomial, normal by element."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log1p
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import Device, as_device, cpu, meta_device
from ...core.dtype import DEFAULTS, DType
from ...core.errors import check_ints
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.dimensions import broadcast_shapes
from ...kernels.bound_call import Fresh
from ...kernels.conversion import Immediate
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..arrays import Array, filled_arrays, values
from ..conversion import host
from ..generator import Generator, generator_of, stream_of
from ..invoke import apply
from ..launch import element_launch
from ..operand_checks import check_implemented
from ..plan import Filling, Planned, plannable
from ..random_numbers import WIDE, draw_into, drawn, filled

MOST_TRIALS = 2.0**53
"""More trials of a binomial distribution count as so many."""


def _floating(operator: str, distribution: str, self: Tensor) -> None:
    dtype = self.meta.dtype
    if dtype.kind != 2:
        raise RuntimeError(
            f"{operator}: {distribution} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtype.name}"
        )


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the Cauchy distribution. Raises RuntimeError for sigma <= 0 and other than floats."""
    _floating("cauchy_", "Cauchy", self)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return filled(self, "cauchy", stream_of("cauchy_", generator), float(median), float(sigma))


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exp of normal numbers. Raises RuntimeError for std <= 0, NotImplementedError for other than floats."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    dtype = self.meta.dtype
    check_implemented("log_normal_cpu", dtype, dtype.kind == 2)
    return filled(self, "log_normal", stream_of("log_normal_", generator), float(mean), float(std))


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with how many trials of chance `p` it takes to succeed. Raises RuntimeError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    dtype = self.meta.dtype
    check_implemented("geometric_cpu", dtype, dtype.kind in (1, 2))
    return filled(self, "geometric", stream_of("geometric_", generator), log1p(-p))


@plannable
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor | Filling:
    """Numbers of the Poisson distributions with the given rates, in their dtype. Raises RuntimeError for a negative
    rate, NotImplementedError for other than floats."""
    dtype = self.meta.dtype
    check_implemented("poisson_cpu", dtype, dtype.kind == 2)

    def draw(given: Array) -> tuple[Array]:
        rates = given.astype(np.float64)
        if not (rates >= 0).all():
            raise RuntimeError("poisson: invalid Poisson rate, expected rate to be non-negative")
        return (np.asarray(generator_of("poisson", generator).poisson(rates)),)

    return filled_arrays(None, (self,), draw, (contiguous_meta, self.meta.sizes, dtype))


@plannable
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor | Filling:
    """Return how many of `count` trials succeed with chance `prob`; operands broadcast. Raises ValueError for counts
    that are no floats, NotImplementedError for halves, RuntimeError for two dtypes."""
    dtype = count.meta.dtype
    if dtype.kind != 2:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {UPSTREAM_NAMES[dtype.name]}")
    check_implemented("binomial_cpu", dtype, dtype.itemsize >= 4)
    if prob.meta.dtype is not dtype:
        raise RuntimeError(
            f"binomial(): Found dtype {UPSTREAM_NAMES[prob.meta.dtype.name]} for argument 'prob' but expected "
            f"{UPSTREAM_NAMES[dtype.name]}"
        )
    sizes = broadcast_shapes((count.meta.sizes, prob.meta.sizes))

    def draw(counts: Array, shares: Array) -> tuple[Array]:
        missing = np.isnan(counts) | np.isnan(shares)
        trials = np.clip(np.nan_to_num(np.trunc(counts.astype(np.float64))), 0, MOST_TRIALS).astype(np.int64)
        chances = np.clip(shares.astype(np.float64), 0, 1)
        drawn = generator_of("binomial", generator).binomial(trials, np.where(np.isnan(chances), 0, chances), sizes)
        return (np.where(missing, np.nan, drawn),)

    return filled_arrays(None, (count, prob), draw, (contiguous_meta, sizes, dtype))


def _check_deviation(std: float | Tensor) -> None:
    if isinstance(std, Tensor):
        if std.meta.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.meta.device is not meta_device and not (values(host(std)) >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


@plannable
def normal(
    mean: float | Tensor, std: float | Tensor = 1.0, *, generator: Generator | None = None
) -> Tensor | Filling | Planned[Tensor]:
    """Normal numbers around each mean with each deviation; operands broadcast. Raises RuntimeError."""
    _check_deviation(std)
    given = [one for one in (mean, std) if isinstance(one, Tensor)]
    meta, sizes = given[0].meta, broadcast_shapes([one.meta.sizes for one in given])
    made = contiguous_meta(sizes, meta.dtype, meta.device)
    if generator is None and _is_drawn_directly(made) and all(one.meta.dtype is meta.dtype for one in given):
        kinds = tuple([one.meta if isinstance(one, Tensor) else Immediate(made.dtype) for one in (mean, std)])
        fresh = recalled(made.plans, ("normal", *kinds), _scaled, made, kinds)
        return Planned.unrun(fresh, (mean, std), None, None, check=lambda mean, std: _check_deviation(std))

    def draw(out: Tensor) -> None:
        apply("normal_", out, 0.0, 1.0, generator=generator)
        for name, operand in (("mul_", std), ("add_", mean)):
            apply(f"{name}.Tensor" if isinstance(operand, Tensor) else f"{name}.Scalar", out, operand)

    return drawn(made, draw)


def _is_drawn_directly(made: TensorMeta) -> bool:
    """Return whether normal numbers are drawn in the memory of a new tensor."""
    return made.dtype in WIDE and made.device is cpu and made.numel > 0


def _draw_normal(made: TensorMeta, result: int, mean: float, std: float) -> None:
    draw_into(result, made.numel, "normal", made.dtype, stream_of("normal", None), mean, std)


def _scaled(made: TensorMeta, kinds: Sequence[TensorMeta | Immediate]) -> Fresh:
    """Return the call that draws numbers and scales them by the mean and the deviation; it refuses a negative one."""
    launch = element_launch("normal", made, [made, *kinds], made.dtype)
    assert launch is not None
    loop, tail = launch.call()

    def run(result: int, mean: Any, std: Any) -> None:
        _draw_normal(made, result, 0.0, 1.0)
        loop(result, result, mean, std, *tail)

    return Fresh(run, (made,), (), refusing=True)


@plannable
def normal_float_float(
    mean: float, std: float, size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
    device: Device | None = None, **options: Any,
) -> Tensor | Filling | Planned[Tensor]:  # fmt: skip
    """A fresh tensor of normal numbers. Raises RuntimeError for a negative deviation."""
    _check_deviation(std)
    meta = contiguous_meta(check_ints("normal", "size", size), dtype or DEFAULTS.dtype, as_device(device))
    if generator is None and _is_drawn_directly(meta):
        return Planned.unrun(Fresh(partial(_draw_normal, meta), (meta,), ()), (mean, std), None, None)
    return drawn(meta, lambda out: apply("normal_", out, mean, std, generator=generator))
