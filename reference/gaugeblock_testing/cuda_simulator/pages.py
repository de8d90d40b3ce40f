"""Where the memory of a simulated device lies: in pages of this process, or nowhere, its addresses being numbers only.

Pages of the process are mapped without being backed, so a device may be larger than the host's memory as long as
nobody fills it. Memory that is mapped by handles lies in a file without a name.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import weakref
from itertools import count
from typing import Protocol

from gaugeblock.memory.host_allocator import aligned_block, memmove, memset, release_block

from .address_space import AddressSpace

GRANULARITY = 2 << 20
PAGE = max(4096, mmap.PAGESIZE)
_MAP_FIXED = 0x10
_FAILED = ctypes.c_void_p(-1).value
_PUNCH_HOLE_KEEP_SIZE = 3
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Python names it from 3.13 on."""
_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
_munmap = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_fallocate = getattr(_libc, "fallocate", None)
if _fallocate is not None:
    _fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)


class Pages(Protocol):
    """Address ranges and what lies in them. Sizes are multiples of PAGE, those of `map` and `unmap` of GRANULARITY."""

    backed: bool

    def reserve(self, size: int) -> int | None:
        """The address of a range, a multiple of GRANULARITY; None when there is no room."""

    def release(self, address: int, size: int) -> None:
        """Give a whole range back."""

    def discard(self, address: int, size: int) -> None:
        """Forget the contents of pages; the range stays."""

    def create(self, size: int) -> int | None:
        """The offset of `size` bytes that can be mapped; None when there is no room."""

    def destroy(self, offset: int, size: int) -> None:
        """Give back what `create` gave."""

    def map(self, address: int, size: int, offset: int) -> bool:
        """Let a range show what `create` gave; False when the system refuses."""

    def unmap(self, address: int, size: int) -> None:
        """Let a range show nothing again."""

    def pinned(self, size: int) -> int:
        """The address of host memory, 0 when there is none."""

    def unpin(self, address: int, size: int) -> None:
        """Give back what `pinned` gave."""

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy bytes."""

    def fill(self, to: int, value: int, size: int) -> None:
        """Set bytes."""


class NumberPages:
    """Addresses without memory, for the logic of allocators alone."""

    backed = False
    _FIRST = 0x7000_0000_0000

    def __init__(self) -> None:
        self._space = AddressSpace(self._FIRST, 1 << 60, GRANULARITY)
        self._host = AddressSpace(PAGE, 1 << 46, PAGE)
        self._offsets = count()

    def reserve(self, size: int) -> int | None:
        return self._space.take(_rounded(size, GRANULARITY))

    def release(self, address: int, size: int) -> None:
        self._space.give(address, _rounded(size, GRANULARITY))

    def discard(self, address: int, size: int) -> None:
        """Nothing lies there."""

    def create(self, size: int) -> int | None:
        return next(self._offsets)

    def destroy(self, offset: int, size: int) -> None:
        """Nothing was made."""

    def map(self, address: int, size: int, offset: int) -> bool:
        return True

    def unmap(self, address: int, size: int) -> None:
        """Nothing was mapped."""

    def pinned(self, size: int) -> int:
        return self._host.take(_rounded(size, PAGE)) or 0

    def unpin(self, address: int, size: int) -> None:
        self._host.give(address, _rounded(size, PAGE))

    def copy(self, to: int, source: int, size: int) -> None:
        """There are no bytes."""

    def fill(self, to: int, value: int, size: int) -> None:
        """There are no bytes."""


class HostPages:
    """Pages of this process; what is left of them goes when the object does."""

    backed = True

    def __init__(self) -> None:
        self._ranges: dict[int, int] = {}
        self._pins: set[int] = set()
        self._files: list[int] = []
        self._offsets = AddressSpace(0, 1 << 46, GRANULARITY)
        self._file_size = 0
        weakref.finalize(self, _close, self._ranges, self._pins, self._files).atexit = False

    def reserve(self, size: int) -> int | None:
        size = _rounded(size, GRANULARITY)
        found = _mmap(None, size + GRANULARITY, _READ_WRITE, _ANONYMOUS, -1, 0)
        if found in (None, _FAILED):
            return None
        address: int = _rounded(found, GRANULARITY)
        if address > found:
            _munmap(found, address - found)
        _munmap(address + size, found + GRANULARITY - address)
        self._ranges[address] = size
        return address

    def release(self, address: int, size: int) -> None:
        _munmap(address, self._ranges.pop(address))

    def discard(self, address: int, size: int) -> None:
        _mmap(address, size, _READ_WRITE, _ANONYMOUS | _MAP_FIXED, -1, 0)

    def create(self, size: int) -> int | None:
        if not self._files:
            self._files.append(_nameless_file())
        offset = self._offsets.take(size)
        if offset is not None and offset + size > self._file_size:
            self._file_size = offset + size
            os.ftruncate(self._files[0], self._file_size)
        return offset

    def destroy(self, offset: int, size: int) -> None:
        if _fallocate is not None:
            _fallocate(self._files[0], _PUNCH_HOLE_KEEP_SIZE, offset, size)
        self._offsets.give(offset, size)

    def map(self, address: int, size: int, offset: int) -> bool:
        flags = mmap.MAP_SHARED | _NO_RESERVE | _MAP_FIXED
        return bool(_mmap(address, size, _READ_WRITE, flags, self._files[0], offset) == address)

    def unmap(self, address: int, size: int) -> None:
        self.discard(address, size)

    def pinned(self, size: int) -> int:
        address = aligned_block(size, PAGE)
        if address:
            self._pins.add(address)
        return address

    def unpin(self, address: int, size: int) -> None:
        self._pins.remove(address)
        release_block(address)

    def copy(self, to: int, source: int, size: int) -> None:
        memmove(to, source, size)

    def fill(self, to: int, value: int, size: int) -> None:
        memset(to, value, size)


def _rounded(size: int, step: int) -> int:
    return (size + step - 1) & -step


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gaugeblock-device", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _close(ranges: dict[int, int], pins: set[int], files: list[int]) -> None:
    for address, size in ranges.items():
        _munmap(address, size)
    for address in pins:
        release_block(address)
    for file in files:
        os.close(file)
