"""The machine code of calls that make views and change metadata, as LLVM IR: what `View`, `Part`, `Slice`, `Change`
and `Share` do."""

from __future__ import annotations

from ..core.sealed import OFFSETS
from ..tensor.tensor import INITIAL, Tensor
from .code import NAME
from .object_code import CONSTANTS, ITEMS, NONE, SIZE, TYPE, ObjectCode

VIEW = ("metas", "steps", "nbytes", "detached", "several", "at_start")
PART = ("meta", "size", "last", "stride", "itemsize")
SLICE = ("metas", "size", "step", "stride", "itemsize")
"""The members of `View`, `Part` and `Slice`, in order."""


def functions() -> list[str]:
    """Return the IR of the builtins."""
    return [_one_view(), _moved_view(), _view(), _number(), _part(), _slice(), _change(), _share()]


def _one_view() -> str:
    """@one_view(tensor, meta, step, nbytes, alone): a new view so many elements and bytes further on; null if there is
    no memory for it. One that stands `alone` is not reported as a view."""
    code = ObjectCode()
    root, found = code.register("alloca ptr"), code.register("alloca ptr")
    view = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('Tensor')}, i64 0)")
    code.leave(code.same(view, "null"), "ptr null")
    code.fill(view, Tensor, "_meta", "%meta")
    for slot, step in (("_offset", "%step"), ("_pointer", "%nbytes")):
        before, zero = code.slot_of("%tensor", Tensor, slot), code.object("zero")
        empty = code.same(before, zero) if slot == "_pointer" else "false"
        stays = code.either(code.same(step, zero), empty)
        with code.when(stays):
            code.line(f"call void @Py_IncRef(ptr {before})")
            code.store("ptr", before, found)
        with code.when(code.unless(stays)):
            code.store("ptr", code.register(f"call ptr @PyNumber_Add(ptr {before}, ptr {step})"), found)
        after = code.load("ptr", found)
        code.store("ptr", after, code.move(view, OFFSETS[Tensor][slot]))
        with code.ending(code.same(after, "null")):
            code.line(f"call void @Py_DecRef(ptr {view})")
            code.line("ret ptr null")
    for slot in ("_storage_impl", "counter"):
        code.fill(view, Tensor, slot, code.slot_of("%tensor", Tensor, slot))
    code.store("ptr", code.slot_of("%tensor", Tensor, "base"), root)
    first = code.same(code.load("ptr", root), NONE)
    with code.when(code.both(first, code.unless("%alone"))):
        code.store("ptr", "%tensor", root)
        viewed = code.move("%tensor", OFFSETS[Tensor]["viewed"])
        with code.when(code.same(code.load("ptr", viewed), "null")):
            code.fill("%tensor", Tensor, "viewed", "@_Py_TrueStruct")
    with code.when("%alone"):
        code.store("ptr", NONE, root)
    code.fill(view, Tensor, "base", code.load("ptr", root))
    for slot, initial in INITIAL.items():
        if slot not in ("base", "counter"):
            code.fill(view, Tensor, slot, CONSTANTS[initial])
    arguments = "ptr %tensor, ptr %meta, ptr %step, ptr %nbytes, i1 %alone"
    return code.function(f"define internal ptr @one_view({arguments})", f"  ret ptr {view}")


def _view() -> str:
    """@NAME_view(self, args, nargs): what `View` does."""
    code = ObjectCode()
    metas, steps, nbytes, detached, several, start = (code.member("%self", ITEMS + 8 * k) for k in range(len(VIEW)))
    tensor = code.load("ptr", "%args")
    alone = code.same(detached, "@_Py_TrueStruct")
    counted = code.register(f"icmp ne ptr {code.slot_of(tensor, Tensor, 'counter')}, {NONE}")
    foreign = code.register(f"icmp ne ptr {code.load('ptr', code.move(tensor, TYPE))}, {code.object('Tensor')}")
    code.decline(code.either(foreign, code.both(alone, counted)))
    moved = code.register(f"icmp ne ptr {code.slot_of(tensor, Tensor, '_offset')}, {code.object('zero')}")
    code.decline(code.both(code.same(start, "@_Py_TrueStruct"), moved))

    def one(place: str) -> str:
        given = [code.load("ptr", code.slot(code.move(some, ITEMS), place)) for some in (metas, steps, nbytes)]
        passed = ", ".join([f"ptr {value}" for value in (tensor, *given)])
        return code.register(f"call ptr @one_view({passed}, i1 {alone})")

    with code.ending(code.same(several, "@_Py_FalseStruct")):
        code.line(f"ret ptr {one('0')}")
    count = code.load("i64", code.move(metas, SIZE))
    views = code.register(f"call ptr @PyTuple_New(i64 {count})")
    code.leave(code.same(views, "null"), "ptr null")
    with code.loop(0, count) as i:
        view = one(i)
        with code.ending(code.same(view, "null")):
            code.line(f"call void @Py_DecRef(ptr {views})")
            code.line("ret ptr null")
        code.store("ptr", view, code.slot(code.move(views, ITEMS), i))
    return code.function(f"define ptr @{NAME}_view(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {views}")


def _moved_view() -> str:
    """@moved_view(tensor, meta, places, stride, itemsize): a new view so many strides further on; null if there is no
    memory for it."""
    code = ObjectCode()
    step = code.register("mul i64 %places, %stride")
    moved = [code.register(f"call ptr @PyLong_FromLong(i64 {step})")]
    moved.append(code.register(f"call ptr @PyLong_FromLong(i64 {code.register(f'mul i64 {step}, %itemsize')})"))
    missing = code.either(*(code.same(one, "null") for one in moved))
    view = code.variable("ptr", "null")
    with code.when(code.unless(missing)):
        given = ", ".join(f"ptr {one}" for one in ("%tensor", "%meta", *moved))
        code.store("ptr", code.register(f"call ptr @one_view({given}, i1 false)"), view)
    for one in moved:
        code.line(f"call void @Py_DecRef(ptr {one})")
    last = code.load("ptr", view)
    head = "define internal ptr @moved_view(ptr %tensor, ptr %meta, i64 %places, i64 %stride, i64 %itemsize)"
    return code.function(head, f"  ret ptr {last}")


def _number() -> str:
    """@number(value, missing, place): store a Python int, or what stands for None; false for another value."""
    code = ObjectCode()
    with code.ending(code.same("%value", NONE)):
        code.store("i64", "%missing", "%place")
        code.line("ret i1 true")
    code.leave(code.unless(code.same(code.load("ptr", code.move("%value", TYPE)), "@PyLong_Type")), "i1 false")
    found = code.register("call i64 @PyLong_AsLongLong(ptr %value)")
    code.store("i64", found, "%place")
    with code.when(code.register(f"icmp eq i64 {found}, -1")):
        failed = code.register(f"icmp ne ptr {code.register('call ptr @PyErr_Occurred()')}, null")
        with code.ending(failed):
            code.line("call void @PyErr_Clear()")
            code.line("ret i1 false")
    return code.function("define internal i1 @number(ptr %value, i64 %missing, ptr %place)", "  ret i1 true")


def _given_tensor(code: ObjectCode) -> str:
    """Return the first argument; the call is declined if that is no plain tensor."""
    tensor = code.load("ptr", "%args")
    code.decline(code.register(f"icmp ne ptr {code.load('ptr', code.move(tensor, TYPE))}, {code.object('Tensor')}"))
    return tensor


def _numbers(code: ObjectCode, members: tuple[str, ...]) -> dict[str, str]:
    """Return the members of a call that are ints, by name."""
    given = {name: code.member("%self", ITEMS + 8 * place) for place, name in enumerate(members) if place}
    return {name: code.register(f"call i64 @PyLong_AsLongLong(ptr {value})") for name, value in given.items()}


def _given_number(code: ObjectCode, place: int, missing: str | int, size: str) -> str:
    """Return the argument at a place, counted from the end if it is negative; `missing` where it is None. The call is
    declined for anything but an int."""
    where = code.variable("i64", 0)
    value = code.load("ptr", code.slot("%args", place))
    known = code.register(f"call i1 @number(ptr {value}, i64 {missing}, ptr {where})")
    code.decline(code.unless(known))
    number = code.load("i64", where)
    negative = code.register(f"icmp slt i64 {number}, 0")
    return code.register(f"select i1 {negative}, i64 {code.register(f'add i64 {number}, {size}')}, i64 {number}")


def _part() -> str:
    """@NAME_part(self, args, nargs): what `Part` does."""
    code = ObjectCode()
    tensor, meta, of = _given_tensor(code), code.member("%self", ITEMS), _numbers(code, PART)
    code.decline(code.same(code.load("ptr", code.slot("%args", 1)), NONE))
    index = _given_number(code, 1, 0, of["size"])
    code.decline(code.register(f"icmp ugt i64 {index}, {of['last']}"))
    given = f"ptr {tensor}, ptr {meta}, i64 {index}, i64 {of['stride']}, i64 {of['itemsize']}"
    view = code.register(f"call ptr @moved_view({given})")
    return code.function(f"define ptr @{NAME}_part(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {view}")


def _slice() -> str:
    """@NAME_slice(self, args, nargs): what `Slice` does."""
    code = ObjectCode()
    tensor, metas, of = _given_tensor(code), code.member("%self", ITEMS), _numbers(code, SLICE)

    def clamped(place: int, missing: str | int) -> str:
        number = code.minimum(_given_number(code, place, missing, of["size"]), of["size"])
        return code.register(f"select i1 {code.register(f'icmp slt i64 {number}, 0')}, i64 0, i64 {number}")

    start, end = clamped(1, 0), clamped(2, of["size"])
    whole = code.register(f"add i64 {code.register(f'sub i64 {end}, {start}')}, {of['step']}")
    parts = code.register(f"sdiv i64 {code.register(f'sub i64 {whole}, 1')}, {of['step']}")
    none = code.register(f"icmp sle i64 {end}, {start}")
    length = code.register(f"call ptr @PyLong_FromLong(i64 {code.register(f'select i1 {none}, i64 0, i64 {parts}')})")
    code.leave(code.same(length, "null"), "ptr null")
    meta = code.register(f"call ptr @PyDict_GetItem(ptr {metas}, ptr {length})")
    code.line(f"call void @Py_DecRef(ptr {length})")
    code.decline(code.same(meta, "null"))
    given = f"ptr {tensor}, ptr {meta}, i64 {start}, i64 {of['stride']}, i64 {of['itemsize']}"
    view = code.register(f"call ptr @moved_view({given})")
    return code.function(f"define ptr @{NAME}_slice(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {view}")


def _change() -> str:
    """@NAME_change(self, args, nargs): what `Change` does."""
    code = ObjectCode()
    meta, tensor = code.member("%self", ITEMS), _given_tensor(code)
    _decline_beside_threads(code)
    storage, before = code.slot_of(tensor, Tensor, "_storage_impl"), code.slot_of(tensor, Tensor, "_meta")
    counted = code.register(f"call i1 @count_write(ptr {tensor}, ptr {storage})")
    code.leave(code.unless(counted), "ptr null")
    code.fill(tensor, Tensor, "_meta", meta)
    code.line(f"call void @Py_DecRef(ptr {before})")
    code.line(f"call void @Py_IncRef(ptr {tensor})")
    return code.function(f"define ptr @{NAME}_change(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {tensor}")


def _share() -> str:
    """@NAME_share(self, args, nargs): what `Share` does."""
    code = ObjectCode()
    tensor, source = (code.load("ptr", code.slot("%args", k)) for k in range(2))
    for one in (tensor, source):
        kind = code.load("ptr", code.move(one, TYPE))
        code.decline(code.register(f"icmp ne ptr {kind}, {code.object('Tensor')}"))
    counter = code.slot_of(tensor, Tensor, "counter")
    known = code.same(code.load("ptr", code.move(counter, TYPE)), code.object("VersionCounter"))
    code.decline(code.unless(code.either(code.same(counter, NONE), known)))
    _decline_beside_threads(code)
    version = code.register(_call(code, "version_of", tensor))
    code.leave(code.same(version, "null"), "ptr null")
    after = code.register(f"call ptr @PyNumber_Add(ptr {version}, ptr {code.object('one')})")
    code.leave(code.same(after, "null"), "ptr null")
    code.line(f"call void @Py_DecRef(ptr {version})")
    counter = code.register(_call(code, "VersionCounter", after))
    code.line(f"call void @Py_DecRef(ptr {after})")
    code.leave(code.same(counter, "null"), "ptr null")
    places = ("_meta", "_storage_impl", "_offset", "_pointer")
    values = {place: code.slot_of(source, Tensor, place) for place in places} | {"base": NONE, "counter": counter}
    gone = [code.slot_of(tensor, Tensor, slot) for slot in values]
    for slot, value in values.items():
        code.fill(tensor, Tensor, slot, value)
    for one in (*gone, counter):
        code.line(f"call void @Py_DecRef(ptr {one})")
    code.line(f"call void @Py_IncRef(ptr {tensor})")
    return code.function(f"define ptr @{NAME}_share(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {tensor}")


def _call(code: ObjectCode, name: str, argument: str) -> str:
    return f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {code.object(name)}, ptr {argument}, ptr null)"


def _decline_beside_threads(code: ObjectCode) -> None:
    """Decline a change of metadata if there are other threads, or calls of theirs that see an older state."""
    interpreter = code.register("call ptr @PyInterpreterState_Get()")
    first = code.register(f"call ptr @PyInterpreterState_ThreadHead(ptr {interpreter})")
    second = code.register(f"call ptr @PyThreadState_Next(ptr {first})")
    pending = code.register(f"call i64 @PyDict_Size(ptr {code.object('changed')})")
    some = code.register(f"icmp ne i64 {pending}, 0")
    code.decline(code.either(code.register(f"icmp ne ptr {second}, null"), some))
