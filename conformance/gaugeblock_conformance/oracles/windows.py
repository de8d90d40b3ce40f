"""Windows of signals, spacings by powers, indices of triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .making import spaced
from .moves import Oracle
from .near import Near

_PI = np.longdouble("3.14159265358979323846264338327950288")
_BETA = 12.0
# From the share of the way through the window.
Shape = Callable[[Array], Any]


def windowed(size: int, periodic: bool, shape: Shape) -> Near:
    """A symmetric window, or one of a point more without its last."""
    points = size + 1 if periodic else size
    if size < 2:
        return Near(np.ones(size, np.longdouble), 1.0, 1)
    value = shape(np.arange(size).astype(np.longdouble) / (points - 1))
    return Near(np.asarray(value), 1.0, 8)


def cosines(*factors: float) -> Shape:
    """factors[0] - factors[1] cos(2πt) + factors[2] cos(4πt) …"""
    return lambda t: sum((-1) ** k * np.longdouble(a) * np.cos(2 * _PI * k * t) for k, a in enumerate(factors))


def bessel(x: Any) -> Any:
    """The modified Bessel function of order zero, by its series."""
    term: Any = np.ones_like(x)
    total = term
    for k in range(1, 80):
        term = term * (x / (2 * k)) ** 2
        total = total + term
    return total


def kaiser(beta: float) -> Shape:
    wide = np.longdouble(beta)
    return lambda t: bessel(wide * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / bessel(np.asarray(wide))


def logspaced(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Near:
    """Powers of ``base``, their exponents at even distances, in a dtype of numbers that are no integers."""
    assert dtype is None or str(dtype).startswith(("float", "bfloat", "complex")), dtype
    exponents = spaced(start, end, steps)
    value = np.longdouble(base) ** exponents
    return Near(value, value * (1 + np.abs(exponents * np.log(np.longdouble(base)))), 4)


def triangle(rows: int, columns: int, offset: int, lower: bool) -> Array:
    places = np.arange(columns) - np.arange(rows)[:, None]
    return np.argwhere(places <= offset if lower else places >= offset).T


def _rows(name: str, shape: Shape) -> dict[str, Oracle]:
    return {
        name: lambda n, *rest: windowed(n, True, shape),
        f"{name}.periodic": lambda n, periodic, *rest: windowed(n, periodic, shape),
    }


WINDOWS: dict[str, Oracle] = {
    **_rows("hann_window", cosines(0.5, 0.5)),
    **_rows("blackman_window", cosines(0.42, 0.5, 0.08)),
    **_rows("bartlett_window", lambda t: 1 - np.abs(2 * t - 1)),
    **_rows("hamming_window", cosines(0.54, 0.46)),
    **_rows("kaiser_window", kaiser(_BETA)),
    "hamming_window.periodic_alpha": lambda n, periodic, alpha, *rest: windowed(n, periodic, cosines(alpha, 0.46)),
    "hamming_window.periodic_alpha_beta": lambda n, periodic, alpha, beta, *rest: windowed(
        n, periodic, cosines(alpha, beta)
    ),
    "kaiser_window.beta": lambda n, periodic, beta, *rest: windowed(n, periodic, kaiser(beta)),
    "logspace": lambda start, end, steps, base, dtype, *rest: logspaced(start, end, steps, base, dtype),
    "tril_indices": lambda rows, columns, offset, *rest: triangle(rows, columns, offset, True),
    "triu_indices": lambda rows, columns, offset, *rest: triangle(rows, columns, offset, False),
}
