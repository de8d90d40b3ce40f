"""What the elements of an operand are, where its fact in ``samples/*.yaml`` names a kind that is made one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from ..backend import Array
from ..case import TensorCase
from ..strategies.matrices import MATRICES, matrix
from ..strategies.shapes import Sizes
from ..values import poison

# Kinds that are a function of where an element stands.
PATTERNS: dict[str, Callable[[Array], Array]] = {
    "counts": lambda k: k % 4,
    "naturals": lambda k: k % 4 + 1,
    "chance": lambda k: k % 5 / 4,
    "signs": lambda k: k % 2 * 2 - 1,
    "labels": lambda k: k % 4 - 1,
    "rising": lambda k: np.cumsum((k - k[:1]) % 3),
    "falling": lambda k: np.minimum((k[-1:] - k) // 7, 5),
    "zeros": lambda k: k * 0,
    "around": lambda k: (k % 9 - 4) * 0.375,
    "slack": lambda k: k % 3 * 0.3437 + 0.0107,
    "gaps": lambda k: np.where(k % 3 == 1, np.nan, k % 8 - 3),
    "spaced": lambda k: np.cumsum(k % 3 + 1),
}
HELD = ("distinct", "sorted", "sorter", *PATTERNS, *MATRICES)


def holding(case: TensorCase, elements: Array) -> TensorCase:
    """``case`` with these elements, poison around them."""
    contents = np.full(case.storage, poison(case.dtype))
    case.view_of(contents)[...] = elements
    return replace(case, literal=tuple(contents.tolist()))


def with_elements(case: TensorCase, kind: str | None, seed: int, order: int) -> TensorCase:
    """``case`` with elements of the kind, or as it is for a kind that is not in ``HELD``; ``order`` shuffles."""
    dims = case.sizes
    if kind == "sorted":
        return holding(case, np.sort(case.array, axis=-1) if dims else case.array)
    if kind in PATTERNS:
        numbers = PATTERNS[kind](np.arange(case.numel) * 7 + seed % 4)
        return holding(case, numbers.reshape(dims).astype(case.array.dtype))
    if kind in MATRICES:
        return holding(case, matrix(kind, case.array.dtype, dims, seed))
    if kind == "distinct":
        places = np.random.default_rng(order).permutation(case.numel) if order else np.arange(case.numel)
        return holding(case, places.reshape(dims).astype(case.array.dtype))
    return case


def places(size: int, dims: Sizes, seed: int) -> Array:
    """Numbers from 0 to below ``size``; in order for a seed of 0."""
    size = max(size, 1)
    return np.random.default_rng(seed).integers(0, size, dims) if seed else np.arange(prod(dims)).reshape(dims) % size


def distinct_places(size: int, dims: Sizes, axis: int, seed: int) -> Array:
    """Such numbers, no two of them equal along dim ``axis``."""
    random = np.random.default_rng(seed)
    if not dims:
        return np.zeros((), np.int64)
    if len(dims) == 1:
        return random.permutation(size)[: dims[0]] if seed else np.arange(dims[0])
    axis %= len(dims)
    rest = (*dims[:axis], *dims[axis + 1 :])
    rows = np.array([random.permutation(size)[: dims[axis]] for _ in range(prod(rest))], np.int64)
    return np.moveaxis(rows.reshape(*rest, dims[axis]), -1, axis)
