"""Temporary folders removed at the end of their process, or by the next process that makes one."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile

from .atomic_file import lock, lock_of_dead

LOCK = ".lock"


class TemporaryFolder:
    """A new private folder `path`, removed when the block or the process that made it ends.

    The process and its forked children hold a lock on a file in the folder; the file is renamed into place once it is
    locked. A folder of the same user and prefix whose lock is free was left by a killed process, and is removed. A
    forked child removes only its own folders.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, prefix: str) -> None:
        above = tempfile.gettempdir()
        _remove_leftovers(above, prefix)
        self.path = tempfile.mkdtemp(prefix=prefix, dir=above)
        self._process = os.getpid()
        place = os.path.join(self.path, LOCK)
        self._lock = os.open(f"{place}.new", os.O_CREAT | os.O_RDWR, 0o600)
        lock(self._lock)
        os.rename(f"{place}.new", place)
        atexit.register(self.remove)
        if "multiprocessing.util" in sys.modules:
            # Children of multiprocessing exit without running atexit.
            from multiprocessing.util import Finalize

            Finalize(None, self.remove, exitpriority=-100)

    def remove(self) -> None:
        """Remove the folder, once, in the process that made it."""
        if os.getpid() == self._process:
            self._process = 0
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            atexit.unregister(self.remove)

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()


def _remove_leftovers(above: str, prefix: str) -> None:
    with contextlib.suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if not entry.name.startswith(prefix) or not _is_own(entry):
                continue
            with lock_of_dead(os.path.join(entry.path, LOCK)) as dead:
                if dead:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _is_own(entry: os.DirEntry[str]) -> bool:
    try:
        return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False
