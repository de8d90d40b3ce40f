"""Machine code that gives exported memory back: deleters of structs and destructors of capsules.

A library may call either while an exception is on its way, in which no function of Python's can run: the exception is
set aside meanwhile. A deleter may also be called by a thread without Python's lock, and after the interpreter's end.
"""

from __future__ import annotations

import ctypes

from ..kernels.code import NAME
from ..kernels.compiler import compiler

_TEXT = f"""
declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare ptr @PyCapsule_GetName(ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
@{NAME}_forget = internal global ptr null
define void @{NAME}_bind(ptr %forget) {{
  store ptr %forget, ptr @{NAME}_forget
  ret void
}}
define internal void @{NAME}_aside(ptr %managed) {{
  %kind = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  %forget = load ptr, ptr @{NAME}_forget
  call void %forget(ptr %managed)
  %k = load ptr, ptr %kind
  %v = load ptr, ptr %value
  %t = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %k, ptr %v, ptr %t)
  ret void
}}
define void @{NAME}_deleter(ptr %managed) {{
entry:
  %lives = call i32 @Py_IsInitialized()
  %over = icmp eq i32 %lives, 0
  br i1 %over, label %end, label %give
give:
  %state = call i32 @PyGILState_Ensure()
  call void @{NAME}_aside(ptr %managed)
  call void @PyGILState_Release(i32 %state)
  br label %end
end:
  ret void
}}
define void @{NAME}_destructor(ptr %capsule) {{
entry:
  %name = call ptr @PyCapsule_GetName(ptr %capsule)
  %first = load i8, ptr %name
  %free = icmp eq i8 %first, {ord("d")}
  br i1 %free, label %give, label %end
give:
  %managed = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr %name)
  call void @{NAME}_aside(ptr %managed)
  br label %end
end:
  ret void
}}
"""


def deleter_and_destructor(forget: int) -> tuple[int, int]:
    """Return the addresses of a deleter, and of a destructor for capsules that nobody has taken. Both call the function
    of C at the address `forget` with that of the struct."""
    bind, deleter, destructor = compiler().load_all(_TEXT, ("_bind", "_deleter", "_destructor"))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(forget)
    return deleter, destructor
