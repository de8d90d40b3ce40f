"""NumPy arrays over a tensor's memory, for the work that is left to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import cpu
from ..core.dtype import complex32
from ..core.rounding import complex_numbers
from ..memory.elements import ADDRESS_SPACE, ORIGIN
from .geometry import CONJUGATE, Geometry

if TYPE_CHECKING:
    from .tensor import Tensor


def array_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's elements as they lie in memory, with its strides; it keeps nothing alive and ignores lazy bits.

    Those of complex32 are records of two float16.

    Raises NotImplementedError for a tensor without data, RuntimeError for more dims or larger sizes than arrays have.
    """
    geometry = tensor.geometry
    if geometry.device is not cpu:
        raise NotImplementedError(f"a tensor on device {str(geometry.device)!r} has no data that NumPy could read")
    pointer = tensor.pointer
    try:
        if not pointer or not geometry.numel:
            return np.empty(geometry.sizes, geometry.dtype.numpy)
        return np.ndarray(geometry.sizes, geometry.dtype.numpy, ADDRESS_SPACE, pointer - ORIGIN, geometry.byte_strides)
    except ValueError as error:
        raise RuntimeError(
            f"NumPy has no arrays of sizes {list(geometry.sizes)}: only tensors with up to 64 dims and sizes whose "
            f"product fits 63 bits can be read as arrays"
        ) from error


ARRAY_LIMIT = 64
FEW = 4096
"""Elements of a tensor up to which its arrays are worth keeping."""


def kept_array(geometry: Geometry, pointer: int) -> np.ndarray[Any, Any]:
    """The elements of a CPU tensor of this geometry at `pointer`, which is not 0; kept for the next time.

    For small tensors, whose blocks come from a pool again and again. The array must not be changed in shape or handed
    out.
    """
    arrays = geometry.arrays
    known = arrays.get(pointer)
    if known is None:
        if len(arrays) >= ARRAY_LIMIT:
            arrays.clear()
        known = arrays[pointer] = np.ndarray(
            geometry.sizes, geometry.dtype.numpy, ADDRESS_SPACE, pointer - ORIGIN, geometry.byte_strides
        )
    return known


def array_of_lazy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's values: a view as array_of gives, or a fresh array when they are lazily conjugate or negative.

    The numbers of complex32, which NumPy lacks, are in a fresh array of complex64.
    """
    array = array_of(tensor)
    if tensor.geometry.dtype is complex32:
        array = complex_numbers(array)
    lazy = tensor.geometry.lazy
    if not lazy:
        return array
    resolved = np.conjugate(array) if lazy & CONJUGATE else array
    return resolved if lazy <= CONJUGATE else np.negative(resolved)
