"""tensor(): data written down in Python becomes a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from struct import error as struct_error
from typing import Any, NoReturn

from ..core import lazy_numpy as np
from ..core.away import away
from ..core.device import Device, as_device, cpu
from ..core.dtype import (
    DEFAULTS,
    DType,
    bfloat16,
    bool_,
    complex32,
    dtype_from_numpy,
    dtype_of_number,
    float32,
    float64,
    int32,
    int64,
)
from ..core.errors import type_error
from ..core.limits import iinfo
from ..core.promotion import promote_types
from ..core.rounding import rounded
from ..core.warn import warn, warn_once
from ..dispatch.dispatcher import call
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, taken
from ..memory.elements import pack_elements, store_bytes
from ..tensor.array_view import array_of, array_of_lazy
from ..tensor.getters import set_requires_grad
from ..tensor.hooks import SPECIAL, hooks
from ..tensor.scalars import item
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.splitting import unbind
from ..tensor.tensor import Tensor, empty_tensor
from .allocation import EMPTY, on_device, pinned
from .arguments import dtype_argument, sizes_argument
from .arrays import STEPS
from .invoke import apply

_SEQUENCES = (list, tuple, range)
MOST_DIMS = 128
"""Lists within lists that are read; a list may contain itself."""
PIECE = 1 << 20
"""Numbers of a list that are read between two looks for signals."""
_NUMBERS = (bool, int, float, complex)


def tensor(
    data: Any, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A fresh tensor with the values of nested sequences, a number, an array or a tensor.

    Without `dtype`: bool, int64, the default float or complex dtype, whichever kind is the widest present; arrays,
    tensors and NumPy scalars bring their own. Raises ValueError for ragged sequences and ints beyond 64 bits,
    RuntimeError for a number that the dtype cannot hold, TypeError for complex data and a real dtype.
    """
    if SPECIAL or data.__class__ not in PLAIN:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        found = taken(tensor, (data,), options)
        if found is not NOT_OVERRIDDEN:
            return found  # type: ignore[no-any-return]
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()")
        if isinstance(data, SparseTensor):
            made = apply("to.device", apply("detach", data), data.meta.device if device is None else device, dtype)
            made = apply("clone", made)
            return set_requires_grad(made, True) if requires_grad else made
    here = device is None or (device is cpu and not SPECIAL)
    if here and not requires_grad and not pin_memory:
        result = tensor_of_few(data, dtype)
        if result is not None:
            return hooks.dispatched["made"](result) if SPECIAL else result
    place = as_device(device)
    values, kind = values_of(data, dtype_argument("tensor", dtype))

    def make(device: Device) -> Tensor:
        made = empty_tensor(values.shape, kind, device)
        if device is cpu and values.size:
            array_of(made)[...] = values
        return made

    result = pinned(on_device(place, make)) if pin_memory else on_device(place, make)
    if SPECIAL:
        result = hooks.dispatched["made"](result)
    return set_requires_grad(result, True) if requires_grad else result


def new_tensor(
    self: Tensor, data: Any, *, dtype: DType | None = None, device: Device | str | None = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return tensor() with the dtype and device of `self` unless others are given."""
    place = self.meta.device if device is None else device
    kind = self.meta.dtype if dtype is None else dtype
    return tensor(data, dtype=kind, device=place, requires_grad=requires_grad, pin_memory=pin_memory)


def legacy_tensor(*sizes: Any) -> Tensor:
    """``Tensor(2, 3)`` is empty(2, 3), ``Tensor([1, 2])`` a tensor of the default dtype."""
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tensor(sizes[0], dtype=DEFAULTS.dtype, device=cpu)
    made: Tensor = call(EMPTY, sizes_argument("Tensor", sizes or (0,)))
    return made


FEW_NUMBERS = 64
STORED_AS: dict[Any, tuple[DType, ...]] = {float: (float32, float64), int: (int64, int32)}
"""Class of a number -> dtypes that hold it without a conversion."""


def tensor_of_few(data: Any, dtype: DType | None = None) -> Tensor | None:
    """A tensor of one Python number, or of a short list of numbers of one type, or of such lists of equal lengths; None
    for anything else, and for a dtype that asks for a conversion."""
    kind = data.__class__
    leaves, sizes = (data,), ()  # type: Sequence[Any], tuple[int, ...]
    if kind is list and 0 < len(data) <= FEW_NUMBERS:
        leaves, sizes = data, (len(data),)
        if data[0].__class__ is list:
            lengths = {len(one) if one.__class__ is list else -1 for one in data}
            length = lengths.pop()
            if lengths or not 0 < length * len(data) <= FEW_NUMBERS:
                return None
            leaves, sizes = [number for one in data for number in one], (len(data), length)
        kinds = set(map(type, leaves))
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is not float and kind is not int and kind is not bool:
        return None
    if dtype is None:
        dtype = DEFAULTS.dtype if kind is float else int64 if kind is int else bool_
        if dtype is bfloat16:
            return None
    elif dtype not in STORED_AS.get(kind, ()):
        return None
    try:
        packed = pack_elements(dtype, leaves)
    except (OverflowError, struct_error):
        return None
    result = empty_tensor(sizes, dtype)
    store_bytes(result.pointer, packed)
    return result


def values_of(data: Any, dtype: DType | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The data as an array that can be assigned to memory of the dtype that comes with it."""
    if isinstance(data, Tensor):
        here = data if data.meta.device is cpu else hooks.dispatched["host"](data)
        return _converted(array_of_lazy(here), data.meta.dtype, dtype)
    if isinstance(data, np.ndarray | np.generic):
        found = dtype_from_numpy(data.dtype.newbyteorder("="))
        if found is None:
            raise TypeError(f"tensor(): can't convert an array of type {data.dtype.type.__name__}")
        return _converted(np.asarray(data), found, dtype)
    if isinstance(data, _NUMBERS):
        return _from_leaves([data], (), dtype)
    if isinstance(data, str | bytes):
        raise TypeError(f"tensor(): invalid data type '{type(data).__name__}' for argument 'data'")
    if not _is_sequence(data):
        raise RuntimeError(f"tensor(): Could not infer dtype of {type(data).__name__}")
    if data and isinstance(data[0], np.ndarray):
        warn_once("tensor(): a list of NumPy arrays is read slowly; make one array of it with numpy.array() first")
    sizes = _sizes(data)
    leaves: list[Any] = []
    _collect(data, sizes, 0, leaves)
    return _from_leaves(leaves, sizes, dtype)


def _is_sequence(data: Any) -> bool:
    """Return whether the data is read item by item: it has ``__len__`` and ``__getitem__`` and is not text."""
    if isinstance(data, _SEQUENCES):
        return True
    kind = type(data)
    counted = hasattr(kind, "__getitem__") and hasattr(kind, "__len__")
    return counted and not isinstance(data, (str, bytes, dict, Tensor, np.ndarray, np.generic))


def _converted(array: np.ndarray[Any, Any], found: DType, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if dtype is None or dtype is found:
        return (rounded(array, found) if found is complex32 else array), found
    if found.is_complex and not dtype.is_complex:
        array = array.real
    with np.errstate(all="ignore"):
        return rounded(array, dtype), dtype


def _sizes(data: Any) -> tuple[int, ...]:
    sizes = []
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > MOST_DIMS:
            raise ValueError(f"tensor(): too many dimensions '{type(data).__name__}'")
        if not len(data):
            break
        data = data[0]
    if isinstance(data, np.ndarray) or (isinstance(data, Tensor) and data.meta.numel != 1):
        sizes += data.shape
    return tuple(sizes)


def _collect(data: Any, sizes: tuple[int, ...], depth: int, leaves: list[Any]) -> None:
    if depth == len(sizes):
        leaves.append(data)
        return
    if isinstance(data, Tensor):
        data = unbind(data)
    elif isinstance(data, np.ndarray):
        data = list(data)
    elif not _is_sequence(data):
        raise TypeError(f"tensor(): argument 'data' is not a sequence at dim {depth}: {type(data).__name__}")
    if len(data) != sizes[depth]:
        raise ValueError(f"tensor(): expected sequence of length {sizes[depth]} at dim {depth} (got {len(data)})")
    if depth + 1 == len(sizes):
        leaves.extend(data)
    else:
        for part in data:
            _collect(part, sizes, depth + 1, leaves)


def _from_leaves(leaves: list[Any], sizes: tuple[int, ...], dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    kinds: set[type] = set()
    for begin in range(0, len(leaves), PIECE):
        kinds.update(map(type, leaves[begin : begin + PIECE]))
    if kinds <= set(_NUMBERS):
        found = inferred_dtype([kind() for kind in kinds])
    else:
        found = inferred_dtype(leaves)
        leaves = [_number(leaf) for leaf in leaves]
    target = found if dtype is None else dtype
    return _as_array(leaves, target).reshape(sizes), target


def inferred_dtype(leaves: Sequence[Any]) -> DType:
    """The dtype in which numbers, NumPy scalars and one-element tensors meet."""
    result: DType | None = None
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            found = leaf.meta.dtype
        elif isinstance(leaf, np.generic | np.ndarray):
            known = dtype_from_numpy(leaf.dtype)
            if known is None:
                raise TypeError(f"tensor(): can't convert a NumPy scalar of type {type(leaf).__name__}")
            found = known
        elif isinstance(leaf, _NUMBERS):
            found = dtype_of_number(leaf)
        elif isinstance(leaf, str | bytes):
            raise ValueError(f"tensor(): too many dimensions '{type(leaf).__name__}'")
        elif _is_sequence(leaf):
            raise TypeError(f"tensor(): '{type(leaf).__name__}' object cannot be interpreted as a number")
        else:
            raise RuntimeError(f"tensor(): Could not infer dtype of {type(leaf).__name__}")
        result = found if result is None else promote_types(result, found)
    return dtype_of_number(0.0) if result is None else result


def _number(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        if leaf.meta.numel != 1:
            type_error("tensor", "data", leaf, "made of one-element tensors where it holds tensors")
        return item(leaf)
    return leaf.item() if isinstance(leaf, np.generic | np.ndarray) else leaf


def _as_array(leaves: list[Any], dtype: DType) -> np.ndarray[Any, Any]:
    if dtype is bool_:
        return _filled([bool(leaf) for leaf in leaves], np.bool_)
    if dtype.kind < 3 and any(isinstance(leaf, complex) for leaf in leaves):
        raise TypeError(f"tensor(): data must be real numbers for dtype {dtype}, not complex")
    if dtype.kind == 1:
        return _int_array(leaves, dtype)
    wide = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(all="ignore"):
        array: np.ndarray[Any, Any] = away(STEPS * len(leaves), rounded, _filled(leaves, wide), dtype)
        return array


def _int_array(leaves: list[Any], dtype: DType) -> np.ndarray[Any, Any]:
    limits = iinfo(dtype)
    lowest = limits.min if dtype.is_signed else -limits.max
    if any(isinstance(leaf, float) for leaf in leaves):
        for leaf in leaves:
            if isinstance(leaf, float) and not limits.min <= leaf <= limits.max:
                _refuse_number(leaf, dtype)
        leaves = [int(leaf) for leaf in leaves]
    low, high = _ends(leaves)
    if high > max(limits.max, (1 << 63) - 1) or low < -(1 << 63):
        raise ValueError(f"tensor(): Overflow when unpacking long long: {high if high > limits.max else low}")
    if high > limits.max or low < lowest:
        _refuse_number(high if high > limits.max else low, dtype)
    if low < 0 and not dtype.is_signed:
        leaves = [leaf % (limits.max + 1) for leaf in leaves]
    return _filled(leaves, dtype.numpy)


def _filled(leaves: list[Any], kind: Any) -> np.ndarray[Any, Any]:
    """An array of the numbers; long lists are read piece by piece, and signals are answered in between."""
    if len(leaves) <= PIECE:
        return np.array(leaves, kind)
    array = np.empty(len(leaves), kind)
    for begin in range(0, len(leaves), PIECE):
        array[begin : begin + PIECE] = np.array(leaves[begin : begin + PIECE], kind)
    return array


def _ends(leaves: list[Any]) -> tuple[Any, Any]:
    """The least and the greatest number; two zeros of an empty list."""
    if len(leaves) <= PIECE:
        return min(leaves, default=0), max(leaves, default=0)
    pairs = [_ends(leaves[begin : begin + PIECE]) for begin in range(0, len(leaves), PIECE)]
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def _refuse_number(value: float, dtype: DType) -> NoReturn:
    raise RuntimeError(f"tensor(): value cannot be converted to type {dtype.name} without overflow: {value}")
