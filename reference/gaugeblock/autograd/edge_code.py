"""Machine code, as LLVM IR, that finds the edge of an argument: the node to which its gradient flows."""

from __future__ import annotations

from ..core.sealed import OFFSETS
from ..kernels.object_code import CONSTANTS, ITEMS, NONE, ObjectCode
from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .autograd_meta import AutogradMeta, GradientState, ViewState
from .node import AccumulateGrad, Node

OBJECTS = (
    "Tensor", "AutogradMeta", "ViewState", "AccumulateGrad", "accumulator_of", "with_autograd", "counter", "unrecorded",
    "in_python", "zero", "default", "first", "nothing", "SeveralViews",
)  # fmt: skip
"""Python objects that the code refers to, in the order of @objects."""
GOOD, DECLINED, FAILED = range(3)
"""Status codes of a step: it succeeded, it is left to Python, it raised an exception."""


class RecordCode(ObjectCode):
    """Instructions on the objects of autograd."""

    objects = OBJECTS

    def change(self, owner: str, cls: type, name: str, value: str) -> None:
        """Store a new reference in a slot in the place of another."""
        before = self.slot_of(owner, cls, name)
        self.fill(owner, cls, name, value)
        self.line(f"call void @Py_DecRef(ptr {before})")

    def is_not(self, value: str, other: str) -> str:
        return self.register(f"icmp ne ptr {value}, {other}")

    def word(self, data: str, index: str | int) -> str:
        return self.load("i64", self.slot(data, index))

    def item(self, owner: str, index: str | int, value: str) -> None:
        """Store a new reference in an item of a tuple that is still empty."""
        self.line(f"call void @Py_IncRef(ptr {value})")
        self.store("ptr", value, self.slot(self.move(owner, ITEMS), index))

    def drop(self, array: str, count: str) -> None:
        """Give up the references in an array, which may be null."""
        with self.loop(0, count) as i:
            self.line(f"call void @Py_DecRef(ptr {self.load('ptr', self.slot(array, i))})")


def edge_functions() -> list[str]:
    """Return the IR of the functions that find edges."""
    return [_pair(), _accumulator(), _edge()]


def _pair() -> str:
    """@pair(first, second): a new tuple of two; null if there is no memory."""
    code = RecordCode()
    made = code.register("call ptr @PyTuple_New(i64 2)")
    code.leave(code.same(made, "null"), "ptr null")
    code.item(made, 0, "%first")
    code.item(made, 1, "%second")
    return code.function("define internal ptr @pair(ptr %first, ptr %second)", f"  ret ptr {made}")


def _accumulator() -> str:
    """@accumulator(leaf, more): a new node that adds to the gradient of a leaf, as `AccumulateGrad` makes it. Return
    null for a leaf with hooks, and where Python has to look why it cannot be made."""
    code = RecordCode()
    code.leave(code.is_not(code.slot_of("%more", GradientState, "hooks"), NONE), "ptr null")
    node = code.register(f"call ptr @PyType_GenericAlloc(ptr {code.object('AccumulateGrad')}, i64 0)")
    metas = code.register("call ptr @PyTuple_New(i64 1)")
    reference = code.variable("ptr", "null")
    with code.when(code.both(code.is_not(node, "null"), code.is_not(metas, "null"))):
        code.store("ptr", code.register(f"call ptr @PyWeakref_NewRef(ptr {node}, ptr null)"), reference)
    made = code.load("ptr", reference)
    with code.ending(code.same(made, "null")):
        code.line("call void @PyErr_Clear()")
        code.line(f"call void @Py_DecRef(ptr {node})")
        code.line(f"call void @Py_DecRef(ptr {metas})")
        code.line("ret ptr null")
    code.item(metas, 0, code.slot_of(code.slot_of("%leaf", Tensor, "_meta"), TensorMeta, "twin"))
    code.store("ptr", metas, code.move(node, OFFSETS[Node]["metas"]))
    values = {
        "edges": code.object("nothing"), "sequence": code.object("first"), "hooks": NONE, "notes": NONE,
        "released": CONSTANTS[False],
    }  # fmt: skip
    for slot, value in values.items():
        code.fill(node, Node, slot, value)
    code.fill(node, AccumulateGrad, "variable", "%leaf")
    code.change("%more", GradientState, "accumulator", made)
    code.line(f"call void @Py_DecRef(ptr {made})")
    return code.function("define internal ptr @accumulator(ptr %leaf, ptr %more)", f"  ret ptr {node}")


def _edge() -> str:
    """@edge(tensor, meta, place): store where the gradient of a tensor goes, as `unwrap` says; null for nowhere. Return
    a status: DECLINED for a view whose base was written to since, or may have been."""
    code = RecordCode()
    node = code.slot_of("%meta", AutogradMeta, "grad_fn")
    found, number = code.variable("ptr", "null"), code.register("alloca ptr")
    is_leaf = code.same(node, NONE)
    with code.when(code.unless(is_leaf)):
        state = code.slot_of("%meta", AutogradMeta, "view")
        with code.when(code.is_not(state, NONE)):
            storage = code.slot_of("%tensor", Tensor, "_storage_impl")
            seen = code.slot_of(state, ViewState, "version")
            code.leave(code.is_not(seen, code.slot_of(storage, Storage, "version")), f"i64 {DECLINED}")
        code.line(f"call void @Py_IncRef(ptr {node})")
        code.store("ptr", node, found)
        code.store("ptr", code.slot_of("%meta", AutogradMeta, "output_nr"), number)
    with code.when(is_leaf):
        code.leave(code.is_not(code.slot_of("%tensor", Tensor, "base"), NONE), f"i64 {DECLINED}")
        code.leave(code.is_not(code.slot_of("%tensor", Tensor, "requires_grad_flag"), CONSTANTS[True]), f"i64 {GOOD}")
        code.store("ptr", code.object("zero"), number)
        more = code.slot_of("%meta", AutogradMeta, "more")
        with code.when(code.is_not(more, NONE)):
            reference = code.slot_of(more, GradientState, "accumulator")
            with code.when(code.is_not(reference, NONE)):
                accumulator = code.register(f"call ptr @PyWeakref_GetObject(ptr {reference})")
                with code.when(code.is_not(accumulator, NONE)):
                    code.line(f"call void @Py_IncRef(ptr {accumulator})")
                    code.store("ptr", accumulator, found)
            with code.when(code.same(code.load("ptr", found), "null")):
                code.store("ptr", code.register(f"call ptr @accumulator(ptr %tensor, ptr {more})"), found)
        with code.when(code.same(code.load("ptr", found), "null")):
            maker = code.object("accumulator_of")
            call = f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {maker}, ptr %tensor, ptr null)"
            made = code.register(call)
            code.leave(code.same(made, "null"), f"i64 {FAILED}")
            code.store("ptr", made, found)
    end = code.load("ptr", found)
    edge = code.register(f"call ptr @pair(ptr {end}, ptr {code.load('ptr', number)})")
    code.line(f"call void @Py_DecRef(ptr {end})")
    code.store("ptr", edge, "%place")
    status = code.register(f"select i1 {code.same(edge, 'null')}, i64 {FAILED}, i64 {GOOD}")
    return code.function("define internal i64 @edge(ptr %tensor, ptr %meta, ptr %place)", f"  ret i64 {status}")
