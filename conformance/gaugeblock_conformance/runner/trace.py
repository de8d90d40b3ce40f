"""The last thing a worker did, in a mapped file that outlives it: written before every call, read after a crash."""

from __future__ import annotations

import mmap
import os
import struct

CAPACITY = 1 << 18
_LENGTH = struct.Struct("<Q")


class TraceWriter:
    """A trace sink: ``writer(text)`` replaces the text in the file of ``descriptor``."""

    def __init__(self, descriptor: int) -> None:
        os.ftruncate(descriptor, CAPACITY)
        self._map = mmap.mmap(descriptor, CAPACITY)

    def __call__(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")[: CAPACITY - _LENGTH.size]
        _LENGTH.pack_into(self._map, 0, 0)
        self._map[_LENGTH.size : _LENGTH.size + len(data)] = data
        _LENGTH.pack_into(self._map, 0, len(data))


def read_trace(descriptor: int) -> str | None:
    """Return the text last written to the file, or None if there is none or the writer died while writing."""
    data = os.pread(descriptor, CAPACITY, 0)
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    return data[_LENGTH.size : _LENGTH.size + length].decode(errors="replace") or None
