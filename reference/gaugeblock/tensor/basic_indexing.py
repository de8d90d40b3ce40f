"""Indexing with ints, slices, None, Ellipsis and 0-dim integer tensors: views. Everything else is handed on."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from ..core.device import cpu
from ..core.dtype import uint8
from ..memory.storage import new_object
from .hooks import SPECIAL, UNRECORDED, hooks, taken
from .scalars import item as item_of
from .tensor import Tensor, make_view
from .tensor_meta import TensorMeta, meta_of, meta_with, remember
from .views import sliced

_PLAIN = {int, slice, type(None), type(Ellipsis)}
_KNOWN = {*_PLAIN, bool, float, complex, str, bytes, dict, list, tuple, range, Tensor}
"""Classes that override nothing."""
_ASSIGNABLE_NOT = (list, tuple, dict, str, bytes, type(None))


def getitem(self: Tensor, index: Any) -> Tensor:
    """``x[index]``: a view for a basic index, a copy for an advanced one. Raises IndexError for an int out of range and
    for too many indices, ValueError for a slice step below 1."""
    meta = self.meta
    if SPECIAL or meta.has_autograd:
        found = hooks.dispatched["__getitem__"](self, index)
        return taken(self, found) if UNRECORDED else found  # type: ignore[no-any-return]
    kind = type(index)
    if meta.ndim:
        if kind is slice:
            start, stop, step = index.indices(meta.sizes[0])
            if step <= 0:
                raise ValueError("step must be greater than zero")
            length = stop - start
            if step != 1:
                length = (length + step - 1) // step
            if length < 0:
                length = 0
            key = length if step == 1 else ("every", length, step)
            other = meta.views.get(key)
            if other is None:
                other = sliced(self, 0, start, length, step).meta
                remember(meta.views, key, other)
            step = start * meta.strides[0]
        elif kind is int:
            other = meta.views.get("row")
            size = meta.sizes[0]
            if other is None:
                other = meta_with(meta, meta.sizes[1:], meta.strides[1:])
                remember(meta.views, "row", other)
            if not -size <= index < size:
                raise _out_of_range(index, 0, size)
            step = (index + size if index < 0 else index) * meta.strides[0]
        else:
            return taken(self, _general_getitem(self, index))  # type: ignore[no-any-return]
        view = new_object(Tensor)
        view._meta = other
        view._storage_impl = self.storage_impl
        view._offset = self.offset + step
        view._pointer = self.pointer and self.pointer + step * meta.dtype.itemsize
        base = self.base
        if base is None:
            base = self
            self.viewed = True
        view.base = base
        view.counter = self.counter
        view.autograd = None
        view.requires_grad_flag = False
        return hooks.taken(self, view) if UNRECORDED else view
    return taken(self, _general_getitem(self, index))  # type: ignore[no-any-return]


def _out_of_range(index: int, dim: int, size: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def _general_getitem(self: Tensor, index: Any) -> Tensor:
    if type(index) is tuple and _PLAIN.issuperset(map(type, index)):
        return basic_view(self, index)
    if _is_foreign(index):
        return hooks.dispatched["foreign __getitem__"](self, index)  # type: ignore[no-any-return]
    return getitem_of_any(self, index)


def getitem_of_any(self: Tensor, index: Any) -> Tensor:
    """getitem of an index that is no int, slice or tuple of plain members, and overrides nothing."""
    items = basic_items(index)
    if items is not None:
        return basic_view(self, items)
    if self.meta.device is not cpu or self.meta.dtype.quantized:
        return hooks.dispatched["__getitem__"](self, index)  # type: ignore[no-any-return]
    return hooks.advanced_getitem(self, index)


def _is_foreign(*values: Any) -> bool:
    """Return whether one of the values, or a member of one, is of a class that may override what is done with it."""
    for value in values:
        kind = value.__class__
        if kind is tuple or kind is list:
            if not _KNOWN.issuperset(map(type, value)):
                return True
        elif kind not in _KNOWN and kind.__module__ != "numpy":
            return True
    return False


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``, written into `self`; leading size-1 dims of a tensor value are dropped.

    Raises as getitem, TypeError for a value that is neither a number nor a tensor, RuntimeError when it does not
    broadcast.
    """
    meta = self.meta
    tracked = meta.has_autograd or (value.__class__ is Tensor and value.meta.has_autograd)
    if SPECIAL or tracked or meta.device is not cpu:
        hooks.dispatched["__setitem__"](self, index, value)
        return
    kind, given = index.__class__, value.__class__
    if (kind is int or kind is slice) and meta.ndim and (given is Tensor or given is float or given is int):
        view = getitem(self, index)
        hooks.assign(view, without_leading_ones(value, view.meta.ndim) if given is Tensor else value)
        return
    if _is_foreign(index, value):
        hooks.dispatched["foreign __setitem__"](self, index, value)
        return
    setitem_of_any(self, index, value)


def setitem_of_any(self: Tensor, index: Any, value: Any) -> None:
    """setitem of an index and a value that override nothing."""
    if isinstance(value, _ASSIGNABLE_NOT):
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor of {self.meta.dtype}")
    items = basic_items(index)
    if items is None:
        if self.meta.dtype.quantized:
            hooks.dispatched["__setitem__"](self, index, value)
        else:
            hooks.advanced_setitem(self, index, value)
        return
    view = basic_view(self, items)
    hooks.assign(view, without_leading_ones(value, view.meta.ndim) if isinstance(value, Tensor) else value)


def without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """`value` without as many leading size-1 dims as it has dims above `ndim`."""
    meta = value.meta
    drop = 0
    while meta.ndim - drop > ndim and meta.sizes[drop] == 1:
        drop += 1
    if not drop:
        return value
    return make_view(value, meta_with(meta, meta.sizes[drop:], meta.strides[drop:]), value.offset)


def basic_items(index: Any) -> tuple[Any, ...] | None:
    """The members of a basic index, 0-dim integer tensors as ints; None when `index` is an advanced one."""
    items = index if isinstance(index, tuple) else (index,)
    result = []
    for item in items:
        if item is None or item is Ellipsis or type(item) is int or type(item) is slice:
            result.append(item)
        elif isinstance(item, bool | list | tuple | range):
            return None
        elif isinstance(item, Tensor):
            meta = item.meta
            if meta.ndim or meta.dtype.category != "int" or meta.dtype is uint8:
                return None
            result.append(item_of(item))
        elif hasattr(item, "shape") and (item.shape != () or item.dtype == bool):
            return None
        else:
            result.append(_plain_index(item))
    return tuple(result)


def _plain_index(item: Any) -> int:
    try:
        return as_index(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        ) from None


def basic_view(self: Tensor, items: tuple[Any, ...]) -> Tensor:
    """The view that a basic index gives; the first Ellipsis fills up, later ones stand for no dim. Raises IndexError
    and ValueError."""
    meta = self.meta
    old_sizes, old_strides, ndim = meta.sizes, meta.strides, meta.ndim
    skip = ndim - len(items) + items.count(None) + items.count(Ellipsis)
    if skip < 0:
        _refuse(meta, items)
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dim = moved = 0
    for item in items:
        kind = type(item)
        if kind is int:
            size = old_sizes[dim]
            if not -size <= item < size:
                raise _out_of_range(item, dim, size)
            moved += (item + size if item < 0 else item) * old_strides[dim]
            dim += 1
        elif kind is slice:
            size, stride = old_sizes[dim], old_strides[dim]
            if item.start is not None or item.stop is not None or item.step is not None:
                start, stop, step = item.indices(size)
                if step <= 0:
                    raise ValueError("step must be greater than zero")
                moved += start * stride
                size = stop - start if step == 1 else (stop - start + step - 1) // step
                size = 0 if size < 0 else size
                stride *= step
            sizes += (size,)
            strides += (stride,)
            dim += 1
        elif item is None:
            sizes += (1,)
            strides += (old_sizes[dim] * old_strides[dim] if dim < ndim else 1,)
        elif skip:
            stop = dim + skip
            sizes += old_sizes[dim:stop]
            strides += old_strides[dim:stop]
            dim, skip = stop, 0
    if dim < ndim:
        sizes += old_sizes[dim:]
        strides += old_strides[dim:]
    return make_view(self, meta_of(sizes, strides, meta.dtype, meta.device, meta.lazy), self.offset + moved)


def _refuse(meta: TensorMeta, items: tuple[Any, ...]) -> None:
    if meta.ndim:
        raise IndexError(f"too many indices for tensor of dimension {meta.ndim}")
    if any(type(item) is slice for item in items):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
