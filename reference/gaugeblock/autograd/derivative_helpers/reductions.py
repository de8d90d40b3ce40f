"""Gradients of reductions: sums and means, variances, norms, logsumexp, products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...calls.functions import tensor_ops as ops
from ...core.dtype import bfloat16, float16, float32
from ...core.limits import finfo
from ...operators.formulas.arithmetic import MARGIN
from ...operators.networks.calls import fused
from ..forward_mode import is_differentiated
from . import Tensor

Dims = int | Sequence[int] | None


def _reduced_dims(ndim: int, dim: Dims) -> tuple[int, ...]:
    """The dims that a reduction removes, counted from 0 and sorted: all for None and no dims."""
    given = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return tuple(sorted({place % max(ndim, 1) for place in given})) if given else tuple(range(ndim))


def _restored(value: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """`value` with dims of size 1 where a reduction of a tensor of `shape` removed some."""
    if keepdim or not shape:
        return value
    for place in _reduced_dims(len(shape), dim):
        value = value.unsqueeze(place)
    return value


def spread(value: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """`value`, the result of a reduction of a tensor of `shape`, at every element that went into it."""
    return _restored(value, shape, dim, keepdim).expand(shape)


def _count(shape: tuple[int, ...], dim: Dims) -> int:
    """Return the number of elements that are reduced to one element of the result."""
    return math.prod(shape[place] for place in _reduced_dims(len(shape), dim) if shape)


def mean_back(grad: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a mean."""
    return spread(grad / max(_count(shape, dim), 1), shape, dim, keepdim)


def softmax_back(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of what softmax is of."""
    aligned = (grad * result).sum(dim, True)
    found = None if is_differentiated() else fused("normalized", grad, aligned, result)
    return (grad - aligned) * result if found is None else found


def log_softmax_back(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of what log_softmax is of."""
    total = grad.sum(dim, True)
    found = None if is_differentiated() else fused("log_softmax.gradient", result, grad, total)
    return grad - result.exp() * total if found is None else found


def share_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """`grad` in equal shares to the elements that are `result`, which are the nans where that is nan."""
    mask = (self == result) | (self.isnan() & result.isnan())
    return mask * (grad / mask.sum())


def share_dim_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """`grad` in equal shares to the elements that are `result` along the dims; nan where none is."""
    mask = _restored(result, self.shape, dim, keepdim) == self
    counted = mask.sum(_reduced_dims(self.ndim, dim), True)
    return _restored(grad, self.shape, dim, keepdim) * mask / counted


Correction = int | float | None


def var_back(grad: Tensor, self: Tensor, dim: Dims, correction: Correction, keepdim: bool) -> Tensor:
    """``2 (x - mean) / (n - correction)`` times `grad`; a missing correction is 1. A variance of all elements without a
    degree of freedom has inf in place of the slope, and nan where x is the mean."""
    freedom = _count(self.shape, dim) - (1 if correction is None else correction)
    grad = _restored(grad, self.shape, dim, keepdim)
    centred = self - self.mean(_reduced_dims(self.ndim, dim), True)
    if freedom <= 0 and dim in (None, ()):
        return grad * ops.full_like(centred, math.inf).masked_fill(centred == 0, math.nan)
    return grad * (2 / freedom if freedom else math.inf) * centred


def std_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, correction: Correction, keepdim: bool) -> Tensor:
    """The gradient of a standard deviation, 0 where that is 0."""
    return var_back((grad / (result * 2)).masked_fill(result == 0, 0), self, dim, correction, keepdim)


def norm_back(grad: Tensor, self: Tensor, result: Tensor, order: float | None, dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a vector norm: 0 for order 0 and where the norm is 0; of order inf shared by the largest."""
    p = 2.0 if order is None else float(order)
    if p == 0:
        return ops.zeros_like(self)
    if self.ndim:
        grad, result = _restored(grad, self.shape, dim, keepdim), _restored(result, self.shape, dim, keepdim)
    if p == 1:
        return self.sgn() * grad
    size = self.abs()
    if math.isinf(p):
        largest = (size == result) | (size.isnan() & result.isnan())
        return self.sgn() * (grad / largest.sum(_reduced_dims(self.ndim, dim), True) * largest)
    none = result == 0
    divisor = result.masked_fill(none, 1)
    if p == 2:
        return grad * (self / divisor).masked_fill(none, 0)
    powers = size.masked_fill(size == 0, 1).pow(p - 1).masked_fill(size == 0, 0)
    return self.sgn() * powers * (grad / divisor.pow(p - 1)).masked_fill(none, 0)


def renorm_back(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Return the gradient of slices along `dim` scaled down to a norm, which depends on their elements too."""
    rest = [place for place in range(self.ndim) if place != dim % self.ndim]
    wide = float32 if self.dtype in (float16, bfloat16) else None
    norm = ops.linalg_vector_norm(self, p, rest, True, dtype=wide)
    long = norm > maxnorm
    inverse = 1 / (norm + MARGIN)
    factor = (inverse * maxnorm).masked_fill(~long, 1)
    product = grad * self.conj()
    slope = (product.real if product.is_complex() else product).sum(rest, True) * factor * -inverse
    through = norm_back(slope.masked_fill(~long, 0), self, norm, p, rest, True)
    return (grad * factor + through).to(self.dtype)


def logsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """`grad` times the share of each element in the sum."""
    spread_grad = _restored(grad, self.shape, dim, keepdim)
    return spread_grad * (self - _restored(result, self.shape, dim, keepdim)).exp().conj()


def logcumsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """``sum over j >= i of grad[j] exp(x[i] - y[j])``."""
    return _by_logarithms(grad.conj(), lambda logs: (logs - result).flip(dim).logcumsumexp(dim).flip(dim) + self).conj()


def logcumsumexp_forward(tangent: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """``sum over j <= i of tangent[j] exp(x[j] - y[i])``."""
    return _by_logarithms(tangent, lambda logs: (logs + self).logcumsumexp(dim) - result)


def _by_logarithms(value: Tensor, of_logs: Callable[[Tensor], Tensor]) -> Tensor:
    """A sum of products with `value`, kept from overflow: `of_logs` gives its logarithm for that of `value`."""
    if not value.ndim or not value.numel():
        return value
    if value.is_complex():
        return of_logs(value.log()).exp()
    least, size = finfo(value.dtype).min, value.abs().log()
    above, below = (of_logs(ops.where(part, size, least)).exp() for part in (value > 0, value < 0))
    return above - below


def prod_dim_back(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The gradient of products along `dim`."""
    if not self.ndim:
        return grad
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    return grad * (result / self if _without_zeros(self) else _others(self, dim)).conj()


def reversed_cumsum(grad: Tensor, dim: int) -> Tensor:
    """The running sums from the end of `dim`."""
    return grad if grad.numel() <= 1 or grad.size(dim) == 1 else grad.flip(dim).cumsum(dim).flip(dim)


def cumprod_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of running products along `dim`."""
    if self.numel() <= 1 or self.size(dim) == 1:
        return grad
    if _without_zeros(self):
        return reversed_cumsum(grad * result.conj(), dim) / self.conj()
    return _recorded(grad, self, dim) if is_differentiated() else _at_zeros(grad, self, dim)


def _without_zeros(self: Tensor) -> bool:
    return self.device.type != "meta" and not bool((self == 0).any())


def _others(self: Tensor, dim: int) -> Tensor:
    """For each element the product of all others along `dim`: of those before it and those after it."""
    size = self.size(dim)
    if size == 0:
        return self
    one = ops.ones_like(self.narrow(dim, 0, 1))
    before = ops.cat([one, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = ops.cat([one, self.narrow(dim, 1, size - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return before * after


def _at_zeros(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Right for rows with zeros, but not to be differentiated: its masks are taken for constant.

    Up to the first zero the products are as in a row without. The first zero itself gets the sum over the products from
    it on, with 1 in its place. Behind it every product is 0, and stays so.
    """
    zero = self == 0
    zeros = zero.cumsum(dim)
    first = zero & (zeros == 1)
    products = self.masked_fill(first, 1).cumprod(dim).conj()
    usual = reversed_cumsum((grad * products).masked_fill(zeros > 0, 0), dim) / self.masked_fill(zero, 1).conj()
    at_first = (grad * products).masked_fill(zeros == 0, 0).sum(dim, True)
    return ops.where(first, at_first, usual.masked_fill(zeros > 0, 0))


def _recorded(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient made of products without division, for it to be differentiated again."""
    parts = []
    size = self.size(dim)
    for place in range(size):
        rest = size - place - 1
        one = ops.ones_like(self.narrow(dim, 0, 1))
        before = ops.prod(self.narrow(dim, 0, place), dim, True)
        from_here = ops.cat([one, self.narrow(dim, place + 1, rest)], dim).cumprod(dim)
        parts.append((grad.narrow(dim, place, rest + 1) * (before * from_here).conj()).sum(dim, True))
    return ops.cat(parts, dim)
