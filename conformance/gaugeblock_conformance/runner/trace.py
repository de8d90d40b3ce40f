"""The last thing a worker did, in a mapped file that outlives it, to be read after a crash.

It has the operator being judged, and in careful runs, before every use of the backend, the source lines so far, all
calls so far by way of the adapter, and the use itself, in the words of :mod:`..traced`. Each text has a checksum, for a
backend may write over the file.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib

CAPACITY = 1 << 18
_SHORT = 1 << 12
_LINES, _LOG, _OPERATOR, _USE = 0, CAPACITY, 2 * CAPACITY, 2 * CAPACITY + _SHORT
"""Where the texts begin."""
_WHOLE = _USE + _SHORT
_HEAD = struct.Struct("<QI")
"""Length and checksum of a text, which follows."""
_NOTHING = _HEAD.pack(0, 0)


class TraceWriter:
    """A trace sink: ``writer(text)`` replaces the source lines in the file of ``descriptor``."""

    def __init__(self, descriptor: int) -> None:
        os.ftruncate(descriptor, _WHOLE)
        self._map = mmap.mmap(descriptor, _WHOLE)

    def __call__(self, text: str) -> None:
        self._write(text, _LINES, _LOG)

    def log(self, text: str) -> None:
        """Replace the calls so far."""
        self._write(text, _LOG, _OPERATOR)

    def at_operator(self, name: str) -> None:
        """Replace the operator's name."""
        self._write(name, _OPERATOR, _USE)

    def at_use(self, use: str) -> None:
        """Replace the last use of the backend."""
        self._write(use, _USE, _WHOLE)

    def _write(self, text: str, start: int, end: int) -> None:
        begin = start + _HEAD.size
        data = text.encode(errors="backslashreplace")[: end - begin]
        self._map[start:begin] = _NOTHING
        self._map[begin : begin + len(data)] = data
        _HEAD.pack_into(self._map, start, len(data), zlib.crc32(data))


def forget(descriptor: int) -> None:
    """Remove the operator's name and the last use from the file."""
    for start in (_OPERATOR, _USE):
        os.pwrite(descriptor, _NOTHING, start)


def read_operator(descriptor: int) -> str | None:
    """Return the name of the operator that was being judged, or None if there is none."""
    return _read(descriptor, _OPERATOR, _USE)


def read_use(descriptor: int) -> str | None:
    """Return the last use of the backend, or None if none was told."""
    return _read(descriptor, _USE, _WHOLE)


def read_trace(descriptor: int) -> str | None:
    """Return the source lines last written to the file, or None if there are none or the writer died while writing."""
    return _read(descriptor, _LINES, _LOG)


def read_log(descriptor: int) -> str | None:
    """Return the calls last written to the file by way of the adapter, or None if there are none."""
    return _read(descriptor, _LOG, _OPERATOR)


def _read(descriptor: int, start: int, end: int) -> str | None:
    data = os.pread(descriptor, end - start, start)
    if len(data) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack_from(data)
    text = data[_HEAD.size : _HEAD.size + length]
    return text.decode(errors="replace") or None if zlib.crc32(text) == checksum else None
