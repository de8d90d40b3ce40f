"""NumPy arrays over a tensor's memory, for the work that is left to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import lazy_numpy as np
from ..core.device import cpu
from ..core.dtype import complex32
from ..core.rounding import complex_numbers
from ..memory.elements import ADDRESS_SPACE, ORIGIN
from .tensor_meta import CONJUGATE, TensorMeta

if TYPE_CHECKING:
    from .tensor import Tensor


def array_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's elements as they lie in memory, with its strides; it keeps nothing alive and ignores lazy bits.

    Those of complex32 are records of two float16.

    Raises NotImplementedError for a tensor without data, RuntimeError for more dims or larger sizes than arrays have.
    """
    meta = tensor.meta
    if meta.device is not cpu:
        raise NotImplementedError(f"a tensor on device {str(meta.device)!r} has no data that NumPy could read")
    return _array(meta, tensor.pointer)


ARRAY_LIMIT = 64
FEW = 4096
"""Elements of a tensor up to which its arrays are worth keeping."""


def kept_array(meta: TensorMeta, pointer: int) -> np.ndarray[Any, Any]:
    """The elements of a CPU tensor of this meta at `pointer`, which is not 0; kept for the next time.

    For small tensors, whose blocks come from a pool again and again. The array must not be changed in shape or handed
    out.
    """
    arrays = meta.arrays
    known = arrays.get(pointer)
    if known is None:
        if len(arrays) >= ARRAY_LIMIT:
            arrays.clear()
        known = arrays[pointer] = _array(meta, pointer)
    return known


def array_at(meta: TensorMeta, pointer: int) -> np.ndarray[Any, Any]:
    """The elements of a CPU tensor of this meta at `pointer`, as kept_array gives them for few."""
    return kept_array(meta, pointer) if 0 < meta.numel <= FEW else _array(meta, pointer)


def _array(meta: TensorMeta, pointer: int) -> np.ndarray[Any, Any]:
    kind = meta.dtype.numpy
    try:
        if not pointer or not meta.numel:
            return np.empty(meta.sizes, kind)
        return np.ndarray(meta.sizes, kind, ADDRESS_SPACE, pointer - ORIGIN, meta.byte_strides)
    except ValueError as error:
        raise RuntimeError(
            f"NumPy has no arrays of sizes {list(meta.sizes)}: only tensors with up to 64 dims and sizes whose "
            f"product fits 63 bits can be read as arrays"
        ) from error


def array_of_lazy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's values: a view as array_of gives, or a fresh array when they are lazily conjugate or negative. The
    numbers of complex32, which NumPy lacks, are in a fresh array of complex64."""
    array = array_of(tensor)
    if tensor.meta.dtype is complex32:
        array = complex_numbers(array)
    lazy = tensor.meta.lazy
    if not lazy:
        return array
    resolved = np.conjugate(array) if lazy & CONJUGATE else array
    return resolved if lazy <= CONJUGATE else np.negative(resolved)
