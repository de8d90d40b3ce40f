"""Compiled objects on disk, keyed by content hash: bounded, safe among processes, optional.

Files hold a digest and the object; a file that does not match its digest is removed and compiled again. The
folder is GAUGEBLOCK_CACHE_DIR, else the user's cache folder; where it cannot be written the engine works without.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from .digest import DIGEST_SIZE, digest

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "GAUGEBLOCK_CACHE_DIR"
MAX_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 256


def cache_folder() -> Path:
    """The folder for compiled objects."""
    from pathlib import Path

    return Path(cache_place())


def cache_place() -> str:
    """The same as text: importing `pathlib` takes longer than looking into the folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return chosen
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        above = os.path.join(home, "Library", "Caches")
    elif sys.platform == "win32":
        above = os.environ.get("LOCALAPPDATA", home)
    else:
        above = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(above, "gaugeblock", "kernels")


class ObjectCache:
    """Reads and writes objects by key; every file operation that fails counts as a miss."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._writes = 0
        self.folder: str | None = cache_place() if folder is None else os.fspath(folder)
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError:
            self.folder = None

    def read(self, key: str) -> bytes | None:
        """The object stored for `key`, or None."""
        if self.folder is None:
            return None
        place = os.path.join(self.folder, f"{key}.o")
        try:
            with open(place, "rb") as file:
                data = file.read()
        except OSError:
            return None
        content = data[DIGEST_SIZE:]
        if digest(content) == data[:DIGEST_SIZE]:
            return content
        with contextlib.suppress(OSError):
            os.unlink(place)
        return None

    def write(self, key: str, content: bytes) -> None:
        """Store an object under `key` by atomic rename."""
        import tempfile

        if self.folder is None:
            return
        temporary = ""
        try:
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(digest(content) + content)
            os.replace(temporary, os.path.join(self.folder, f"{key}.o"))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._writes % _CHECK_EVERY == 0:
            self.shrink()
        self._writes += 1

    def shrink(self) -> None:
        """Remove the oldest objects until the folder holds at most three quarters of the limit, when it is above it."""
        if self.folder is None:
            return
        found: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    found.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total <= self.max_bytes:
            return
        for _, size, path in sorted(found):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= self.max_bytes * 3 // 4:
                return
