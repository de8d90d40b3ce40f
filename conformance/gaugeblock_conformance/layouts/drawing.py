"""Drawn arrays that are mostly zero, and drawn tensors in sparse layouts with what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, numpy_dtype
from ..session import Handle, Session
from ..strategies import sizes

DTYPES = ("float32", "float64", "int64", "int32", "bool")
SUMMED = ("float32", "float64", "int64")
_FLOATS = (0.0, -0.0, 1.0, -2.5, 3.0, float("nan"), float("inf"), float("-inf"))
_NUMBERS = {"f": _FLOATS, "i": (0, 1, -2, 3, 100), "b": (False, True)}


@hs.composite
def dense_arrays(draw: hs.DrawFn, min_dims: int = 0, max_dims: int = 3) -> Array:
    """Arrays of which half of the elements are zero, with NaN, infinities and zeros of both signs where there are."""
    dtype = numpy_dtype(draw(hs.sampled_from(DTYPES)))
    dims = draw(sizes(min_dims, max_dims))
    count = int(np.prod(dims))
    zero = hs.just(_NUMBERS[dtype.kind][0])
    elements = hs.one_of(zero, hs.sampled_from(_NUMBERS[dtype.kind]))
    return np.array(draw(hs.lists(elements, min_size=count, max_size=count)), dtype).reshape(dims)


@dataclass(frozen=True)
class CooCase:
    """Indices, values and sizes of a tensor in coordinate form; sums of its values are exact."""

    indices: Array
    values: Array
    sizes: tuple[int, ...]

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dims."""
        return len(self.indices)

    @property
    def dense(self) -> Array:
        """The elements."""
        made = np.zeros(self.sizes, self.values.dtype)
        for column, value in zip(self.indices.T, self.values, strict=True):
            made[tuple(column)] += value
        return made

    def build(self, s: Session) -> Handle:
        """The tensor, made of its parts."""
        made: Handle = s.call(
            "sparse_coo_tensor", s.tensor(self.indices), s.tensor(self.values), self.sizes, check_invariants=False
        )
        return made


@hs.composite
def coo_cases(
    draw: hs.DrawFn, min_sparse: int = 0, max_sparse: int = 3, max_dense: int = 1,
    shape: tuple[int, ...] | None = None, dtype: str | None = None,
) -> CooCase:  # fmt: skip
    """Tensors in coordinate form, with repeated columns in any order and explicit zeros among the values."""
    if shape is None:
        lead = draw(hs.lists(hs.integers(0, 4), min_size=min_sparse, max_size=max_sparse))
        shape = (*lead, *draw(hs.lists(hs.integers(0, 3), max_size=max_dense)))
        split = len(lead)
    else:
        split = len(shape)
    nnz = 0 if 0 in shape[:split] else draw(hs.integers(0, 6))
    indices = np.zeros((split, nnz), np.int64)
    for dim in range(split):
        indices[dim] = draw(hs.lists(hs.integers(0, max(shape[dim] - 1, 0)), min_size=nnz, max_size=nnz))
    block = (nnz, *shape[split:])
    count = int(np.prod(block))
    numbers = draw(hs.lists(hs.integers(-4, 4), min_size=count, max_size=count))
    kind = numpy_dtype(draw(hs.sampled_from(SUMMED)) if dtype is None else dtype)
    return CooCase(indices, np.array(numbers, kind).reshape(block), shape)


@hs.composite
def matrices(draw: hs.DrawFn, rows: int | None = None, cols: int | None = None, dtype: str = "float64") -> Array:
    """Matrices of small whole numbers, two thirds of them zero."""
    shape = tuple(draw(hs.integers(0, 5)) if n is None else n for n in (rows, cols))
    count = shape[0] * shape[1]
    elements = hs.sampled_from((0, 0, 0, 0, 1, -2, 3))
    return np.array(draw(hs.lists(elements, min_size=count, max_size=count)), numpy_dtype(dtype)).reshape(shape)


def coalesced(case: CooCase) -> tuple[Array, Array]:
    """The distinct columns of a case in lexicographic order, and the sums of their values, as a loop over them."""
    found: dict[tuple[int, ...], Any] = {}
    for k, column in enumerate(case.indices.T.tolist()):
        key = tuple(column)
        found[key] = found[key] + case.values[k] if key in found else case.values[k]
    keys = sorted(found)
    indices = np.array(keys, np.int64).reshape(len(keys), case.sparse_dim).T
    values = np.array([found[key] for key in keys], case.values.dtype).reshape(len(keys), *case.values.shape[1:])
    return indices, values
