"""``x[index]`` and ``x[index] = value`` as the operators they consist of: select, slice, unsqueeze, index, copy_."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.device import Device, cpu, meta_device
from ..core.dtype import float32
from ..dispatch.dispatcher import REGISTRY, call, call_on
from ..dispatch.modes import wrapped_tensors
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..operators.advanced_indexing import takes_rows
from ..operators.arrays import Array
from ..operators.conversion import converted
from ..operators.fill import assigned_number
from ..operators.index_key import dims_of, index_parts
from ..operators.invoke import apply
from ..operators.tensor_data import tensor
from ..tensor.basic_indexing import getitem_of_any, setitem_of_any, without_leading_ones
from ..tensor.tensor import Tensor
from ..tensor.views import alias

VIEW = REGISTRY.find("view")
LAST = (1 << 63) - 1
"""The end of a slice that has none."""
INDEX_PUT, COPY, FILL, FULL = (REGISTRY.find(name) for name in ("index_put_", "copy_", "fill_.Scalar", "full"))

QUICK = {int, slice, type(None), type(Ellipsis)}
"""Members of an index that are taken as they are."""


def getitem(self: Tensor, index: Any) -> Any:
    """``x[index]``. Raises IndexError, and ValueError for a slice step below 1."""
    kind = type(index)
    if kind is int and self.meta.ndim:
        size = self.meta.sizes[0]
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {size}")
        return apply("select.int", self, 0, index)
    if kind in QUICK:
        view = _view(self, (index,))
    elif kind is tuple and QUICK.issuperset(map(type, index)):
        view = _view(self, index)
    elif takes_rows(self, index):
        return apply("index.Tensor", self, [index])
    else:
        view, indices = _taken_apart(self, index)
        if indices:
            return apply("index.Tensor", view, indices)
    if view is not self:
        return view
    return call_on(VIEW, self, self.meta.sizes) if self.meta.has_autograd else alias(self)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``. Raises as getitem, TypeError for a value that is neither a number nor a tensor."""
    if isinstance(value, (list, tuple, dict, str, bytes, type(None))):
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor of {self.meta.dtype}")
    view, indices = _taken_apart(self, index)
    if indices:
        if not isinstance(value, Tensor):
            dtype = float32 if self.meta.dtype.quantized else self.meta.dtype
            value = call(FULL, (), assigned_number(value), dtype=dtype, device=self.meta.device)
        call(INDEX_PUT, view, indices, value, False)
    elif isinstance(value, Tensor):
        call(COPY, view, without_leading_ones(value, view.meta.ndim), False)
    else:
        call(FILL, view, assigned_number(value))


def foreign_getitem(self: Tensor, index: Any) -> Any:
    """``x[index]`` where the index has something of an unknown class, which may override the call."""
    found = intercept(_method("__getitem__"), (self, index), {})
    if found is not NOT_OVERRIDDEN:
        return found
    return getitem(self, index) if wrapped_tensors((index,), {}) else getitem_of_any(self, index)


def foreign_setitem(self: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value`` where index or value has something of an unknown class, which may override the call."""
    if intercept(_method("__setitem__"), (self, index, value), {}) is not NOT_OVERRIDDEN:
        return
    if wrapped_tensors((index, value), {}):
        setitem(self, index, value)
    else:
        setitem_of_any(self, index, value)


def _method(name: str) -> Any:
    return getattr(Tensor, name)


def _taken_apart(self: Tensor, index: Any) -> tuple[Any, list[Tensor | None]]:
    """The basic part applied, and what index takes: a tensor or None for each dim up to the last one indexed."""
    basic, members = index_parts(index, self.meta.device)
    dims = dims_of(basic, self.meta.ndim)
    view = _view(self, basic)
    indices: list[Tensor | None] = []
    taken = 0
    for place, array, given in members:
        indices += [None] * (dims[place] - taken)
        indices.append(given if isinstance(given, Tensor) else _index_tensor(array, self.meta.device))
        taken = dims[place] + (array.ndim if array.dtype == bool else 1)
    return view, indices


def _index_tensor(array: Array, device: Device) -> Tensor:
    """A list of an index as a tensor where it is used; beside tensors without data it keeps its values."""
    here = tensor(array)
    return here if device is meta_device or device is cpu else converted(here, None, device)


def _view(self: Tensor, basic: Sequence[Any]) -> Any:
    ndim = self.meta.ndim
    used = len(basic) - basic.count(None) - basic.count(Ellipsis)
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    view: Any = self
    dim = 0
    seen_ellipsis = False
    for item in basic:
        if item is Ellipsis:
            dim += 0 if seen_ellipsis else ndim - used
            seen_ellipsis = True
        elif item is None:
            view = apply("unsqueeze", view, dim)
            dim += 1
        elif isinstance(item, int):
            size = view.meta.sizes[dim]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {size}")
            view = apply("select.int", view, dim, item)
        else:
            start, stop, step = item.start, item.stop, item.step
            if step is not None and step <= 0:
                raise ValueError("step must be greater than zero")
            if start is not None or stop is not None or step is not None:
                start, stop = 0 if start is None else start, LAST if stop is None else stop
                view = apply("slice.Tensor", view, dim, start, stop, 1 if step is None else step)
            dim += 1
    return view
