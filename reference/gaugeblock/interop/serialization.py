"""save and load: a zip file with one pickle and the bytes of every storage.

Loading never runs code from the file: the pickle may name only the rebuild functions and plain containers.
"""

from __future__ import annotations

import collections
import io
import os
import pickle
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

from ..core import device, dtype, layout, memory_format, size
from ..memory.storage import Storage
from ..memory.untyped import UntypedStorage
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
        copying.rebuild_tensor,
        dtype.dtype_by_name,
        device.Device,
        layout.layout_by_name,
        memory_format.memory_format_by_name,
        size.Size,
        collections.OrderedDict,
    )
}
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


class _Reader(pickle.Unpickler):
    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile, map_location: MapLocation) -> None:
        super().__init__(file)
        self._archive = archive
        self._map_location = map_location
        self._storages: dict[int, Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"load(): the file names {module}.{name}, which is not allowed") from None

    def persistent_load(self, pid: Any) -> Storage:
        _, number, nbytes, place = pid
        if number not in self._storages:
            without = place == "meta"
            data = b"" if without else self._archive.read(f"storage/{number}")
            self._storages[number] = placed(data, nbytes, place, None if without else self._map_location)
        return self._storages[number]


def save(obj: object, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write `obj`, made of tensors, containers and plain values, to a path or a binary file.

    A view brings its whole storage, and what shared a storage shares one after loading.
    """
    import zipfile

    stream = io.BytesIO()
    writer = _Writer(stream)
    writer.dump(obj)
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("format", FORMAT)
        archive.writestr("data.pkl", stream.getvalue())
        for number, storage in enumerate(writer.storages):
            archive.writestr(f"storage/{number}", copying.storage_bytes(storage))


def placed(data: bytes, nbytes: int, place: str, map_location: MapLocation) -> Storage:
    """A storage with the bytes of one that was saved at `place`, where `map_location` says.

    Raises RuntimeError for a device that is not there, TypeError for what is no location.
    """
    if callable(map_location):
        given = copying.rebuild_storage(data, nbytes, device.cpu)
        found = map_location(UntypedStorage.of(given), place)
        if isinstance(found, UntypedStorage):
            if found.nbytes() < nbytes:
                raise RuntimeError(f"load(): map_location gave {found.nbytes()} bytes for a storage of {nbytes}")
            return found.storage
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
    """What save wrote. Raises RuntimeError for another kind of file, UnpicklingError for one that names other code.

    Storages go where they were, or to the device `map_location`, or where this mapping sends the device that they were
    on; a function of an UntypedStorage on the CPU and the device's name gives the storage itself, or None for where it
    was. What was saved without data has none.
    """
    import zipfile

    try:
        archive = zipfile.ZipFile(f)
        found = archive.read("format").decode()
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(f"load(): argument 'f' is not a file written by save: {error}") from None
    with archive:
        if found != FORMAT:
            raise RuntimeError(f"load(): the file has format {found!r}, this version reads {FORMAT!r}")
        return _Reader(io.BytesIO(archive.read("data.pkl")), archive, map_location).load()
