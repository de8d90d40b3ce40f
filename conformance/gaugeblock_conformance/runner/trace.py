"""The last thing a worker did, in a mapped file that outlives it: written before every call, read after a crash."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

CAPACITY = 1 << 18
_LENGTH = struct.Struct("<Q")


class TraceWriter:
    """A trace sink: ``writer(text)`` replaces the text in the file."""

    def __init__(self, path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(CAPACITY)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), CAPACITY)

    def __call__(self, text: str) -> None:
        data = text.encode()[: CAPACITY - _LENGTH.size]
        _LENGTH.pack_into(self._map, 0, 0)
        self._map[_LENGTH.size : _LENGTH.size + len(data)] = data
        _LENGTH.pack_into(self._map, 0, len(data))


def read_trace(path: Path) -> str | None:
    """What was last written to ``path``; None if nothing was, or the writer died while writing."""
    if not path.exists():
        return None
    data = path.read_bytes()
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    return data[_LENGTH.size : _LENGTH.size + length].decode(errors="replace") or None
