"""Tensors that stand for those of a call: without data, to learn what it gives; on the same bytes, to do its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import Device, cpu, meta_device
from ...memory.storage import Storage, allocate_storage, foreign_storage
from ...operators.copy import clone
from ...tensor.changing import UnbackedTensor
from ...tensor.tensor import Tensor, make_tensor, new_like
from ...tensor.tensor_meta import TensorMeta, meta_of, remember, unwatched


def replaced(value: Any, of: Callable[[Tensor], Tensor]) -> Any:
    """`value` with ``of(tensor)`` for a tensor, and for those in lists and tuples."""
    if isinstance(value, Tensor):
        return of(value)
    if isinstance(value, (tuple, list)):
        parts = [replaced(part, of) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


class Twins:
    """The twins of a call's tensors; those that share a storage have twins that share one.

    `owners` has the first tensor of each storage with its twin. Nothing here holds a storage, so that one which a
    single tensor refers to is seen to be so when it is resized.
    """

    __slots__ = ("_of_other", "_storage_of", "device", "owners", "pairs")

    def __init__(
        self, device: Device, storage_of: Callable[[Storage], Storage], of_other: Callable[[Tensor], Tensor]
    ) -> None:
        self.device = device
        self._storage_of = storage_of
        self._of_other = of_other
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self.owners: list[tuple[Tensor, Tensor]] = []

    def of(self, value: Any) -> Any:
        """`value`, the tensors in it replaced by their twins, those in lists too."""
        return replaced(value, self._tensor)

    def _tensor(self, tensor: Tensor) -> Tensor:
        for original, twin in self.pairs:
            if original is tensor:
                return twin
        if tensor.meta.device.type == "cuda":
            check_backed(tensor)
            meta = meta_elsewhere(tensor.meta, self.device)
            made = self._on_device(tensor, meta)
        else:
            made = self._of_other(tensor)
        self.pairs.append((tensor, made))
        return made

    def _on_device(self, tensor: Tensor, meta: TensorMeta) -> Tensor:
        for original, twin in self.owners:
            if original.storage_impl is tensor.storage_impl:
                return make_tensor(meta, twin.storage_impl, tensor.offset, None)
        made = make_tensor(meta, self._storage_of(tensor.storage_impl), tensor.offset, None)
        self.owners.append((tensor, made))
        return made


def check_backed(tensor: Tensor) -> None:
    """RuntimeError when the storage has become too small for the tensor."""
    if tensor.__class__ is UnbackedTensor:
        _ = tensor.pointer


def meta_elsewhere(meta: TensorMeta, device: Device) -> TensorMeta:
    """The same sizes, strides and dtype on another device."""
    meta = unwatched(meta)
    key = ("elsewhere", device)
    found: TensorMeta | None = meta.plans.get(key)
    if found is None:
        made = meta_of(meta.sizes, meta.strides, meta.dtype, device, meta.lazy)
        found = remember(meta.plans, key, made)
    return found


def outlines() -> Twins:
    """Twins without data, also of the CPU's tensors."""

    def storage_of(storage: Storage) -> Storage:
        made = allocate_storage(storage.nbytes, meta_device)
        made.resizable = storage.resizable
        return made

    return Twins(meta_device, storage_of, lambda tensor: new_like(meta_elsewhere(tensor.meta, meta_device)))


def host_views() -> Twins:
    """CPU tensors on the same bytes, which have to stay; of the CPU's own tensors they are copies."""
    return Twins(cpu, lambda storage: foreign_storage(storage.pointer, storage.nbytes), lambda tensor: clone(tensor))
