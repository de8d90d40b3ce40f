"""What was compiled, on disk: objects by the digest of their text, and descriptions of objects. Bounded, safe among
processes, optional."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from .cache_folder import CacheFolder, cache_folder, digest

MAX_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 256
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SOURCES = ("kernels", "operators/formulas", "operators/launch.py", "core/dtype.py")
"""The folders and files that the text of kernels follows from."""


class ObjectCache:
    """Reads and writes objects by key; every file operation that fails counts as a miss."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._writes = 0
        self._folder = cache_folder() if folder is None else CacheFolder(folder)

    def read(self, key: str) -> bytes | None:
        """Return the object stored for `key`, or None."""
        return self._folder.read(f"{key}.o")

    def holds(self, key: str) -> bool:
        """Return whether an object is stored for `key`."""
        return self._folder.holds(f"{key}.o")

    def write(self, key: str, content: bytes) -> None:
        """Store an object under `key` atomically."""
        if self._folder.write(f"{key}.o", content):
            if self._writes % _CHECK_EVERY == 0:
                self.shrink()
            self._writes += 1

    def shrink(self) -> None:
        """Remove the oldest objects until the folder holds at most three quarters of the limit, when it is above it."""
        self._folder.shrink(self.max_bytes)


class Described(NamedTuple):
    """The key of an object, whether it calls the functions that modules share, and the facts about its module."""

    key: str
    uses_common: bool
    facts: str


class Descriptions:
    """Which object a description stands for, as long as the sources of the package are the same.

    `salt` names the compiler. The sources are told by the states of their files: see `source_state`.
    """

    def __init__(self, salt: str, folder: str | os.PathLike[str] | None = None, state: str | None = None) -> None:
        self._salt = f"{salt} {sys.version} {_PACKAGE}"
        self._folder = cache_folder() if folder is None else CacheFolder(folder)
        self._state = SOURCE_STATE if state is None else state

    def read(self, description: str) -> Described | None:
        """Return what is known of a description, or None."""
        found = self._folder.read(self._name(description)) if self._state else None
        if found is None:
            return None
        state, key, uses_common, facts = found.decode().split("\n", 3)
        return Described(key, uses_common == "1", facts) if state == self._state else None

    def write(self, description: str, known: Described) -> None:
        """Keep what a description stands for."""
        if self._state:
            content = f"{self._state}\n{known.key}\n{known.uses_common:d}\n{known.facts}"
            self._folder.write(self._name(description), content.encode())

    def _name(self, description: str) -> str:
        return f"{digest(f'{self._salt} {description}'.encode()).hex()}.d"


def source_state(package: str = _PACKAGE) -> str:
    """Return a digest of the names, sizes and times of the files that kernels are written by; "" if there are none."""
    found = []
    try:
        for source in _SOURCES:
            place = os.path.join(package, *source.split("/"))
            if os.path.isdir(place):
                with os.scandir(place) as entries:
                    found += [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
            else:
                found.append((source, os.stat(place)))
    except OSError:
        return ""
    states = [f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}" for name, status in sorted(found)]
    return digest("\n".join(states).encode()).hex()


SOURCE_STATE = source_state()
"""The state of the sources when this package was imported, before the modules that write kernels."""
