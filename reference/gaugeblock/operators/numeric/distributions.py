"""Random numbers of further distributions: Cauchy, log-normal, geometric, Poisson, binomial, normal by element."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p
from typing import Any

from ...core.device import Device, as_device, cpu, meta_device
from ...core.dtype import DEFAULTS, DType
from ...core.errors import check_ints
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.dimensions import broadcast_shapes
from ...kernels.bound_call import Fresh, nothing
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta
from ..arrays import values
from ..conversion import host
from ..generator import Generator, stream_of
from ..invoke import apply
from ..operand_checks import check_implemented
from ..plan import Filling, Planned, plannable
from ..random_choices import drawn, drawn_by_element
from ..random_numbers import WIDE, Numbers, drawing, filled, normal_numbers
from ..registration import check_one_device


def _floating(operator: str, distribution: str, self: Tensor) -> None:
    dtype = self.meta.dtype
    if dtype.kind != 2:
        raise RuntimeError(
            f"{operator}: {distribution} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtype.name}"
        )


@plannable
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with numbers of the Cauchy distribution. Raises RuntimeError for sigma <= 0 and other than floats."""
    _floating("cauchy_", "Cauchy", self)
    stream = stream_of("cauchy_", generator)
    return filled(self, "cauchy", stream, _cauchy_numbers, median, sigma, operator="cauchy_")


def _cauchy_numbers(median: float, sigma: float) -> Numbers:
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return float(median), float(sigma)


@plannable
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor | Planned[Tensor]:
    """Fill with exp of normal numbers. Raises RuntimeError for std <= 0, NotImplementedError for other than floats."""
    _log_normal_numbers(mean, std)
    dtype = self.meta.dtype
    check_implemented("log_normal_cpu", dtype, dtype.kind == 2)
    stream = stream_of("log_normal_", generator)
    return filled(self, "log_normal", stream, _log_normal_numbers, mean, std, operator="log_normal_")


def _log_normal_numbers(mean: float, std: float) -> Numbers:
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return float(mean), float(std)


@plannable
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor | Planned[Tensor]:
    """Fill with how many trials of chance `p` it takes to succeed. Raises RuntimeError unless 0 < p < 1."""
    _log_of_failure(p)
    dtype = self.meta.dtype
    check_implemented("geometric_cpu", dtype, dtype.kind in (1, 2))
    return filled(self, "geometric", stream_of("geometric_", generator), _log_of_failure, p)


def _log_of_failure(p: float) -> Numbers:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return (log1p(-p),)


@plannable
def poisson(self: Tensor, generator: Generator | None = None) -> Tensor | Filling | Planned[Tensor]:
    """Numbers of the Poisson distributions with the given rates, in their dtype. Raises RuntimeError for a negative
    rate, NotImplementedError for other than floats."""
    dtype = self.meta.dtype
    check_implemented("poisson_cpu", dtype, dtype.kind == 2)
    made = contiguous_meta(self.meta.sizes, dtype, self.meta.device)
    if made.device is not cpu or not made.numel:
        return drawn(made, nothing)
    return drawn_by_element("poisson", made, stream_of("poisson", generator), (self,), _check_rate)


def _check_rate(rate: Tensor) -> None:
    if not (values(rate) >= 0).all():
        raise RuntimeError("poisson: invalid Poisson rate, expected rate to be non-negative")


@plannable
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor | Filling | Planned[Tensor]:
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
    check_one_device("binomial", [count, prob])
    made = contiguous_meta(broadcast_shapes((count.meta.sizes, prob.meta.sizes)), dtype, count.meta.device)
    if made.device is not cpu or not made.numel:
        return drawn(made, nothing)
    return drawn_by_element("binomial", made, stream_of("binomial", generator), (count, prob), nothing)


def _check_deviation(std: float | Tensor) -> None:
    if isinstance(std, Tensor):
        if std.meta.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.meta.device is not meta_device and not (values(host(std)) >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    else:
        normal_numbers(0.0, std)


@plannable
def normal(
    mean: float | Tensor, std: float | Tensor = 1.0, *, generator: Generator | None = None
) -> Tensor | Filling | Planned[Tensor]:
    """Normal numbers around each mean with each deviation; operands broadcast. Raises RuntimeError."""
    given = [one for one in (mean, std) if isinstance(one, Tensor)]
    check_one_device("normal", given)
    meta, sizes = given[0].meta, broadcast_shapes([one.meta.sizes for one in given])
    made = contiguous_meta(sizes, meta.dtype, meta.device)
    if _is_drawn_directly(made) and all(one.meta.dtype is meta.dtype for one in given):
        stream, check = stream_of("normal", generator), lambda mean, std: _check_deviation(std)
        if isinstance(std, Tensor):
            return drawn_by_element("normal", made, stream, (mean, std), check)
        _check_deviation(std)
        return drawn_by_element("normal", made, stream, (mean, std), check, lambda mean, std: not std < 0)
    _check_deviation(std)

    def draw(out: Tensor) -> None:
        apply("normal_", out, 0.0, 1.0, generator=generator)
        for name, operand in (("mul_", std), ("add_", mean)):
            apply(f"{name}.Tensor" if isinstance(operand, Tensor) else f"{name}.Scalar", out, operand)

    return drawn(made, draw)


def _is_drawn_directly(made: TensorMeta) -> bool:
    """Return whether normal numbers are drawn in the memory of a new tensor."""
    return made.dtype in WIDE and made.device is cpu and made.numel > 0


@plannable
def normal_float_float(
    mean: float, std: float, size: Sequence[int], *, generator: Generator | None = None, dtype: DType | None = None,
    device: Device | None = None, **options: Any,
) -> Tensor | Filling | Planned[Tensor]:  # fmt: skip
    """A fresh tensor of normal numbers. Raises RuntimeError for a negative deviation."""
    _check_deviation(std)
    meta = contiguous_meta(check_ints("normal", "size", size), dtype or DEFAULTS.dtype, as_device(device))
    if not _is_drawn_directly(meta):
        return drawn(meta, lambda out: apply("normal_", out, mean, std, generator=generator))
    stream = stream_of("normal", generator)
    fresh = Fresh(drawing("normal", meta.dtype), (meta,), (stream.address, meta.numel))
    return Planned.unrun(fresh, (mean, std), None, None)
