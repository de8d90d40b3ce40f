"""Zip files of tensors: one pickle, and the bytes of every storage in a member of its own, aligned and uncompressed."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO

ALIGNMENT = 64
"""The bytes of a storage begin in the file at a multiple of this."""

_PADDING = b"FB"
"""The tag of the field in a member's header that fills it up to ALIGNMENT."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LONG_SIZES = 20
"""Bytes that zipfile adds to the header of a long member."""

_LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""How files of torch.save begin that are no zip files: a pickle of a number."""

DAMAGED = (
    AttributeError, EOFError, LookupError, NotImplementedError, OverflowError, TypeError, ValueError, struct.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""Errors that reading a damaged file may raise."""


@contextlib.contextmanager
def writing(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Yield a zip file that is written to `file`."""
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        yield archive
        archive.close()
    except BaseException:
        archive.fp = None  # closed without an end: it would refuse to end amid a member, in place of this error
        raise


def write_member(archive: zipfile.ZipFile, name: str, size: int, pieces: Iterable[bytes]) -> None:
    """Write a member of `size` bytes piece by piece: signals are answered in between. Equal members are equal bytes."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    member.file_size = size
    assert archive.fp is not None
    header = _LOCAL_HEADER.size + len(name) + (_LONG_SIZES if size * 1.05 > zipfile.ZIP64_LIMIT else 0)
    fill = -(archive.fp.tell() + header + 4) % ALIGNMENT
    member.extra = struct.pack("<2sH", _PADDING, fill) + bytes(fill)
    with archive.open(member, "w") as file:
        for piece in pieces:
            file.write(piece)


class Reader:
    """An open zip file that was checked: its members are not compressed, bear different names and fit in its length.

    Raises:
        RuntimeError: it is no such file.
        OSError: it cannot be read.
    """

    def __init__(self, f: str | os.PathLike[str] | IO[bytes]) -> None:
        try:
            self.archive = zipfile.ZipFile(f)
            assert self.archive.fp is not None
            length = self.archive.fp.seek(0, os.SEEK_END)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # raised for a seek before the first byte
                raise
            raise RuntimeError(f"load(): argument 'f' is not a file written by save: {_reason(f, error)}") from None
        try:
            self._check(length)
        except BaseException:
            self.archive.close()
            raise
        self.root = ""

    def _check(self, length: int) -> None:
        total = 0
        names = set()
        for member in self.archive.infolist():
            name = member.filename
            if member.compress_type or member.flag_bits & 1:
                raise RuntimeError(f"load(): {name!r} in the file is compressed or encrypted; save does neither")
            if member.header_offset < 0:
                raise RuntimeError(f"load(): {name!r} has a negative offset; the file is damaged")
            if name in names:
                raise RuntimeError(f"load(): the file has two members {name!r}")
            names.add(name)
            total += member.file_size
        if total > length:
            raise RuntimeError(f"load(): the file has {length} bytes but declares {total}")

    def __contains__(self, name: str) -> bool:
        return self.root + name in self.archive.NameToInfo

    def names(self) -> list[str]:
        """Return the full names of all members."""
        return self.archive.namelist()

    def size(self, name: str) -> int:
        """Return the number of bytes of a member. Raises KeyError when there is none."""
        return self.archive.getinfo(self.root + name).file_size

    def read(self, name: str) -> bytes:
        """Return the bytes of a member. Raises KeyError when there is none, BadZipFile for a wrong checksum."""
        return self.archive.read(self.root + name)

    def place(self, name: str) -> int:
        """Return where in the file a member's bytes begin. Raises BadZipFile for a damaged header."""
        member = self.archive.getinfo(self.root + name)
        file = self.archive.fp
        assert file is not None
        file.seek(member.header_offset)
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        begin = member.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        if signature != b"PK\x03\x04" or begin + member.file_size > file.seek(0, os.SEEK_END):
            raise zipfile.BadZipFile(f"the header of {name!r} is damaged")
        return int(begin)


def _reason(f: str | os.PathLike[str] | IO[bytes], error: Exception) -> str:
    try:
        if isinstance(f, (str, os.PathLike)):
            with open(f, "rb") as file:
                begin = file.read(len(_LEGACY))
        else:
            f.seek(0)
            begin = f.read(len(_LEGACY))
    except (*DAMAGED, OSError):
        return str(error)
    if begin == _LEGACY:
        return (
            "it has PyTorch's format before 1.6, which is no zip file; load it with torch.load, and save it again "
            "with torch.save"
        )
    return str(error)
