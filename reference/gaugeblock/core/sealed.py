"""Slots that are read-only under their public name; their own module writes them under a private one.

For the slot ``_name``, `seal` adds a second descriptor ``name`` of the same offset in the object, which refuses
assignment. Reading and writing cost no more than with ordinary slots.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from types import MemberDescriptorType
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


_HAS_MEMBERS = sys.implementation.name == "cpython" and not hasattr(sys, "getobjects")


OFFSETS: dict[type, dict[str, int]] = {}
"""Sealed class -> offset in its objects of every slot; empty if CPython's layout is unexpected."""


def seal(cls: type, names: Iterable[str]) -> None:
    """Make the slots ``_name`` of a class readable as ``name``, for each of `names`. Where CPython's layout is
    unexpected they become properties."""
    slots = {name: slot for name, slot in vars(cls).items() if isinstance(slot, MemberDescriptorType)}
    members = {name: ctypes.c_void_p.from_address(id(slot) + _MEMBER) for name, slot in slots.items() if _HAS_MEMBERS}
    known = {name: _Member.from_address(member.value or 0) for name, member in members.items()}
    plain = all(m.type == _OBJECT and not m.flags and m.name == name.encode() for name, m in known.items())
    OFFSETS[cls] = {name: member.offset for name, member in known.items()} if plain else {}
    for name in names:
        offset = OFFSETS[cls].get(f"_{name}")
        read = property(slots[f"_{name}"].__get__) if offset is None else _read_only(cls, name, offset)
        setattr(cls, name, read)


def _read_only(cls: type, name: str, offset: int) -> Any:
    """Return a read-only descriptor of the slot at `offset`."""
    member = _Member(name.encode(), _OBJECT, offset, _READ_ONLY, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(member))  # the descriptor may outlive this module
    make = ctypes.pythonapi.PyDescr_NewMember
    make.restype, make.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    return make(cls, ctypes.addressof(member))
