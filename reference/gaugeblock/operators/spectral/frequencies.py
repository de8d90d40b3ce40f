"""The frequencies of a transform's results, and their order: fftfreq, rfftfreq, fftshift, ifftshift."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.dtype import DType
from ...core.errors import wrap_dims
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ..arrays import Array
from ..invoke import apply
from ..ranges import Plan


def _frequencies(operator: str, dtype: DType, count: int, places: Callable[[], Array], n: int, d: float) -> Plan:
    """`count` of the `places` divided by the length of `n` points `d` apart."""
    if n > 1 << 59:
        raise RuntimeError(f"{operator}(): Storage size calculation overflowed: {n} frequencies")
    if dtype.kind < 2:
        raise RuntimeError(f"{operator} requires a floating point or complex dtype, got {dtype.name}")

    def fill(result: Tensor) -> None:
        with np.errstate(all="ignore"):
            array_of(result)[...] = places() * (np.float64(1.0) / np.float64(n * d))

    return Plan((count,), fill)


def fftfreq(dtype: DType, n: int, d: float = 1.0) -> Plan:
    """The frequencies of n points `d` apart: 0 and the positive ones, then the negative ones. Raises RuntimeError."""

    def places() -> Array:
        return np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])

    return _frequencies("fftfreq", dtype, n, places, n, d)


def rfftfreq(dtype: DType, n: int, d: float = 1.0) -> Plan:
    """The frequencies that are not negative. Raises RuntimeError for a dtype that is no float."""
    count = (n // 2 if n > 0 else -(-n // 2)) + 1
    return _frequencies("rfftfreq", dtype, count, lambda: np.arange(count), n, d)


def _shifted(operator: str, self: Tensor, dim: Sequence[int] | int | None, sign: int) -> Tensor:
    ndim = self.meta.ndim
    given = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = wrap_dims(operator, tuple(given), ndim)
    if not dims:
        return self
    if not ndim:
        raise IndexError(f"{operator}(): a 0-dim tensor has no dim {dims[0]} to shift")
    sizes = [self.meta.sizes[d] for d in dims]
    return apply("roll", self, [size // 2 if sign > 0 else -(size // 2) for size in sizes], dims)


def fft_fftshift(self: Tensor, dim: Sequence[int] | int | None = None) -> Tensor:
    """Frequency 0 moved to the middle of each dim."""
    return _shifted("fftshift", self, dim, 1)


def fft_ifftshift(self: Tensor, dim: Sequence[int] | int | None = None) -> Tensor:
    """The inverse of fftshift."""
    return _shifted("ifftshift", self, dim, -1)
