"""The host allocator: 64-byte aligned blocks, cached by size class, from pages of the operating system.

Blocks up to SMALL_LIMIT are rounded to a power of two and kept in plain lists, one per class, so that
taking a block is ``pools[(nbytes - 1).bit_length()].pop()`` and giving it back ``pool.append(address)``.
Rounding costs address space only, for pages that nobody touches are not backed. Larger blocks are rounded to a few
pages, kept by size, and count against the cache limit as they are freed; the small ones do when a new block is needed.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any, NamedTuple, Protocol, runtime_checkable


@runtime_checkable
class Allocator(Protocol):
    """Gives memory and takes it back; nothing else is asked of it."""

    def allocate(self, nbytes: int) -> int:
        """Return the address, a multiple of 16, of `nbytes` > 0 new bytes. Raise RuntimeError when out of memory."""

    def free(self, address: int, nbytes: int) -> None:
        """Take back what ``allocate(nbytes)`` returned; called exactly once per block."""


ALIGNMENT = 64
HUGE_PAGE = 2 << 20
_MADV_DONTNEED = 4
_MADV_HUGEPAGE = 14

_libc = ctypes.CDLL(None, use_errno=True)
_aligned_alloc = _libc.aligned_alloc
_aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_aligned_alloc.restype = ctypes.c_void_p
release_block = _libc.free
"""Gives a block of aligned_block, by its address, back to the system."""
release_block.argtypes = (ctypes.c_void_p,)
release_block.restype = None
_madvise = getattr(_libc, "madvise", None)
if _madvise is not None:
    _madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    _madvise.restype = ctypes.c_int

_mincore = getattr(_libc, "mincore", None) if sys.platform == "linux" else None
if _mincore is not None:
    _mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    _mincore.restype = ctypes.c_int

memset = ctypes.memset
memmove = ctypes.memmove


def aligned_block(nbytes: int, alignment: int = ALIGNMENT) -> int:
    """The address of `nbytes` bytes at a multiple of `alignment`, or 0 when the system has none. A block of several
    huge pages is aligned to one and the kernel is asked to back it with huge pages."""
    huge = nbytes >= 2 * HUGE_PAGE
    boundary = HUGE_PAGE if huge else alignment
    rounded = (nbytes + boundary - 1) & -boundary
    address: int | None = _aligned_alloc(boundary, rounded)
    if address is None:
        return 0
    if huge and _madvise is not None and hasattr(mmap, "MADV_HUGEPAGE"):
        _madvise(address, rounded, _MADV_HUGEPAGE)
    return address


def drop_pages(address: int, nbytes: int) -> bool:
    """Let whole pages of a block read as zeros, backed again when they are next written; False if that cannot be had.
    It is Linux that promises the zeros, for private memory. A locked page, or an address within a page, is refused."""
    if sys.platform != "linux" or _madvise is None:
        return False
    return bool(_madvise(address, nbytes, _MADV_DONTNEED) == 0)


def is_mapped(address: int, nbytes: int) -> bool:
    """Return whether the first and last byte of a block are mapped; True where the system cannot say."""
    if not 0 < address <= (1 << 63) - nbytes:
        return False
    if _mincore is None:
        return True
    seen = ctypes.create_string_buffer(1)
    page = mmap.PAGESIZE
    return all(_mincore(byte // page * page, 1, seen) == 0 for byte in (address, address + nbytes - 1))


SMALL_LIMIT = 1 << 23
LARGE_STEP = 1 << 18
DEFAULT_CACHE_LIMIT = 2 << 30

_FIRST_CLASS = 6
_LAST_CLASS = SMALL_LIMIT.bit_length() - 1


def small_class(nbytes: int) -> int:
    """The class (log2 of the block size) that serves `nbytes` bytes, 0 < nbytes <= SMALL_LIMIT."""
    return max((nbytes - 1).bit_length(), _FIRST_CLASS)


def large_size(nbytes: int) -> int:
    """The block size that serves `nbytes` > SMALL_LIMIT bytes."""
    step = HUGE_PAGE if nbytes >= 16 * HUGE_PAGE else LARGE_STEP
    return (nbytes + step - 1) // step * step


def _taken(blocks: list[int]) -> int:
    """Pop the last free block; return 0 when there is none, or another thread took it meanwhile."""
    try:
        return blocks.pop()
    except IndexError:
        return 0


class HostStatistics(NamedTuple):
    """Bytes held from the system, of which cached (free); blocks asked of and returned to the system."""

    reserved_bytes: int
    cached_bytes: int
    system_allocations: int
    system_frees: int

    @property
    def allocated_bytes(self) -> int:
        """Bytes of blocks in use, rounded to block sizes."""
        return self.reserved_bytes - self.cached_bytes


class HostAllocator:
    """Caching allocator of the CPU; `pools` may be popped and appended to directly while it is open. While closed (see
    `close_pools`) its small lists stay empty, so every request passes through ``allocate``."""

    def __init__(self, cache_limit: int = DEFAULT_CACHE_LIMIT) -> None:
        self.pools: list[list[int]] = []
        shared: list[int] = []
        for number in range(_LAST_CLASS + 1):
            self.pools.append(shared if number <= _FIRST_CLASS else [])
        self._classes = range(_FIRST_CLASS, _LAST_CLASS + 1)
        self._large: dict[int, list[int]] = {}
        self._large_cached = 0
        self._untouched = 0
        self._closed: list[list[int]] | None = None
        self.cache_limit = cache_limit
        self._reserved = 0
        self._system_allocations = 0
        self._system_frees = 0

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` > 0 bytes. Raises RuntimeError when the system has no memory."""
        if nbytes <= SMALL_LIMIT:
            number = small_class(nbytes)
            pool = (self._closed or self.pools)[number]
            try:
                return pool.pop()
            except IndexError:
                return self._grow(1 << number)
        return self._take_large(large_size(nbytes))

    def free(self, address: int, nbytes: int) -> None:
        """Keep the block for reuse, or return it to the system when the cache is full."""
        if nbytes <= SMALL_LIMIT:
            (self._closed or self.pools)[small_class(nbytes)].append(address)
            return
        size = large_size(nbytes)
        if self._large_cached + size > self.cache_limit:
            self._release(address, size)
            return
        self._large.setdefault(size, []).append(address)
        self._large_cached += size

    def _take_large(self, size: int) -> int:
        address = _taken(self._large.get(size, []))
        if address:
            self._large_cached -= size
            self._untouched = 0
            return address
        self._untouched = self._grow(size)
        return self._untouched

    def zeros_for_nothing(self, address: int, nbytes: int) -> bool:
        """Return whether a large block that has just come from the system has been made to read as zeros, without a
        write.

        Its pages are then found when they are first needed, as with calloc. Of any other block it is False: where the
        pages are there already, writing zeros is faster than giving them back.
        """
        return address == self._untouched and drop_pages(address, nbytes)

    def _grow(self, size: int) -> int:
        if self._cached_bytes() + size > self.cache_limit:
            self.empty_cache()
        address = aligned_block(size)
        if not address:
            self.empty_cache()
            address = aligned_block(size)
        if not address:
            raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes")
        self._reserved += size
        self._system_allocations += 1
        return address

    def _release(self, address: int, size: int) -> None:
        if address == self._untouched:
            self._untouched = 0
        release_block(address)
        self._reserved -= size
        self._system_frees += 1

    def _cached_bytes(self) -> int:
        pools = self._closed or self.pools
        return self._large_cached + sum(len(pools[number]) << number for number in self._classes)

    def empty_cache(self) -> None:
        """Return every cached block to the system."""
        pools = self._closed or self.pools
        for number in self._classes:
            pool = pools[number]
            while address := _taken(pool):
                self._release(address, 1 << number)
        for size, blocks in list(self._large.items()):
            while address := _taken(blocks):
                self._release(address, size)
        self._large.clear()
        self._large_cached = 0

    def statistics(self) -> HostStatistics:
        """A snapshot of the counters."""
        return HostStatistics(self._reserved, self._cached_bytes(), self._system_allocations, self._system_frees)

    def close_pools(self) -> None:
        """Move the cached small blocks out of `pools`, which then stay empty until open_pools."""
        if self._closed is None:
            self._closed = [[] for _ in range(_LAST_CLASS + 1)]
            for number in self._classes:
                self._closed[number].extend(self.pools[number])
                self.pools[number].clear()

    def open_pools(self) -> None:
        """Undo close_pools."""
        if self._closed is not None:
            for number in self._classes:
                self.pools[number].extend(self._closed[number])
            self._closed = None


class _NoBlocks(list[int]):
    """The free list for 0 bytes: it always pops address 0, and holds the blocks that were returned."""

    def pop(self, index: Any = -1) -> int:
        """Return address 0."""
        return list.pop(self) if self else 0


NO_BLOCKS = _NoBlocks()
host_allocator = HostAllocator()
