"""Atomic file writes, for all packages."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

PART = ".part"
_CREATE = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a binary file that replaces `path` when the block ends; after an error `path` is unchanged.

    The bytes go to a hidden file in the same folder, which is removed after an error. A new file gets `mode` less the
    umask.

    Raises:
        OSError: the file cannot be written.
    """
    part = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}{PART}")
    try:
        handle = os.open(part, _CREATE, mode)
        with open(handle, "w+b") as file:
            lock(handle)
            yield file
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


@contextlib.contextmanager
def output_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield an `atomic_file` if the user's `path` can be replaced, else the file at `path` itself.

    Links are followed, and a file that is replaced keeps its permissions. A path that is not a regular file, has
    several hard links or is in a folder without write permission is written in place.

    Raises:
        OSError: the file cannot be written.
    """
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
    except FileNotFoundError:
        status = None
    plain = status is None or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
    beside = plain and os.access(os.path.dirname(target), os.W_OK) and (status is None or os.access(target, os.W_OK))
    with atomic_file(target) if beside else open(target, "wb") as file:
        if beside and status is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        yield file


def lock(handle: int) -> bool:
    """Lock an open file until its last descriptor, including those of forks, is closed; return whether it was free."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def lock_of_dead(path: str) -> Iterator[bool]:
    """Yield whether the process that locked a file is dead; the block holds the lock if so."""
    try:
        handle = os.open(path, _READ)
    except OSError:
        yield False
        return
    try:
        yield lock(handle)
    finally:
        os.close(handle)


def remove_part(path: str) -> bool:
    """Remove the hidden file of an `atomic_file` whose process died; return whether it was removed."""
    with lock_of_dead(path) as dead:
        if dead:
            with contextlib.suppress(OSError):
                os.unlink(path)
        return dead
