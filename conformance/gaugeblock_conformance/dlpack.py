"""DLPack as its header defines it, written for the suite: capsules are made, and read, without the help of a library.

A :class:`Producer` hands out memory of the suite's own and counts how often it was given back; :func:`described` tells
what a capsule of a library says. Snippets import both.
"""

from __future__ import annotations

import ctypes
import gc
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .backend import Array, dtype_name

Ints = tuple[int, ...]

CPU = (1, 0)
READ_ONLY, COPIED = 1, 2
PLAIN, VERSIONED = "dltensor", "dltensor_versioned"
CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
"""NumPy's kind of a dtype -> DLPack's type code; ml_dtypes gives bfloat16 the kind V."""


PARTS = ("Producer", "Holder", "described", "name_of")
"""Names that snippets import from this module."""


class _View(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("view", _View), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("view", _View),
    )  # fmt: skip


_API = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _API))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _API))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _API))
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _API))


@dataclass(frozen=True)
class Described:
    """The fields of the struct in a capsule. ``version`` and ``flags`` are None in an unversioned one, and ``strides``
    is None where the pointer is NULL."""

    name: str
    version: Ints | None
    flags: int | None
    address: int
    device: Ints
    dtype: Ints
    shape: Ints
    strides: Ints | None
    byte_offset: int


def described(capsule: Any) -> Described:
    """Return what a capsule that nobody has taken says. Raises ValueError for any other object."""
    for name, kind in ((PLAIN, _Managed), (VERSIONED, _Versioned)):
        if _is_valid(id(capsule), name.encode()):
            managed: Any = kind.from_address(_pointer(id(capsule), name.encode()))
            view = managed.view
            versioned = name == VERSIONED
            return Described(
                name, (managed.major, managed.minor) if versioned else None, managed.flags if versioned else None,
                view.data or 0, (view.device_type, view.device_id), (view.code, view.bits, view.lanes),
                tuple(view.shape[: view.ndim]), tuple(view.strides[: view.ndim]) if view.strides else None,
                view.byte_offset,
            )  # fmt: skip
    raise ValueError(f"{name_of(capsule)!r} is no capsule with a DLPack tensor")


def name_of(capsule: Any) -> str:
    """Return the name of a capsule; the name of its type for any other object."""
    return str((_name(capsule) or b"").decode()) if type(capsule).__name__ == "PyCapsule" else type(capsule).__name__


class Producer:
    """Memory of an array, for any library to take by DLPack; ``deleted`` counts how often it was given back.

    The struct describes the array unless ``shape``, ``strides``, ``dtype``, ``byte_offset`` (from the array's start),
    ``address`` or ``device`` say otherwise; ``strides=None`` is a null pointer. ``version`` None makes plain capsules,
    as a producer does that knows no arguments of ``__dlpack__`` but the stream; with a version they are versioned for a
    taker that asks for it. Each capsule counts by itself. ``asked`` has the names of the arguments that takers gave.
    """

    def __init__(self, array: Array, version: Ints | None = (1, 0), flags: int = 0, **otherwise: Any) -> None:
        self.array = array
        self.version = version
        self.flags = flags
        self.otherwise = otherwise
        self.made = 0
        self.deleted = 0
        self.asked: set[str] = set()
        # A library may drop a capsule while its exception is on the way, in which no function of Python's can run.
        self._capsules: list[Any] = []

    def __dlpack_device__(self) -> Ints:
        device: Ints = self.otherwise.get("device", CPU)
        return device

    def __dlpack__(self, **arguments: Any) -> Any:
        if self.version is None and not arguments.keys() <= {"stream"}:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {min(arguments)!r}")
        self.asked |= arguments.keys()
        highest = arguments.get("max_version")
        return self.capsule(self.version is not None and highest is not None and highest[0] >= 1)

    def capsule(self, versioned: bool | None = None) -> Any:
        """Return a new capsule, which is ``versioned`` unless told otherwise if the producer has a version."""
        versioned = self.version is not None if versioned is None else versioned
        said, array = self.otherwise, self.array
        size = array.itemsize
        shape = said.get("shape", array.shape)
        strides = said.get("strides", tuple(step // size for step in array.strides))
        managed: Any = _Versioned() if versioned else _Managed()
        view = managed.view
        view.data = said.get("address", array.ctypes.data)
        view.device_type, view.device_id = self.__dlpack_device__()
        view.ndim = said.get("ndim", len(shape))
        view.code, view.bits, view.lanes = said.get("dtype", (CODES[array.dtype.kind], 8 * size, 1))
        numbers = [(ctypes.c_int64 * max(len(n), 1))(*n) for n in (shape, strides or ())]
        view.shape = ctypes.cast(numbers[0], ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            view.strides = ctypes.cast(numbers[1], ctypes.POINTER(ctypes.c_int64))
        view.byte_offset = said.get("byte_offset", 0)
        if versioned:
            assert self.version is not None
            managed.major, managed.minor = self.version
            managed.flags = self.flags
        managed.deleter = _DELETER
        address = ctypes.addressof(managed)
        _LIVE[address] = (self, managed, numbers)
        self.made += 1
        capsule = _new(address, _NAMES[versioned], _DROPPED)
        self._capsules.append(capsule)
        return capsule

    def drop(self) -> None:
        """Let go of the capsules made so far: what nobody has taken is given back."""
        self._capsules.clear()
        gc.collect()  # frames of exceptions may refer to them

    def __repr__(self) -> str:
        kind = dtype_name(self.array.dtype)
        rest = [] if self.version == (1, 0) else [f"version={self.version}"]
        rest += [f"flags={self.flags}"] if self.flags else []
        rest += [f"{key}={value!r}" for key, value in self.otherwise.items()]
        return f"Producer({', '.join([f'np.array({self.array.tolist()}, {kind!r})', *rest])})"


class Holder:
    """An object whose ``__dlpack__`` gives one and the same capsule whenever it is asked."""

    def __init__(self, capsule: Any, device: Ints = CPU) -> None:
        self.held = [capsule]
        self.device = device

    def __dlpack_device__(self) -> Ints:
        return self.device

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.held[0]


_NAMES = (PLAIN.encode(), VERSIONED.encode())  # capsules keep a pointer to their names
_LIVE: dict[int, tuple[Producer, Any, Any]] = {}


def _callbacks() -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Return what a library calls with a struct, and Python with a capsule, that it is done with.

    They look up no global variable: the last capsules are freed after this module has been cleared.
    """
    names, live, is_valid, pointer = _NAMES, _LIVE, _is_valid, _pointer
    gone: deque[Any] = deque(maxlen=4096)  # a library that gives a struct back twice still finds it

    def given_back(address: int) -> None:
        found = live.pop(address, None)
        if found is not None:
            gone.append((address, found))
        producer = found[0] if found is not None else next((kept[0] for at, kept in gone if at == address), None)
        if producer is not None:
            producer.deleted += 1

    def dropped(capsule: int) -> None:
        for name in names:
            if is_valid(capsule, name):
                given_back(pointer(capsule, name))

    return given_back, dropped


_given_back, _dropped = _callbacks()
_CALLED_BACK = (
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_given_back), ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_dropped),
)  # fmt: skip
_DELETER, _DROPPED = (ctypes.cast(called, ctypes.c_void_p).value for called in _CALLED_BACK)
for _called in _CALLED_BACK:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_called))  # libraries may call them when this module is cleared

