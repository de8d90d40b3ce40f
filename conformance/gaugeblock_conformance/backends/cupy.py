"""CuPy: its arrays, as far as the array API standard speaks of them, and its memory pool.

The standard's functions come from array-api-compat, since CuPy's own have other forms of them; without it there is the
pool alone. The pool is an allocator that keeps and hands out memory by rules of its own: of the chapter on allocators
what belongs to capability ``alloc.reuse``.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..backend import Array, Unsupported, dtype_name
from ..backend_allocator import CALLS, Machine, Pointer
from .array_api import CAPABILITIES, ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_rules import RULES, accumulation

POOL = frozenset({"alloc.reuse"})
COMPATIBLE = "array_api_compat.cupy"


class CupyDialect(ArrayApiDialect):
    """Snippets in which arrays are brought to the host by name: CuPy does that for nobody by itself."""

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if operator == "tolist" and not kwargs:
            return f"{self.literal(args[0])}.get().tolist()"
        return super().expression(operator, args, kwargs)

    def whole(self, variable: str) -> str:
        return f"{variable}.get().tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.get().reshape(-1)[{index}]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.get()[{', '.join(map(str, index)) or '()'}]"


class CupyBackend(ArrayApiBackend):
    """CuPy on ``device``, ``"cuda"`` or ``"cuda:1"``; each allocator is a fresh pool.

    Raises:
        ValueError: another kind of device.
        RuntimeError: no such device is found.
    """

    capabilities = CAPABILITIES | POOL
    rules = (*RULES, *accumulation("https://docs.cupy.dev/en/stable/reference/generated/cupy.{}.html"))

    def __init__(self, device: str = "cuda") -> None:
        kind, _, index = device.partition(":")
        if kind != "cuda" or not (index or "0").isdecimal():
            raise ValueError(f"cupy has no device {device!r}; allowed: cuda, cuda:0, cuda:1, ...")
        self.cupy = importlib.import_module("cupy")
        try:
            self.cupy.cuda.Device(int(index or 0)).use()
        except RuntimeError as error:
            raise RuntimeError(f"cupy cannot use device {device!r}: {error}") from error
        try:
            super().__init__(importlib.import_module(COMPATIBLE), "cupy")
        except ImportError:
            super().__init__(self.cupy, "cupy")
            self.capabilities = POOL
        self.dialect = CupyDialect(self.table, f"import {COMPATIBLE} as xp")
        self.device = device
        self.version = str(self.cupy.__version__)
        self._held: dict[tuple[int, int], Any] = {}

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        function = getattr(self, f"_{operator}", None) if operator in CALLS else None
        if function is not None:
            return function(*args, **kwargs)
        if self.capabilities is POOL:
            raise Unsupported(operator, "arrays need array-api-compat to be installed")
        return super().call(operator, *args, **kwargs)

    @property
    def finish(self) -> Callable[[Any], object]:
        """Waits for the device, which computes behind the caller."""
        return self._finish

    def _finish(self, result: Any) -> None:
        self.cupy.cuda.get_current_stream().synchronize()

    def _allocator(self, machine: Machine) -> Any:
        if machine != Machine():
            raise Unsupported("allocator", "CuPy's pools have no configuration")
        self._held.clear()
        return self.cupy.cuda.MemoryPool()

    def _malloc(self, pool: Any, size: int, stream: Any = None) -> Pointer:
        with contextlib.nullcontext() if stream is None else stream:
            memory = pool.malloc(size)
        pointer = Pointer(memory.ptr)
        if pointer:
            self._held[id(pool), int(pointer)] = memory
        return pointer

    def _free(self, pool: Any, pointer: Pointer) -> None:
        if pointer and self._held.pop((id(pool), int(pointer)), None) is None:
            raise Unsupported("free", "CuPy frees objects, not addresses")

    def _empty_cache(self, pool: Any) -> None:
        pool.free_all_blocks()

    def _bytes_in_use(self, pool: Any) -> int:
        return int(pool.used_bytes())

    def _bytes_held(self, pool: Any) -> int:
        return int(pool.total_bytes())

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "CuPy has no tensors that ask for gradients")
        self.native(dtype_name(array.dtype))
        # Of an array without dims CuPy takes the number, and a -0.0 for 0.0.
        return self.cupy.array(array.reshape(-1)).reshape(array.shape) if not array.ndim else self.cupy.array(array)

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = self.cupy.asnumpy(tensor)
        return array

    def strides(self, tensor: Any) -> Sequence[int]:
        return tuple(step // tensor.itemsize for step in tensor.strides)

    def storage_offset(self, tensor: Any) -> int:
        return (self.data_ptr(tensor) - int(tensor.data.mem.ptr)) // int(tensor.itemsize)

    def storage_id(self, tensor: Any) -> Any:
        return id(tensor.data.mem)

    def storage_nbytes(self, tensor: Any) -> int:
        return int(tensor.data.mem.size)

    def data_ptr(self, tensor: Any) -> int:
        return int(tensor.data.ptr)
