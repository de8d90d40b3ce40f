"""Fourier transforms by their sums, in long double: every frequency a sum over all points.

Errors are measured by the sum of absolute terms, the same for every frequency of a row.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near, Refused, Undefined

_PI = np.longdouble("3.14159265358979323846264338327950288")


def waves(n: int, sign: int) -> Array:
    """exp(sign 2πi jk/n) for all j and k, angles reduced first."""
    turns = np.outer(np.arange(n), np.arange(n)) % n
    angle = 2 * _PI * turns.astype(np.longdouble) / n
    return np.asarray(np.cos(angle) + sign * 1j * np.sin(angle))


def resized(x: Array, n: int, axis: int) -> Array:
    """Cut, or filled up with zeros, to ``n`` along an axis."""
    rows = np.moveaxis(x, axis, -1)[..., :n]
    rows = np.concatenate([rows, np.zeros((*rows.shape[:-1], n - rows.shape[-1]), rows.dtype)], -1)
    return np.moveaxis(rows, -1, axis)


def _factor(n: int, norm: str | None, inverse: bool) -> Any:
    size = np.longdouble(n)
    if norm == "ortho":
        return 1 / np.sqrt(size)
    return 1 / size if inverse == (norm in (None, "backward")) else np.longdouble(1)


def transformed(x: Array, axis: int, inverse: bool) -> Array:
    n = x.shape[axis]
    rows = np.moveaxis(x, axis, -1)
    return np.moveaxis(rows @ waves(n, 1 if inverse else -1), -1, axis)


def whole_spectrum(x: Array, n: int, axis: int) -> Array:
    """The ``n`` frequencies of a real signal, of which the first half is given; the rest are their conjugates."""
    half = resized(x, n // 2 + 1, axis)
    rows = np.moveaxis(half, axis, -1).copy()
    rows[..., 0] = rows[..., 0].real
    if n % 2 == 0:
        rows[..., -1] = rows[..., -1].real
    back = rows[..., 1 : (n + 1) // 2][..., ::-1].conj()
    return np.moveaxis(np.concatenate([rows, back], -1), -1, axis)


def lengths(x: Array, sizes: Any, dims: Any, halved: bool) -> tuple[list[int], list[int]]:
    """The axes and how many points each has; one whose second half is left out has twice as many, less two."""
    if dims is None:
        dims = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
    axes = [int(d) % x.ndim for d in dims]
    points = [x.shape[a] for a in axes] if sizes is None else [int(n) for n in sizes]
    if halved and points and (sizes is None or points[-1] == -1):
        points[-1] = 2 * (x.shape[axes[-1]] - 1)
    points = [x.shape[a] if n == -1 else n for a, n in zip(axes, points, strict=True)]
    if not points or min(points) < 1:
        raise Refused("no points")
    if not x.size and 0 in (n for k, n in enumerate(x.shape) if k not in axes):
        raise Undefined("no_signals")
    return axes, points


def transform(
    x: Array, sizes: Any, dims: Any, norm: str | None, inverse: bool, half: str = ""
) -> Near:
    """Over all axes; ``half`` says of the last whether the second half is left out of the ``result``, or was of the
    ``input``."""
    axes, points = lengths(x, sizes, dims, half == "input")
    y: Array = x + 0j if half != "input" else x.astype(np.clongdouble)
    for axis, n in zip(axes[:-1], points[:-1], strict=True):
        y = transformed(resized(y, n, axis), axis, inverse)
    last, n = axes[-1], points[-1]
    y = whole_spectrum(y, n, last) if half == "input" else resized(y, n, last)
    y = transformed(y, last, inverse)
    if half == "input":
        y = np.asarray(y.real)
    if half == "result":
        y = resized(y, n // 2 + 1, last)
    factor = prod((_factor(m, norm, inverse) for m in points), start=np.longdouble(1))
    total = np.abs(x).sum(axis=tuple(axes), keepdims=True) * (2 if half == "input" else 1)
    return Near(y * factor, total * factor, 4 * (4 + len(axes)), "real" if half == "input" else "complex")


def _one(inverse: bool, half: str = "") -> Oracle:
    return lambda x, n, dim, norm: transform(x, None if n is None else [n], [dim], norm, inverse, half)


def _many(inverse: bool, half: str = "") -> Oracle:
    return lambda x, sizes, dims, norm: transform(x, sizes, dims, norm, inverse, half)


def _turned(near: Near) -> Near:
    return Near(near.value.conj(), near.scale, near.units, near.kind)


def hermitian(x: Array, sizes: Any, dims: Any, norm: str | None) -> Near:
    """Real frequencies of a signal that is Hermitian along its last axis: a transform back, with the other sign."""
    found = transform(x.conj(), sizes, dims, _swapped(norm), True, "input")
    return Near(found.value, found.scale, found.units, found.kind)


def to_hermitian(x: Array, sizes: Any, dims: Any, norm: str | None) -> Near:
    return _turned(transform(x, sizes, dims, _swapped(norm), False, "result"))


def _swapped(norm: str | None) -> str:
    return {"forward": "backward", "ortho": "ortho"}.get(norm or "", "forward")


def shifted(x: Array, dims: Any, back: bool) -> Array:
    axes = range(x.ndim) if dims is None else [d % x.ndim for d in np.atleast_1d(dims).tolist()]
    for axis in axes:
        n = x.shape[axis]
        x = np.roll(x, -(n // 2) if back else n // 2, axis)
    return x


def frequencies(n: int, d: float, half: bool) -> Near:
    k = np.arange(n // 2 + 1) if half else (np.arange(n) + n // 2) % max(n, 1) - n // 2
    value = k.astype(np.longdouble) / (np.longdouble(d) * n)
    return Near(value, np.abs(value), 2)


def frames(
    x: Array, n_fft: int, hop: int | None, win: int | None, window: Array | None, normalized: bool,
    onesided: bool | None, complex_result: bool | None,
) -> Near:  # fmt: skip
    """The transforms of overlapping pieces of each row, weighed by the window, which is centred among zeros; their
    components in a last dim unless the result is complex."""
    hop = n_fft // 4 if hop is None else hop
    weights = full_window(n_fft, win, window)
    count = (x.shape[-1] - n_fft) // hop + 1
    pieces = np.stack([x[..., k * hop : k * hop + n_fft] * weights for k in range(count)], -1)
    y = transformed(pieces + 0j, -2, False)
    onesided = (x.dtype.kind != "c" and weights.dtype.kind != "c") if onesided is None else onesided
    if onesided:
        y = y[..., : n_fft // 2 + 1, :]
    factor = 1 / np.sqrt(np.longdouble(n_fft)) if normalized else np.longdouble(1)
    y, scale = y * factor, np.abs(pieces).sum(axis=-2, keepdims=True) * factor
    if complex_result is False:
        return Near(np.stack([y.real, y.imag], -1), scale[..., None], 24, "real")
    return Near(y, scale, 24, "complex")


def full_window(n_fft: int, win: int | None, window: Array | None) -> Array:
    size = n_fft if win is None else win
    inner = np.ones(size, np.longdouble) if window is None else window
    left = (n_fft - size) // 2
    return np.pad(inner, (left, n_fft - size - left))


def centred(x: Array, n_fft: int, mode: str) -> Array:
    width = n_fft // 2
    assert mode != "reflect" or width < x.shape[-1], (width, x.shape)
    kind: Any = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(width, width)], mode=kind)


def overlapped(
    y: Array, n_fft: int, hop: int | None, win: int | None, window: Array | None, center: bool, normalized: bool,
    onesided: bool | None, length: int | None, complex_result: bool,
) -> Near:  # fmt: skip
    """The signal whose frames are nearest: frames transformed back, weighed, added, over the sum of squared weights."""
    hop = n_fft // 4 if hop is None else hop
    weights = full_window(n_fft, win, window)
    y = y * (np.sqrt(np.longdouble(n_fft)) if normalized else np.longdouble(1))
    if complex_result:
        pieces = transformed(y, -2, True) / np.longdouble(n_fft)
    else:
        pieces = (transformed(whole_spectrum(y, n_fft, -2), -2, True) / np.longdouble(n_fft)).real
    count = y.shape[-1]
    total = n_fft + hop * (count - 1)
    found = np.zeros((*y.shape[:-2], total), pieces.dtype)
    square = np.zeros(total, np.longdouble)
    for k in range(count):
        found[..., k * hop : k * hop + n_fft] += pieces[..., k] * weights
        square[k * hop : k * hop + n_fft] += weights.real**2
    start = n_fft // 2 if center else 0
    stop = total - start if length is None else start + length
    if stop > total or np.min(square[start:stop], initial=1) < 1e-6:
        raise Refused("places that no frame reaches")
    scale = np.abs(y).sum(axis=(-2, -1), keepdims=False)[..., None] / np.min(square[start:stop], initial=1)
    value = found[..., start:stop] / square[start:stop]
    return Near(value, scale, 32, "complex" if complex_result else "real")


FOURIER: dict[str, Oracle] = {
    "fft_fft": _one(False),
    "fft_ifft": _one(True),
    "fft_rfft": _one(False, "result"),
    "fft_irfft": _one(True, "input"),
    "fft_hfft": lambda x, n, dim, norm: hermitian(x, None if n is None else [n], [dim], norm),
    "fft_ihfft": lambda x, n, dim, norm: to_hermitian(x, None if n is None else [n], [dim], norm),
    **{f"fft_fft{k}": _many(False) for k in "2n"},
    **{f"fft_ifft{k}": _many(True) for k in "2n"},
    **{f"fft_rfft{k}": _many(False, "result") for k in "2n"},
    **{f"fft_irfft{k}": _many(True, "input") for k in "2n"},
    **{f"fft_hfft{k}": hermitian for k in "2n"},
    **{f"fft_ihfft{k}": to_hermitian for k in "2n"},
    "fft_fftfreq": lambda n, d, *rest: frequencies(n, d, False),
    "fft_rfftfreq": lambda n, d, *rest: frequencies(n, d, True),
    "stft": lambda x, n_fft, hop, win, window, normalized, onesided, *rest: frames(
        x, n_fft, hop, win, window, normalized, onesided, rest[0]
    ),
    "stft.center": lambda x, n_fft, hop, win, window, center, mode, normalized, onesided, *rest: frames(
        centred(x, n_fft, mode) if center else x, n_fft, hop, win, window, normalized, onesided, rest[0]
    ),
    "istft": overlapped,
}
SHIFTS: dict[str, Oracle] = {
    "fft_fftshift": lambda x, dims: shifted(x, dims, False),
    "fft_ifftshift": lambda x, dims: shifted(x, dims, True),
}
