"""DLPack's structs and capsules: the layout of DLManagedTensor, before version 1 and from it on, and who frees it."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ..core.dtype import BY_NAME, FLOAT8, DType

CPU, CUDA, CUDA_HOST = 1, 2, 3
"""Device types."""
READ_ONLY, COPIED = 1, 2
"""Flags of a versioned tensor."""
VERSION = (1, 0)
KINDS = {
    "int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
    "float8_e5m2": 12, "float8_e5m2fnuz": 13,
}  # fmt: skip
"""Type codes."""
CODES: dict[DType, tuple[int, int]] = {
    dtype: (KINDS[name if dtype in FLOAT8 else name.rstrip("0123456789")], dtype.itemsize * 8)
    for name, dtype in BY_NAME.items()
}
"""Type code and bits of each dtype."""
DTYPES = {code: dtype for dtype, code in CODES.items()}
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
"""Names of capsules that nobody has taken; what was taken has "used_" before its name."""


class View(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("view", View), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("view", View),
    )  # fmt: skip


AnyManaged = Managed | ManagedVersioned
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_KEPT: dict[int, Any] = {}
"""What each struct of ours keeps alive, the struct itself too, by its address."""
_FORGET = Deleter(lambda address, kept=_KEPT: kept.pop(address, None) and None)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_FORGET))  # other libraries may call it when this module is cleared


@cache
def _code() -> tuple[int, int]:
    """Return the addresses of the deleter and the destructor, which are compiled when they are first needed."""
    from .capsule_code import deleter_and_destructor

    forget = ctypes.cast(_FORGET, ctypes.c_void_p).value
    assert forget is not None
    return deleter_and_destructor(forget)


def keep(managed: AnyManaged, owner: Any) -> int:
    """Keep a struct and what it describes until its deleter is called; its address."""
    address = ctypes.addressof(managed)
    managed.deleter = _code()[0]
    _KEPT[address] = (managed, owner)
    return address


def kept(address: int) -> Any:
    """Return what a struct of ours describes; None for that of another library."""
    return _KEPT.get(address, (None, None))[1]


def release(address: int, deleter: int | None) -> None:
    """Call the deleter of a struct, if it has one."""
    if deleter:
        Deleter(deleter)(address)


_API = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _API))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _API))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _API))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", _API))
_USED = {name: b"used_" + name for name in (PLAIN, VERSIONED)}


def capsule_of(address: int, name: bytes) -> Any:
    """A capsule with a struct of ours, which goes with it unless somebody takes it."""
    return _new(address, name, _code()[1])


def contents(capsule: Any) -> tuple[AnyManaged, bytes] | None:
    """The struct in a capsule that nobody has taken, and the capsule's name; None for anything else."""
    for name, kind in ((PLAIN, Managed), (VERSIONED, ManagedVersioned)):
        if _is_valid(id(capsule), name):
            return kind.from_address(_pointer(id(capsule), name)), name
    return None


def take(capsule: Any, name: bytes) -> None:
    """Mark a capsule as taken: its struct is ours to release."""
    _rename(id(capsule), _USED[name])
