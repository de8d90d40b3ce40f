"""Segments: memory of a storage that other processes map too.

A segment is a file without a name. The system keeps it as long as some process has it open or mapped, so that nothing
is left when all processes have ended, in whatever way. Each process maps a segment once and has one Storage for it.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import NoReturn, Protocol

from ..core.fork_safety import fork_safe
from .storage import Storage, check_nbytes, foreign_storage

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
)  # fmt: skip
_mmap.restype = ctypes.c_void_p
_munmap = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_munmap.restype = ctypes.c_int
_FAILED = ctypes.c_void_p(-1).value
_SEALS = 0x1 | 0x2 | 0x4
"""Of a file on Linux: no further seal, no shrinking, no growing."""


class Hold(Protocol):
    """What keeps a name of a segment alive."""

    address: bytes
    name: bytes

    def release(self) -> None:
        """Give up the name."""


class Segment:
    """The allocator of a shared storage. `descriptor` is that of the file, or None where only `hold`, a name that a
    manager keeps, leads to it; both are None for a storage without bytes."""

    __slots__ = ("descriptor", "hold")

    def __init__(self, descriptor: int | None, hold: Hold | None = None) -> None:
        self.descriptor = descriptor
        self.hold = hold

    def allocate(self, nbytes: int) -> NoReturn:
        """Raise RuntimeError: a segment has one block."""
        raise RuntimeError(f"memory shared between processes cannot be given {nbytes} more bytes")

    def free(self, address: int, nbytes: int) -> None:
        """Unmap the block, and give up the descriptor and the name."""
        if address:
            _munmap(address, nbytes)
        self.close_descriptor()
        hold, self.hold = self.hold, None
        if hold is not None:
            hold.release()

    def close_descriptor(self) -> None:
        """Close the descriptor if there is one; the mapping stays."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)


SHARING = fork_safe(threading.RLock())
"""Held while a storage is moved to a segment, or one is looked up."""
_OPEN: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
"""The storages over segments that this process has mapped, by device and inode of their files."""


def segment_of(storage: Storage) -> Segment | None:
    """Return the segment under a storage, or None if it is not shared."""
    return storage.allocator if type(storage.allocator) is Segment else None


def new_segment(nbytes: int) -> Storage:
    """Return a storage over a new segment of `nbytes` bytes. Raises RuntimeError if the system refuses."""
    if not check_nbytes("share_memory_", nbytes):
        return _over(0, 0, Segment(None))
    descriptor = _nameless_file()
    try:
        _give_size(descriptor, nbytes)
        address = _mapped(descriptor, nbytes)
    except BaseException:
        os.close(descriptor)
        raise
    return _over(address, nbytes, Segment(descriptor))


def announce(storage: Storage) -> None:
    """Let this storage be found when its segment arrives from another process; with a name it needs no descriptor."""
    segment = segment_of(storage)
    if segment is not None and segment.descriptor is not None:
        with SHARING:
            _OPEN[_key(os.fstat(segment.descriptor))] = storage
        if segment.hold is not None:
            segment.close_descriptor()


def open_segment(descriptor: int, nbytes: int, hold: Hold | None = None) -> Storage:
    """Return the storage over a segment that another process made, the same one as long as it lives.

    `descriptor`, which is taken over, is closed if `hold` is given; a hold that is not needed is released. Raises
    RuntimeError unless the file has `nbytes` bytes.
    """
    with _taken_over(descriptor, hold) as given, SHARING:
        found = os.fstat(descriptor)
        if found.st_size != nbytes:
            raise RuntimeError(f"the shared memory object has {found.st_size} bytes, not {nbytes}")
        storage = _OPEN.get(_key(found))
        if storage is None:
            segment = Segment(None if hold is not None else descriptor, hold)
            storage = _over(_mapped(descriptor, nbytes), nbytes, segment)
            given.clear() if hold is None else given.remove(hold)
            _OPEN[_key(found)] = storage
        return storage


@contextmanager
def _taken_over(descriptor: int, hold: Hold | None) -> Iterator[list[int | Hold]]:
    """Close the descriptor and release the hold at the end, unless they were taken from the list."""
    given: list[int | Hold] = [descriptor] if hold is None else [descriptor, hold]
    try:
        yield given
    finally:
        for one in given:
            if isinstance(one, int):
                os.close(one)
            else:
                one.release()


def _key(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _over(address: int, nbytes: int, segment: Segment) -> Storage:
    storage = foreign_storage(address, nbytes)
    storage.allocator = segment
    return storage


def _mapped(descriptor: int, nbytes: int) -> int:
    address: int | None = _mmap(None, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    if address is None or address == _FAILED:
        error = os.strerror(ctypes.get_errno())
        raise RuntimeError(f"share_memory_(): cannot map {nbytes} bytes of shared memory: {error}")
    return address


def _nameless_file() -> int:
    """Return the descriptor of a new file in memory that has no name."""
    try:
        if hasattr(os, "memfd_create"):
            return os.memfd_create("gaugeblock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        import _posixshmem  # type: ignore[import-not-found]

        name = f"/gaugeblock_{token_hex(8)}"
        descriptor: int = _posixshmem.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
        _posixshmem.shm_unlink(name)
        return descriptor
    except OSError as error:
        raise RuntimeError(f"share_memory_(): cannot make shared memory: {error.strerror}{_advice(error)}") from None


def _advice(error: OSError) -> str:
    import errno

    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return ""
    return "; the strategy 'file_system' needs no descriptor per storage, or raise the limit (ulimit -n)"


def _give_size(descriptor: int, nbytes: int) -> None:
    """Set the size of a new file for good: a process that maps it may not find it shorter."""
    try:
        os.ftruncate(descriptor, nbytes)
    except OSError as error:
        raise RuntimeError(f"share_memory_(): cannot get {nbytes} bytes of shared memory: {error.strerror}") from None
    if sys.platform == "linux":
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
