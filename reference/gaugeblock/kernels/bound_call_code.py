"""The machine code of bound calls and of the finaliser of storages, as LLVM IR (see bound_call).

The first does what `Fresh`, `Kernels` and `Into` do in Python; metadata_call_code has the rest.
"""

from __future__ import annotations

from ..core.sealed import OFFSETS
from ..memory.storage import Storage
from ..tensor.tensor import INITIAL, Tensor
from ..tensor.tensor_meta import TensorMeta
from .code import NAME, Code
from .entry import python_api
from .metadata_call_code import functions as metadata_calls
from .object_code import CONSTANTS, ITEMS, LIST_ITEMS, NONE, OBJECTS, SIZE, TYPE, ObjectCode, module

LARGEST_NUMBER = 65504
"""The largest finite number of float16: smaller ones, infinities and NaN fit every floating dtype."""
FRESH = ("kernel", "results", "tail", "limited", "temporary", "refusing")
INTO = ("kernel", "tail", "limited", "read", "elementwise")
"""The members of the kinds of calls, in order."""


def text() -> str:
    """Return the IR of the builtins and of what they share."""
    shared = ["declare double @llvm.fabs.f64(double)", _new_like(), _gather(), _drop(), _ran(), _count_write()]
    return module([*shared, _fresh(), _into(), _one_kernel(), _kernels(), *metadata_calls()], OBJECTS)


def _new_like() -> str:
    """@new_like(meta): a new tensor with a block from the meta's free list; Python makes it where that is empty."""
    code = ObjectCode()
    pool = code.slot_of("%meta", TensorMeta, "_pool")
    pointer = code.variable("ptr", code.object("zero"))
    nothing = code.same(pool, code.object("no_blocks"))
    listed = code.either(nothing, code.same(code.load("ptr", code.move(pool, TYPE)), "@PyList_Type"))
    known = code.register(f"select i1 {listed}, ptr {pool}, ptr {code.object('no_blocks')}")
    size = code.load("i64", code.move(known, SIZE))
    some = code.both(listed, code.register(f"icmp sgt i64 {size}, 0"))
    with code.ending(code.unless(code.either(some, nothing))):
        made = f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {code.object('new_like')}, ptr %meta, ptr null)"
        code.line(f"ret ptr {code.register(made)}")
    with code.when(some):
        last = code.register(f"sub i64 {size}, 1")
        code.store("i64", last, code.move(pool, SIZE))
        code.store("ptr", code.load("ptr", code.slot(code.member(pool, LIST_ITEMS), last)), pointer)
    with code.when(code.unless(some)):
        code.line(f"call void @Py_IncRef(ptr {code.object('zero')})")
    address = code.load("ptr", pointer)
    storage = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('Storage')}, i64 0)")
    with code.ending(code.same(storage, "null")):
        code.line(f"call i32 @PyList_Append(ptr {pool}, ptr {address})")
        code.line(f"call void @Py_DecRef(ptr {address})")
        code.line("ret ptr null")
    code.store("ptr", address, code.move(storage, OFFSETS[Storage]["_pointer"]))
    values = {
        "pool": pool, "_nbytes": code.slot_of("%meta", TensorMeta, "_nbytes"), "device": code.object("cpu"),
        "resizable": CONSTANTS[True], "version": code.object("zero"), "allocator": NONE, "deleter": NONE,
        "owner": NONE,
    }  # fmt: skip
    for slot, value in values.items():
        code.fill(storage, Storage, slot, value)
    tensor = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('Tensor')}, i64 0)")
    with code.ending(code.same(tensor, "null")):
        code.line(f"call void @Py_DecRef(ptr {storage})")
        code.line("ret ptr null")
    code.store("ptr", storage, code.move(tensor, OFFSETS[Tensor]["_storage_impl"]))
    values = {"_meta": "%meta", "_offset": code.object("zero"), "_pointer": address}
    for slot, value in (values | {slot: CONSTANTS[initial] for slot, initial in INITIAL.items()}).items():
        code.fill(tensor, Tensor, slot, value)
    return code.function("define internal ptr @new_like(ptr %meta)", f"  ret ptr {tensor}")


def _gather() -> str:
    """@gather(given, args, nargs): store new references to the addresses of tensors and to numbers, return how many.

    Return -1 for an argument of any other class, such as a tensor that another thread is changing: its call sees the
    old metadata by way of Python. None and UNSET are left out. No other thread runs until all addresses are read.
    """
    code = ObjectCode()
    count = code.variable("i64", 0)
    with code.loop(0, "%nargs") as i:
        value = code.load("ptr", code.slot("%args", i))
        type = code.load("ptr", code.move(value, TYPE))
        known = tensor = code.same(type, code.object("Tensor"))
        for number in ("@PyFloat_Type", "@PyLong_Type", "@PyBool_Type", "@PyComplex_Type"):
            known = code.either(known, code.same(type, number))
        with code.when(known):
            address = code.move(value, OFFSETS[Tensor]["_pointer"])
            found = code.load("ptr", code.register(f"select i1 {tensor}, ptr {address}, ptr {code.slot('%args', i)}"))
            at = code.load("i64", count)
            code.line(f"call void @Py_IncRef(ptr {found})")
            code.store("ptr", found, code.slot("%given", at))
            code.store("i64", code.register(f"add i64 {at}, 1"), count)
        missing = code.either(code.same(value, NONE), code.same(value, code.object("unset")))
        with code.ending(code.unless(code.either(known, missing))):
            code.line(f"call void @drop(ptr %given, i64 {code.load('i64', count)})")
            code.line("ret i64 -1")
    total = code.load("i64", count)
    return code.function("define internal i64 @gather(ptr %given, ptr %args, i64 %nargs)", f"  ret i64 {total}")


def _drop() -> str:
    """@drop(given, count): give references up."""
    code = ObjectCode()
    with code.loop(0, "%count") as i:
        code.line(f"call void @Py_DecRef(ptr {code.load('ptr', code.slot('%given', i))})")
    return code.function("define internal void @drop(ptr %given, i64 %count)", "  ret void")


def _ran() -> str:
    """@ran(kernel, given, count, tail): the kernel called with `count` values and the tail behind them, for which there
    is space; false if it raised."""
    code = ObjectCode()
    code.leave(code.same("%kernel", NONE), "i1 true")
    size = code.load("i64", code.move("%tail", SIZE))
    with code.loop(0, size) as i:
        value = code.load("ptr", code.slot(code.move("%tail", ITEMS), i))
        code.store("ptr", value, code.slot("%given", code.register(f"add i64 %count, {i}")))
    whole = code.register(f"add i64 %count, {size}")
    result = code.register(f"call ptr @PyObject_Vectorcall(ptr %kernel, ptr %given, i64 {whole}, ptr null)")
    good = code.register(f"icmp ne ptr {result}, null")
    code.line(f"call void @Py_DecRef(ptr {result})")
    return code.function("define internal i1 @ran(ptr %kernel, ptr %given, i64 %count, ptr %tail)", f"  ret i1 {good}")


def _check_numbers(code: ObjectCode, limited: str, first: int) -> None:
    """Decline the call if numbers are `limited` and one among the arguments from the `first` on does not fit."""
    with code.when(code.same(limited, "@_Py_TrueStruct")), code.loop(first, "%nargs") as i:
        value = code.load("ptr", code.slot("%args", i))
        type = code.load("ptr", code.move(value, TYPE))
        with code.when(code.either(code.same(type, "@PyFloat_Type"), code.same(type, "@PyLong_Type"))):
            real = code.register(f"call double @PyFloat_AsDouble(ptr {value})")
            size = code.register(f"call double @llvm.fabs.f64(double {real})")
            beyond = code.register(f"fcmp ogt double {size}, {float(LARGEST_NUMBER)}")
            finite = code.register(f"fcmp one double {size}, 0x7FF0000000000000")
            large = code.register(f"and i1 {beyond}, {finite}")
            error = code.register("call ptr @PyErr_Occurred()")
            failed = code.register(f"icmp ne ptr {error}, null")
            with code.when(failed):
                code.line("call void @PyErr_Clear()")
            code.decline(code.either(large, failed))


def _fresh() -> str:
    """@NAME_fresh(self, args, nargs): what `Fresh` does."""
    code = ObjectCode()
    kernel, results, tail, limited, last, refusing = (code.member("%self", ITEMS + 8 * k) for k in range(len(FRESH)))
    _check_numbers(code, limited, 0)
    many = code.load("i64", code.move(results, SIZE))
    space = _sum(code, code.load("i64", code.move(tail, SIZE)), many, "%nargs")
    made = code.register(f"alloca ptr, i64 {many}")
    given = code.register(f"alloca ptr, i64 {space}")
    values = code.slot(given, many)
    found = code.register(f"call i64 @gather(ptr {values}, ptr %args, i64 %nargs)")
    code.decline(code.register(f"icmp slt i64 {found}, 0"))
    count, good = code.variable("i64", 0), code.variable("i1", "true", 1)
    with code.loop(0, many) as i, code.when(code.load("i1", good, 1)):
        meta = code.load("ptr", code.slot(code.move(results, ITEMS), i))
        tensor = code.register(f"call ptr @new_like(ptr {meta})")
        code.store("i1", code.register(f"icmp ne ptr {tensor}, null"), good, 1)
        with code.when(code.load("i1", good, 1)):
            code.store("ptr", tensor, code.slot(made, i))
            code.store("ptr", code.slot_of(tensor, Tensor, "_pointer"), code.slot(given, i))
            code.store("i64", code.register(f"add i64 {i}, 1"), count)
    _run_kernel(code, good, kernel, given, many, found, tail)
    with code.when(code.load("i1", good, 1)):
        temporary = code.register(f"call i64 @PyLong_AsLongLong(ptr {last})")
        kept = code.register(f"sub i64 {many}, {temporary}")
        code.line(f"call void @drop(ptr {code.slot(made, kept)}, i64 {temporary})")
        code.store("i64", kept, count)
        code.leave(code.register(f"icmp eq i64 {kept}, 1"), f"ptr {code.load('ptr', made)}")
        together = code.register(f"call ptr @PyTuple_New(i64 {kept})")
        code.store("i1", code.register(f"icmp ne ptr {together}, null"), good, 1)
        with code.when(code.load("i1", good, 1)):
            with code.loop(0, kept) as i:
                code.store("ptr", code.load("ptr", code.slot(made, i)), code.slot(code.move(together, ITEMS), i))
            code.leave("true", f"ptr {together}")
    code.line(f"call void @drop(ptr {made}, i64 {code.load('i64', count)})")
    with code.when(code.same(refusing, "@_Py_TrueStruct")):
        error = code.load("ptr", "@PyExc_RuntimeError")
        matches = code.register(f"call i32 @PyErr_ExceptionMatches(ptr {error})")
        with code.when(code.register(f"icmp ne i32 {matches}, 0")):
            code.line("call void @PyErr_Clear()")
            code.decline("true")
    return code.function(f"define ptr @{NAME}_fresh(ptr %self, ptr %args, i64 %nargs)", "  ret ptr null")


def _into() -> str:
    """@NAME_into(self, args, nargs): what `Into` does."""
    code = ObjectCode()
    kernel, tail, limited, read, every = (code.member("%self", ITEMS + 8 * INTO.index(name)) for name in INTO)
    _check_numbers(code, limited, 1)
    out = code.load("ptr", "%args")
    code.decline(code.register(f"icmp ne ptr {code.load('ptr', code.move(out, TYPE))}, {code.object('Tensor')}"))
    storage = code.slot_of(out, Tensor, "_storage_impl")
    inplace, elementwise = (code.same(flag, "@_Py_TrueStruct") for flag in (read, every))
    with code.loop(1, "%nargs") as i:
        value = code.load("ptr", code.slot("%args", i))
        tensor = code.same(code.load("ptr", code.move(value, TYPE)), code.object("Tensor"))
        with code.when(tensor):
            shared = code.same(code.slot_of(value, Tensor, "_storage_impl"), storage)
            itself = code.both(elementwise, code.same(value, out))
            with code.when(code.both(shared, code.unless(itself))):
                given = ", ".join(f"ptr {one}" for one in (code.object("apart"), out, value, every, "null"))
                known = code.register(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs({given})")
                code.leave(code.same(known, "null"), "ptr null")
                code.line(f"call void @Py_DecRef(ptr {known})")
                code.decline(code.unless(code.same(known, "@_Py_TrueStruct")))
    most = _sum(code, code.load("i64", code.move(tail, SIZE)), "1", "%nargs")
    given = code.register(f"alloca ptr, i64 {most}")
    twice = code.register(f"zext i1 {inplace} to i64")
    values = code.slot(given, twice)
    found = code.register(f"call i64 @gather(ptr {values}, ptr %args, i64 %nargs)")
    code.decline(code.register(f"icmp slt i64 {found}, 0"))
    code.store("ptr", code.load("ptr", values), given)
    good = code.variable("i1", code.register(f"call i1 @count_write(ptr {out}, ptr {storage})"), 1)
    _run_kernel(code, good, kernel, given, twice, found, tail)
    with code.when(code.load("i1", good, 1)):
        code.line(f"call void @Py_IncRef(ptr {out})")
    result = code.register(f"select i1 {code.load('i1', good, 1)}, ptr {out}, ptr null")
    return code.function(f"define ptr @{NAME}_into(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {result}")


def _one_kernel() -> str:
    """@one_kernel(call, given): run one of the kernels of `Kernels`; false if it raised."""
    code = ObjectCode()
    kernel, places, offsets, tail = (code.member("%call", ITEMS + 8 * k) for k in range(4))
    size = code.load("i64", code.move(places, SIZE))
    space = code.register(f"add i64 {size}, {code.load('i64', code.move(tail, SIZE))}")
    addresses = code.register(f"alloca ptr, i64 {space}")
    with code.loop(0, size) as i:
        place, offset = (code.load("ptr", code.slot(code.move(one, ITEMS), i)) for one in (places, offsets))
        base = code.load("ptr", code.slot("%given", code.register(f"call i64 @PyLong_AsLongLong(ptr {place})")))
        address = code.register(f"call ptr @PyNumber_Add(ptr {base}, ptr {offset})")
        with code.ending(code.same(address, "null")):
            code.line(f"call void @drop(ptr {addresses}, i64 {i})")
            code.line("ret i1 false")
        code.store("ptr", address, code.slot(addresses, i))
    good = code.register(f"call i1 @ran(ptr {kernel}, ptr {addresses}, i64 {size}, ptr {tail})")
    code.line(f"call void @drop(ptr {addresses}, i64 {size})")
    return code.function("define internal i1 @one_kernel(ptr %call, ptr %given) noinline", f"  ret i1 {good}")


def _kernels() -> str:
    """@NAME_kernels(self, args, nargs): what `Kernels` does."""
    code = ObjectCode()
    kernels = code.member("%self", ITEMS)
    with code.loop(0, code.load("i64", code.move(kernels, SIZE))) as i:
        one = code.load("ptr", code.slot(code.move(kernels, ITEMS), i))
        good = code.register(f"call i1 @one_kernel(ptr {one}, ptr %args)")
        code.leave(code.unless(good), "ptr null")
    code.line(f"call void @Py_IncRef(ptr {NONE})")
    return code.function(f"define ptr @{NAME}_kernels(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {NONE}")


def _run_kernel(code: ObjectCode, good: str, kernel: str, given: str, before: str, found: str, tail: str) -> None:
    """Run the kernel while the flag at `good` is set, and give up the `found` references behind the first ones."""
    with code.when(code.load("i1", good, 1)):
        whole = code.register(f"add i64 {before}, {found}")
        ran = code.register(f"call i1 @ran(ptr {kernel}, ptr {given}, i64 {whole}, ptr {tail})")
        code.store("i1", ran, good, 1)
    code.line(f"call void @drop(ptr {code.slot(given, before)}, i64 {found})")


def _sum(code: Code, first: str, second: str, third: str) -> str:
    return code.register(f"add i64 {first}, {code.register(f'add i64 {second}, {third}')}")


def _count_write() -> str:
    """@count_write(out, storage): count one write; Python does it for a tensor or storage with a counter of its own.
    False if that raised."""
    code = ObjectCode()
    own = code.register(f"icmp ne ptr {code.slot_of('%out', Tensor, 'counter')}, {NONE}")
    plain = code.same(code.load("ptr", code.move("%storage", TYPE)), code.object("Storage"))
    special = code.either(own, code.unless(plain))
    kept = code.variable("ptr", "null")
    with code.when(special):
        bump = code.object("bump_version")
        result = code.register(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {bump}, ptr %out, ptr null)")
        code.store("ptr", result, kept)
    with code.when(code.unless(special)):
        slot = code.move("%storage", OFFSETS[Storage]["version"])
        before = code.load("ptr", slot)
        after = code.register(f"call ptr @PyNumber_Add(ptr {before}, ptr {code.object('one')})")
        with code.when(code.register(f"icmp ne ptr {after}, null")):
            code.store("ptr", after, slot)
            code.store("ptr", before, kept)
    gone = code.load("ptr", kept)
    good = code.register(f"icmp ne ptr {gone}, null")
    code.line(f"call void @Py_DecRef(ptr {gone})")
    return code.function("define internal i1 @count_write(ptr %out, ptr %storage)", f"  ret i1 {good}")


def finaliser_text() -> str:
    """Return the IR of the finalisers of storages. @NAME_direct returns small blocks itself, @NAME_managed never does;
    @NAME_set stores the function that releases."""
    given = Code()
    given.store("ptr", "%release", "@release")
    taken = given.function(f"define void @{NAME}_set(ptr %release)", "  ret void")
    return python_api("\n".join(["@release = internal global ptr null", taken, _direct(), _managed()]))


def _is_given(code: ObjectCode, slot: str) -> str:
    """Return whether a slot of %storage holds something."""
    value = code.slot_of("%storage", Storage, slot)
    return code.unless(code.either(code.same(value, "null"), code.same(value, NONE)))


def _direct() -> str:
    code = ObjectCode()
    pooled = _is_given(code, "pool")
    with code.when(pooled):
        pool, pointer = (code.slot_of("%storage", Storage, slot) for slot in ("pool", "_pointer"))
        code.line(f"call i32 @PyList_Append(ptr {pool}, ptr {pointer})")
    code.decline(pooled)
    result = code.register(f"call ptr @{NAME}_managed(ptr %storage, ptr null)")
    return code.function(f"define ptr @{NAME}_direct(ptr %storage, ptr %unused)", f"  ret ptr {result}")


def _managed() -> str:
    """Release the block, a second time if Ctrl-C has come between, which is put off until then."""
    code = ObjectCode()
    interrupted = code.variable("i1", "false", 1)
    with code.loop(0, 2):
        pooled, allocated, foreign = (_is_given(code, slot) for slot in ("pool", "allocator", "deleter"))
        with code.when(code.either(code.either(pooled, allocated), foreign)):
            release = code.load("ptr", "@release")
            call = f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {release}, ptr %storage, ptr null)"
            result = code.register(call)
            failed = code.same(result, "null")
            with code.when(failed):
                interrupt = code.load("ptr", "@PyExc_KeyboardInterrupt")
                matches = code.register(f"call i32 @PyErr_ExceptionMatches(ptr {interrupt})")
                code.leave(code.register(f"icmp eq i32 {matches}, 0"), "ptr null")
                code.line("call void @PyErr_Clear()")
                code.store("i1", "true", interrupted, 1)
            code.line(f"call void @Py_DecRef(ptr {result})")
    with code.when(code.load("i1", interrupted, 1)):
        code.line("call void @PyErr_SetInterrupt()")
    code.line(f"call void @Py_IncRef(ptr {NONE})")
    return code.function(f"define ptr @{NAME}_managed(ptr %storage, ptr %unused)", f"  ret ptr {NONE}")
