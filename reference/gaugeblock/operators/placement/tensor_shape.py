"""Tensors brought to a common shape or a number of dims; grids, places along dims, and parts that are no views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.dtype import int64
from ...core.errors import check_ints, type_error
from ...core.warn import warn_once
from ...dispatch.state import SPECIAL
from ...tensor.reshaping import view
from ...tensor.tensor import Tensor
from ...tensor.versions import INFERENCE, VersionCounter
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


def atleast_1d(self: Tensor) -> Tensor:
    """A view with one dim if there is none."""
    return apply("reshape", self, (1,)) if not self.meta.ndim else self


def atleast_2d(self: Tensor) -> Tensor:
    """A view with at least two dims; a vector becomes a row."""
    if self.meta.ndim > 1:
        return self
    return apply("unsqueeze", self, 0) if self.meta.ndim else apply("reshape", self, (1, 1))


def atleast_3d(self: Tensor) -> Tensor:
    """A view with at least three dims; a vector goes to the middle, a matrix in front."""
    ndim = self.meta.ndim
    if ndim > 2:
        return self
    if ndim == 2:
        return apply("unsqueeze", self, -1)
    return apply("unsqueeze", apply("unsqueeze", self, 0), -1) if ndim else apply("reshape", self, (1, 1, 1))


def _of_each(name: str) -> Callable[..., Any]:
    """What applies an operator to each of several tensors."""
    return lambda tensors: tuple([apply(name, tensor) for tensor in tensors])


def _public(name: str) -> Callable[..., Any]:
    """The public function: of one tensor, or a tuple for several."""

    def atleast(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return invoke(name, tensors[0])
        return invoke(f"{name}.Sequence", tensors_argument(name, tensors))

    atleast.__doc__ = f"{name} of one tensor, or a tuple for several."
    return atleast


atleast_1d_Sequence, public_atleast_1d = _of_each("atleast_1d"), _public("atleast_1d")
atleast_2d_Sequence, public_atleast_2d = _of_each("atleast_2d"), _public("atleast_2d")
atleast_3d_Sequence, public_atleast_3d = _of_each("atleast_3d"), _public("atleast_3d")


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors as columns, and matrices, side by side. Raises RuntimeError for no tensors."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [
        apply("reshape", tensor, (tensor.meta.numel, 1)) if tensor.meta.ndim < 2 else tensor
        for tensor in tensors
    ]
    return apply("hstack", columns)


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


def _apart(parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
    for part in parts:
        part.base = None
        if part.counter is not INFERENCE:
            part.counter = VersionCounter()
    return tuple(parts)


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """The parts of `chunk`, which may be written to while the input is not used any more, and the other way round."""
    return _apart(invoke("chunk", self, chunks, dim))


def unsafe_split_Tensor(self: Tensor, split_size: int, dim: int = 0) -> Any:
    """The parts of `split`, which may be written to while the input is not used any more."""
    return _apart(invoke("split.Tensor", self, split_size, dim))


def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """The parts of `split_with_sizes`, which may be written to while the input is not used any more."""
    return _apart(invoke("split_with_sizes", self, split_sizes, dim))


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over the dims by which `self` is larger than `size`. Raises RuntimeError unless `size` expands to it."""
    sizes, wanted = self.meta.sizes, tuple(size)
    extra = len(sizes) - len(wanted)
    fits = extra >= 0 and all(a in (1, b) for a, b in zip(wanted, sizes[extra:], strict=True))
    if not fits:
        raise RuntimeError(f"sum_to_size(): size {list(wanted)} is not expandable to size {list(sizes)}.")
    if not wanted:
        return apply("sum", self)
    gone = [d for d in range(len(sizes)) if d < extra or (wanted[d - extra] == 1 and sizes[d] != 1)]
    total = apply("sum.dim_IntList", self, gone, True) if gone else self
    return apply("view", apply("contiguous", total), wanted) if extra else total
