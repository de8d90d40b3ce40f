"""Views of several tensors on one common shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import type_error
from .make_view import regeometry, view_at_same_place
from .tensor import Tensor
from .views import expand


def broadcast_sizes(operator: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The sizes that all `shapes` broadcast to. Raises RuntimeError when they do not."""
    result: list[int] = [1] * max([len(shape) for shape in shapes], default=0)
    for shape in shapes:
        lead = len(result) - len(shape)
        for dim, size in enumerate(shape, lead):
            if size != 1 and result[dim] != size:
                if result[dim] != 1:
                    raise RuntimeError(
                        f"{operator}(): The size of tensor a ({result[dim]}) must match the size of tensor b ({size}) "
                        f"at non-singleton dimension {dim}"
                    )
                result[dim] = size
    return tuple(result)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Each tensor, given one by one or in a list, expanded to the common sizes. Raises RuntimeError."""
    given = _listed("broadcast_tensors", tensors)
    sizes = broadcast_sizes("broadcast_tensors", [tensor.geometry.sizes for tensor in given])
    return tuple([expand(tensor, sizes) for tensor in given])


def _listed(operator: str, tensors: tuple[Any, ...]) -> list[Tensor]:
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for tensor in listed:
        if not isinstance(tensor, Tensor):
            type_error(operator, "tensors", tensor, "Tensor")
    return list(listed)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids of 0-dim and 1-dim tensors, given one by one or in a list, as expanded views.

    With "xy" the first tensor runs along the second dim and the second along the first.
    Raises RuntimeError for no tensors, other ranks, mixed dtypes and another `indexing`.
    """
    lines = _listed("meshgrid", tensors)
    if not lines:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in lines:
        if tensor.geometry.ndim > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got {tensor.geometry.ndim}D")
        if tensor.geometry.dtype is not lines[0].geometry.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(lines) >= 2
    if swap:
        lines[0], lines[1] = lines[1], lines[0]
    sizes = tuple([line.geometry.numel for line in lines])
    grids = []
    for place, line in enumerate(lines):
        geometry = line.geometry
        before, behind = place, len(lines) - place - 1
        step = geometry.strides[0] if geometry.ndim else 1
        strides = (sizes[place] * step,) * before + (step,) * (behind + 1)
        column = regeometry(geometry, (1,) * before + (sizes[place],) + (1,) * behind, strides)
        grid = expand(view_at_same_place(line, column), sizes)
        grids.append(grid)
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)
