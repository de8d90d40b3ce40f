"""Compiled objects on disk, keyed by content hash: bounded, safe among processes, optional."""

from __future__ import annotations

import os

from .cache_folder import CacheFolder, cache_folder

MAX_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 256


class ObjectCache:
    """Reads and writes objects by key; every file operation that fails counts as a miss."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._writes = 0
        self._folder = cache_folder() if folder is None else CacheFolder(folder)

    def read(self, key: str) -> bytes | None:
        """Return the object stored for `key`, or None."""
        return self._folder.read(f"{key}.o")

    def write(self, key: str, content: bytes) -> None:
        """Store an object under `key` atomically."""
        if self._folder.write(f"{key}.o", content):
            if self._writes % _CHECK_EVERY == 0:
                self.shrink()
            self._writes += 1

    def shrink(self) -> None:
        """Remove the oldest objects until the folder holds at most three quarters of the limit, when it is above it."""
        self._folder.shrink(self.max_bytes)
