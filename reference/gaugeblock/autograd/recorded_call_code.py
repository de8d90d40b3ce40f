"""The machine code of recorded calls, as LLVM IR (see recorded_call)."""

from __future__ import annotations

from ..core.sealed import OFFSETS
from ..kernels.bound_call_code import CONSTANTS, ITEMS, NONE, SIZE, TYPE, module
from ..kernels.code import NAME
from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .autograd_meta import AutogradMeta, ViewState
from .edge_code import DECLINED, FAILED, GOOD, OBJECTS, RecordCode, edge_functions
from .node import Node

MEMBERS = ("run", "node", "operands", "program", "constants")
"""The members of `Recorded`, in order."""
BYTES = bytes.__basicsize__ - 1
"""Offset of the contents of a bytes object."""
AS_IS, RECORDED, UNPACKED, CONSTANT = range(4)
"""Kinds of operands: an argument as it is, a plain tensor whose edge is recorded, a plain tensor alone, a constant."""
CONSTANT_VALUE, ARGUMENT, SAVED, DESCRIBED = range(4)
"""Kinds of slots in a node: a constant, an argument of the call, a tensor and its version, a tensor's metadata."""
OF_RESULT = -1
"""Operand number that means the first result; -2 means the second, and so on."""
HEADER = ("steps", "leading", "maker", "base")
"""Header of a program: the number of slots, a mask of the results that need a gradient, and for a view the constant
that names its operator and the place of its base; -1 for what is no view."""
SAME = FAILED + 1
"""The status of a call that returns one of its arguments."""
GIVEN = "ptr %program, ptr %constants, ptr %args, ptr %plain, ptr %edges, i64 %count, i64 %wanted"
"""Parameters of the functions that make a node."""


def text() -> str:
    """Return the IR of the builtin and of its parts."""
    parts = [*edge_functions(), _operand(), _filled(), _wrapped(), _viewed(), _noted(), _recorded()]
    return module(parts, OBJECTS)


def _operand() -> str:
    """@operand(row, args, constants, place, edges): store a new reference to what the kernel gets for an operand. Store
    its edge too, and return a status."""
    code = RecordCode()
    number, kind, slot = (code.word("%row", k) for k in range(3))
    value = code.register("alloca ptr")
    fixed = code.register(f"icmp eq i64 {kind}, {CONSTANT}")
    with code.when(fixed):
        code.store("ptr", code.load("ptr", code.slot(code.move("%constants", ITEMS), number)), value)
    with code.when(code.unless(fixed)):
        argument = code.load("ptr", code.slot("%args", number))
        code.store("ptr", argument, value)
        is_tensor = code.same(code.load("ptr", code.move(argument, TYPE)), code.object("Tensor"))
        with code.when(code.register(f"icmp ne i64 {kind}, {AS_IS}")):
            code.leave(code.unless(is_tensor), f"i64 {DECLINED}")
            meta = code.slot_of(argument, Tensor, "autograd")
            code.leave(code.same(meta, NONE), f"i64 {DECLINED}")
            with code.when(code.register(f"icmp eq i64 {kind}, {RECORDED}")):
                place = code.slot("%edges", slot)
                status = code.register(f"call i64 @edge(ptr {argument}, ptr {meta}, ptr {place})")
                code.leave(code.register(f"icmp ne i64 {status}, {GOOD}"), f"i64 {status}")
            code.store("ptr", code.slot_of(meta, AutogradMeta, "plain"), value)
        with code.when(is_tensor):
            counter = code.slot_of(code.load("ptr", value), Tensor, "counter")
            with code.when(code.is_not(counter, NONE)):  # that of several views counts as the storage does
                kind = code.load("ptr", code.move(counter, TYPE))
                code.leave(code.is_not(kind, code.object("SeveralViews")), f"i64 {DECLINED}")
    found = code.load("ptr", value)
    code.line(f"call void @Py_IncRef(ptr {found})")
    code.store("ptr", found, "%place")
    head = "define internal i64 @operand(ptr %row, ptr %args, ptr %constants, ptr %place, ptr %edges)"
    return code.function(head, f"  ret i64 {GOOD}")


def _filled() -> str:
    """@filled(node, program, constants, args, plain, edges, count, wanted, results, many): fill a new node. Return
    false if there is no memory. Bit k of `wanted` says whether edge k is there."""
    code = RecordCode()

    def check(made: str) -> str:
        code.leave(code.same(made, "null"), "i1 false")
        return made

    edges = check(code.register("call ptr @PyTuple_New(i64 %count)"))
    code.store("ptr", edges, code.move("%node", OFFSETS[Node]["edges"]))
    with code.loop(0, "%count") as i:
        edge = code.load("ptr", code.slot("%edges", i))
        code.item(edges, i, code.register(f"select i1 {code.same(edge, 'null')}, ptr {NONE}, ptr {edge}"))
    number = check(code.register(f"call ptr @PyIter_Next(ptr {code.object('counter')})"))
    code.store("ptr", number, code.move("%node", OFFSETS[Node]["sequence"]))
    metas = check(code.register("call ptr @PyTuple_New(i64 %many)"))
    with code.loop(0, "%many") as i:
        code.item(metas, i, code.slot_of(code.load("ptr", code.slot("%results", i)), Tensor, "_meta"))
    code.store("ptr", metas, code.move("%node", OFFSETS[Node]["metas"]))
    for name, value in (("hooks", NONE), ("notes", NONE), ("released", CONSTANTS[False])):
        code.fill("%node", Node, name, value)
    with code.loop(0, code.word("%program", HEADER.index("steps"))) as i:
        entry = code.slot("%program", code.register(f"add i64 {len(HEADER)}, {code.register(f'mul i64 {i}, 5')}"))
        kind, number, mask, first, second = (code.word(entry, k) for k in range(5))
        constant, argument, saved, described = (
            code.register(f"icmp eq i64 {kind}, {one}") for one in (CONSTANT_VALUE, ARGUMENT, SAVED, DESCRIBED)
        )
        with code.when(code.either(constant, argument)):
            array = code.register(f"select i1 {constant}, ptr {code.move('%constants', ITEMS)}, ptr %args")
            code.put("%node", first, code.load("ptr", code.slot(array, number)))
        with code.when(saved):
            tensor = _chosen(code, number)
            version = code.member(code.slot_of(tensor, Tensor, "_storage_impl"), OFFSETS[Storage]["version"])
            there = code.register(f"icmp ne i64 {code.register(f'and i64 %wanted, {mask}')}, 0")
            code.put("%node", first, code.register(f"select i1 {there}, ptr {tensor}, ptr {NONE}"))
            seen = code.register(f"select i1 {there}, ptr {version}, ptr {code.object('zero')}")
            code.put("%node", second, seen)
        with code.when(described):
            tensor = _chosen(code, number)
            where = [code.slot_of(tensor, Tensor, slot) for slot in ("_meta", "_offset")]
            both = check(code.register(f"call ptr @pair(ptr {where[0]}, ptr {where[1]})"))
            code.store("ptr", both, code.move("%node", first))
    head = f"define internal i1 @filled(ptr %node, {GIVEN}, ptr %results, i64 %many)"
    return code.function(head, "  ret i1 true")


def _chosen(code: RecordCode, number: str) -> str:
    """The operand with a number, or the result."""
    of_result = code.register(f"icmp slt i64 {number}, 0")
    array = code.register(f"select i1 {of_result}, ptr %results, ptr %plain")
    place = code.register(f"sub i64 {OF_RESULT}, {number}")
    index = code.register(f"select i1 {of_result}, i64 {place}, i64 {number}")
    return code.load("ptr", code.slot(array, index))


def _wrapped() -> str:
    """@wrapped(plain, node, place): what `result_of` returns for a result of a node; null if there is no memory."""
    code = RecordCode()
    meta = code.slot_of("%plain", Tensor, "_meta")
    twin = code.variable("ptr", code.slot_of(meta, TensorMeta, "twin"))
    with code.when(code.same(code.load("ptr", twin), NONE)):
        maker = code.object("with_autograd")
        made = code.register(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {maker}, ptr {meta}, ptr null)")
        code.leave(code.same(made, "null"), "ptr null")
        code.line(f"call void @Py_DecRef(ptr {made})")  # the meta keeps its twin
        code.store("ptr", made, twin)
    record = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('AutogradMeta')}, i64 0)")
    code.leave(code.same(record, "null"), "ptr null")
    number = code.register("call ptr @PyLong_FromLong(i64 %place)")
    code.store("ptr", number, code.move(record, OFFSETS[AutogradMeta]["output_nr"]))
    for slot, value in {"plain": "%plain", "grad_fn": "%node", "view": NONE, "more": NONE}.items():
        code.fill(record, AutogradMeta, slot, value)
    tensor = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('Tensor')}, i64 0)")
    with code.ending(code.same(tensor, "null")):
        code.line(f"call void @Py_DecRef(ptr {record})")
        code.line("ret ptr null")
    code.store("ptr", record, code.move(tensor, OFFSETS[Tensor]["autograd"]))
    code.fill(tensor, Tensor, "_meta", code.load("ptr", twin))
    for slot in ("_storage_impl", "_offset", "_pointer", "counter"):
        code.fill(tensor, Tensor, slot, code.slot_of("%plain", Tensor, slot))
    code.fill(tensor, Tensor, "base", NONE)
    code.fill(tensor, Tensor, "requires_grad_flag", CONSTANTS[False])
    return code.function("define internal ptr @wrapped(ptr %plain, ptr %node, i64 %place)", f"  ret ptr {tensor}")


def _viewed() -> str:
    """@viewed(tensor, plain, base, maker): the tensor, made a recorded view of `base` as `view_of` does; null without
    memory. One that shares nothing with it stays as it is."""
    code = RecordCode()
    storage = code.slot_of("%base", Tensor, "_storage_impl")
    code.leave(code.is_not(code.slot_of("%plain", Tensor, "_storage_impl"), storage), "ptr %tensor")
    state = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('ViewState')}, i64 0)")
    with code.ending(code.same(state, "null")):
        code.line("call void @Py_DecRef(ptr %tensor)")
        code.line("ret ptr null")
    above = code.slot_of("%base", Tensor, "base")
    root = code.register(f"select i1 {code.same(above, NONE)}, ptr %base, ptr {above}")
    creation = code.variable("ptr", code.object("default"))
    other = code.slot_of(code.slot_of("%base", Tensor, "autograd"), AutogradMeta, "view")
    with code.when(code.is_not(other, NONE)):
        code.store("ptr", code.slot_of(other, ViewState, "creation"), creation)
    values = {
        "version": code.slot_of(storage, Storage, "version"), "creation": code.load("ptr", creation), "maker": "%maker",
        "output_nr": code.object("zero"),
    }  # fmt: skip
    for slot, value in values.items():
        code.fill(state, ViewState, slot, value)
    code.change("%plain", Tensor, "base", NONE)
    code.change("%tensor", Tensor, "base", root)
    code.change(code.slot_of("%tensor", Tensor, "autograd"), AutogradMeta, "view", state)
    code.line(f"call void @Py_DecRef(ptr {state})")
    head = "define internal ptr @viewed(ptr %tensor, ptr %plain, ptr %base, ptr %maker)"
    return code.function(head, "  ret ptr %tensor")


def _noted() -> str:
    """@noted(kind, program, constants, args, plain, edges, count, wanted, result): what leads to a result's new node.
    Of several results, those whose bits are set in the second word of the program do. Return null without memory."""
    code = RecordCode()
    node = code.register("call ptr @PyType_GenericAlloc(ptr %kind, i64 0)")
    code.leave(code.same(node, "null"), "ptr null")
    made, place = code.variable("ptr", "null"), code.variable("ptr", "%result")
    kind = code.load("ptr", code.move("%result", TYPE))
    single = code.same(kind, code.object("Tensor"))
    results = code.register(f"select i1 {single}, ptr {place}, ptr {code.move('%result', ITEMS)}")
    many = code.register(f"select i1 {single}, i64 1, i64 {code.load('i64', code.move('%result', SIZE))}")
    good = code.register(f"call i1 @filled(ptr {node}, {GIVEN}, ptr {results}, i64 {many})")
    with code.when(code.both(good, single)):
        tensor = code.register(f"call ptr @wrapped(ptr %result, ptr {node}, i64 0)")
        code.store("ptr", tensor, made)
        maker = code.word("%program", HEADER.index("maker"))
        with code.when(code.both(code.is_not(tensor, "null"), code.register(f"icmp sge i64 {maker}, 0"))):
            base = code.load("ptr", code.slot("%args", code.word("%program", HEADER.index("base"))))
            name = code.load("ptr", code.slot(code.move("%constants", ITEMS), maker))
            view = code.register(f"call ptr @viewed(ptr {tensor}, ptr %result, ptr {base}, ptr {name})")
            code.store("ptr", view, made)
    with code.when(code.both(good, code.unless(single))):
        together = code.register(f"call ptr @PyType_GenericAlloc(ptr {kind}, i64 {many})")
        code.store("ptr", together, made)
        mask = code.word("%program", HEADER.index("leading"))
        with code.when(code.is_not(together, "null")), code.loop(0, many) as i:
            plain = code.load("ptr", code.slot(results, i))
            leads = code.register(f"trunc i64 {code.register(f'lshr i64 {mask}, {i}')} to i1")
            with code.when(leads):
                recorded = code.register(f"call ptr @wrapped(ptr {plain}, ptr {node}, i64 {i})")
                code.store("ptr", recorded, code.slot(code.move(together, ITEMS), i))
            with code.when(code.unless(leads)):
                code.item(together, i, plain)
    code.line(f"call void @Py_DecRef(ptr {node})")
    head = f"define internal ptr @noted(ptr %kind, {GIVEN}, ptr %result)"
    return code.function(head, f"  ret ptr {code.load('ptr', made)}")


def _recorded() -> str:
    """@NAME_recorded(self, args, nargs): what `Recorded` does."""
    code = RecordCode()
    for switch in ("unrecorded", "in_python"):
        code.decline(code.register(f"icmp ne i64 {code.load('i64', code.move(code.object(switch), SIZE))}, 0"))
    run, kind, operands, steps, constants = (code.member("%self", ITEMS + 8 * k) for k in range(len(MEMBERS)))
    data, program = code.move(operands, BYTES), code.move(steps, BYTES)
    count, edge_count = code.word(data, 0), code.word(data, 1)
    plain, edges = (code.register(f"alloca ptr, i64 {size}") for size in (count, edge_count))
    status, taken, wanted = (code.variable("i64", word) for word in (GOOD, 0, 0))
    made = code.variable("ptr", "null")
    with code.loop(0, edge_count) as i:
        code.store("ptr", "null", code.slot(edges, i))

    def good() -> str:
        return code.register(f"icmp eq i64 {code.load('i64', status)}, {GOOD}")

    def entry(i: str) -> str:
        return code.slot(data, code.register(f"add i64 2, {code.register(f'mul i64 {i}, 3')}"))

    with code.loop(0, count) as i, code.when(good()):
        call = f"@operand(ptr {entry(i)}, ptr %args, ptr {constants}, ptr {code.slot(plain, i)}, ptr {edges})"
        code.store("i64", code.register(f"call i64 {call}"), status)
        with code.when(good()):
            code.store("i64", code.register(f"add i64 {i}, 1"), taken)
    with code.loop(0, edge_count) as i:
        there = code.is_not(code.load("ptr", code.slot(edges, i)), "null")
        bit = code.register(f"shl i64 {code.register(f'zext i1 {there} to i64')}, {i}")
        code.store("i64", code.register(f"or i64 {code.load('i64', wanted)}, {bit}"), wanted)
    none = code.register(f"icmp eq i64 {code.load('i64', wanted)}, 0")
    with code.when(code.both(good(), none)):
        code.store("i64", DECLINED, status)
    with code.when(good()):
        result = code.register(f"call ptr @PyObject_Vectorcall(ptr {run}, ptr {plain}, i64 {count}, ptr null)")
        failed, refused = code.same(result, "null"), code.same(result, NONE)
        after = code.register(f"select i1 {refused}, i64 {DECLINED}, i64 {GOOD}")
        code.store("i64", code.register(f"select i1 {failed}, i64 {FAILED}, i64 {after}"), status)
        with code.when(refused):
            code.line(f"call void @Py_DecRef(ptr {result})")
        with code.when(good()):
            with code.loop(0, count) as i:
                place = code.word(entry(i), 0)
                itself = code.same(code.load("ptr", code.slot(plain, i)), result)
                with code.when(itself):
                    original = code.load("ptr", code.slot("%args", place))
                    code.line(f"call void @Py_IncRef(ptr {original})")
                    code.store("ptr", original, made)
                    code.store("i64", SAME, status)
            with code.when(good()):
                given = f"ptr {program}, ptr {constants}, ptr %args, ptr {plain}, ptr {edges}, i64 {edge_count}"
                call = f"@noted(ptr {kind}, {given}, i64 {code.load('i64', wanted)}, ptr {result})"
                code.store("ptr", code.register(f"call ptr {call}"), made)
                missing = code.same(code.load("ptr", made), "null")
                code.store("i64", code.register(f"select i1 {missing}, i64 {FAILED}, i64 {GOOD}"), status)
            code.line(f"call void @Py_DecRef(ptr {result})")
    code.drop(plain, code.load("i64", taken))
    code.drop(edges, edge_count)
    code.decline(code.register(f"icmp eq i64 {code.load('i64', status)}, {DECLINED}"))
    last = code.load("ptr", made)
    return code.function(f"define ptr @{NAME}_recorded(ptr %self, ptr %args, i64 %nargs)", f"  ret ptr {last}")
