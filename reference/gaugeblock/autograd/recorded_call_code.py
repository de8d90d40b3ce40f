"""The machine code of recorded calls, as LLVM IR (see recorded_call)."""

from __future__ import annotations

from ..core.sealed import OFFSETS
from ..kernels.code import NAME
from ..kernels.object_code import CONSTANTS, ITEMS, LIST_ITEMS, NONE, SIZE, TYPE, module
from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .autograd_meta import AutogradMeta, ViewState
from .edge_code import DECLINED, FAILED, GOOD, OBJECTS, RecordCode, edge_functions
from .node import Node

MEMBERS = ("run", "node", "operands", "program", "constants", "lists")
"""The members of `Recorded`, in order."""
BYTES = bytes.__basicsize__ - 1
"""Offset of the contents of a bytes object."""
AS_IS, RECORDED, UNPACKED, CONSTANT = range(4)
"""Kinds of operands: an argument as it is, a plain tensor whose edge is recorded, a plain tensor alone, a constant."""
CONSTANT_VALUE, ARGUMENT, SAVED, DESCRIBED, SAVED_LIST, DESCRIBED_LIST = range(6)
"""Kinds of slots in a node: a constant, an argument of the call, a tensor and its version, a tensor's metadata, and the
last two of a list of tensors, whose length stands in the place of the mask."""
BITS = 63
"""Bits of a mask of edges or of results."""
ROW = 4
"""Words for each operand."""
OF_RESULT = -1
"""Operand number that means the first result; -2 means the second, and so on."""
HEADER = ("steps", "leading", "maker", "base")
"""Header of a program: the number of slots, a mask of the results that need a gradient, and for a view the constant
that names its operator, before the one that says how it came to be, and the place of its base; -1 for what is no
view."""
SAME = FAILED + 1
"""The status of a call that returns one of its arguments."""
GIVEN = "ptr %program, ptr %constants, ptr %args, ptr %plain, ptr %edges, i64 %count, i64 %wanted"
"""Parameters of the functions that make a node."""
LEADING = "ptr %program, ptr %constants, ptr %args"
"""Those that say how a result leads to its node."""


def text() -> str:
    """Return the IR of the builtin and of its parts."""
    parts = [*edge_functions(), _item(), _operand(), _of_list(), _filled(), _wrapped(), _viewed(), _lead(), _noted()]
    parts += [_run(), _recorded()]
    return module(parts, OBJECTS)


def _item() -> str:
    """@item(list, place): a borrowed reference to an item of a list or tuple; null if there is none."""
    code = RecordCode()
    kind = code.load("ptr", code.move("%list", TYPE))
    is_list, is_tuple = (code.same(kind, f"@Py{name}_Type") for name in ("List", "Tuple"))
    code.leave(code.unless(code.either(is_list, is_tuple)), "ptr null")
    size = code.load("i64", code.move("%list", SIZE))
    code.leave(code.register(f"icmp sge i64 %place, {size}"), "ptr null")
    with code.ending(is_list):
        code.line(f"ret ptr {code.load('ptr', code.slot(code.member('%list', LIST_ITEMS), '%place'))}")
    found = code.load("ptr", code.slot(code.move("%list", ITEMS), "%place"))
    return code.function("define internal ptr @item(ptr %list, i64 %place)", f"  ret ptr {found}")


def _operand() -> str:
    """@operand(row, args, constants, place, edges): store a new reference to what the kernel gets for an operand. Store
    its edge too, and return a status."""
    code = RecordCode()
    number, item, kind, slot = (code.word("%row", k) for k in range(ROW))
    value = code.register("alloca ptr")
    fixed = code.register(f"icmp eq i64 {kind}, {CONSTANT}")
    with code.when(fixed):
        code.store("ptr", code.load("ptr", code.slot(code.move("%constants", ITEMS), number)), value)
    with code.when(code.unless(fixed)):
        code.store("ptr", code.load("ptr", code.slot("%args", number)), value)
        with code.when(code.register(f"icmp sge i64 {item}, 0")):
            found = code.register(f"call ptr @item(ptr {code.load('ptr', value)}, i64 {item})")
            code.leave(code.same(found, "null"), f"i64 {DECLINED}")
            code.store("ptr", found, value)
        argument = code.load("ptr", value)
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


def _of_list() -> str:
    """@of_list(node, first, second, tensors, count): fill two slots with the tensors of a list and their versions, or
    the first with their metadata if there is no second. Return false if there is no memory."""
    code = RecordCode()
    described = code.register("icmp eq i64 %second, 0")
    made = code.register("call ptr @PyTuple_New(i64 %count)")
    code.leave(code.same(made, "null"), "i1 false")
    code.store("ptr", made, code.move("%node", "%first"))
    versions = code.variable("ptr", "null")
    with code.when(code.unless(described)):
        code.store("ptr", code.register("call ptr @PyTuple_New(i64 %count)"), versions)
        code.leave(code.same(code.load("ptr", versions), "null"), "i1 false")
        code.store("ptr", code.load("ptr", versions), code.move("%node", "%second"))
    with code.loop(0, "%count") as i:
        tensor = code.load("ptr", code.slot("%tensors", i))
        nothing = code.same(tensor, NONE)
        with code.when(described):
            where = [code.slot_of(tensor, Tensor, slot) for slot in ("_meta", "_offset")]
            both = code.register(f"call ptr @pair(ptr {where[0]}, ptr {where[1]})")
            code.leave(code.same(both, "null"), "i1 false")
            code.store("ptr", both, code.slot(code.move(made, ITEMS), i))
        with code.when(code.unless(described)):
            code.item(made, i, tensor)
            seen = code.load("ptr", versions)
            with code.when(nothing):
                code.item(seen, i, code.object("zero"))
            with code.when(code.unless(nothing)):
                storage = code.slot_of(tensor, Tensor, "_storage_impl")
                code.item(seen, i, code.member(storage, OFFSETS[Storage]["version"]))
    head = "define internal i1 @of_list(ptr %node, i64 %first, i64 %second, ptr %tensors, i64 %count)"
    return code.function(head, "  ret i1 true")


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
        constant, argument, saved, described, listed = (
            code.register(f"icmp {test} i64 {kind}, {one}")
            for test, one in (
                ("eq", CONSTANT_VALUE), ("eq", ARGUMENT), ("eq", SAVED), ("eq", DESCRIBED), ("sge", SAVED_LIST)
            )
        )  # fmt: skip
        with code.when(listed):
            tensors = code.slot("%plain", number)
            good = code.register(f"call i1 @of_list(ptr %node, i64 {first}, i64 {second}, ptr {tensors}, i64 {mask})")
            code.leave(code.unless(good), "i1 false")
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
    """@viewed(tensor, plain, base, maker, place): the tensor, made a recorded view of `base` as `view_of` does; null
    without memory. One that shares nothing with it stays as it is. `maker` is followed by how the view came to be."""
    code = RecordCode()
    storage = code.slot_of("%base", Tensor, "_storage_impl")
    code.leave(code.is_not(code.slot_of("%plain", Tensor, "_storage_impl"), storage), "ptr %tensor")
    state = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('ViewState')}, i64 0)")
    with code.ending(code.same(state, "null")):
        code.line("call void @Py_DecRef(ptr %tensor)")
        code.line("ret ptr null")
    above = code.slot_of("%base", Tensor, "base")
    root = code.register(f"select i1 {code.same(above, NONE)}, ptr %base, ptr {above}")
    creation = code.variable("ptr", code.load("ptr", code.slot("%maker", 1)))
    other = code.slot_of(code.slot_of("%base", Tensor, "autograd"), AutogradMeta, "view")
    with code.when(code.is_not(other, NONE)):
        above = code.slot_of(other, ViewState, "creation")
        with code.when(code.is_not(above, code.object("default"))):
            code.store("ptr", above, creation)
    number = code.slot_of(code.slot_of("%tensor", Tensor, "autograd"), AutogradMeta, "output_nr")
    values = {
        "version": code.slot_of(storage, Storage, "version"), "creation": code.load("ptr", creation),
        "maker": code.load("ptr", "%maker"), "output_nr": number,
    }  # fmt: skip
    for slot, value in values.items():
        code.fill(state, ViewState, slot, value)
    code.change("%plain", Tensor, "base", NONE)
    code.change("%tensor", Tensor, "base", root)
    code.change(code.slot_of("%tensor", Tensor, "autograd"), AutogradMeta, "view", state)
    code.line(f"call void @Py_DecRef(ptr {state})")
    head = "define internal ptr @viewed(ptr %tensor, ptr %plain, ptr %base, ptr %maker)"
    return code.function(head, "  ret ptr %tensor")


def _lead() -> str:
    """@lead(plain, node, place, program, constants, args): what `wrapped` returns, made a view if the operator makes
    views."""
    code = RecordCode()
    tensor = code.register("call ptr @wrapped(ptr %plain, ptr %node, i64 %place)")
    maker = code.word("%program", HEADER.index("maker"))
    views = code.register(f"icmp sge i64 {maker}, 0")
    code.leave(code.either(code.same(tensor, "null"), code.unless(views)), f"ptr {tensor}")
    base = code.load("ptr", code.slot("%args", code.word("%program", HEADER.index("base"))))
    names = code.slot(code.move("%constants", ITEMS), maker)
    view = code.register(f"call ptr @viewed(ptr {tensor}, ptr %plain, ptr {base}, ptr {names})")
    head = f"define internal ptr @lead(ptr %plain, ptr %node, i64 %place, {LEADING})"
    return code.function(head, f"  ret ptr {view}")


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
        code.store("ptr", code.register(f"call ptr @lead(ptr %result, ptr {node}, i64 0, {LEADING})"), made)
    with code.when(code.both(good, code.unless(single))):
        together = code.register(f"call ptr @PyType_GenericAlloc(ptr {kind}, i64 {many})")
        code.store("ptr", together, made)
        mask = code.word("%program", HEADER.index("leading"))
        with code.when(code.is_not(together, "null")), code.loop(0, many) as i:
            plain = code.load("ptr", code.slot(results, i))
            last = code.minimum(i, BITS)
            leads = code.register(f"trunc i64 {code.register(f'lshr i64 {mask}, {last}')} to i1")
            with code.when(leads):
                recorded = code.register(f"call ptr @lead(ptr {plain}, ptr {node}, i64 {i}, {LEADING})")
                code.store("ptr", recorded, code.slot(code.move(together, ITEMS), i))
                with code.ending(code.same(recorded, "null")):
                    code.line(f"call void @Py_DecRef(ptr {together})")
                    code.line(f"call void @Py_DecRef(ptr {node})")
                    code.line("ret ptr null")
            with code.when(code.unless(leads)):
                code.item(together, i, plain)
    code.line(f"call void @Py_DecRef(ptr {node})")
    head = f"define internal ptr @noted(ptr %kind, {GIVEN}, ptr %result)"
    return code.function(head, f"  ret ptr {code.load('ptr', made)}")


def _run() -> str:
    """@run(call, plain, count, lists): the result of the plain call on operands, in lists of these lengths."""
    code = RecordCode()
    arguments = code.register(f"sdiv i64 {code.load('i64', code.move('%lists', SIZE))}, 8")
    with code.ending(code.register(f"icmp eq i64 {arguments}, 0")):
        result = code.register("call ptr @PyObject_Vectorcall(ptr %call, ptr %plain, i64 %count, ptr null)")
        code.line(f"ret ptr {result}")
    given = code.register(f"alloca ptr, i64 {arguments}")
    at, good = code.variable("i64", 0), code.variable("i64", 1)
    with code.loop(0, arguments) as i:
        length = code.word(code.move("%lists", BYTES), i)
        start = code.slot("%plain", code.load("i64", at))
        single = code.register(f"icmp slt i64 {length}, 0")
        with code.when(single):
            one = code.load("ptr", start)
            code.line(f"call void @Py_IncRef(ptr {one})")
            code.store("ptr", one, code.slot(given, i))
        with code.when(code.unless(single)):
            made = code.register(f"call ptr @PyTuple_New(i64 {length})")
            code.store("ptr", made, code.slot(given, i))
            missing = code.same(made, "null")
            with code.when(missing):
                code.store("i64", 0, good)
            with code.when(code.unless(missing)), code.loop(0, length) as k:
                code.item(made, k, code.load("ptr", code.slot(start, k)))
        taken = code.register(f"select i1 {single}, i64 1, i64 {length}")
        code.store("i64", code.register(f"add i64 {code.load('i64', at)}, {taken}"), at)
    result = code.variable("ptr", "null")
    with code.when(code.register(f"icmp ne i64 {code.load('i64', good)}, 0")):
        made = code.register(f"call ptr @PyObject_Vectorcall(ptr %call, ptr {given}, i64 {arguments}, ptr null)")
        code.store("ptr", made, result)
    code.drop(given, arguments)
    last = code.load("ptr", result)
    return code.function("define internal ptr @run(ptr %call, ptr %plain, i64 %count, ptr %lists)", f"  ret ptr {last}")


def _recorded() -> str:
    """@NAME_recorded(self, args, nargs): what `Recorded` does."""
    code = RecordCode()
    for switch in ("unrecorded", "in_python"):
        code.decline(code.register(f"icmp ne i64 {code.load('i64', code.move(code.object(switch), SIZE))}, 0"))
    run, kind, operands, steps, constants, lists = (code.member("%self", ITEMS + 8 * k) for k in range(len(MEMBERS)))
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
        return code.slot(data, code.register(f"add i64 2, {code.register(f'mul i64 {i}, {ROW}')}"))

    with code.loop(0, count) as i, code.when(good()):
        call = f"@operand(ptr {entry(i)}, ptr %args, ptr {constants}, ptr {code.slot(plain, i)}, ptr {edges})"
        code.store("i64", code.register(f"call i64 {call}"), status)
        with code.when(good()):
            code.store("i64", code.register(f"add i64 {i}, 1"), taken)
    with code.loop(0, edge_count) as i:
        there = code.is_not(code.load("ptr", code.slot(edges, i)), "null")
        last = code.minimum(i, BITS - 1)
        bit = code.register(f"shl i64 {code.register(f'zext i1 {there} to i64')}, {last}")
        code.store("i64", code.register(f"or i64 {code.load('i64', wanted)}, {bit}"), wanted)
    none = code.register(f"icmp eq i64 {code.load('i64', wanted)}, 0")
    with code.when(code.both(good(), none)):
        code.store("i64", DECLINED, status)
    with code.when(good()):
        result = code.register(f"call ptr @run(ptr {run}, ptr {plain}, i64 {count}, ptr {lists})")
        failed, refused = code.same(result, "null"), code.same(result, NONE)
        after = code.register(f"select i1 {refused}, i64 {DECLINED}, i64 {GOOD}")
        code.store("i64", code.register(f"select i1 {failed}, i64 {FAILED}, i64 {after}"), status)
        with code.when(refused):
            code.line(f"call void @Py_DecRef(ptr {result})")
        with code.when(good()):
            with code.loop(0, count) as i:
                place = code.word(entry(i), 0)
                itself = code.same(code.load("ptr", code.slot(plain, i)), result)
                in_list = code.register(f"icmp sge i64 {code.word(entry(i), 1)}, 0")
                with code.when(code.both(itself, in_list)):
                    code.store("i64", DECLINED, status)
                with code.when(code.both(itself, code.unless(in_list))):
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
