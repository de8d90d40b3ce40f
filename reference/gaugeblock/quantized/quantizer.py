"""Quantizers: how the integers of a quantized tensor stand for numbers; and the storages that keep one.

The quantizer belongs to the storage, so that all views have it. With a scale for each channel a view finds its own
channels by where its elements lie.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from ..core import lazy_numpy as np
from ..core.device import Device, cpu
from ..core.dtype import int64
from ..core.quantized_dtype import QScheme, QuantizedDType, per_channel_affine, per_tensor_affine
from ..memory.storage import Storage, allocate_storage, read_device, write_device
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor, empty_tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, extent, meta_of, recalled


class PerTensor(NamedTuple):
    """One scale and one zero point for all elements."""

    scale: float
    zero_point: int

    @property
    def scheme(self) -> QScheme:
        """The name of the scheme."""
        return per_tensor_affine


class PerChannel:
    """A scale (float64) and a zero point (int64) for each index along `axis`, of a tensor with `sizes` and `strides`
    that begins where its storage does."""

    scheme = per_channel_affine

    def __init__(
        self, scales: np.ndarray[Any, Any], zero_points: np.ndarray[Any, Any], axis: int, sizes: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.scales = scales
        self.zero_points = zero_points
        self.axis = axis
        self.sizes = sizes
        self.strides = strides

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PerChannel) and self.axis == other.axis and self.sizes == other.sizes
            and self.strides == other.strides and np.array_equal(self.scales, other.scales)
            and np.array_equal(self.zero_points, other.zero_points)
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return PerChannel, (self.scales, self.zero_points, self.axis, self.sizes, self.strides)

    def channels(self, view: Tensor) -> np.ndarray[Any, Any]:
        """The channel of each element of a view."""
        meta = view.meta
        elements = max(extent(self.sizes, self.strides), meta.numel and view.offset + extent(meta.sizes, meta.strides))
        lying = empty_tensor((max(elements, 1),), int64)
        shape = [1] * len(self.sizes)
        shape[self.axis] = len(self.scales)
        whole = array_of(make_tensor(meta_of(self.sizes, self.strides, int64), lying.storage_impl, 0, None))
        whole[...] = np.arange(len(self.scales)).reshape(shape)
        seen = meta_of(meta.sizes, meta.strides, int64)
        found: np.ndarray[Any, Any] = array_of(make_tensor(seen, lying.storage_impl, view.offset, None)).copy()
        return found


class Mixed(NamedTuple):
    """A scale and a zero point for each element: those of a view in which several dims lead from channel to channel."""

    scales: np.ndarray[Any, Any]
    zero_points: np.ndarray[Any, Any]
    scheme: QScheme = per_channel_affine


Quantizer = PerTensor | PerChannel | Mixed


class QuantizedStorage(Storage):
    """A storage with the quantizer of the tensors on it."""

    __slots__ = ()

    quantizer: PerTensor | PerChannel

    def alike(self) -> QuantizedStorage:
        """Return a storage of the same size with the same quantizer."""
        return quantized_storage(self.nbytes, self.quantizer, self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        data = read_device(self.device, self.pointer, self.nbytes)
        return rebuild_quantized_storage, (data, self.quantizer, self.device)


def rebuild_quantized_storage(
    data: bytes, quantizer: PerTensor | PerChannel, device: Device = cpu
) -> QuantizedStorage:
    """A storage with the given bytes and quantizer, as a pickle holds it."""
    made = quantized_storage(len(data), quantizer, device)
    write_device(device, made.pointer, data)
    return made


def quantized_storage(nbytes: int, quantizer: PerTensor | PerChannel, device: Device = cpu) -> QuantizedStorage:
    """A fresh storage of `nbytes` bytes on a device for tensors of a quantizer."""
    made = cast("QuantizedStorage", allocate_storage(nbytes, device, QuantizedStorage))
    made.quantizer = quantizer
    return made


def empty_quantized(meta: TensorMeta, quantizer: PerTensor | PerChannel) -> Tensor:
    """A fresh quantized tensor of a dense meta, contents undefined."""
    return quantized_from(new_like(integer_meta(meta)), meta, quantizer)


def quantized_from(integers: Tensor, meta: TensorMeta, quantizer: PerTensor | PerChannel) -> Tensor:
    """Return a fresh tensor of integers as the quantized tensor of `meta`, on the same storage."""
    storage = integers.storage_impl
    storage.__class__ = QuantizedStorage
    storage.quantizer = quantizer  # type: ignore[attr-defined]
    integers._meta = meta
    return integers


def integer_meta(meta: TensorMeta) -> TensorMeta:
    """Return the meta of the integers of a quantized tensor."""
    return recalled(meta.plans, "integers", _integer_meta, meta)


def _integer_meta(meta: TensorMeta) -> TensorMeta:
    assert isinstance(meta.dtype, QuantizedDType)
    return meta_of(meta.sizes, meta.strides, meta.dtype.integers, meta.device)


def own_quantizer(tensor: Tensor) -> PerTensor | PerChannel:
    """The quantizer of the storage of a quantized tensor."""
    storage = tensor.storage_impl
    if not isinstance(storage, QuantizedStorage):
        raise RuntimeError(f"a tensor of {tensor.meta.dtype} was set to a storage that has no scale and no zero point")
    return storage.quantizer


def quantizer_of(tensor: Tensor) -> Quantizer:
    """The quantizer of a quantized tensor, which may be a view: with the channels that it has, along its own axis."""
    own = own_quantizer(tensor)
    meta = tensor.meta
    if isinstance(own, PerTensor) or (meta.sizes == own.sizes and meta.strides == own.strides and not tensor.offset):
        return own
    channels = own.channels(tensor)
    axes = [dim for dim in range(meta.ndim) if channels.size and (np.diff(channels, axis=dim) != 0).any()]
    if not axes:
        return _without_axis(own, channels, meta)
    if len(axes) > 1:
        return Mixed(own.scales[channels], own.zero_points[channels])
    along = np.moveaxis(channels, axes[0], 0).reshape(meta.sizes[axes[0]], -1)[:, 0]
    return PerChannel(own.scales[along], own.zero_points[along], axes[0], meta.sizes, meta.strides)


def _without_axis(own: PerChannel, channels: np.ndarray[Any, Any], meta: TensorMeta) -> PerTensor:
    """The quantizer of a view with elements of one channel at most."""
    channel = int(channels.reshape(-1)[0]) if channels.size else 0
    if not len(own.scales):
        return PerTensor(1.0, 0)
    return PerTensor(float(own.scales[channel]), int(own.zero_points[channel]))


def data_of(tensor: Tensor) -> Tensor:
    """The integers of a quantized tensor, on its memory."""
    return make_tensor(integer_meta(tensor.meta), tensor.storage_impl, tensor.offset, None)
