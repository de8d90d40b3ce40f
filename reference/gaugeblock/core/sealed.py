"""Slots that are read-only under their public name; their own module writes them under a private one.

For the slot ``_name``, `seal` adds a second descriptor ``name`` of the same offset in the object, which refuses
assignment. Reading and writing cost no more than with ordinary slots.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any

_OBJECT, _READ_ONLY = 16, 1
_MEMBER = 5 * ctypes.sizeof(ctypes.c_void_p)
"""Offset of a descriptor's PyMemberDef pointer: after reference count, type, owner, name and qualified name."""


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_KEPT: list[_Member] = []


def member_of(slot: Any) -> Any:
    """Return CPython's PyMemberDef of a slot, which has its type and offset."""
    return _Member.from_address(ctypes.c_void_p.from_address(id(slot) + _MEMBER).value or 0)


def _read_only(cls: type, name: str) -> Any:
    """Return a read-only descriptor of the slot ``_name``; a property if CPython's layout is unexpected."""
    slot = cls.__dict__[f"_{name}"]
    if sys.implementation.name != "cpython" or hasattr(sys, "getobjects"):
        return property(slot.__get__)
    known = member_of(slot)
    if known.type != _OBJECT or known.flags or known.name != f"_{name}".encode():
        return property(slot.__get__)
    member = _Member(name.encode(), _OBJECT, known.offset, _READ_ONLY, None)
    _KEPT.append(member)
    make = ctypes.pythonapi.PyDescr_NewMember
    make.restype, make.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    return make(cls, ctypes.addressof(member))


def seal(cls: type, names: Iterable[str]) -> None:
    """Make the slots ``_name`` of a class readable as ``name``, for each of `names`."""
    for name in names:
        setattr(cls, name, _read_only(cls, name))
