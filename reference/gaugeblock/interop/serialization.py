"""save and load: PyTorch's zip format, a pickle and the bytes of every storage; torch.load opens it with weights_only.

Loading never runs code from the file: the pickle may name only what the table of torch_names holds.
"""

from __future__ import annotations

import contextlib
import io
import mmap as _mmap
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any

from gaugeblock_spec.atomic_file import output_file

from ..core import device
from ..core import lazy_numpy as np
from ..core.away import away
from ..core.dtype import DType
from ..core.errors import type_error
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat
from ..core.quantized_dtype import QScheme, QuantizedDType
from ..core.size import Size
from ..memory.storage import Storage, foreign_storage
from ..memory.untyped import UntypedStorage
from ..tensor.attributes import PARAMETER
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from . import copying, first_format, quantized_files, sparse_files, torch_names
from .tensor_archive import ALIGNMENT, DAMAGED, Reader, write_member, writing
from .typed_storage import TypedStorage
from .unpickler import Unpickler

Place = str | device.Device
MapLocation = None | Place | Mapping[str, Place] | Callable[[UntypedStorage, str], UntypedStorage | None]
"""Where loaded storages go."""

ROOT = "archive"
VERSION = b"3\n"
_NEWEST_VERSION = 10
"""The version of the zip format that is written, and the newest that PyTorch reads."""


class _Named:
    """A function or class in the file, by module and name; calls are only written."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        raise TypeError(f"{self.module}.{self.name} is a name in files")


_FUNCTIONS = {name: _Named(module, name) for module, name in torch_names.FUNCTIONS}
_WITHOUT_GRADIENT = frozenset({_FUNCTIONS["_rebuild_tensor_v3"], _FUNCTIONS["_rebuild_sparse_tensor"]})
"""Functions whose result requires a gradient only when that is set as an attribute; PyTorch's v3 fails otherwise."""
_STORAGE_TYPES = {dtype: _Named("torch", name) for dtype, name in torch_names.STORAGE_NAMES.items()}
_BY_NAME = frozenset({_Named, DType, QuantizedDType, QScheme})
"""Types of objects that are written as names."""
_UNTYPED = _Named(*torch_names.UNTYPED)
_TENSOR = _Named("torch", "Tensor")


class _Plain:
    """A tensor to be written without its attributes, as the data of a parameter is."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _Stored:
    """A storage to be written, and the dtype that it is said to hold; None is none."""

    __slots__ = ("dtype", "storage")

    def __init__(self, storage: Storage, dtype: DType | None) -> None:
        self.storage = storage
        self.dtype = dtype


class _Writer(pickle._Pickler):
    """Pickler that writes tensors and what belongs to them under PyTorch's names.

    A storage has one dtype in PyTorch's files. The storages that tensors of several dtypes share are in `mixed` at the
    end: with these as `untyped` the file is right.
    """

    def __init__(self, file: IO[bytes], untyped: frozenset[int]) -> None:
        super().__init__(file, protocol=2)
        self.storages: list[Storage] = []
        self.mixed: set[int] = set()
        self._untyped = untyped
        self._numbers: dict[int, int] = {}
        self._dtypes: dict[int, DType | None] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            obj = _Stored(obj.storage_impl, None)
        elif isinstance(obj, TypedStorage):
            obj = _Stored(obj.untyped().storage_impl, obj.dtype)
        elif not isinstance(obj, _Stored):
            return None
        storage, dtype = obj.storage, obj.dtype
        number = self._numbers.setdefault(id(storage), len(self.storages))
        if number == len(self.storages):
            self.storages.append(storage)
        if self._dtypes.setdefault(number, dtype) is not dtype:
            self.mixed.add(id(storage))
        kind, length = (_UNTYPED, storage.nbytes) if dtype is None else (
            _STORAGE_TYPES[dtype], storage.nbytes // dtype.itemsize
        )  # fmt: skip
        return ("storage", kind, str(number), str(storage.device), length)

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind in _BY_NAME:
            return obj.name
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if kind is _Plain:
            return self._data(obj.tensor, False)
        if kind is bytes and not obj:
            return _FUNCTIONS["encode"], ("", "latin1")  # torch.load knows no other way to write no bytes
        reduced = _REDUCED.get(kind)
        return NotImplemented if reduced is None else reduced(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if type(obj) not in _BY_NAME:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        place = (obj.module if type(obj) is _Named else "torch", obj.name)
        self.write(pickle.GLOBAL + "\n".join((*place, "")).encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def _tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        attributes = {name: value for name, value in tensor.__dict__.items() if name != "parts"}
        requires_grad = tensor.requires_grad  # type: ignore[attr-defined]
        if attributes.pop(PARAMETER, False):
            parts: tuple[Any, ...] = (_Plain(tensor), requires_grad, OrderedDict())
            if attributes:
                return _FUNCTIONS["_rebuild_parameter_with_state"], (*parts, attributes)
            return _FUNCTIONS["_rebuild_parameter"], parts
        function, arguments = self._data(tensor, requires_grad)
        if requires_grad and function in _WITHOUT_GRADIENT:
            attributes["requires_grad"] = True
        if attributes:
            return _FUNCTIONS["_rebuild_from_type_v2"], (function, _TENSOR, arguments, attributes)
        return function, arguments

    def _data(self, tensor: Tensor, requires_grad: bool) -> tuple[_Named, tuple[Any, ...]]:
        if isinstance(tensor, SparseTensor):
            return _FUNCTIONS["_rebuild_sparse_tensor"], (tensor.layout, sparse_files.data_of(tensor))
        meta, storage = tensor.meta, tensor.storage_impl
        if meta.device is device.meta_device:
            function = _FUNCTIONS["_rebuild_meta_tensor_no_storage"]
            return function, (meta.dtype, meta.sizes, meta.strides, requires_grad)
        if meta.dtype.quantized:
            parameters = quantized_files.parameters_of(tensor)
            whole = (_Stored(storage, meta.dtype), tensor.offset, meta.sizes, meta.strides, parameters)
            return _FUNCTIONS["_rebuild_qtensor"], (*whole, False, OrderedDict())
        bits = {name: True for name, bit in torch_names.LAZY_BITS.items() if meta.lazy & bit}
        metadata = (bits,) if bits else ()
        where = (tensor.offset, meta.sizes, meta.strides)
        hooks: OrderedDict[Any, Any] = OrderedDict()
        typed = meta.dtype in _STORAGE_TYPES and id(storage) not in self._untyped
        if typed and not storage.nbytes % meta.dtype.itemsize:
            arguments = (_Stored(storage, meta.dtype), *where, requires_grad, hooks, *metadata)
            return _FUNCTIONS["_rebuild_tensor_v2"], arguments
        return _FUNCTIONS["_rebuild_tensor_v3"], (_Stored(storage, None), *where, False, hooks, meta.dtype, *metadata)


_REDUCED: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Size: lambda one: (_FUNCTIONS["Size"], (tuple(one),)),
    device.Device: lambda one: (_FUNCTIONS["device"], (str(one),)),
    Layout: lambda one: (_FUNCTIONS["_get_layout"], (f"torch.{one.name}",)),
    MemoryFormat: lambda one: (_FUNCTIONS[torch_names.FORMAT_BY_NAME[1]], (one.name,)),
    frozenset: lambda one: (frozenset, (list(one),)),
}
"""How values of these types are written."""


def _check_file(function: str, f: object, wanted: str) -> None:
    """Raise TypeError unless `f` is a path or has the method `wanted`."""
    if not isinstance(f, (str, os.PathLike)) and not callable(getattr(f, wanted, None)):
        type_error(function, "f", f, f"a path or a binary file with {wanted}()")


def save(obj: object, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write `obj`, made of tensors, containers and plain values, to a path or a binary file, in PyTorch's format.

    A view is saved with its whole storage, and tensors that share a storage share it after loading. When writing fails,
    an existing file at the path is kept. Other objects are pickled, but load reads none of them.
    """
    _check_file("save", f, "write")
    untyped: frozenset[int] = frozenset()
    while True:
        stream = io.BytesIO()
        writer = _Writer(stream, untyped)
        writer.dump(obj)
        if not writer.mixed - untyped:
            break
        untyped |= writer.mixed
    opened = output_file(f) if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f)
    with opened as file, writing(file) as archive:
        members = {"data.pkl": stream.getvalue(), ".format_version": b"1", ".storage_alignment": b"%d" % ALIGNMENT,
                   "byteorder": b"little"}  # fmt: skip
        for name, data in members.items():
            write_member(archive, f"{ROOT}/{name}", len(data), [data])
        for number, storage in enumerate(writer.storages):
            if storage.device is not device.meta_device:
                pieces = copying.storage_pieces(storage)
                write_member(archive, f"{ROOT}/data/{number}", storage.nbytes, pieces)
        write_member(archive, f"{ROOT}/version", len(VERSION), [VERSION])


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
    there = _location(place, map_location)
    return copying.rebuild_storage(b"" if there.type == "meta" else data, nbytes, there)


def _location(place: str, map_location: MapLocation) -> device.Device:
    """Return the device for a storage that was saved at `place`."""
    wanted = map_location.get(place, place) if isinstance(map_location, Mapping) else map_location or place
    if not isinstance(wanted, (str, device.Device)):
        raise TypeError(f"load(): argument 'map_location' must name devices, got {type(wanted).__name__}")
    try:
        return device.as_device(wanted)
    except RuntimeError as error:
        hint = "map_location='cpu' loads it there"
        raise RuntimeError(f"load(): a storage lies on {wanted!s}: {error}; {hint}") from None


class _Storages:
    """The storages of a file, each read when it is first named."""

    def __init__(self, file: Reader, map_location: MapLocation, mapped: _mmap.mmap | None) -> None:
        self._file = file
        self._map_location = map_location
        self._mapped = mapped
        self._found: dict[str, Storage] = {}
        self.refusal: BaseException | None = None

    def storage(self, member: str, nbytes: int, place: str) -> Storage:
        """Return the storage in `member`, which holds `nbytes` bytes or more."""
        found = self._found.get(member)
        if found is None:
            size = nbytes if place == "meta" else self._file.size(member)
            if size < nbytes:
                raise RuntimeError(f"load(): a storage of {nbytes} bytes came with {size} bytes")
            found = self._found[member] = self._read(member, size, place)
        if found.nbytes < nbytes:
            raise RuntimeError(f"load(): a storage of {nbytes} bytes came with {found.nbytes} bytes")
        return found

    def _read(self, member: str, nbytes: int, place: str) -> Storage:
        if place == "meta":
            return self._placed(b"", nbytes, place, None)
        if self._mapped is not None and not callable(self._map_location):
            begin = self._file.place(member)
            if self._where(place) is device.cpu and not begin % ALIGNMENT and nbytes:
                array = np.frombuffer(self._mapped, np.uint8, nbytes, begin)
                return foreign_storage(array.ctypes.data, nbytes, owner=array)
        return self._placed(away(8 * nbytes, self._file.read, member), nbytes, place, self._map_location)

    def _where(self, place: str) -> device.Device:
        try:
            return _location(place, self._map_location)
        except BaseException as error:
            self.refusal = error
            raise

    def _placed(self, data: bytes, nbytes: int, place: str, map_location: MapLocation) -> Storage:
        try:
            return placed(data, nbytes, place, map_location)
        except BaseException as error:
            self.refusal = error
            raise

    def of_first_format(self, pid: Any) -> Storage:
        """Return the storage of a persistent id of the first format."""
        number, nbytes, place = first_format.storage_named(pid)
        return self.storage(f"storage/{number}", nbytes, place)

    def of_torch(self, pid: Any) -> TypedStorage | UntypedStorage:
        """Return the storage of a persistent id of PyTorch's format."""
        if type(pid) is not tuple or len(pid) != 5 or pid[0] != "storage":
            raise TypeError(f"a storage is called {pid!r}")
        _, kind, key, place, length = pid
        known = type(kind) is torch_names.StorageType and type(key) is str and type(place) is str
        if not known or type(length) is not int or length < 0:
            raise TypeError(f"a storage is called {pid!r}")
        found = self.storage(f"data/{key}", length * (kind.dtype.itemsize if kind.dtype else 1), place)
        return UntypedStorage.of(found) if kind.dtype is None else TypedStorage.without_warning(found, kind.dtype)


def load(
    f: str | os.PathLike[str] | IO[bytes], map_location: MapLocation = None, *, weights_only: bool = True,
    mmap: bool = False,
) -> Any:  # fmt: skip
    """Return what save or torch.save wrote: tensors, storages, containers and plain values.

    No code of the file is run, whatever `weights_only` is. Storages go where they were, or to the device
    `map_location`, or where this mapping sends the device that they were on; a function of an UntypedStorage on the CPU
    and the device's name gives the storage itself, or None for where it was. What was saved without data has none.
    With `mmap` the storages on the CPU lie in the mapped file, read when they are needed; writes stay in this process.
    The file must not change meanwhile.

    Raises:
        RuntimeError: it is another kind of file, or a damaged one.
        UnpicklingError: the file names code.
        ValueError: `mmap` is set and `f` is not a path.
    """
    _check_file("load", f, "read")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError(f"load(): argument 'f' must be a path with mmap=True, got {type(f).__name__}")
    file = Reader(f)
    with file.archive:
        try:
            first = _find_root(file)
            data = file.read("data.pkl")
            if not first:
                _check_versions(file)
        except DAMAGED as error:
            raise RuntimeError(f"load(): argument 'f' is not a file written by save: {error}") from None
        storages = _Storages(file, map_location, _mapping(f) if mmap else None)  # type: ignore[arg-type]
        names, persistent = (
            (first_format.NAMES, storages.of_first_format) if first else (torch_names.NAMES, storages.of_torch)
        )
        try:
            return Unpickler(data, names, persistent).load()
        except (RuntimeError, *DAMAGED) as error:
            if error is storages.refusal or str(error).startswith("load()"):
                raise
            raise RuntimeError(f"load(): the file is damaged: {error}") from error


def _mapping(f: str | os.PathLike[str]) -> _mmap.mmap:
    with open(f, "rb") as file:
        return _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)


def _find_root(file: Reader) -> bool:
    """Set the folder of the file's members; return whether it has the first format. Raises RuntimeError if neither."""
    if "format" in file:
        found = file.read("format").decode(errors="replace")
        if found != first_format.FORMAT:
            raise RuntimeError(f"load(): the file has format {found!r}, this version reads {first_format.FORMAT!r}")
        return True
    roots = [name[: -len("data.pkl")] for name in file.names() if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(roots) != 1:
        raise LookupError(f"it has {len(roots)} members FOLDER/data.pkl, not 1")
    (file.root,) = roots
    if "constants.pkl" in file:
        raise RuntimeError("load(): the file is a TorchScript archive, whose code is not run")
    return False


def _check_versions(file: Reader) -> None:
    order = file.read("byteorder") if "byteorder" in file else b"little"
    if order != b"little":
        shown = order.decode(errors="replace")
        raise RuntimeError(f"load(): the file has {shown}-endian storages, this version reads little-endian ones")
    version = file.read("version").strip()
    if not version.isdigit() or not 1 <= int(version) <= _NEWEST_VERSION:
        shown = version.decode(errors="replace")
        raise RuntimeError(f"load(): the file has version {shown!r}, this version reads 1 to {_NEWEST_VERSION}")
