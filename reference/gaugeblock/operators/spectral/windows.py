"""Windows that taper a signal: Hann, Hamming, Blackman, Bartlett, Kaiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.device import Device, cpu
from ...core.dtype import DEFAULTS, DType
from ...tensor.tensor import Tensor
from ..arrays import Array, outline


def _window(
    name: str, length: int, periodic: bool, shape: Callable[[Array], Array], dtype: Any, device: Device | None
) -> Tensor:
    """`shape` at places from 0 to 1; a periodic window leaves out the last of one more place.

    Raises RuntimeError for a negative length and a dtype that is no float.
    """
    chosen = dtype if isinstance(dtype, DType) else DEFAULTS.dtype
    if chosen.kind != 2:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {chosen.name}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    result, target = outline((length,), chosen, cpu if device is None else device)
    if target is not None:
        points = length + 1 if periodic else length
        target[...] = 1 if length == 1 else shape(np.arange(length) / max(points - 1, 1))
    return result


def _cosines(*weights: float) -> Callable[[Array], Array]:
    def shape(place: Array) -> Array:
        total = np.zeros_like(place)
        for k, weight in enumerate(weights):
            total += (-1) ** k * weight * np.cos(2 * np.pi * k * place)
        return total

    return shape


def hann_window_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, device: Device | None = None, **options: Any
) -> Tensor:
    """A raised cosine that reaches 0."""
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, device)


def hann_window(window_length: int, **options: Any) -> Tensor:
    """A periodic raised cosine that reaches 0."""
    return hann_window_periodic(window_length, True, **options)


def hamming_window_periodic_alpha_beta(
    window_length: int,
    periodic: bool,
    alpha: float,
    beta: float,
    *,
    dtype: Any = None,
    device: Device | None = None,
    **options: Any,
) -> Tensor:
    """A raised cosine: alpha - beta * cos."""
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), dtype, device)


def hamming_window_periodic_alpha(window_length: int, periodic: bool, alpha: float, **options: Any) -> Tensor:
    """A raised cosine: alpha - 0.46 cos."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, alpha, 0.46, **options)


def hamming_window_periodic(window_length: int, periodic: bool, **options: Any) -> Tensor:
    """A raised cosine: 0.54 - 0.46 cos."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, 0.54, 0.46, **options)


def hamming_window(window_length: int, **options: Any) -> Tensor:
    """A periodic raised cosine: 0.54 - 0.46 cos."""
    return hamming_window_periodic(window_length, True, **options)


def blackman_window_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, device: Device | None = None, **options: Any
) -> Tensor:
    """Three terms of cosines."""
    return _window("blackman_window", window_length, periodic, _cosines(0.42, 0.5, 0.08), dtype, device)


def blackman_window(window_length: int, **options: Any) -> Tensor:
    """Three terms of cosines, periodic."""
    return blackman_window_periodic(window_length, True, **options)


def bartlett_window_periodic(
    window_length: int, periodic: bool, *, dtype: Any = None, device: Device | None = None, **options: Any
) -> Tensor:
    """A triangle that reaches 0."""
    return _window(
        "bartlett_window", window_length, periodic, lambda place: 1 - np.abs(2 * place - 1), dtype, device
    )


def bartlett_window(window_length: int, **options: Any) -> Tensor:
    """A periodic triangle that reaches 0."""
    return bartlett_window_periodic(window_length, True, **options)


def kaiser_window_beta(
    window_length: int, periodic: bool, beta: float, *, dtype: Any = None, device: Device | None = None, **options: Any
) -> Tensor:
    """The Bessel function I0 over a half circle, with the shape `beta`."""

    def shape(place: Array) -> Array:
        circle = np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))
        return np.asarray(np.i0(beta * circle) / np.i0(beta))

    return _window("kaiser_window", window_length, periodic, shape, dtype, device)


def kaiser_window_periodic(window_length: int, periodic: bool, **options: Any) -> Tensor:
    """Kaiser's window of the shape 12."""
    return kaiser_window_beta(window_length, periodic, 12.0, **options)


def kaiser_window(window_length: int, **options: Any) -> Tensor:
    """Kaiser's periodic window of the shape 12."""
    return kaiser_window_periodic(window_length, True, **options)
