"""Resampled images: along every dim a matrix that says how much of each element each place of the result gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle

Numbers = Sequence[int]
Matrix = Callable[..., Array]


def step(size: int, wanted: int, scale: float | None) -> Fraction:
    """How far one place of the result goes in the input."""
    return 1 / Fraction(scale) if scale else Fraction(size, wanted)


def centre(k: int, size: int, wanted: int, align: bool, scale: float | None) -> Fraction:
    """Where the middle of place ``k`` lies in the input: corners over corners, or edges over edges."""
    if align:
        return k * Fraction(size - 1, wanted - 1) if wanted > 1 else Fraction(0)
    return step(size, wanted, scale) * (k + Fraction(1, 2)) - Fraction(1, 2)


def wide(value: Fraction) -> np.longdouble:
    return np.longdouble(value.numerator) / np.longdouble(value.denominator)


def nearest(size: int, wanted: int, exact: bool, scale: float | None) -> Array:
    """The element in which a place begins, or with ``exact`` the one in which its middle lies."""
    shift = Fraction(1, 2) if exact else Fraction(0)
    places = [int((k + shift) * step(size, wanted, scale)) for k in range(wanted)]
    return np.eye(size, dtype=np.longdouble)[np.minimum(places, size - 1)]


def linear(size: int, wanted: int, align: bool, scale: float | None) -> Array:
    """The two elements beside a place, each by how near it is; a dim that keeps its size is left alone."""
    if size == wanted:
        return np.eye(size, dtype=np.longdouble)
    y = np.zeros((wanted, size), np.longdouble)
    for k in range(wanted):
        at = min(max(centre(k, size, wanted, align, scale), Fraction(0)), Fraction(size - 1))
        y[k, int(at)] += wide(1 - at % 1)
        y[k, min(int(at) + 1, size - 1)] += wide(at % 1)
    return y


def within(reach: int, size: int, wanted: int, align: bool, scale: float | None) -> Array:
    """Ones for all elements that a place has a share of, or would have with its middle a little off."""
    y = np.zeros((wanted, size), np.longdouble)
    for k in range(wanted):
        at = centre(k, size, wanted, align, scale)
        places = [min(max(n, 0), size - 1) for n in range(-((reach - at) // 1), (at + reach) // 1 + 1)]
        y[k, places] = 1
    return y


def bump(x: Fraction, a: Fraction = Fraction(-3, 4)) -> np.longdouble:
    """The piecewise cubic of convolution: 1 at 0, 0 at all other whole numbers and beyond 2."""
    x = abs(x)
    if x >= 2:
        return np.longdouble(0)
    return wide((a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a)


def cubic(size: int, wanted: int, align: bool, scale: float | None) -> Array:
    """The four elements around a place, the outermost standing for those outside."""
    y = np.zeros((wanted, size), np.longdouble)
    for k in range(wanted):
        at = centre(k, size, wanted, align, scale)
        for n in range(at // 1 - 1, at // 1 + 3):
            y[k, min(max(n, 0), size - 1)] += bump(at - n)
    return y


def triangle(x: Fraction) -> np.longdouble:
    return wide(max(1 - abs(x), Fraction(0)))


def blurred(
    shape: Callable[[Fraction], np.longdouble], size: int, wanted: int, align: bool, scale: float | None
) -> Array:
    """Every element by where its middle lies under a bump over the middle of the place, stretched to places that are
    wider than elements; a dim that keeps its size is left alone."""
    if size == wanted:
        return np.eye(size, dtype=np.longdouble)
    far = centre(1, size, wanted, align, scale) - centre(0, size, wanted, align, scale)
    wider = max(far, Fraction(1))
    middles = [far * (k + Fraction(1, 2)) for k in range(wanted)]
    y = np.array([[shape((n + Fraction(1, 2) - m) / wider) for n in range(size)] for m in middles])
    total = y.sum(axis=1, keepdims=True)
    return np.asarray(y / np.where(total == 0, 1, total))


def mixed(x: Array, matrices: Sequence[Array]) -> Array:
    """The last dims of ``x`` through a matrix each, the last dim first; bytes are made bytes again after each."""
    whole = x.dtype.kind in "iu"
    y = x.astype(np.longdouble) if whole else x
    for dim, matrix in reversed(list(enumerate(matrices, x.ndim - len(matrices)))):
        if not whole or x.shape[dim] != len(matrix):
            weights = of_sixteen_bits(matrix) if whole else matrix
            y = np.moveaxis(np.tensordot(y, weights, (dim, 1)), -1, dim)
            y = np.clip(np.floor(y + np.longdouble(0.5)), 0, 255) if whole else y
    return y


def of_sixteen_bits(matrix: Array) -> Array:
    """Weights rounded to as many binary places, 22 at most, as leave the largest of them 15 bits."""
    places = max((n for n in range(23) if np.floor(matrix.max() * 2**n + np.longdouble(0.5)) < 2**15), default=0)
    scaled = np.abs(matrix) * 2**places
    return np.asarray(np.sign(matrix) * np.floor(scaled + np.longdouble(0.5)) / 2**places)


def resampled(matrix: Matrix, x: Array, wanted: Numbers, mode: bool, *scales: float | None) -> Array:
    given = scales or (None,) * len(wanted)
    sizes = x.shape[x.ndim - len(wanted) :]
    return mixed(x, [matrix(n, w, mode, scale) for n, w, scale in zip(sizes, wanted, given, strict=True)])


def by_factors(matrix: Matrix, x: Array, wanted: Numbers | None, mode: bool, factors: Any) -> Array:
    """By sizes or by factors, one of the two."""
    assert (wanted is None) is not (factors is None), (wanted, factors)
    if wanted is not None:
        return resampled(matrix, x, wanted, mode)
    sizes = x.shape[x.ndim - len(factors) :]
    return resampled(matrix, x, [int(n * f) for n, f in zip(sizes, factors, strict=True)], mode, *factors)


def _rows(name: str, matrix: Matrix) -> dict[str, Oracle]:
    return {
        name: lambda x, wanted, mode, *scales: resampled(matrix, x, wanted, mode, *scales),
        f"{name}.vec": lambda x, wanted, mode, factors: by_factors(matrix, x, wanted, mode, factors),
    }


def _nearest_rows(name: str, exact: bool) -> dict[str, Oracle]:
    return {
        name: lambda x, wanted, *scales: resampled(nearest, x.astype(np.longdouble), wanted, exact, *scales),
        f"{name}.vec": lambda x, wanted, factors: by_factors(nearest, x.astype(np.longdouble), wanted, exact, factors),
    }


RESAMPLING: dict[str, Oracle] = {
    **{k: v for rank in (1, 2, 3) for k, v in _nearest_rows(f"upsample_nearest{rank}d", False).items()},
    **{k: v for rank in (1, 2, 3) for k, v in _nearest_rows(f"_upsample_nearest_exact{rank}d", True).items()},
    **_rows("upsample_linear1d", linear),
    **_rows("upsample_bilinear2d", linear),
    **_rows("upsample_trilinear3d", linear),
    **_rows("upsample_bicubic2d", cubic),
    **_rows("_upsample_bilinear2d_aa", partial(blurred, triangle)),
    **_rows("_upsample_bicubic2d_aa", partial(blurred, partial(bump, a=Fraction(-1, 2)))),
}

# What the errors of the places are measured by: the elements that they fall between, whatever their shares.
_UNITS = {
    **_rows("upsample_linear1d", partial(within, 1)), **_rows("upsample_bilinear2d", partial(within, 1)),
    **_rows("upsample_trilinear3d", partial(within, 1)), **_rows("upsample_bicubic2d", partial(within, 2)),
}  # fmt: skip
RESAMPLING_UNITS: dict[str, Oracle] = {
    name: lambda x, *given, unit=unit: unit(np.abs(x), *given) for name, unit in _UNITS.items()
}
