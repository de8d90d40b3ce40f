"""The object cache: compiled objects on disk by the digest of their text, descriptions of objects, and generated files.

Machine code is loaded from the folder, so nothing is read that another user could have written. The folder is
GAUGEBLOCK_CACHE_DIR, else one in the user's cache directory. It must be owned by the user and not writable by others,
and no other user may be able to replace a parent folder; otherwise a private temporary folder is used.
Files are opened without following links, and checked once they are open. Each begins with a digest of its name and its
content; one that does not match is removed. Every operation that fails counts as a miss.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
from typing import NamedTuple

try:
    # `hashlib` would load OpenSSL for it, which takes longer than everything else here.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST_SIZE = 32


def digest(content: bytes, name: bytes = b"") -> bytes:
    """Return a 32-byte digest of `content`, or of `content` and `name`."""
    total = blake2b(name, digest_size=DIGEST_SIZE)
    total.update(content)
    return total.digest()


VARIABLE = "GAUGEBLOCK_CACHE_DIR"
MAX_FILE = 64 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 256
"""Files that a process writes before it looks again whether there are too many bytes."""
_MAX_LINKS = 40
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | sum(getattr(os, f"O_{name}", 0) for name in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY"))


class UntrustedFolder(OSError):
    """Raised for a folder that another user may write to or replace."""


def cache_place() -> str | None:
    """Return the absolute path of the folder that the environment asks for; None if it names none. A relative
    XDG_CACHE_HOME is ignored, as its specification says, and so is an unknown home."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        above = os.path.join(home, "Library", "Caches")
    elif sys.platform == "win32":
        above = os.environ.get("LOCALAPPDATA", home)
    else:
        above = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(above):
            above = os.path.join(home, ".cache")
    return os.path.join(above, "gaugeblock", "kernels") if os.path.isabs(above) else None


def trusted_folder(path: str) -> str:
    """Return the path of the folder with links resolved, and make it if it is missing.

    Every folder from the root down must be owned by the user or root and writable by nobody else, unless its sticky bit
    keeps others from replacing its entries. Each is checked after its parent, so no other user can change the path
    during the check or afterwards.

    Raises:
        UntrustedFolder: another user may write to the folder or replace one above it.
        OSError: it is not a folder, or cannot be made.
    """
    if not hasattr(os, "geteuid"):
        os.makedirs(path, exist_ok=True)
        return path
    user = os.geteuid()
    left = [name for name in reversed(path.split(os.sep)) if name]
    found, status, links = os.sep, os.lstat(os.sep), 0
    while left:
        _check_above(found, status, user)
        name = left.pop()
        if name in (".", ".."):
            found = found if name == "." else os.path.dirname(found)
            status = os.lstat(found)
            continue
        below = os.path.join(found, name)
        try:
            status = os.lstat(below)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.mkdir(below, 0o700)
            status = os.lstat(below)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if status.st_uid not in (0, user) or links > _MAX_LINKS:
                raise UntrustedFolder(f"{below} is a link of user {status.st_uid}")
            target = os.readlink(below)
            left += [part for part in reversed(target.split(os.sep)) if part]
            found = os.sep if os.path.isabs(target) else found
            status = os.lstat(found)
        elif stat.S_ISDIR(status.st_mode):
            found = below
        else:
            raise NotADirectoryError(f"{below} is not a folder")
    if status.st_uid != user:
        raise UntrustedFolder(f"{found} belongs to user {status.st_uid}")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise UntrustedFolder(f"{found} is writable by other users (run chmod go-w on it)")
    return found


def _check_above(place: str, status: os.stat_result, user: int) -> None:
    if status.st_uid not in (0, user):
        raise UntrustedFolder(f"{place} belongs to user {status.st_uid}")
    others = status.st_mode & _WRITABLE_BY_OTHERS
    if others and not status.st_mode & stat.S_ISVTX and (others & stat.S_IWOTH or not _is_private(status.st_gid, user)):
        raise UntrustedFolder(f"{place} is writable by other users")


def _is_private(group: int, user: int) -> bool:
    """Return whether a group is the user's private group: the same number, no other members, and not root's."""
    import grp
    import pwd

    try:
        return group == user != 0 and set(grp.getgrgid(group).gr_mem) <= {pwd.getpwuid(user).pw_name}
    except KeyError:
        return False


class CacheFolder:
    """Files of one folder by name, for the user who created this object; without a folder every read is a miss.
    `problem` is the reason why there is no folder."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.owner = _user()
        self.folder: str | None = None
        self.problem: OSError | None = None
        self._writes = 0
        if folder is not None:
            try:
                self.folder = trusted_folder(os.path.abspath(folder))
            except OSError as error:
                self.problem = error

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it is missing, damaged, too large, or accessible to other users."""
        if self.folder is None or _user() != self.owner:
            return None
        place = os.path.join(self.folder, name)
        try:
            found = self._read(place)
        except OSError:
            return None
        if found is None:
            return None
        expected, content = found
        if digest(content, name.encode()) == expected:
            return content
        with contextlib.suppress(OSError):
            os.unlink(place)
        return None

    def holds(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        return self.folder is not None and os.path.exists(os.path.join(self.folder, name))

    def _read(self, place: str) -> tuple[bytes, bytes] | None:
        handle = os.open(place, _READ)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                return None
            if self.owner >= 0 and (status.st_uid != self.owner or status.st_mode & _WRITABLE_BY_OTHERS):
                return None
            return os.read(handle, DIGEST_SIZE), os.read(handle, status.st_size)
        finally:
            os.close(handle)

    def write(self, name: str, content: bytes) -> bool:
        """Store a file atomically; return whether it was stored."""
        if self.folder is None or _user() != self.owner or len(content) > MAX_FILE - DIGEST_SIZE:
            return False
        from gaugeblock_spec.atomic_file import atomic_file

        try:
            with atomic_file(os.path.join(self.folder, name), 0o600) as file:
                file.write(digest(content, name.encode()) + content)
        except OSError:
            return False
        if self._writes % _CHECK_EVERY == 0:
            self.shrink()
        self._writes += 1
        return True

    def shrink(self, max_bytes: int = MAX_BYTES) -> None:
        """Remove the oldest files, if there are more than `max_bytes`, until at most three quarters of it are left.
        Temporary files of writers that died are removed at once."""
        from gaugeblock_spec.atomic_file import PART, remove_part

        if self.folder is None or _user() != self.owner:
            return
        found: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if not (entry.name.endswith(PART) and remove_part(entry.path)):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total <= max_bytes:
            return
        for _, size, path in sorted(found):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= max_bytes * 3 // 4:
                return


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else -1


@functools.cache
def cache_folder() -> CacheFolder:
    """Return the cache folder of this process: the one that the environment asks for, else a temporary one. Warns when
    GAUGEBLOCK_CACHE_DIR names a folder that other users may write to."""
    place = cache_place()
    found = CacheFolder(place)
    if found.folder is not None:
        return found
    if os.environ.get(VARIABLE) and isinstance(found.problem, UntrustedFolder):
        from ..core.warn import warn

        warn(f"{VARIABLE}={place} is not used: {found.problem}", RuntimeWarning)
    from gaugeblock_spec.temporary_folder import TemporaryFolder

    try:
        return CacheFolder(TemporaryFolder("gaugeblock-cache-").path)
    except OSError:
        return CacheFolder(None)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SOURCES = (
    "kernels", "operators/formulas", "operators/pointwise.py", "core/dtype.py", "autograd/edge_code.py",
    "autograd/recorded_call_code.py",
)  # fmt: skip
"""The folders and files that the text of kernels follows from."""


class Described(NamedTuple):
    """The key of an object, whether it calls the functions that modules share, and the facts about its module."""

    key: str
    uses_common: bool
    facts: str


class Descriptions:
    """Maps descriptions of modules to compiled objects, as long as the sources of the package are the same. `salt`
    names the compiler; `source_state` says how changed sources are recognized."""

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
