"""The calls of :mod:`..backend_allocator` for PyTorch's CUDA allocator, of which there is one in a process.

An allocation is a tensor of bytes, since PyTorch records streams for tensors alone. A fresh allocator is the emptied
one: everything that the suite left is given back and the figures are reset.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..backend import Unsupported
from ..backend_allocator import Machine, Pointer

CAPABILITIES = frozenset("alloc.reuse alloc.caching alloc.streams alloc.tensors alloc.pools alloc.history".split())

# Cycles of the work that keeps a stream busy: a tenth of a second or so, which no test's few calls take.
_CYCLES = 200_000_000


class TorchAllocating:
    """Answers the calls on ``device``, such as ``"cuda"`` or ``"cuda:1"``; the allocator is the device's index."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch = torch
        self.cuda = torch.cuda
        self.device = torch.device(device)
        index = self.device.index
        self.index: int = torch.cuda.current_device() if index is None else index
        self._held: dict[int, Any] = {}
        self._entered: list[Any] = []
        self._pools: list[Any] = []

    def resolve(self, operator: str) -> Callable[..., Any]:
        """The function behind a name of the table. Raises Unsupported for what PyTorch does not offer."""
        found: Callable[..., Any] | None = getattr(self, operator, None)
        if found is None:
            raise Unsupported(operator, "PyTorch's allocator cannot be asked that")
        return found

    def allocator(self, machine: Machine) -> int:
        if machine != Machine():
            raise Unsupported("allocator", "PyTorch has one allocator, configured when it was made")
        for context in reversed(self._entered):
            context.__exit__(None, None, None)
        self._entered.clear()
        self._held.clear()
        self._pools.clear()
        self.cuda.synchronize(self.index)
        self.cuda.empty_cache()
        if self.cuda.memory_reserved(self.index):
            raise Unsupported("allocator", "memory is held that the suite did not ask for")
        self.cuda.reset_peak_memory_stats(self.index)
        self.cuda.reset_accumulated_memory_stats(self.index)
        return self.index

    def malloc(self, allocator: int, size: int, stream: Any = None) -> Pointer:
        context = contextlib.nullcontext() if stream is None else self.cuda.stream(stream)
        with context:
            made = self.torch.empty(size, dtype=self.torch.uint8, device=f"cuda:{allocator}")
        pointer = Pointer(made.data_ptr())
        if pointer:
            self._held[int(pointer)] = made
        return pointer

    def free(self, allocator: int, pointer: Pointer) -> None:
        if self._held.pop(int(pointer), None) is None:
            self.cuda.caching_allocator_delete(int(pointer))

    def empty_cache(self, allocator: int) -> None:
        self.cuda.empty_cache()

    def bytes_in_use(self, allocator: int) -> int:
        return int(self.cuda.memory_allocated(allocator))

    def bytes_held(self, allocator: int) -> int:
        return int(self.cuda.memory_reserved(allocator))

    def memory_stats(self, allocator: int) -> dict[str, int]:
        return dict(self.cuda.memory_stats(allocator))

    def memory_snapshot(self, allocator: int) -> list[dict[str, Any]]:
        return [segment for segment in self.cuda.memory_snapshot() if segment["device"] == allocator]

    def memory_summary(self, allocator: int) -> str:
        return str(self.cuda.memory_summary(allocator))

    def reset_peak_memory_stats(self, allocator: int) -> None:
        self.cuda.reset_peak_memory_stats(allocator)

    def reset_accumulated_memory_stats(self, allocator: int) -> None:
        self.cuda.reset_accumulated_memory_stats(allocator)

    def new_stream(self, allocator: int) -> Any:
        return self.cuda.Stream(allocator)

    def stream_number(self, stream: Any) -> int:
        return int(stream.cuda_stream)

    def occupy(self, allocator: int, stream: Any) -> None:
        with self.cuda.stream(stream):
            self.cuda._sleep(_CYCLES)

    def finish(self, allocator: int, stream: Any) -> None:
        stream.synchronize()

    def record_stream(self, allocator: int, pointer: Pointer, stream: Any) -> None:
        self._held[int(pointer)].record_stream(stream)

    def create_pool(self, allocator: int) -> Any:
        pool = _Pool(self.cuda.MemPool())
        self._pools.append(pool)
        return pool

    def enter_pool(self, allocator: int, pool: _Pool) -> None:
        context = self.cuda.use_mem_pool(pool.pool, allocator)
        context.__enter__()
        self._entered.append(context)

    def leave_pool(self, allocator: int, pool: _Pool) -> None:
        self._entered.pop().__exit__(None, None, None)

    def release_pool(self, allocator: int, pool: _Pool) -> None:
        pool.pool = None

    def record_history(self, allocator: int, enabled: bool) -> None:
        self.cuda.memory._record_memory_history("all" if enabled else None)

    def memory_history(self, allocator: int) -> list[dict[str, Any]]:
        entries = self.cuda.memory._snapshot()["device_traces"][allocator]
        return [entry for entry in entries if entry["action"] != "snapshot"]

    def allocator_beside(self, allocator: int) -> int:
        if self.cuda.device_count() < 2:
            raise Unsupported("allocator_beside", "there is one device")
        return (allocator + 1) % int(self.cuda.device_count())

    def tensor_stats(self) -> dict[str, int]:
        return self.memory_stats(self.index)

    def empty_tensor_cache(self) -> None:
        self.cuda.empty_cache()


class _Pool:
    """A private pool, which is released when PyTorch's object goes."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
