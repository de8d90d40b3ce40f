"""Places counted in a flattened tensor as places along each dim."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.dtype import int64
from ...core.errors import check_ints, type_error
from ...tensor.tensor import Tensor
from ..invoke import apply


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For each dim of a tensor of sizes `shape` the places of the elements that `indices` counts row by row.

    Raises TypeError for indices that are no integers, ValueError for negative sizes.
    """
    if not isinstance(indices, Tensor):
        type_error("unravel_index", "indices", indices, "Tensor")
    if indices.meta.dtype.kind != 1:
        name = indices.meta.dtype.name
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {name}")
    sizes = check_ints("unravel_index", "shape", shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {list(sizes)}")
    places, step, indices = [], 1, apply("to.dtype", indices, int64)
    for size in reversed(sizes):
        counted = apply("div.Scalar_mode", indices, step, rounding_mode="floor")
        places.append(apply("remainder.Scalar", counted, size))
        step *= size
    return tuple(reversed(places))
