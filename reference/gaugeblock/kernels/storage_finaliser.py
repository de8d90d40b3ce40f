"""The finaliser of storages as machine code, which returns a small block to its free list without running Python code.

Signal handlers run in Python code, and Python prints and drops a KeyboardInterrupt raised in a finaliser. The paths
that call Python, for large blocks and foreign memory, raise such an interrupt again when they are done.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ..core.sealed import member_of
from ..memory.storage import Finalisers, Storage, apply_mode, release
from .code import NAME, Module
from .entry import METH_NOARGS, MethodDef

_SLOTS = ("pool", "pointer", "allocator", "deleter")


def _text(pool: int, pointer: int, allocator: int, deleter: int) -> str:
    """Return the IR of the finalisers.

    @NAME_direct returns small blocks itself, @NAME_managed never does; @NAME_set stores the function that releases.
    """
    return f"""@_Py_NoneStruct = external global i8
@PyExc_KeyboardInterrupt = external global ptr
@release = internal global ptr null
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Clear()
declare void @PyErr_SetInterrupt()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
define void @{NAME}_set(ptr %release) {{
  store ptr %release, ptr @release
  ret void
}}
define internal i1 @given(ptr %storage, i64 %offset) {{
  %place = getelementptr i8, ptr %storage, i64 %offset
  %value = load ptr, ptr %place
  %missing = icmp eq ptr %value, null
  %none = icmp eq ptr %value, @_Py_NoneStruct
  %either = or i1 %missing, %none
  %given = xor i1 %either, true
  ret i1 %given
}}
define ptr @{NAME}_direct(ptr %storage, ptr %unused) {{
  %pooled = call i1 @given(ptr %storage, i64 {pool})
  br i1 %pooled, label %append, label %other
append:
  %pool_place = getelementptr i8, ptr %storage, i64 {pool}
  %pool = load ptr, ptr %pool_place
  %pointer_place = getelementptr i8, ptr %storage, i64 {pointer}
  %pointer = load ptr, ptr %pointer_place
  %failed = call i32 @PyList_Append(ptr %pool, ptr %pointer)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
other:
  %result = call ptr @{NAME}_managed(ptr %storage, ptr null)
  ret ptr %result
}}
define ptr @{NAME}_managed(ptr %storage, ptr %unused) {{
entry:
  br label %look
look:
  %again = phi i1 [false, %entry], [true, %interrupted]
  %pooled = call i1 @given(ptr %storage, i64 {pool})
  %allocated = call i1 @given(ptr %storage, i64 {allocator})
  %foreign = call i1 @given(ptr %storage, i64 {deleter})
  %either = or i1 %pooled, %allocated
  %any = or i1 %either, %foreign
  br i1 %any, label %call, label %done
call:
  %release = load ptr, ptr @release
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %release, ptr %storage, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %judge, label %returned
returned:
  call void @Py_DecRef(ptr %result)
  br label %done
judge:
  %interrupt = load ptr, ptr @PyExc_KeyboardInterrupt
  %matches = call i32 @PyErr_ExceptionMatches(ptr %interrupt)
  %yes = icmp ne i32 %matches, 0
  br i1 %yes, label %interrupted, label %raise
interrupted:
  call void @PyErr_Clear()
  br i1 %again, label %pass_on, label %look
raise:
  ret ptr null
done:
  br i1 %again, label %pass_on, label %end
pass_on:
  call void @PyErr_SetInterrupt()
  br label %end
end:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}}"""


def _slot(name: str) -> Any:
    return Storage.__dict__["_pointer" if name == "pointer" else name]


_KEPT: list[object] = []


def install(compiler: Any) -> None:
    """Make the compiled functions the finalisers of storages."""
    offsets = [member_of(_slot(name)).offset for name in _SLOTS]
    suffixes = ("_set", "_direct", "_managed")
    (set_release, direct, managed), _ = compiler.described(
        f"finaliser {offsets}", lambda: Module(_text(*offsets)), suffixes
    )
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(set_release)(release)
    make = ctypes.pythonapi.PyDescr_NewMethod
    make.restype, make.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    made = []
    for address in (direct, managed):
        method = MethodDef(b"__del__", address, METH_NOARGS, None)
        made.append(make(Storage, ctypes.addressof(method)))
        _KEPT.append(method)
    _KEPT.append(release)
    Finalisers.direct, Finalisers.managed = made
    apply_mode()
