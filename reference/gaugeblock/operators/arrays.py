"""Between tensors and NumPy: values, fresh tensors to hold results, tensors of more dims than NumPy takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from ..core import lazy_numpy as np
from ..core.away import away, long_call
from ..core.device import Device, cpu
from ..core.dtype import DType, bfloat16, complex32, float16
from ..core.errors import check_sizes, wrap_dim
from ..core.rounding import ROUNDED_HERE, rounded
from ..iteration.tensor_iterator import common_device
from ..kernels.bound_call import Fresh
from ..tensor.array_view import array_at, array_of, array_of_lazy
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, empty_tensor
from ..tensor.tensor_meta import TensorMeta
from .invoke import result_type
from .operand_checks import check_fits
from .plan import Filling, Planned, planned_fresh

Wanted: TypeAlias = tuple[Callable[..., TensorMeta], Sequence[int], DType]
"""A function that lays out a result (contiguous_meta), its sizes and dtype."""
Array: TypeAlias = "np.ndarray[Any, Any]"
PIECE = 1 << 22
"""Elements that are searched between two looks for signals."""
STEPS = 512
"""Steps of work that an element of a result takes, at most."""
values = array_of_lazy
"""The tensor's values as an array; a view of its memory unless they are lazily conjugate or negative."""


def stored_values(tensor: Tensor) -> Array:
    """Return the values in the dtype of the tensor's memory: those of complex32 as records."""
    array = values(tensor)
    return rounded(array, complex32) if tensor.meta.dtype is complex32 else array


def filled(sizes: Sequence[int], dtype: DType, array: Any) -> Tensor:
    """A fresh row-major CPU tensor with the values of `array`, which broadcasts to `sizes` and is cast to `dtype`."""
    return _filled(empty_tensor(tuple(sizes), dtype), array)


def _filled(result: Tensor, array: Any) -> Tensor:
    _store(array_of(result), result.meta.dtype, array)
    return result


def _store(target: Array, dtype: DType, array: Any) -> None:
    kind = getattr(array, "dtype", None)
    if kind is dtype.numpy or (kind is not None and kind.kind in "iub" and dtype.computes):
        target[...] = array
        return
    with np.errstate(all="ignore"):
        target[...] = array if dtype.computes else rounded(array, dtype)


def computed(sizes: Sequence[int], dtype: DType, device: Device, compute: Callable[[], Any]) -> Tensor:
    """A fresh row-major tensor; on the CPU with the values of ``compute()``, which broadcast and are cast."""
    if device is not cpu:
        return empty_tensor(tuple(sizes), dtype, device)
    # The result comes first: sizes that no memory has are refused before anything of such sizes is computed.
    result = empty_tensor(tuple(sizes), dtype)
    made: Tensor = away(STEPS * prod(sizes), lambda: _filled(result, compute()))
    return made


def planned_arrays(
    kind: str | None, operands: tuple[Tensor, ...], compute: Callable[..., Sequence[Any]], *wanted: Wanted,
    kept: bool = True,
) -> Planned[Any]:  # fmt: skip
    """Plan what `compute` returns for the arrays of the operands: in the named tuple of operator `kind`, else the first
    result alone. What is not `kept` is planned again at each call. Nothing is computed without data."""
    metas, run = _on_arrays(operands, compute, wanted)
    fresh = Fresh(run, metas, (), temporary=0 if kind else len(metas) - 1)
    plan = planned_fresh(fresh, *operands, kind=result_type(kind) if kind else None)
    plan.call = plan.call if kept else None
    return plan


def filled_arrays(
    kind: str | None, operands: tuple[Tensor, ...], compute: Callable[..., Sequence[Any]], *wanted: Wanted
) -> Filling:
    """Fill the results with what `compute` returns for the arrays of the operands, as planned_arrays."""
    metas, run = _on_arrays(operands, compute, wanted)

    def fill(*results: Tensor) -> None:
        if run is not None:
            run(*[one.pointer for one in (*results, *operands)])

    return Filling(metas, fill, result_type(kind) if kind else None)


def metas_of(wanted: Sequence[Wanted], device: Device = cpu) -> tuple[TensorMeta, ...]:
    """Return the metas of results."""
    return tuple([layout(tuple(sizes), dtype, device) for layout, sizes, dtype in wanted])


def _on_arrays(
    operands: tuple[Tensor, ...], compute: Callable[..., Sequence[Any]], wanted: Sequence[Wanted]
) -> tuple[tuple[TensorMeta, ...], Callable[..., None] | None]:
    """Return the metas of the results, and what computes them, given their addresses and those of the operands."""
    device, given = operands[0].meta.device, [one.meta for one in operands]
    metas = metas_of(wanted, device)

    def run(*addresses: int) -> None:
        arrays = map(array_at, given, addresses[len(metas) :])
        for meta, address, found in zip(metas, addresses, compute(*arrays), strict=False):
            if meta.numel:
                _store(array_at(meta, address), meta.dtype, found)

    if device is not cpu or not any(meta.numel for meta in metas):
        return metas, None
    return metas, long_call(STEPS * max([meta.numel for meta in (*metas, *given)]), run)


def from_array(array: Array, dtype: DType) -> Tensor:
    """A fresh row-major CPU tensor with sizes and values of `array`."""
    return filled(array.shape, dtype, array)


def outline(sizes: Sequence[int], dtype: DType, device: Device = cpu) -> tuple[Tensor, Array | None]:
    """A fresh tensor and the array to fill it through; no array when the device holds no data."""
    check_sizes("empty", sizes)
    result = empty_tensor(tuple(sizes), dtype, device)
    return result, array_of(result) if device is cpu else None


def store(tensor: Tensor, array: Any) -> Tensor:
    """Store `array`, which broadcasts to the tensor's sizes, in place, without a trace in the tensor's version."""
    target = array_of(tensor)
    with np.errstate(all="ignore"):
        target[...] = rounded(array, tensor.meta.dtype) if tensor.meta.dtype in ROUNDED_HERE else array
    return tensor


def check_same_device(operator: str, *tensors: Tensor) -> Device:
    """The device of `tensors`. Raises RuntimeError when two differ."""
    first = tensors[0].meta.device
    if all(tensor.meta.device is first for tensor in tensors):
        return first
    return common_device([tensor.meta for tensor in tensors])


def widened(array: Array, dtype: DType) -> Array:
    """`array` with half precision widened to float32, for accumulation."""
    return array.astype(np.float32) if dtype is float16 or dtype is bfloat16 else array


def true_places(array: Array) -> tuple[Array, ...]:
    """Return what ``array.nonzero()`` gives, found piece by piece: NumPy lets no other thread run meanwhile."""
    if array.size <= PIECE:
        return array.nonzero()
    found: tuple[Array, ...] = away(STEPS * array.size, _true_pieces, array)
    return found


def _true_pieces(array: Array) -> tuple[Array, ...]:
    rows = max(1, PIECE * len(array) // array.size)
    parts = []
    for begin in range(0, len(array), rows):
        found = array[begin : begin + rows].nonzero()
        found[0][...] += begin
        parts.append(found)
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def outside(places: Array, size: int, lowest: int = 0) -> int | None:
    """Return a place outside of [lowest, size), None if there is none."""
    if not places.size:
        return None
    low, high = int(places.min()), int(places.max())
    return low if low < lowest else high if high >= size else None


def number_as(operator: str, dtype: DType, value: Any) -> Array:
    """A 0-dim array of `dtype` holding the Python number `value`. Raises RuntimeError when it does not fit. Floats lose
    their fraction on the way to integers; a negative number wraps into an unsigned dtype."""
    if isinstance(value, np.generic):
        value = value.item()
    check_fits(operator, value, dtype)
    if isinstance(value, complex) and not dtype.is_complex:
        value = value.real
    return np.asarray(int(value)).astype(dtype.numpy) if dtype.kind == 1 else rounded(value, dtype)


MOST_DIMS = 30
"""NumPy indexes arrays of up to 32 dims with arrays, and some operators add one or two."""


def along(operator: str, self: Tensor, dim: int, call: Callable[[Tensor], Any], *, keepdim: bool = True) -> Any:
    """Return what `call` makes of `self` as three dims, where it works along dim 1, with the other dims back. `call`
    keeps dim 1, which the results lose without `keepdim`. Raises IndexError for a dim out of range."""
    sizes = self.meta.sizes
    place = wrap_dim(operator, dim, len(sizes))
    before, after = sizes[:place], sizes[place + 1 :]
    found = call(reshape(self, (prod(before), sizes[place], prod(after))))

    def back(result: Tensor) -> Tensor:
        return reshape(result, (*before, *((result.meta.sizes[1],) if keepdim else ()), *after))

    return back(found) if isinstance(found, Tensor) else type(found)(*map(back, found))
