"""The frequencies of a transform's results, and their order: fftfreq, rfftfreq, fftshift, ifftshift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.device import Device, cpu
from ...core.dtype import DEFAULTS, DType
from ...core.errors import wrap_dims
from ...tensor.tensor import Tensor
from ..arrays import Array, outline
from ..invoke import apply


def _frequencies(
    operator: str, count: int, places: Callable[[], Array], n: int, d: float, dtype: Any, device: Device | None
) -> Tensor:
    """Return `count` frequencies; `places` is asked for them only where there is data."""
    chosen = dtype if isinstance(dtype, DType) else DEFAULTS.dtype
    if chosen.kind < 2:
        raise RuntimeError(f"{operator} requires a floating point or complex dtype, got {chosen.name}")
    result, target = outline((count,), chosen, cpu if device is None else device)
    if target is not None:
        with np.errstate(all="ignore"):
            target[...] = places() * (np.float64(1.0) / np.float64(n * d))
    return result


def _check_count(operator: str, n: int) -> None:
    """Raise RuntimeError when the size in bytes of `n` frequencies does not fit 64 bits."""
    if n > 1 << 59:
        raise RuntimeError(f"{operator}(): Storage size calculation overflowed: {n} frequencies")


def fft_fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Device | None = None, **options: Any) -> Tensor:
    """The frequencies of n points `d` apart: 0 and the positive ones, then the negative ones. Raises RuntimeError."""
    _check_count("fftfreq", n)
    return _frequencies(
        "fftfreq", n, lambda: np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]), n, d, dtype, device
    )


def fft_rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Device | None = None, **options: Any) -> Tensor:
    """The frequencies that are not negative. Raises RuntimeError for a dtype that is no float."""
    _check_count("rfftfreq", n)
    count = (n // 2 if n > 0 else -(-n // 2)) + 1
    return _frequencies("rfftfreq", count, lambda: np.arange(count), n, d, dtype, device)


def _shifted(operator: str, self: Tensor, dim: Sequence[int] | int | None, sign: int) -> Tensor:
    ndim = self.geometry.ndim
    given = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = wrap_dims(operator, tuple(given), ndim)
    if not dims:
        return self
    if not ndim:
        raise IndexError(f"{operator}(): a 0-dim tensor has no dim {dims[0]} to shift")
    sizes = [self.geometry.sizes[d] for d in dims]
    return apply("roll", self, [size // 2 if sign > 0 else -(size // 2) for size in sizes], dims)


def fft_fftshift(self: Tensor, dim: Sequence[int] | int | None = None) -> Tensor:
    """Frequency 0 moved to the middle of each dim."""
    return _shifted("fftshift", self, dim, 1)


def fft_ifftshift(self: Tensor, dim: Sequence[int] | int | None = None) -> Tensor:
    """The inverse of fftshift."""
    return _shifted("ifftshift", self, dim, -1)
