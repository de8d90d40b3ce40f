"""Matrices that a decomposition or an equation needs: far from singular, with elements that every float holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .shapes import Sizes

MATRICES = ("dominant", "regular", "definite", "pivots")


def matrix(kind: str, dtype: np.dtype[Any], dims: Sizes, seed: int) -> Array:
    """A stack of matrices (or of pivots): multiples of a half, of condition number below 10.

    ``dominant`` has large elements on its diagonal and small ones beside it, ``regular`` the same rows in another
    order, ``definite`` is Hermitian and has positive eigenvalues; ``pivots`` are numbers of rows as LAPACK counts its
    exchanges.
    """
    random = np.random.default_rng(seed)
    if kind == "pivots":
        size = dims[-1]
        return np.asarray(np.arange(size) + 1 + random.integers(0, size - np.arange(size), dims), dtype)
    found = random.integers(-2, 3, dims) / 2 + 0j
    if dtype.kind == "c":
        found = found + 1j * random.integers(-2, 3, dims) / 2
    found = found if kind != "definite" else (found + np.swapaxes(found, -1, -2).conj()) / 2
    places = np.arange(min(dims[-2:]))
    large = 3 * max(dims[-2:]) + places + 0j
    if kind != "definite":
        large = large * random.choice([-1, 1], size=places.shape)
    found[..., places, places] = large
    if kind == "regular":
        found = found[..., random.permutation(dims[-2]), :]
    with np.errstate(all="ignore"):
        return np.asarray((found if dtype.kind == "c" else found.real).astype(dtype))
