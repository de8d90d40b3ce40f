"""A right backend for what the reference does not have: memory between processes."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any

from ..backends.reference import ReferenceBackend

FURTHER = f"{__name__}:FurtherBackend"


class FurtherBackend(ReferenceBackend):
    """The reference with a small model of the capability ``shm``.

    Shared memory is a mark on a storage, another process the same one.
    """

    capabilities = ReferenceBackend.capabilities | {"shm"}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self._shared: weakref.WeakSet[Any] = weakref.WeakSet()

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        own = getattr(self, f"_{operator.replace('.', '_').removeprefix('__')}_here", None)
        return super().call(operator, *args, **kwargs) if own is None else own(*args, **kwargs)

    def _share_memory__here(self, x: Any) -> Any:
        self._shared.add(x.storage_impl)
        return x

    def _resize__here(self, x: Any, sizes: Any, **kwargs: Any) -> Any:
        needed = (self.storage_offset(x) + prod(sizes)) * self.to_numpy(x).itemsize
        if x.storage_impl in self._shared and needed > self.storage_nbytes(x):
            raise RuntimeError("resize_: memory that processes share does not grow")
        return super().call("resize_", x, sizes, **kwargs)

    def _sent_here(self, x: Any) -> Any:
        needs_grad = bool(super().call("requires_grad", x))
        if needs_grad and not super().call("is_leaf", x):
            raise RuntimeError("a tensor with a history cannot be sent to another process")
        return self.from_numpy(self.to_numpy(super().call("detach", x)), needs_grad)
