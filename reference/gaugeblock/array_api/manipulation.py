"""Functions of the standard that rearrange arrays."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..operators.composites import broadcast_shapes as engine_broadcast_shapes
from ..tensor.tensor import Tensor
from .data_types import result_type
from .operands import Axis, axes_of, check_array, converted


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Return the arrays, expanded to one shape."""
    return list(ops.broadcast_tensors(*arrays)) if arrays else []


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that several broadcast to."""
    return tuple(engine_broadcast_shapes(*shapes)) if shapes else ()


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return `x` expanded to a shape."""
    return ops.broadcast_to(check_array("broadcast_to", "x", x), shape)  # type: ignore[no-any-return]


def _promoted(function: str, arrays: Sequence[Tensor]) -> list[Any]:
    if not arrays:
        raise ValueError(f"{function}(): at least one array is needed")
    dtype = result_type(*[check_array(function, "arrays", one) for one in arrays])
    return [converted(one, dtype) for one in arrays]


def concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return arrays joined along an existing axis, or flattened and joined for None."""
    given = _promoted("concat", arrays)
    if axis is None:
        return ops.cat([ops.reshape(one, (-1,)) for one in given])  # type: ignore[no-any-return]
    (place,) = axes_of("concat", axis, given[0].meta.ndim)
    others = [size for at, size in enumerate(given[0].meta.sizes) if at != place]
    for one in given:
        if [size for at, size in enumerate(one.meta.sizes) if at != place] != others or not one.meta.ndim:
            raise ValueError(f"concat(): shapes {given[0].meta.sizes} and {one.meta.sizes} differ beside axis {place}")
    return ops.cat(given, place)  # type: ignore[no-any-return]


def stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return arrays joined along a new axis."""
    return ops.stack(_promoted("stack", arrays), axis)  # type: ignore[no-any-return]


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of an array along an axis."""
    return tuple(ops.unbind(check_array("unstack", "x", x), axis))


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """Return `x` with an axis of size 1 inserted. Raises IndexError for a place outside."""
    return ops.unsqueeze(check_array("expand_dims", "x", x), axis)  # type: ignore[no-any-return]


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Return `x` without some axes. Raises ValueError for one whose size is not 1."""
    axes = axes_of("squeeze", axis, check_array("squeeze", "x", x).meta.ndim)
    for one in axes:
        if x.meta.sizes[one] != 1:
            raise ValueError(f"squeeze(): axis {one} has size {x.meta.sizes[one]}, not 1")
    return ops.squeeze(x, axes) if axes else x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """Return `x` with the elements along one axis, several or all in reverse order."""
    return ops.flip(x, axes_of("flip", axis, check_array("flip", "x", x).meta.ndim))  # type: ignore[no-any-return]


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Return `x` with the elements shifted along axes, those beyond the end first; flattened meanwhile for None."""
    check_array("roll", "x", x)
    if axis is None:
        return ops.roll(x, shift)  # type: ignore[no-any-return]
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    return ops.roll(x, shifts, axes)  # type: ignore[no-any-return]


def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor:
    """Return `x` with axes moved to other places."""
    return ops.movedim(check_array("moveaxis", "x", x), source, destination)  # type: ignore[no-any-return]


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with its axes in another order."""
    return ops.permute(check_array("permute_dims", "x", x), axes)  # type: ignore[no-any-return]


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return `x` with each element repeated along an axis; flattened for None."""
    check_array("repeat", "x", x)
    counts = converted(repeats, dtypes.int64) if isinstance(repeats, Tensor) else index(repeats)
    return ops.repeat_interleave(x, counts, axis)  # type: ignore[no-any-return]


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return `x` with another shape; a copy only where there is no view, always with `copy`, and never (ValueError)
    with ``copy=False``."""
    check_array("reshape", "x", x)
    if copy is False:
        try:
            return x.view(shape)  # type: ignore[attr-defined, no-any-return]
        except RuntimeError as error:
            raise ValueError(f"reshape(): {error}") from None
    return ops.reshape(x.clone() if copy else x, shape)  # type: ignore[attr-defined, no-any-return]


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return copies of `x` side by side along each axis."""
    return ops.tile(check_array("tile", "x", x), repetitions)  # type: ignore[no-any-return]
