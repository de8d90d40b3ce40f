"""A drawn tensor: a storage with its contents, and the sizes, strides and offset of the view that a test gets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np

from . import values
from .backend import Array, numpy_dtype


def default_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements; a dim of size 0 counts as 1 (VIEW-002)."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def extent(sizes: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Number of storage elements from the first to the last one that the view reaches; 0 for an empty view."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """The model of VIEW-003."""
    if 0 in sizes:
        return True
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


@dataclass(frozen=True, init=False)
class TensorCase:
    """Sizes, strides and offset (in elements) over a storage of ``storage`` elements of ``dtype``.

    ``kind`` and ``seed`` say how the covered elements are filled; the rest of the storage holds poison.
    """

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    storage: int = -1
    kind: str = "hard"
    seed: int = 0
    literal: tuple[object, ...] | None = field(default=None)

    def __init__(
        self, dtype: str, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, storage: int = -1,
        kind: str = "hard", seed: int = 0, literal: tuple[object, ...] | None = None,
    ) -> None:  # fmt: skip
        # Many are made: this takes half the time of the method that a frozen dataclass gets.
        self.__dict__.update(
            dtype=dtype, sizes=sizes, strides=strides, offset=offset, kind=kind, seed=seed, literal=literal,
            storage=offset + extent(sizes, strides) if storage < 0 else storage,
        )  # fmt: skip

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    @cached_property
    def plain(self) -> bool:
        """Contiguous, at offset 0 and alone in its storage: what a factory would return."""
        return self.offset == 0 and self.storage == self.numel and self.strides == default_strides(self.sizes)

    @cached_property
    def contents(self) -> Array:
        """The whole storage as a 1-D array: filled where the view reaches, poison elsewhere."""
        if self.literal is not None:
            return np.array(self.literal, dtype=numpy_dtype(self.dtype))
        data = values.fill(self.dtype, self.storage, self.seed, self.kind)
        if self.plain or self.storage == 0:
            return data
        covered = np.zeros(self.storage, dtype=bool)
        self.view_of(covered)[...] = True
        data[~covered] = values.poison(self.dtype)
        return data

    def view_of(self, storage: Array) -> Array:
        """The view's elements in a 1-D array laid out like the storage (writable, no copy)."""
        step = storage.itemsize
        start = self.offset * step if self.numel else 0
        return np.ndarray(self.sizes, storage.dtype, storage, start, tuple([s * step for s in self.strides]))

    @property
    def array(self) -> Array:
        """The logical values, as an array of the view's shape in row-major order (a copy)."""
        if self.plain:
            return self.contents.reshape(self.sizes).copy()
        return np.array(self.view_of(self.contents), order="C", copy=True)

    def with_dtype(self, dtype: str) -> TensorCase:
        return replace(self, dtype=dtype)

    def __repr__(self) -> str:
        where = "" if self.plain else f", strides={self.strides}, offset={self.offset}, storage={self.storage}"
        return f"Tensor({self.dtype}, sizes={self.sizes}{where}, {self.kind}, seed={self.seed})"
