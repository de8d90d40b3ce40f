"""Several tensors on one common shape: broadcast_tensors, meshgrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.warn import warn_once
from ...dispatch.state import SPECIAL
from ...tensor.reshaping import view
from ...tensor.tensor import Tensor
from ...tensor.views import expand
from ..arguments import tensors_argument
from ..invoke import apply, invoke

View = Callable[..., Tensor]
recorded_expand = partial(apply, "expand")


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
    return _broadcast(tensors, recorded_expand)


def _broadcast(tensors: Sequence[Tensor], expanded: View) -> tuple[Tensor, ...]:
    sizes = broadcast_sizes("broadcast_tensors", [tensor.meta.sizes for tensor in tensors])
    return tuple([one if one.meta.sizes == sizes else expanded(one, sizes) for one in tensors])


def meshgrid_indexing(tensors: Sequence[Tensor], *, indexing: str) -> tuple[Tensor, ...]:
    """Coordinate grids of 0-dim and 1-dim tensors, as expanded views.

    With "xy" the first tensor runs along the second dim and the second along the first.
    Raises RuntimeError for no tensors, other ranks, mixed dtypes and another `indexing`.
    """
    return _grids(tensors, indexing, partial(apply, "view"), recorded_expand)


def _grids(tensors: Sequence[Tensor], indexing: str, viewed: View, expanded: View) -> tuple[Tensor, ...]:
    lines = list(tensors)
    if not lines:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in lines:
        if tensor.meta.ndim > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got {tensor.meta.ndim}D")
        if tensor.meta.dtype is not lines[0].meta.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(lines) >= 2
    if swap:
        lines[0], lines[1] = lines[1], lines[0]
    sizes = tuple([line.meta.numel for line in lines])
    grids = []
    for place, line in enumerate(lines):
        column = (1,) * place + (sizes[place],) + (1,) * (len(lines) - place - 1)
        grids.append(expanded(viewed(line, column), sizes))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def public_broadcast_tensors(*tensors: Any) -> Any:
    """broadcast_tensors of the arguments, or of one list of them."""
    given = tensors_argument("broadcast_tensors", tensors)
    return _broadcast(given, expand) if _plain(given) else invoke("broadcast_tensors", given)


def public_meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Return the meshgrid of the arguments or of one list of them; warn once when `indexing` is not given."""
    given = tensors_argument("meshgrid", tensors)
    if indexing is None:
        warn_once("meshgrid(): in an upcoming release it will be required to pass the argument 'indexing'; it is 'ij'")
        indexing = "ij"
    if _plain(given):
        return _grids(given, indexing, view, expand)
    return invoke("meshgrid.indexing", given, indexing=indexing)


def _plain(tensors: Sequence[Tensor]) -> bool:
    """Return whether nobody watches the call, so that views may be made without the dispatcher."""
    if SPECIAL:
        return False
    return all(one.__class__ is Tensor and not one.meta.watched for one in tensors)
