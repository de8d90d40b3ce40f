"""save and load: a zip file with one pickle and the bytes of every storage.

Loading never runs code from the file: the pickle may name only the rebuild functions and plain containers.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import io
import os
import pickle
import struct
import time
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

from gaugeblock_spec.atomic_file import output_file

from ..core import device, dtype, layout, memory_format, size
from ..core.away import away
from ..core.errors import type_error
from ..memory.storage import Storage
from ..memory.untyped import UntypedStorage
from ..tensor.tensor import Tensor
from . import copying

if TYPE_CHECKING:
    import zipfile

FORMAT = "gaugeblock-tensors/1"
Place = str | device.Device
MapLocation = None | Place | Mapping[str, Place] | Callable[[UntypedStorage, str], UntypedStorage | None]
"""Where loaded storages go."""

_ALLOWED: dict[tuple[str, str], Any] = {
    (item.__module__, item.__qualname__): item
    for item in (
        copying.rebuild_attributed, copying.rebuild_tensor, dtype.dtype_by_name, device.Device, layout.layout_by_name,
        memory_format.memory_format_by_name, size.Size, collections.OrderedDict,
    )
}  # fmt: skip
_ALLOWED |= {("builtins", name): kind for name, kind in (("set", set), ("frozenset", frozenset), ("complex", complex))}


class _Writer(pickle.Pickler):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=4)
        self.storages: list[Storage] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, item: Any) -> Any:
        if not isinstance(item, Storage):
            return None
        number = self._numbers.setdefault(id(item), len(self.storages))
        if number == len(self.storages):
            self.storages.append(item)
        return ("storage", number, item.nbytes, str(item.device))

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, Tensor):
            parts = copying.parts_of(item)
            attributes = dict(item.__dict__)
            return (copying.rebuild_attributed, (parts, attributes)) if attributes else (copying.rebuild_tensor, parts)
        return NotImplemented


class _Reader(pickle.Unpickler):
    """Unpickler that allocates no more than the size of the file justifies."""

    def __init__(self, data: bytes, archive: zipfile.ZipFile, map_location: MapLocation) -> None:
        super().__init__(io.BytesIO(data))
        self._archive = archive
        self._map_location = map_location
        self._storages: dict[int, Storage] = {}
        self._members_left = len(data)
        self.refusal: BaseException | None = None

    def find_class(self, module: str, name: str) -> Any:
        try:
            found = _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"load(): the file names {module}.{name}, which is not allowed") from None
        if found is copying.rebuild_attributed:
            return lambda parts, attributes: found(parts, self._count(attributes))
        return (lambda members=(): found(self._count(members))) if found in _CONTAINERS else found

    def _count(self, members: Any) -> Any:
        """Return `members`. Raise UnpicklingError once all containers have more members than the file has bytes."""
        self._members_left -= len(members)
        if self._members_left < 0:
            raise pickle.UnpicklingError("load(): the file asks for containers with more members than it has bytes")
        return members

    def persistent_load(self, pid: Any) -> Storage:
        _, number, nbytes, place = pid
        if type(number) is not int or type(nbytes) is not int or type(place) is not str:
            raise pickle.UnpicklingError(f"load(): the file has a malformed storage reference: {pid!r}")
        if number not in self._storages:
            without = place == "meta"
            data = b"" if without else away(8 * nbytes, self._archive.read, f"storage/{number}")
            try:
                self._storages[number] = placed(data, nbytes, place, None if without else self._map_location)
            except BaseException as error:
                self.refusal = error
                raise
        return self._storages[number]


_CONTAINERS = frozenset({size.Size, collections.OrderedDict, set, frozenset})


def _check_archive(archive: zipfile.ZipFile, length: int) -> None:
    """Raise RuntimeError for compressed or encrypted members, and unless all members fit in `length` bytes."""
    total = 0
    for member in archive.infolist():
        if member.compress_type or member.flag_bits & 1:
            raise RuntimeError(f"load(): {member.filename!r} in the file is compressed or encrypted; save does neither")
        if member.header_offset < 0:
            raise RuntimeError(f"load(): {member.filename!r} has a negative offset; the file is damaged")
        total += member.file_size
    if total > length:
        raise RuntimeError(f"load(): the file has {length} bytes but declares {total}")


def _check_file(function: str, f: object, wanted: str) -> None:
    """Raise TypeError unless `f` is a path or has the method `wanted`."""
    if not isinstance(f, (str, os.PathLike)) and not callable(getattr(f, wanted, None)):
        type_error(function, "f", f, f"a path or a binary file with {wanted}()")


def save(obj: object, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write `obj`, made of tensors, containers and plain values, to a path or a binary file.

    A view is saved with its whole storage, and tensors that share a storage share it after loading. When writing fails,
    an existing file at the path is kept.
    """
    import zipfile

    _check_file("save", f, "write")
    stream = io.BytesIO()
    writer = _Writer(stream)
    writer.dump(obj)
    opened = output_file(f) if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f)
    with opened as file:
        archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        try:
            archive.writestr("format", FORMAT)
            archive.writestr("data.pkl", stream.getvalue())
            for number, storage in enumerate(writer.storages):
                _write_storage(archive, f"storage/{number}", storage)
            archive.close()
        except BaseException:
            archive.fp = None  # closed without an end: it would refuse to end amid a member, in place of this error
            raise


def _write_storage(archive: zipfile.ZipFile, name: str, storage: Storage) -> None:
    """Write the bytes of a storage piece by piece: signals are answered in between."""
    import zipfile

    member = zipfile.ZipInfo(name, time.localtime()[:6])
    member.external_attr = 0o600 << 16
    member.file_size = 0 if storage.device.type == "meta" else storage.nbytes
    with archive.open(member, "w") as file:
        for piece in copying.storage_pieces(storage):
            file.write(piece)


def placed(data: bytes, nbytes: int, place: str, map_location: MapLocation) -> Storage:
    """A storage with the bytes of one that was saved at `place`, where `map_location` says. Raises RuntimeError for a
    device that is not there, TypeError for what is no location."""
    if callable(map_location):
        given = copying.rebuild_storage(data, nbytes, device.cpu)
        found = map_location(UntypedStorage.of(given), place)
        if isinstance(found, UntypedStorage):
            if found.nbytes() < nbytes:
                raise RuntimeError(f"load(): map_location gave {found.nbytes()} bytes for a storage of {nbytes}")
            return found.storage_impl
        if found is not None:
            raise TypeError(f"load(): map_location must give an UntypedStorage or None, got {type(found).__name__}")
        return copying.rebuild_storage(data, nbytes, device.Device(place))
    wanted = map_location.get(place, place) if isinstance(map_location, Mapping) else map_location or place
    if not isinstance(wanted, (str, device.Device)):
        raise TypeError(f"load(): argument 'map_location' must name devices, got {type(wanted).__name__}")
    try:
        there = device.as_device(wanted)
    except RuntimeError as error:
        hint = "map_location='cpu' loads it there"
        raise RuntimeError(f"load(): a storage lies on {wanted!s}: {error}; {hint}") from None
    return copying.rebuild_storage(b"" if there.type == "meta" else data, nbytes, there)


def load(f: str | os.PathLike[str] | IO[bytes], map_location: MapLocation = None) -> Any:
    """Return what save wrote. Raise RuntimeError for another kind of file, UnpicklingError if it names other code.

    Storages go where they were, or to the device `map_location`, or where this mapping sends the device that they were
    on; a function of an UntypedStorage on the CPU and the device's name gives the storage itself, or None for where it
    was. What was saved without data has none.
    """
    import zipfile

    from .pickle_check import check_pickle

    _check_file("load", f, "read")
    try:
        archive = zipfile.ZipFile(f)
        assert archive.fp is not None
        length = archive.fp.seek(0, os.SEEK_END)
    except (*DAMAGED, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # raised for a seek before the first byte
            raise
        raise RuntimeError(f"load(): argument 'f' is not a file written by save: {error}") from None
    with archive:
        _check_archive(archive, length)
        try:
            found = archive.read("format").decode(errors="replace")
            data = archive.read("data.pkl") if found == FORMAT else b""
        except (*DAMAGED, zipfile.BadZipFile) as error:
            raise RuntimeError(f"load(): argument 'f' is not a file written by save: {error}") from None
        if found != FORMAT:
            raise RuntimeError(f"load(): the file has format {found!r}, this version reads {FORMAT!r}")
        reader = _Reader(data, archive, map_location)
        try:
            check_pickle(data)
            return reader.load()
        except (*DAMAGED, zipfile.BadZipFile) as error:
            if error is reader.refusal:
                raise
            raise RuntimeError(f"load(): the file is damaged: {error}") from error


DAMAGED = (
    AttributeError, EOFError, LookupError, NotImplementedError, OverflowError, TypeError, ValueError, struct.error,
)  # fmt: skip
"""Errors that reading a damaged file may raise."""
