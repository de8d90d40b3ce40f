"""Quantized tensors in files: their integers and scales, checked when they are read."""

from __future__ import annotations

from typing import Any

from ..core import lazy_numpy as np
from ..core.device import meta_device
from ..core.dtype import float64, int64
from ..core.quantized_dtype import QuantizedDType, per_channel_affine, per_tensor_affine
from ..memory.storage import Storage, move_bytes
from ..operators.arrays import from_array
from ..quantized.conversion import check_scale, check_zero_point, checked_channels
from ..quantized.quantizer import Mixed, PerChannel, PerTensor, QuantizedStorage, quantized_storage, quantizer_of
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, meta_of
from . import copying

MOST_COPIES = 16
"""The largest number of quantizers for one storage: each needs a copy, which takes memory that the file does not."""


def parameters_of(tensor: Tensor) -> tuple[Any, ...]:
    """Return the parameters of a tensor's quantizer as PyTorch's files hold them. Raises NotImplementedError for a view
    whose channel changes along several dims."""
    quantizer = quantizer_of(tensor)
    if isinstance(quantizer, PerTensor):
        return quantizer.scheme, float(quantizer.scale), int(quantizer.zero_point)
    if isinstance(quantizer, Mixed):
        raise NotImplementedError("save(): a view over several channels in one dim is not saved; save a clone()")
    scales, zero_points = np.array(quantizer.scales), np.array(quantizer.zero_points)
    return quantizer.scheme, from_array(scales, float64), from_array(zero_points, int64), quantizer.axis


def rebuild_quantized(
    storage: Storage, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: Any, parameters: Any,
    copies: list[QuantizedStorage],
) -> Tensor:  # fmt: skip
    """Return a quantized tensor with the integers in a storage and the parameters of a quantizer.

    The storage is copied once for each quantizer; `copies` holds the copies so far. Raises TypeError, ValueError or
    RuntimeError for arguments that do not describe a tensor.
    """
    if not isinstance(dtype, QuantizedDType) or storage.device is meta_device:
        raise TypeError(f"a quantized tensor has the dtype {dtype!r} and lies on {storage.device}")
    copying.rebuild_tensor(storage, offset, sizes, strides, dtype.integers, 0, False)  # which checks that they fit
    quantizer = _quantizer(meta_of(sizes, strides, dtype), dtype, parameters)
    begin = 0
    if isinstance(quantizer, PerChannel):  # its channels are counted from the start of the storage
        begin, offset = min(offset * dtype.itemsize, storage.nbytes), 0
    nbytes = storage.nbytes - begin
    made = next((one for one in copies if one.quantizer == quantizer and one.nbytes == nbytes), None)
    if made is None:
        if len(copies) == MOST_COPIES:
            raise RuntimeError(f"tensors of one storage have more than {MOST_COPIES} quantizers")
        made = quantized_storage(nbytes, quantizer, storage.device)
        if nbytes:
            move_bytes(storage.device, made.pointer, storage.pointer + begin, nbytes)
        copies.append(made)
    return copying.rebuild_tensor(made, offset, sizes, strides, dtype, 0, False)


def _quantizer(meta: TensorMeta, dtype: QuantizedDType, parameters: Any) -> PerTensor | PerChannel:
    if type(parameters) is not tuple or len(parameters) not in (3, 4):
        raise TypeError(f"a quantizer is {parameters!r}")
    scheme, scale, zero_point, *axis = parameters
    if scheme is per_tensor_affine and type(scale) is float and type(zero_point) is int and not axis:
        check_scale("load", scale)
        check_zero_point("load", zero_point, dtype)
        return PerTensor(scale, zero_point)
    tensors = all(isinstance(one, Tensor) and not isinstance(one, SparseTensor) for one in (scale, zero_point))
    if scheme is not per_channel_affine or not tensors or [type(one) for one in axis] != [int]:
        raise TypeError(f"a quantizer is {parameters!r}")
    for one in (scale, zero_point):  # an expanded tensor takes no memory, but its copy does
        if one.meta.numel * one.meta.dtype.itemsize > one.storage_impl.nbytes:
            raise ValueError(f"a quantizer has a tensor of {one.meta.numel} elements that the file does not hold")
    found = checked_channels("load", meta, scale, zero_point, axis[0], dtype)
    return PerChannel(*found, axis[0], meta.sizes, meta.strides)
