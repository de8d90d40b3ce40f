"""The last thing a worker did, in a mapped file that outlives it: written before every call, read after a crash.

The file has two texts: the source lines so far, which only careful runs write, and the operator being judged.
"""

from __future__ import annotations

import mmap
import os
import struct

CAPACITY = 1 << 18
_OPERATOR = CAPACITY
"""Where the operator's text begins."""
_WHOLE = CAPACITY + (1 << 12)
_LENGTH = struct.Struct("<Q")


class TraceWriter:
    """A trace sink: ``writer(text)`` replaces the source lines in the file of ``descriptor``."""

    def __init__(self, descriptor: int) -> None:
        os.ftruncate(descriptor, _WHOLE)
        self._map = mmap.mmap(descriptor, _WHOLE)

    def __call__(self, text: str) -> None:
        self._write(text, 0, CAPACITY)

    def at_operator(self, name: str) -> None:
        """Replace the operator's name."""
        self._write(name, _OPERATOR, _WHOLE)

    def _write(self, text: str, start: int, end: int) -> None:
        begin = start + _LENGTH.size
        data = text.encode(errors="backslashreplace")[: end - begin]
        _LENGTH.pack_into(self._map, start, 0)
        self._map[begin : begin + len(data)] = data
        _LENGTH.pack_into(self._map, start, len(data))


def forget_operator(descriptor: int) -> None:
    """Remove the operator's name from the file."""
    os.pwrite(descriptor, _LENGTH.pack(0), _OPERATOR)


def read_operator(descriptor: int) -> str | None:
    """Return the name of the operator that was being judged, or None if there is none."""
    return _read(descriptor, _OPERATOR, _WHOLE)


def read_trace(descriptor: int) -> str | None:
    """Return the source lines last written to the file, or None if there are none or the writer died while writing."""
    return _read(descriptor, 0, CAPACITY)


def _read(descriptor: int, start: int, end: int) -> str | None:
    data = os.pread(descriptor, end - start, start)
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    return data[_LENGTH.size : _LENGTH.size + length].decode(errors="replace") or None
