"""Covariance and correlation of variables in rows."""

from __future__ import annotations

from ...core.device import meta_device
from ...core.dtype import bool_
from ...core.warn import warn
from ...tensor.scalars import item
from ...tensor.tensor import Tensor
from ..arrays import values
from ..element_value import host
from ..invoke import apply
from ..view_calls import reshape, unsqueeze


def _check_weights(name: str, weights: Tensor, count: int, *, integral: bool) -> None:
    meta = weights.meta
    if meta.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {meta.ndim} dimensions"
        )
    if (meta.dtype.kind != 1) if integral else (meta.dtype.kind != 2):
        wanted = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {meta.dtype.name} dtype"
        )
    if meta.numel != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{meta.numel} != {count}"
        )
    if count and meta.device is not meta_device and (values(host(weights)) < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(
    self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables (rows) observed in columns; a vector is one variable.

    `fweights` say how often each observation counts, `aweights` how much; the sum of weights less `correction` divides.
    Raises RuntimeError for more than two dims, bool, and weights of a wrong dtype or size.
    """
    meta = self.meta
    if meta.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {meta.ndim} dimensions"
        )
    if meta.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self if meta.ndim == 2 else reshape(self, (1, meta.numel))
    count = rows.meta.sizes[1]
    weights: Tensor | None = None
    if fweights is not None:
        _check_weights("fweights", fweights, count, integral=True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count, integral=False)
        weights = aweights if weights is None else apply("mul.Tensor", weights, aweights)
    if weights is None:
        freedom = max(count - correction, 0)
        _warn(count - correction)
        mean = apply("div.Scalar", apply("sum.dim_IntList", rows, (1,)), count)
        centred = apply("sub.Tensor", rows, unsqueeze(mean, 1))
        product = apply("mm", centred, apply("conj", apply("t", centred)))
        return apply("squeeze", apply("div.Scalar", product, freedom))
    total = apply("sum", weights)
    mean = apply("div.Tensor", apply("sum.dim_IntList", apply("mul.Tensor", rows, weights), (1,)), total)
    centred = apply("sub.Tensor", rows, unsqueeze(mean, 1))
    product = apply("mm", centred, apply("conj", apply("t", apply("mul.Tensor", centred, weights))))
    less = apply("mul.Scalar", apply("ones_like", total), correction)
    if aweights is not None and correction:
        squares = apply("sum", apply("mul.Tensor", weights, aweights))
        less = apply("mul.Scalar", apply("div.Tensor", squares, total), correction)
    remaining = apply("sub.Tensor", total, less)
    if remaining.meta.device is not meta_device:
        _warn(item(remaining))
    return apply("squeeze", apply("div.Tensor", product, apply("clamp_min", remaining, 0)))


def _warn(freedom: float) -> None:
    if freedom <= 0:
        warn("cov(): degrees of freedom is <= 0")


def corrcoef(self: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables in rows. Raises RuntimeError for more than two dims."""
    meta = self.meta
    if meta.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {meta.ndim} "
            f"dimensions"
        )
    found = apply("cov", self)
    if not found.meta.ndim:
        return apply("div.Tensor", found, found)
    variance = apply("diagonal", found)
    deviation = apply("sqrt", apply("real", variance) if found.meta.dtype.is_complex else variance)
    scaled = apply("div.Tensor", apply("div.Tensor", found, unsqueeze(deviation, 1)), unsqueeze(deviation, 0))
    if scaled.meta.dtype.is_complex:
        parts = [apply("clamp", apply(part, scaled), -1, 1) for part in ("real", "imag")]
        return apply("complex", *parts)
    return apply("clamp", scaled, -1, 1)
