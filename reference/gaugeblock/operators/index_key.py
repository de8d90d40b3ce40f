"""An index expression taken apart: its basic part as a view, its index arrays by dim of that view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import lazy_numpy as np
from ..core.device import Device, cpu, meta_device
from ..core.dtype import DType, bool_, dtype_from_numpy, int32, int64, uint8
from ..core.warn import warn
from ..memory.storage import DatalessStorage
from ..tensor.basic_indexing import basic_view
from ..tensor.scalars import item as item_of
from ..tensor.tensor import Tensor
from .arrays import Array, values
from .conversion import host

LEGACY_TUPLE_LIMIT = 32
INDEX_DTYPES = (int32, int64)
MASK_DTYPES = (bool_, uint8)

Key = tuple[Any, ...]
"""What NumPy indexes the view's array with: an array or slice(None) for each dim, or one mask."""


def split_index(self: Tensor, index: Any) -> tuple[Tensor, dict[int, Array]]:
    """The view that the basic part of `index` gives, and the advanced members by the first dim they apply to.

    Python ints and 0-dim integer tensors are applied as selects before anything else; a bool adds a dim of size 1
    and indexes it. Raises IndexError, and ValueError for a slice step below 1.
    """
    basic, members = index_parts(index, self.device)
    dims = dims_of(basic, self.meta.ndim)
    return basic_view(self, tuple(basic)), {dims[place]: array for place, array, _ in members}


def index_parts(index: Any, device: Device) -> tuple[list[Any], list[tuple[int, Array, Any]]]:
    """The basic part of an index, and its advanced members: place in the basic part, as an array, as given."""
    basic: list[Any] = []
    members: list[tuple[int, Array, Any]] = []
    for item in _members(index):
        if item is None or item is Ellipsis or isinstance(item, slice):
            basic.append(item)
            continue
        if isinstance(item, Tensor) and isinstance(item.storage_impl, DatalessStorage):
            members.append((len(basic), _outline(item), item))
            basic += [slice(None)] * (item.meta.ndim if item.meta.dtype.kind == 0 else 1)
            continue
        array = item if isinstance(item, int) and not isinstance(item, bool) else _index_array(item, device)
        if isinstance(array, int):
            basic.append(array)
        elif array.ndim == 0 and array.dtype == np.bool_:
            members.append((len(basic), np.zeros(int(array), np.int64), None))
            basic.append(None)
        else:
            members.append((len(basic), array, item))
            basic += [slice(None)] * (array.ndim if array.dtype == np.bool_ else 1)
    return basic, members


def _outline(wrapper: Tensor) -> Array:
    """Return an array of the sizes of a tensor without memory, of bool for a mask."""
    return np.broadcast_to(np.zeros((), np.bool_ if wrapper.meta.dtype.kind == 0 else np.int64), wrapper.meta.sizes)


def dims_of(basic: Sequence[Any], ndim: int) -> list[int]:
    """For each member of a basic index into `ndim` dims, the dim of the view that it applies to."""
    used = sum(item is not None and item is not Ellipsis for item in basic)
    dims, dim = [], 0
    for item in basic:
        dims.append(dim)
        if item is Ellipsis:
            dim += ndim - used
        elif not isinstance(item, int):
            dim += 1
    return dims


def _members(index: Any) -> Sequence[Any]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < LEGACY_TUPLE_LIMIT:
        special = (list, tuple, slice, Tensor, type(Ellipsis), type(None))
        if any(isinstance(item, special) for item in index):
            warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
                "x[seq], or x[tensor(seq)] when an index array is meant"
            )
            return index
    return (index,)


def _index_array(item: Any, device: Device) -> Array | int:
    """An int64 array, a boolean mask, or an int for a 0-dim integer."""
    if isinstance(item, Tensor):
        meta = item.meta
        if not meta.ndim and meta.dtype.category == "int" and meta.dtype is not uint8:
            return int(item_of(item))
        return tensor_index_array(item, device)
    array = np.asarray(_plain(item) if isinstance(item, list | tuple | range) else item)
    if array.size == 0 and isinstance(item, list | tuple | range):
        return array.astype(np.int64)
    dtype = dtype_from_numpy(array.dtype)
    if not array.ndim and dtype is not None and dtype.category == "int":
        return int(array)
    if dtype is None or array.dtype == object:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        )
    if isinstance(item, list | tuple | range) and dtype.category == "int":
        return array.astype(np.int64)
    _check_index_dtype(dtype)
    return array.astype(np.bool_) if dtype is uint8 else array


MOST_DIMS = 64
"""Lists within lists that an index may be made of; a list may contain itself."""


def _plain(item: Any, depth: int = 0) -> Any:
    if isinstance(item, list | tuple):
        if depth == MOST_DIMS:
            raise IndexError(f"index: a list may hold lists {MOST_DIMS} deep, got more")
        return [_plain(part, depth + 1) for part in item]
    return values(host(item)) if isinstance(item, Tensor) else item


def tensor_index_array(tensor: Tensor, device: Device) -> Array:
    """The values of an index tensor: int32 or int64, or a mask of bool or (deprecated) uint8. Raises IndexError. An
    index without data, good for a tensor on its `device` only (RuntimeError otherwise), is zeros of its sizes."""
    dtype = tensor.meta.dtype
    _check_index_dtype(dtype)
    if tensor.meta.device is cpu:
        array = values(tensor)
    elif tensor.meta.device is device is not meta_device and dtype.kind == 0 and not tensor.meta.ndim:
        array = values(host(tensor))
    elif tensor.meta.device is device:
        if dtype.kind == 0 and not tensor.meta.ndim:
            raise NotImplementedError("index(): a 0-dim mask that has no data can be neither taken nor left")
        return np.broadcast_to(np.zeros((), np.bool_ if dtype is uint8 else dtype.numpy), tensor.meta.sizes)
    else:
        raise RuntimeError(
            f"indices should be either on cpu or on the same device as the indexed tensor ({device}), got "
            f"{tensor.meta.device}"
        )
    if dtype is uint8:
        if array.ndim:
            warn("indexing with dtype uint8 is deprecated, use a bool tensor instead")
        return array.astype(np.bool_)
    return array


def without_values(array: Array) -> bool:
    """Return whether the array stands for a mask without data, in which nothing can be counted."""
    return bool(array.dtype == np.bool_ and array.ndim and not any(array.strides) and not array.flags.writeable)


def _check_index_dtype(dtype: DType) -> None:
    if dtype not in INDEX_DTYPES and dtype not in MASK_DTYPES:
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {dtype.name}")


def key_of(view: Tensor, arrays: dict[int, Array]) -> Key:
    """The NumPy index for `arrays` by dim of `view`; masks become one int64 array per dim they cover. Raises IndexError
    for a mask whose sizes differ from those of its dims."""
    sizes = view.meta.sizes
    key: list[Any] = [slice(None)] * len(sizes)
    for dim, array in arrays.items():
        if array.dtype != np.bool_:
            key[dim] = array
            continue
        if array.shape != sizes[dim : dim + array.ndim]:
            raise IndexError(
                f"The shape of the mask {list(array.shape)} at index {dim} does not match the shape of the indexed "
                f"tensor {list(sizes)} at index {dim}"
            )
        if len(arrays) == 1:
            return (*key[:dim], array)
        key[dim : dim + array.ndim] = array.nonzero()
    return tuple(key)
