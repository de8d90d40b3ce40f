"""IR text of the Python entry points: METH_FASTCALL functions that read ints and numbers and run loops.

Pieces used by every kernel family: argument count check, reading of ints, errors, release of the interpreter lock.
"""

from __future__ import annotations

import ctypes
import re

from .code import Code

GIL_GRAIN = 32768
METH_FASTCALL, METH_NOARGS = 0x80, 0x4


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef: name, address, calling convention and docstring of a builtin."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip

_FUNCTIONS = {
    "void ()": "PyErr_Clear PyErr_SetInterrupt",
    "void (ptr)": "Py_IncRef Py_DecRef PyEval_RestoreThread",
    "void (ptr, ptr)": "PyErr_SetString",
    "void (i32)": "PyGILState_Release",
    "i32 ()": "PyGILState_Ensure PyErr_CheckSignals",
    "i32 (ptr)": "PyObject_IsTrue PyIndex_Check PyErr_ExceptionMatches",
    "i32 (ptr, ptr)": "PyList_Append",
    "i64 (ptr)": "PyDict_Size PyLong_AsSsize_t PyLong_AsLongLong PyLong_AsUnsignedLongLong",
    "double (ptr)": "PyFloat_AsDouble PyComplex_RealAsDouble PyComplex_ImagAsDouble",
    "ptr ()": "PyErr_Occurred PyEval_SaveThread PyGILState_GetThisThreadState PyInterpreterState_Get",
    "ptr (i64)": "PyTuple_New PyLong_FromLong",
    "ptr (ptr)": "PyIter_Next PyWeakref_GetObject PyInterpreterState_ThreadHead PyThreadState_Next",
    "ptr (ptr, i64)": "PyType_GenericAlloc",
    "ptr (ptr, ptr)": "PyDict_GetItem PyNumber_Add PyWeakref_NewRef",
    "ptr (ptr, ptr, i64, ptr)": "PyObject_Vectorcall",
    "ptr (ptr, ...)": "PyObject_CallFunctionObjArgs",
    "ptr (ptr, ptr, ...)": "PyErr_Format",
}
"""Type -> functions of CPython that machine code calls."""
_TYPES = {name: type for type, names in _FUNCTIONS.items() for name in names.split()}


def python_api(text: str) -> str:
    """Return the IR text with declarations of the functions and objects of CPython that it refers to."""
    lines = [text]
    for name in sorted(set(re.findall(r"@(_?Py\w+)", text))):
        result, _, arguments = _TYPES.get(name, "").partition(" ")
        kind = "ptr" if name.startswith("PyExc_") else "i8"
        lines.append(f"declare {result} @{name}{arguments}" if result else f"@{name} = external global {kind}")
    return "\n".join(lines)


def _whole_number() -> str:
    """@whole_number(item): an int from -2**63 to 2**64 - 1, modulo 2**64; others are refused."""
    code = Code()
    signed = code.register("call i64 @PyLong_AsLongLong(ptr %item)")
    with code.when(code.register(f"icmp eq i64 {signed}, -1")):
        error = code.register("call ptr @PyErr_Occurred()")
        with code.ending(code.register(f"icmp ne ptr {error}, null")):
            code.line("call void @PyErr_Clear()")
            code.line(f"ret i64 {code.register('call i64 @PyLong_AsUnsignedLongLong(ptr %item)')}")
    return code.function("define internal i64 @whole_number(ptr %item)", f"  ret i64 {signed}")


def _bounded() -> str:
    """@bounded(value, item): the value that was read of an item; the same ints are refused."""
    code = Code()
    below = code.register("fcmp olt double %value, 0x43E0000000000000")
    above = code.register("fcmp ogt double %value, 0xC3E0000000000000")
    fits, failed = code.register(f"and i1 {below}, {above}"), code.register("fcmp oeq double %value, -1.0")
    with code.when(code.register(f"icmp eq i1 {fits}, {failed}")):
        whole = code.register("call i32 @PyIndex_Check(ptr %item)")
        with code.when(code.register(f"icmp ne i32 {whole}, 0")):
            code.line("call void @PyErr_Clear()")
            code.register("call i64 @whole_number(ptr %item)")
    return code.function("define internal double @bounded(double %value, ptr %item)", "  ret double %value")


class EntryWriter(Code):
    """The instructions of one entry point `name(self, args, nargs)` of a kernel called `title`."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__("read", "e")
        self.name = name
        self.title = title
        self.signs: list[str] = []
        self.inexact = False

    def descriptor(self) -> str:
        """Pointer to the contents of the bytes object that is the function's `self`."""
        return self.move("%self", bytes.__basicsize__ - 1)

    def object(self, index: int | str) -> str:
        """The argument object at a position."""
        return self.load("ptr", self.slot("%args", index))

    def integer(self, index: int | str) -> str:
        """The argument at a position as i64; negative values make `check` look for an error."""
        value = self.register(f"call i64 @PyLong_AsSsize_t(ptr {self.object(index)})")
        self.signs.append(value)
        return value

    def number(self, index: int, kind: str) -> list[tuple[str, str]]:
        """Types and registers of the raw C values of a Python number argument, by kind (see Signature)."""
        self.inexact = True
        item = self.object(index)
        if kind in "cd":
            of = "PyFloat_As" if kind == "d" else "PyComplex_RealAs"
            real = self.register(f"call double @{of}Double(ptr {item})")
            parts = [self.register(f"call double @bounded(double {real}, ptr {item})")]
            if kind == "c":
                parts.append(self.register(f"call double @PyComplex_ImagAsDouble(ptr {item})"))
            return [("double", part) for part in parts]
        if kind == "b":
            truth = self.register(f"call i32 @PyObject_IsTrue(ptr {item})")
            return [("i64", self.register(f"zext i32 {truth} to i64"))]
        reader = "PyLong_AsLongLong" if kind == "n" else "whole_number"
        return [("i64", self.register(f"call i64 @{reader}(ptr {item})"))]

    def put(self, type: str, value: str, array: str, index: int) -> None:
        """Store a register in an 8-byte slot of an array."""
        self.store(type, value, self.slot(array, index))

    def require(self, condition: str) -> None:
        """Leave with the argument count error when `condition` is false."""
        with self.ending(self.register(f"xor i1 {condition}, true")):
            self.jump("wrong")

    def proceed(self, volume: str) -> None:
        """Return at once where there are no elements."""
        with self.ending(self.register(f"icmp sle i64 {volume}, 0")):
            self.jump("return")

    def array(self, first: int | str, amount: str, target: str) -> str:
        """Read `amount` ints from position `first` on into `target`; returns the register of their product."""
        with self.carry(0, amount, 1, [("i64", "1")]) as loop:
            item = self.object(self.register(f"add i64 {loop.index}, {first}"))
            value = self.register(f"call i64 @PyLong_AsSsize_t(ptr {item})")
            self.store("i64", value, self.slot(target, loop.index))
            loop.following = [self.register(f"mul i64 {loop.values[0]}, {value}")]
        return loop.results[0]

    def check(self, *, always: bool = False) -> None:
        """Leave with the pending exception when reading an argument failed."""
        suspect = "true"
        if not self.inexact and not always:
            together = self.signs[0]
            for sign in self.signs[1:]:
                together = self.register(f"or i64 {together}, {sign}")
            suspect = self.register(f"icmp slt i64 {together}, 0")
        with self.when(suspect), self.ending(self._is_pending()):
            self.jump("leave")
        self.signs.clear()
        self.inexact = False

    def _is_pending(self) -> str:
        """An i1 that is true when an exception is set."""
        return self.register(f"icmp ne ptr {self.register('call ptr @PyErr_Occurred()')}, null")

    def run(self, call: str, work: str, shared: str | None = None) -> None:
        """Run `call` (an i1 call); when `work` exceeds the grain run `shared`, without the interpreter lock. A fault is
        raised."""
        big, fault = self.register(f"icmp sgt i64 {work}, {GIL_GRAIN}"), self.register("alloca i1")
        with self.when(big):
            state = self.register("call ptr @PyEval_SaveThread()")
            failed = self.register(shared or call)
            self.line(f"call void @PyEval_RestoreThread(ptr {state})")
            failed = self.register(f"or i1 {failed}, {self._is_pending()}")  # set by a signal's handler
            self.store("i1", failed, fault, 1)
        with self.when(self.register(f"xor i1 {big}, true")):
            self.store("i1", self.register(call), fault, 1)
        with self.ending(self.load("i1", fault, 1)):
            with self.when(self.register(f"xor i1 {self._is_pending()}, true")):
                kind = self.load("ptr", "@PyExc_RuntimeError")
                self.line(f"call void @PyErr_SetString(ptr {kind}, ptr @zero_division)")
            self.jump("leave")

    def text(self, relation: str, number: int) -> str:
        """The function and its messages; the number of arguments has this relation to `number`, or is wrong."""
        body = "\n".join(self.lines)
        return python_api(f"""@zero_division = internal constant [18 x i8] c"ZeroDivisionError\\00"
{_whole_number()}
{_bounded()}
{self.message("count", f"{self.title} got %zd arguments, which does not fit its signature")}
define ptr @{self.name}(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %right = icmp {relation} i64 %nargs, {number}
  br i1 %right, label %read, label %wrong
wrong:
  %wrong_kind = load ptr, ptr @PyExc_TypeError
  %wrong_set = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %wrong_kind, ptr @{self.name}_count, i64 %nargs)
  br label %leave
leave:
  ret ptr null
read:
{body}
  br label %return
return:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}}""")

    def message(self, suffix: str, text: str) -> str:
        """A C string constant `@NAME_suffix`."""
        data = text.encode("ascii")
        return f'@{self.name}_{suffix} = internal constant [{len(data) + 1} x i8] c"{text}\\00"'
