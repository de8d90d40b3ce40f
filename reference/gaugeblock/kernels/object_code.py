"""LLVM IR that works on Python objects: references, slots of our classes, tuples and lists of CPython.

Calls of kernels (bound_call_code), calls on metadata (metadata_call_code) and recorded calls are written in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.sealed import OFFSETS
from .code import MEMCPY, NAME, Code
from .entry import python_api

OBJECTS = (
    "Tensor", "Storage", "cpu", "zero", "one", "no_blocks", "new_like", "bump_version", "unset", "changed",
    "VersionCounter", "version_of", "apart",
)  # fmt: skip
"""Python objects that the code refers to, in the order of @objects."""
SIZE, ITEMS, TYPE, LIST_ITEMS = 16, 24, 8, 24
"""Offsets in CPython's objects: length of a tuple or list, items of a tuple, type, a list's pointer to its items."""


class ObjectCode(Code):
    """Instructions on Python objects; `objects` are those that the module's table @objects holds, in order."""

    objects: tuple[str, ...] = OBJECTS

    def object(self, name: str) -> str:
        """Return one of the objects in the table."""
        return self.load("ptr", self.register(f"getelementptr ptr, ptr @objects, i64 {self.objects.index(name)}"))

    def member(self, owner: str, offset: int) -> str:
        """Load the word at an offset in an object."""
        return self.load("ptr", self.move(owner, offset))

    def put(self, owner: str, offset: int | str, value: str) -> None:
        """Store a new reference in a slot that is still empty."""
        self.line(f"call void @Py_IncRef(ptr {value})")
        self.store("ptr", value, self.move(owner, offset))

    def slot_of(self, owner: str, cls: type, name: str) -> str:
        """Load a slot of an object of a class."""
        return self.member(owner, OFFSETS[cls][name])

    def fill(self, owner: str, cls: type, name: str, value: str) -> None:
        """Store a new reference in a slot that is still empty."""
        self.put(owner, OFFSETS[cls][name], value)

    def same(self, one: str, other: str) -> str:
        return self.register(f"icmp eq ptr {one}, {other}")

    def decline(self, condition: str) -> None:
        """Return None if the condition holds."""
        with self.ending(condition):
            self.line(f"call void @Py_IncRef(ptr {NONE})")
            self.line(f"ret ptr {NONE}")

    def both(self, one: str, other: str) -> str:
        return self.register(f"and i1 {one}, {other}")

    def either(self, one: str, other: str) -> str:
        return self.register(f"or i1 {one}, {other}")

    def unless(self, condition: str) -> str:
        return self.register(f"xor i1 {condition}, true")


NONE = "@_Py_NoneStruct"
CONSTANTS: dict[object, str] = {None: NONE, False: "@_Py_FalseStruct", True: "@_Py_TrueStruct"}


def module(functions: Sequence[str], objects: Sequence[str]) -> str:
    """Return the IR of functions that refer to Python objects, with @NAME_set, which is given these."""
    code = Code()
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr @objects, ptr %table, i64 {8 * len(objects)}, i1 false)")
    table = f"@objects = internal global [{len(objects)} x ptr] zeroinitializer"
    given = code.function(f"define void @{NAME}_set(ptr %table)", "  ret void")
    return python_api("\n".join([table, MEMCPY, given, *functions]))
