"""Entries of the call cache for operators on metadata, which make views or change a tensor's own sizes and strides.

Where the arguments in the key decide sizes and place of the result, machine code makes it without looking at them
again (kernels/bound_call.py). Other calls run the operator's function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..dispatch.keys import tensors_in
from ..kernels.bound_call import Change, Part, Slice, view_call
from ..operators.copy import fresh_copy
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, remember
from ..tensor.view_table import ViewFunction
from ..tensor.views import narrow, select, slice_dim


class Request(NamedTuple):
    """A call as the cache sees it: the meta that holds its entry, its key there, and the values for the entry."""

    meta: TensorMeta
    key: tuple[Any, ...]
    values: tuple[Any, ...]

    @property
    def metas(self) -> list[TensorMeta]:
        """The metas of its tensors, those in lists included."""
        return [one.meta for one in tensors_in(self.values)]

    def is_single(self) -> bool:
        """Return whether the entry gets nothing but one tensor."""
        return len(self.values) == 1

    def has_subclass(self) -> bool:
        """Return whether a tensor is of a subclass, which stands in the key instead of its meta."""
        return any(isinstance(value, Tensor) and value.__class__ is not Tensor for value in self.values)


def itself(tensor: Tensor) -> Tensor:
    """Return the tensor: the entry of an operator that changes nothing."""
    return tensor


def view_entry(
    view: ViewFunction, request: Request, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> Callable[..., Any] | None:
    """Return the entry for calls like one that was made of the arguments and returned `result`; None if its function
    has to run each time."""
    self = args[0]
    plain = not any(isinstance(one, Tensor) for one in request.values[1:])
    if result is self:
        if not view.changes:
            return itself if request.is_single() else None
        return Change(self.meta).native() if view.at_same_place and self.autograd is None else None
    if view.function in PARTS:
        return None if kwargs or not plain else PARTS[view.function](result, *args)
    if view.at_same_place or (view.placed and plain):
        return view_call(self, result) or (fresh_copy(result, self) if plain and view.at_same_place else None)
    return None


def _selected(result: Tensor, self: Tensor, dim: int, index: int) -> Callable[..., Any]:
    meta = self.meta
    size, stride = meta.sizes[dim], meta.strides[dim]
    return Part(result.meta, size, size - 1, stride, meta.dtype.itemsize).native()


def _narrowed(result: Tensor, self: Tensor, dim: int, start: int, length: int) -> Callable[..., Any]:
    meta = self.meta
    size, stride = meta.sizes[dim], meta.strides[dim]
    return Part(result.meta, size, size - length, stride, meta.dtype.itemsize).native()


def _sliced(
    result: Tensor, self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Callable[..., Any] | None:
    meta = self.meta
    key = ("slices", dim, step)
    metas = meta.views.get(key)
    if metas is None:
        metas = remember(meta.views, key, {})
    if len(metas) >= MOST_LENGTHS:
        metas.clear()
    metas[result.meta.sizes[dim]] = result.meta
    if start.__class__ is bool or end.__class__ is bool:
        return None
    return Slice(metas, meta.sizes[dim], step, meta.strides[dim], meta.dtype.itemsize).native()


MOST_LENGTHS = 1024
PARTS: dict[Callable[..., Any], Callable[..., Callable[..., Any] | None]] = {
    select: _selected, narrow: _narrowed, slice_dim: _sliced,
}  # fmt: skip
"""Function of a view of a part -> the entry for a call that returned such a view."""
