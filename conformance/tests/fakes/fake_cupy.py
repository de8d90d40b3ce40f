"""The few names of CuPy's that the adapter uses, over a pool that keeps whole pieces of a made-up device.

Arrays are NumPy's.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

__version__ = "0.0"
array, float32 = np.array, np.float32
UNIT = 512


def asnumpy(a: Any) -> Any:
    asked.append(a.shape)
    return np.asarray(a)


def standard() -> ModuleType:
    """What array-api-compat makes of CuPy: here the functions of NumPy, under that name."""
    module = ModuleType("array_api_compat.cupy")
    vars(module).update(vars(np) | {"__name__": "array_api_compat.cupy"})
    return module


class Memory:
    """A piece of the pool, which goes back when the object does."""

    def __init__(self, pool: MemoryPool, ptr: int, size: int) -> None:
        self._pool = pool
        self.ptr = ptr
        self.size = size

    def __del__(self) -> None:
        if self.ptr:
            self._pool.free.append((self.ptr, self.size))


class MemoryPool:
    """Free pieces serve requests of up to their size; their rest is split off."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.held = 0
        self.next = 1 << 40

    def malloc(self, size: int) -> Memory:
        if size == 0:
            return Memory(self, 0, 0)
        size = -(-size // UNIT) * UNIT
        fitting = sorted((length, ptr) for ptr, length in self.free if length >= size)
        if fitting:
            length, ptr = fitting[0]
            self.free.remove((ptr, length))
            if length > size:
                self.free.append((ptr + size, length - size))
            return Memory(self, ptr, size)
        ptr, self.next = self.next, self.next + size
        self.held += size
        return Memory(self, ptr, size)

    def used_bytes(self) -> int:
        return self.held - sum(length for _, length in self.free)

    def total_bytes(self) -> int:
        return self.held

    def free_all_blocks(self) -> None:
        self.held -= sum(length for _, length in self.free)
        self.free.clear()


class Device:
    """A device that can be made the current one."""

    def __init__(self, index: int) -> None:
        self.index = index

    def use(self) -> None:
        used.append(self.index)


class Stream:
    """The one stream there is."""

    def synchronize(self) -> None:
        waits.append(self)


used: list[int] = []
asked: list[tuple[int, ...]] = []
waits: list[Stream] = []
cuda: Any = SimpleNamespace(MemoryPool=MemoryPool, Device=Device, get_current_stream=Stream)
