"""Memory with a bound, filled with zeros, for the time of one evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gaugeblock.memory import Allocator, get_allocator, set_allocator, set_poison

from ..problem import PictureProblem

BYTES = 1 << 24


class BoundedAllocator:
    """Hands requests on until `BYTES` are given out; a request that goes beyond raises PictureProblem."""

    def __init__(self, inner: Allocator) -> None:
        self.inner = inner
        self.left = BYTES

    def allocate(self, nbytes: int) -> int:
        if nbytes > self.left:
            raise PictureProblem(f"{nbytes:,} bytes are asked for; all tensors together may have {BYTES:,}")
        self.left -= nbytes
        return self.inner.allocate(nbytes)

    def free(self, address: int, nbytes: int) -> None:
        self.inner.free(address, nbytes)


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Host storages that are made in the block come out of `BYTES` bytes and begin as zeros."""
    allocator = set_allocator(BoundedAllocator(get_allocator()))
    poison = set_poison(0)
    try:
        yield
    finally:
        set_allocator(allocator)
        set_poison(poison)
