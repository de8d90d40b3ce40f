"""``x[index]`` and ``x[index] = value`` for every index that is not basic, and index, index_put on lists of tensors."""

from __future__ import annotations

import contextlib
from array import array as c_array
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import away
from ..core.device import cpu
from ..core.dtype import DType, bool_, complex32, int64
from ..core.promotion import UPSTREAM_NAMES
from ..core.rounding import complex_numbers, rounded
from ..dispatch.keys import any_autograd
from ..kernels.bound_call import Fresh
from ..kernels.conversion import Immediate
from ..kernels.histogram import limits_kernel
from ..memory.elements import store_bytes
from ..tensor.array_view import FEW, array_of
from ..tensor.hooks import SPECIAL, hooks
from ..tensor.scalars import item
from ..tensor.tensor import Tensor, empty_tensor, view_at_same_place
from ..tensor.tensor_meta import CONJUGATE, TensorMeta, contiguous_meta, recalled
from ..tensor.versions import bump_version, check_written_in_inference
from ..tensor.views import expand, unsqueeze
from .arrays import STEPS, Array, filled, number_as, outside, stored_values, true_places, values
from .copy import clone
from .fill import assigned_number, masked_fill_
from .index_key import INDEX_DTYPES, Key, key_of, split_index, tensor_index_array, without_values
from .invoke import apply
from .launch import element_launch
from .loop_plan import picking
from .masks import masked_finder
from .operand_checks import check_no_overlap, warn_of_internal_overlap
from .plan import Filling, Planned, plannable
from .registration import SMALL_BYTES, kernel, storing
from .tensor_data import tensor_of_few


def advanced_getitem(self: Tensor, index: Any) -> Tensor:
    """A copy of the indexed elements. Raises IndexError for bad indices, ValueError for a slice step below 1."""
    if type(index) is list and not (index and type(index[0]) is list):
        listed = tensor_of_few(index)
        index = listed if listed is not None and listed.meta.dtype in (int64, bool_) else index
    if takes_rows(self, index):
        return _rows_at(self, index)
    if type(index) is Tensor and index.meta.dtype is bool_ and _is_whole_mask(self.meta, index.meta):
        return masked_finder(self.meta, index.meta)(self, index)
    found = _picked_by_several(self, index) if type(index) is tuple and index else None
    if found is not None:
        return found
    view, arrays = split_index(self, index)
    return _pick(view, arrays)


def _picked_by_several(self: Tensor, index: tuple[Any, ...]) -> Tensor | None:
    """Return the elements at an index behind whole slices, or at indices of equal sizes along the first dims. Return
    None for any other index, and for negative places and those out of range."""
    dim, last = len(index) - 1, index[-1]
    behind = 0 < dim < self.meta.ndim and type(last) is Tensor and all(type(one) is slice for one in index[:-1])
    if behind and index[:-1] == (WHOLE,) * dim and takes_rows(self, last):
        return picked_at(self, last, dim)
    places = _joined(self, index)
    return None if places is None else picked_at(*places)


WHOLE = slice(None)


def _joined(self: Tensor, index: Sequence[Any]) -> tuple[Tensor, Tensor] | None:
    """Return the tensor with its indexed dims flattened into one, and the places there that the indices name. Return
    None unless the indices are contiguous and of equal sizes, and all but the first are within range."""
    if len(index) < 2:
        return None
    meta, first = self.meta, index[0]
    if type(first) is not Tensor or not meta.contiguous or meta.ndim < len(index) or meta.lazy:
        return None
    wanted = first.meta
    known = wanted.contiguous and wanted.dtype is int64 and wanted.ndim and wanted.numel and wanted.device is cpu
    if not known or meta.device is not cpu or SPECIAL:
        return None
    if not all(type(one) is Tensor and one.meta is wanted for one in index):
        return None
    places = first
    for size, one in zip(meta.sizes[1 : len(index)], index[1:], strict=True):
        cells = c_array("q", (-1, 0))
        limits_kernel(int64)(cells.buffer_info()[0], one.pointer, 1, wanted.numel, 0, 8)
        if cells[1] < 0 or cells[0] >= size:
            return None
        places = recalled(wanted.plans, "places", _adding_multiples, wanted)(one, places, size)
    sizes = (prod(meta.sizes[: len(index)]), *meta.sizes[len(index) :])
    return view_at_same_place(self, contiguous_meta(sizes, meta.dtype)), places


def _adding_multiples(meta: TensorMeta) -> Callable[..., Tensor]:
    """Return the call of two tensors and a number that adds the number times the second to the first."""
    launch = element_launch("add.alpha", meta, [meta, meta, Immediate(int64)], int64)
    assert launch is not None
    kernel, tail = launch.call()
    return Fresh(kernel, (meta,), tail).native()


def takes_rows(self: Tensor, index: Any) -> bool:
    """Return whether an index is a tensor of positions along dim 0."""
    return type(index) is Tensor and index.meta.ndim > 0 and index.meta.dtype in INDEX_DTYPES and self.meta.ndim > 0


def _rows_at(self: Tensor, index: Tensor) -> Tensor:
    picked = picked_at(self, index)
    return picked if picked is not None else take_along(self, 0, tensor_index_array(index, self.meta.device))


def _is_whole_mask(meta: TensorMeta, mask: TensorMeta) -> bool:
    """Return whether a mask has the sizes of the tensor, both of them in memory as they are."""
    same = mask.sizes == meta.sizes and meta.ndim > 0
    return same and meta.device is cpu and mask.device is cpu and not meta.lazy


def picked_at(self: Tensor, index: Tensor, dim: int = 0) -> Tensor | None:
    """The parts of `self` at a contiguous index along a dim, if all lie in [0, size); None for anything else."""
    call: Any = recalled(self.meta.plans, ("picked", dim, index.meta), _picking, self.meta, index.meta, dim)
    return call(self, index) if call else None


def _picking(meta: TensorMeta, index: TensorMeta, dim: int) -> Callable[..., Any] | bool:
    """Return the call that picks; False where memory or layout do not allow it."""
    if meta.device is not cpu or index.device is not cpu or meta.lazy or not index.contiguous:
        return False
    before, behind = meta.sizes[:dim], meta.sizes[dim + 1 :]
    flat = contiguous_meta((*before, index.numel, *behind), meta.dtype)
    if not flat.numel or not meta.numel:
        return False
    row = contiguous_meta((index.numel,), index.dtype)
    call = picking(flat, meta, row, dim, (*[1] * dim, index.numel, *[1] * len(behind)))
    return call._replace(results=(contiguous_meta((*before, *index.sizes, *behind), meta.dtype),)).native()


def advanced_setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a number or a tensor of equal dtype into the indexed elements; leading size-1 dims are dropped. Raises as
    advanced_getitem, and RuntimeError when value and destination differ in dtype or do not broadcast."""
    if not isinstance(value, Tensor):
        value = assigned_number(value)
    if type(index) is Tensor and index.meta.dtype is bool_ and _fill_where(self, index, value):
        return
    joined = _joined(self, index) if type(index) is tuple else None
    target, places = joined or (self, index)
    if _put_rows(target, places, value):
        return
    view, arrays = split_index(self, index)
    given = index if isinstance(index, tuple | list) else (index,)
    _put(view, arrays, value, given, accumulate=False, drop=True)


INT8_MAX = 127
"""Every dtype but bool holds the numbers from 0 to this."""


def _put_rows(self: Tensor, index: Any, value: Any) -> bool:
    """Write a tensor or a number to a vector of places along dim 0. Return False, with nothing written, for any other
    index and for values that do not fit."""
    if SPECIAL or not takes_rows(self, index) or index.meta.ndim > 1 or index.meta.device is not cpu:
        return False
    dtype, sizes = self.meta.dtype, (index.meta.numel, *self.meta.sizes[1:])
    if isinstance(value, Tensor):
        fits = value.meta.dtype is dtype and sizes[len(sizes) - value.meta.ndim :] == value.meta.sizes
        if not fits or any_autograd((self, value), {}):
            return False
        apply("index_put_", self, (index,), value)
        return True
    kind = float if dtype.is_floating_point else int if dtype.category == "int" else None
    if type(value) is not kind or not 0 <= value <= INT8_MAX or not self.meta.numel or not dtype.computes:
        return False
    if self.meta.device is not cpu or any_autograd((self,), {}):
        return False
    try:
        apply("index_fill_.int_Scalar", self, 0, index, value)
    except IndexError:  # nothing is written yet; the general path names the index as an index is named
        return False
    return True


def _fill_where(self: Tensor, mask: Tensor, value: Any) -> bool:
    """Return whether `value` is one number for the places of a mask, which is then stored by masked_fill_."""
    sizes, ndim = self.meta.sizes, mask.meta.ndim
    if not ndim or mask.meta.sizes != sizes[:ndim] or not self.meta.dense or mask.meta.device is not cpu:
        return False
    if isinstance(value, Tensor):
        if value.meta.numel != 1 or value.meta.ndim > 1 or value.storage_impl is self.storage_impl:
            return False
        value = item(value)
    for _ in range(len(sizes) - ndim):
        mask = unsqueeze(mask, mask.meta.ndim)
    if SPECIAL or self.meta.lazy or any_autograd((self,), {}):
        masked_fill_(self, mask, value)
    else:
        apply("masked_fill_.Scalar", self, mask, value)
    return True


@kernel("index.Tensor")
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements named by one index tensor (or None) per dim, as a copy. Raises IndexError."""
    if len(indices) == 1 and takes_rows(self, indices[0]):
        return _rows_at(self, indices[0])  # type: ignore[arg-type]
    places = _joined(self, indices)
    found = None if places is None else picked_at(*places)
    if found is not None:
        return found
    return _pick(self, _arrays_of(self, indices))


Indices = Sequence[Tensor | None]


@kernel("index_put_")
@plannable
def index_put_(
    self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False
) -> Tensor | Planned[Tensor]:
    """Write `values` into the elements that index would give; with `accumulate` add them, repeats included."""
    _put(self, _arrays_of(self, indices), values, indices, accumulate)
    small = self.meta.nbytes <= SMALL_BYTES and self.meta.contiguous and len(indices) == 1
    call = _putting_rows(self, self.meta, indices[0], values, accumulate) if small else None
    return self if call is None else Planned(self, storing(call, apart=True), (self, indices, values))


@kernel("index_put", derive=False)
@plannable
def index_put(
    self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False
) -> Tensor | Planned[Tensor]:
    """A copy of `self` after index_put_."""
    result = clone(self)
    _put(result, _arrays_of(result, indices), values, indices, accumulate)
    result.storage_impl.version = 0
    call = _putting_rows(self, result.meta, indices[0], values, accumulate) if len(indices) == 1 else None
    return result if call is None else Planned(result, call, (self, indices, values))


def _putting_rows(
    self: Tensor, made: TensorMeta, index: Tensor | None, values: Tensor, accumulate: bool
) -> Callable[..., Any] | None:
    """Return the call of a tensor, a list of an index and values that writes rows into a copy; it declines places below
    0. None unless the index is a vector of places along dim 0 and there is a row for each."""
    from .indexing.scatter_loop import planned_scatter

    if index is None or not takes_rows(self, index) or index.meta.ndim != 1 or not values.meta.numel:
        return None
    alike = values.meta.dtype is made.dtype and not made.lazy and not values.meta.lazy
    sizes = (index.meta.numel, *made.sizes[1:])
    if not alike or values.meta.sizes != sizes[len(sizes) - values.meta.ndim :]:
        return None
    if values.meta.ndim < len(sizes):
        values = expand(values, sizes)
    found = planned_scatter("index_put", made, self.meta, 0, index, values, "add" if accumulate else None)
    if found is None:
        return None
    call = found[0]
    return lambda self, indices, values: call(self, *indices, values)


def _arrays_of(self: Tensor, indices: Sequence[Tensor | None]) -> dict[int, Array]:
    arrays: dict[int, Array] = {}
    bare: list[tuple[int, Array]] = []  # masks without dims, which beside other indices name no place
    dim = 0
    for tensor in indices:
        if tensor is None:
            dim += 1
            continue
        array = tensor_index_array(tensor, self.meta.device)
        if not array.ndim and array.dtype == np.bool_:
            bare.append((dim, array))
            continue
        arrays[dim] = array
        dim += array.ndim if array.dtype == np.bool_ else 1
    if dim > self.meta.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.meta.ndim} (got {dim})")
    if len(bare) > 1 and not arrays:
        raise RuntimeError(f"index(): argument 'indices' may hold one mask without dims alone, got {len(bare)}")
    return arrays or dict(bare)


def _pick(view: Tensor, arrays: dict[int, Array]) -> Tensor:
    key, dtype = key_of(view, arrays), view.meta.dtype
    if view.meta.device is not cpu:
        if any(without_values(array) for array in arrays.values()):
            raise NotImplementedError("index(): the sizes of the result depend on a mask that has no data")
        return empty_tensor(_result_shape(view.meta.sizes, key), dtype, view.meta.device)
    array = stored_values(view)
    single = [dim for dim, part in enumerate(key) if not isinstance(part, slice)]
    if len(single) == 1:
        dim, part = single[0], key[single[0]]
        if part.dtype != np.bool_:
            return take_along(view, dim, part)
        if part.ndim == array.ndim:
            found: Tensor = take_true(array, part, dtype).result
            return found
    sizes = _result_shape(array.shape, key)
    with _renamed_index_errors():
        return filled(sizes, dtype, array[key])


def take_true(array: Array, mask: Array, dtype: DType) -> Filling:
    """The elements of `array` where `mask`, of the same sizes, is true, in row-major order."""
    places = true_places(mask if mask.ndim == 1 else mask.reshape(-1))[0]

    def fill(result: Tensor) -> None:
        if 0 < places.size <= FEW:
            store_bytes(result.pointer, array.reshape(-1).take(places).tobytes())
        elif places.size:
            away(STEPS * places.size, array.reshape(-1).take, places, out=array_of(result), mode="clip")

    return Filling((contiguous_meta((places.size,), dtype),), fill)


def take_along(self: Tensor, dim: int, index: Array) -> Tensor:
    """The parts of `self` at `index` along `dim`; negative indices count from the end. Raises IndexError."""
    sizes = self.meta.sizes
    result = empty_tensor(sizes[:dim] + index.shape + sizes[dim + 1 :], self.meta.dtype, self.meta.device)
    if result.meta.device is not cpu:
        return result
    bad = outside(index, sizes[dim], -sizes[dim])
    if bad is not None:
        raise index_error(bad, dim, sizes[dim])
    stored_values(self).take(index, axis=dim, out=array_of(result), mode="wrap")
    return result


def index_error(index: int, dim: int, size: int) -> IndexError:
    """The exception for an index out of range."""
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


@contextlib.contextmanager
def _renamed_index_errors() -> Iterator[None]:
    try:
        yield
    except IndexError as error:
        raise IndexError(str(error).replace("axis", "dimension")) from None


def _put(
    view: Tensor, arrays: dict[int, Array], value: Any, indices: Sequence[Any], accumulate: bool, drop: bool = False
) -> None:
    """Write `value`; with `drop`, or for a mask and a single element, it may have extra leading dims of size 1.
    `indices` include the tensors that `arrays` were made from."""
    meta, key = view.meta, key_of(view, arrays)
    filling = not accumulate and _is_mask(key[-1:]) and (not isinstance(value, Tensor) or value.meta.numel == 1)
    if not filling:
        check_no_overlap(view, *[one for one in indices if isinstance(one, Tensor) and one.meta.ndim])
    if isinstance(value, Tensor) and value.meta.dtype is not meta.dtype:
        if not filling:
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got "
                f"{UPSTREAM_NAMES[meta.dtype.name]} for the destination and "
                f"{UPSTREAM_NAMES[value.meta.dtype.name]} for the source."
            )
        value = item(value)
    if isinstance(value, Tensor) and not drop and not filling:
        shape = _result_shape(meta.sizes, key)
        if value.meta.ndim > len(shape):
            raise _mismatch(value.meta.sizes, shape)
    warn_of_internal_overlap("index_put_", view)
    if meta.device is not cpu:
        if not any(without_values(array) for array in arrays.values()):
            _check_source(value.meta.sizes if isinstance(value, Tensor) else (), _result_shape(meta.sizes, key))
        bump_version(view)
        return
    check_written_in_inference(view)
    source = _source_array(view, value)
    if meta.lazy:
        source = np.conjugate(source) if meta.lazy & CONJUGATE else source
        source = source if meta.lazy <= CONJUGATE else np.negative(source)
    _write(array_of(view), key, source if meta.dtype.computes else rounded(source, meta.dtype), accumulate)
    bump_version(view)


def _source_array(view: Tensor, value: Any) -> Array:
    dtype = view.meta.dtype
    if not isinstance(value, Tensor):
        number = number_as("index_put_", dtype, value)
        return complex_numbers(number) if dtype is complex32 else number
    if value.storage_impl is view.storage_impl:
        check_no_overlap(view, value)
        return values(value).copy()
    return values(value)


def _write(target: Array, key: Key, source: Array, accumulate: bool) -> None:
    shape = _result_shape(target.shape, key)
    _check_source(source.shape, shape)
    source = source.reshape(source.shape[max(0, source.ndim - len(shape)) :])
    with _renamed_index_errors(), np.errstate(all="ignore"):
        if not accumulate and not source.ndim and _is_mask(key):
            mask = key[0]
            np.copyto(target, source, where=mask.reshape(mask.shape + (1,) * (target.ndim - mask.ndim)))
        elif not accumulate:
            target[key] = source
        elif target.dtype == np.bool_:
            np.logical_or.at(target, key, source)
        else:
            np.add.at(target, key, source)


def _check_source(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """RuntimeError unless `sizes`, without leading ones too many, broadcast to `shape`."""
    wanted = (1,) * (len(sizes) - len(shape)) + shape[max(0, len(shape) - len(sizes)) :]
    if any(size not in (1, most) for size, most in zip(sizes, wanted, strict=True)):
        raise _mismatch(sizes, shape)


def _mismatch(sizes: tuple[int, ...], shape: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(sizes)} cannot be broadcast to indexing result of shape "
        f"{list(shape)}"
    )


def _is_mask(key: Key) -> bool:
    return len(key) == 1 and not isinstance(key[0], slice) and bool(key[0].dtype == np.bool_)


def _result_shape(sizes: tuple[int, ...], key: Key) -> tuple[int, ...]:
    """The sizes of an array of `sizes` indexed with `key`."""
    places = [dim for dim, part in enumerate(key) if not isinstance(part, slice)]
    if not places:
        return sizes
    first, last = places[0], places[-1]
    if key[first].dtype == np.bool_:
        covered = key[first].ndim
        return (*sizes[:first], int(np.count_nonzero(key[first])), *sizes[first + covered :])
    try:
        common = np.broadcast_shapes(*[key[dim].shape for dim in places])
    except ValueError:
        shapes = ", ".join(str(list(key[dim].shape)) for dim in places)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    if last - first + 1 == len(places):
        return sizes[:first] + common + sizes[last + 1 :]
    return common + tuple([size for dim, size in enumerate(sizes) if dim not in places])


hooks.advanced_getitem = advanced_getitem
hooks.advanced_setitem = advanced_setitem
