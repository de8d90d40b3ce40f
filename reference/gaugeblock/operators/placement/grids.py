"""Several tensors on one common shape: broadcast_tensors, meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor.tensor import Tensor
from ..arguments import tensors_argument
from ..invoke import apply, invoke


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


def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Each tensor expanded to the common sizes; one that has them is given back itself. Raises RuntimeError."""
    sizes = broadcast_sizes("broadcast_tensors", [tensor.geometry.sizes for tensor in tensors])
    return tuple([one if one.geometry.sizes == sizes else apply("expand", one, sizes) for one in tensors])


def meshgrid_indexing(tensors: Sequence[Tensor], *, indexing: str) -> tuple[Tensor, ...]:
    """Coordinate grids of 0-dim and 1-dim tensors, as expanded views.

    With "xy" the first tensor runs along the second dim and the second along the first.
    Raises RuntimeError for no tensors, other ranks, mixed dtypes and another `indexing`.
    """
    lines = list(tensors)
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
        column = (1,) * place + (sizes[place],) + (1,) * (len(lines) - place - 1)
        grids.append(apply("expand", apply("view", line, column), sizes))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def public_broadcast_tensors(*tensors: Any) -> Any:
    """broadcast_tensors of the arguments, or of one list of them."""
    return invoke("broadcast_tensors", tensors_argument("broadcast_tensors", tensors))


def public_meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """meshgrid of the arguments, or of one list of them."""
    return invoke("meshgrid.indexing", tensors_argument("meshgrid", tensors), indexing=indexing)
