"""Compiled objects on disk, keyed by content hash: bounded, safe among processes, optional.

Files hold a SHA-256 digest and the object; a file that does not match its digest is removed and compiled again. The
folder is GAUGEBLOCK_CACHE_DIR, else the user's cache folder; where it cannot be written the engine works without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path

VARIABLE = "GAUGEBLOCK_CACHE_DIR"
MAX_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 256
_DIGEST = 32


def cache_folder() -> Path:
    """The folder for compiled objects."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gaugeblock" / "kernels"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "gaugeblock" / "kernels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gaugeblock" / "kernels"


class ObjectCache:
    """Reads and writes objects by key; every file operation that fails counts as a miss."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._writes = 0
        try:
            self.folder: Path | None = folder if folder is not None else cache_folder()
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):
            self.folder = None

    def read(self, key: str) -> bytes | None:
        """The object stored for `key`, or None."""
        if self.folder is None:
            return None
        place = self.folder / f"{key}.o"
        try:
            data = place.read_bytes()
        except OSError:
            return None
        content = data[_DIGEST:]
        if hashlib.sha256(content).digest() == data[:_DIGEST]:
            return content
        with contextlib.suppress(OSError):
            place.unlink()
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
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, self.folder / f"{key}.o")
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
