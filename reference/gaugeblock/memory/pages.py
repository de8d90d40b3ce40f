"""Raw memory from the operating system, through the C library: aligned blocks and page mappings."""

from __future__ import annotations

import ctypes
import mmap
import sys

ALIGNMENT = 64
HUGE_PAGE = 2 << 20
_MADV_DONTNEED = 4
_MADV_HUGEPAGE = 14

_libc = ctypes.CDLL(None, use_errno=True)
_aligned_alloc = _libc.aligned_alloc
_aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_aligned_alloc.restype = ctypes.c_void_p
_free = _libc.free
_free.argtypes = (ctypes.c_void_p,)
_free.restype = None
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
    """The address of `nbytes` bytes at a multiple of `alignment`, or 0 when the system has none.

    A block of several huge pages is aligned to one and the kernel is asked to back it with huge pages.
    """
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

    It is Linux that promises the zeros, for private memory. A locked page, or an address within a page, is refused.
    """
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


def release_block(address: int) -> None:
    """Give a block of aligned_block back to the system."""
    _free(address)
