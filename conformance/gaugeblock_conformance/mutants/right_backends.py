"""Right backends for what the reference does not have: memory between processes, quantized dtypes."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any

from ..backends.reference import ReferenceBackend

QUANTIZED = ("qint8", "quint8", "qint32")
FURTHER = f"{__name__}:FurtherBackend"


class FurtherBackend(ReferenceBackend):
    """The reference with small models of the capabilities ``shm`` and ``quantized``.

    Shared memory is a mark on a storage, another process the same one, and a quantized tensor one of floats that bears
    a mark.
    """

    capabilities = ReferenceBackend.capabilities | {"shm", "quantized"}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self._shared: weakref.WeakSet[Any] = weakref.WeakSet()
        self._quantized: weakref.WeakSet[Any] = weakref.WeakSet()

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

    def _quantize_per_tensor_here(self, x: Any, scale: float, zero_point: int, dtype: Any) -> Any:
        made = super().call("clone", x)
        self._quantized.add(made.storage_impl)
        return made

    def _numpy_here(self, x: Any, force: bool = False) -> Any:
        self._refuse_quantized(TypeError, "numpy", x)
        return super().call("numpy", x, force=force)

    def _dlpack___here(self, x: Any, **kwargs: Any) -> Any:
        self._refuse_quantized(BufferError, "__dlpack__", x)
        return super().call("__dlpack__", x, **kwargs)

    def _refuse_quantized(self, kind: type[Exception], operator: str, x: Any) -> None:
        if getattr(x, "storage_impl", None) in self._quantized:
            raise kind(f"{operator}: a quantized tensor has no such memory")

    def _promote_types_here(self, first: Any, second: Any) -> Any:
        if first != second and (first in QUANTIZED or second in QUANTIZED):
            raise RuntimeError(f"promote_types: {first} and {second} have no common dtype")
        return first if first in QUANTIZED else super().call("promote_types", first, second)
