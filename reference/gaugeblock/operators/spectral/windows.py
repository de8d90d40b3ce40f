"""Windows that taper a signal: Hann, Hamming, Blackman, Bartlett, Kaiser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.dtype import DType
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor
from ..arrays import Array
from ..ranges import Plan


def _window(name: str, dtype: DType, length: int, periodic: bool, shape: Callable[[Array], Array]) -> Plan:
    """`shape` at places from 0 to 1; a periodic window leaves out the last of one more place.

    Raises RuntimeError for a negative length and a dtype that is no float.
    """
    if dtype.kind != 2:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype.name}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")

    def fill(result: Tensor) -> None:
        points = length + 1 if periodic else length
        array_of(result)[...] = 1 if length == 1 else shape(np.arange(length) / max(points - 1, 1))

    return Plan((length,), fill)


def _cosines(*weights: float) -> Callable[[Array], Array]:
    def shape(place: Array) -> Array:
        total = np.zeros_like(place)
        for k, weight in enumerate(weights):
            total += (-1) ** k * weight * np.cos(2 * np.pi * k * place)
        return total

    return shape


def hann(dtype: DType, window_length: int, periodic: bool = True) -> Plan:
    """A raised cosine that reaches 0."""
    return _window("hann_window", dtype, window_length, periodic, _cosines(0.5, 0.5))


def hamming(
    dtype: DType, window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46
) -> Plan:
    """A raised cosine: alpha - beta * cos."""
    return _window("hamming_window", dtype, window_length, periodic, _cosines(alpha, beta))


def blackman(dtype: DType, window_length: int, periodic: bool = True) -> Plan:
    """Three terms of cosines."""
    return _window("blackman_window", dtype, window_length, periodic, _cosines(0.42, 0.5, 0.08))


def bartlett(dtype: DType, window_length: int, periodic: bool = True) -> Plan:
    """A triangle that reaches 0."""
    return _window("bartlett_window", dtype, window_length, periodic, lambda place: 1 - np.abs(2 * place - 1))


def kaiser(dtype: DType, window_length: int, periodic: bool = True, beta: float = 12.0) -> Plan:
    """The Bessel function I0 over a half circle, with the shape `beta`."""

    def shape(place: Array) -> Array:
        circle = np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))
        return np.asarray(np.i0(beta * circle) / np.i0(beta))

    return _window("kaiser_window", dtype, window_length, periodic, shape)
