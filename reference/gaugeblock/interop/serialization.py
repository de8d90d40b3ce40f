"""save and load: a zip file with one pickle and the bytes of every storage.

Loading never runs code from the file: the pickle may name only the rebuild functions and plain containers.
"""

from __future__ import annotations

import collections
import io
import os
import pickle
from typing import IO, TYPE_CHECKING, Any

from ..core import device, dtype, layout, memory_format, size
from ..memory.storage import Storage
from . import copying

if TYPE_CHECKING:
    import zipfile

FORMAT = "gaugeblock-tensors/1"

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
    def __init__(self, file: IO[bytes], archive: zipfile.ZipFile) -> None:
        super().__init__(file)
        self._archive = archive
        self._storages: dict[int, Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"load(): the file names {module}.{name}, which is not allowed") from None

    def persistent_load(self, pid: Any) -> Storage:
        _, number, nbytes, place = pid
        if number not in self._storages:
            data = self._archive.read(f"storage/{number}") if place != "meta" else b""
            self._storages[number] = copying.rebuild_storage(data, nbytes, device.Device(place))
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


def load(f: str | os.PathLike[str] | IO[bytes]) -> Any:
    """What save wrote. Raises RuntimeError for another kind of file, UnpicklingError for one that names other code."""
    import zipfile

    try:
        archive = zipfile.ZipFile(f)
        found = archive.read("format").decode()
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(f"load(): argument 'f' is not a file written by save: {error}") from None
    with archive:
        if found != FORMAT:
            raise RuntimeError(f"load(): the file has format {found!r}, this version reads {FORMAT!r}")
        return _Reader(io.BytesIO(archive.read("data.pkl")), archive).load()
