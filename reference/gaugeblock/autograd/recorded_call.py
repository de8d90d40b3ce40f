"""Recorded calls: one builtin in machine code that runs an operator and records it for backward.

    call = recorder(values, options, given, result)
    result = call(self, other)

``call`` does what the operator's autograd kernel does (see variable_type_source): it collects the edges of its
arguments, runs the operator on their plain tensors, creates the node, and returns results whose ``grad_fn`` is that
node. It returns None, before anything has changed, for calls that the kernel has to handle: while `UNRECORDED` or
`IN_PYTHON` has members, for views whose base was written to, and for tensors without an `AutogradMeta`.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gaugeblock_spec.schema import Schema

from ..calls.binding import Binding
from ..calls.call_cache import LATER, is_same
from ..core.memory_format import contiguous_format
from ..core.sealed import OFFSETS, seal
from ..dispatch.keys import tensors_in
from ..dispatch.state import IN_PYTHON, UNRECORDED
from ..kernels.bound_call import METHODS, MOST_TENSORS, UNSET, builtin, layout, load_code
from ..kernels.compiler import compiler
from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, with_autograd, without_autograd
from ..tensor.versions import SeveralViews
from . import recorded_call_code as code
from .autograd_meta import AutogradMeta, GradientState, ViewState, unpack
from .formulas import Formulas, maker_of
from .node import COUNTER, FIRST, AccumulateGrad, Node, accumulator_of
from .variable_type_source import left_out
from .view_history import DEFAULT, creation_by


class Recorded(NamedTuple):
    """The plain call, the class of the node, and the tables of 64-bit ints that the machine code reads.

    `operands` holds the numbers of operands and of edges, then four words for each operand: the position of its
    argument or constant, its place in a list or -1, its kind, and the number of its edge. `program` holds a header of
    four words, then five words for each slot of the node: its kind, what it is filled with, a mask of the edges that
    need it, its offset, and the offset of the version that goes with it. The constants in recorded_call_code name the
    kinds. Each tensor in a list is an operand; if there are lists, `lists` has for each argument of the plain call the
    length of its list, or -1.
    """

    run: Callable[..., Any]
    node: type[Node]
    operands: bytes
    program: bytes
    constants: tuple[Any, ...]
    lists: bytes

    def __call__(self, *values: Any) -> None:
        """Return None: only machine code runs the call."""


class Recorder:
    """Makes the recorded calls of one operator. `binding` keeps its plain calls, `node` is a class of its nodes."""

    def __init__(self, kind: str, schema: Schema, binding: Binding, node: type[Node]) -> None:
        self.schema = schema
        self.binding = binding
        self.label = node.label
        self.numbers = left_out(schema)
        self.passed = [p.name for p in binding.parameters if p.value() is not None]
        self.maker = maker_of(node) if kind == "view" else None
        self.listed = frozenset(a.name for a in schema.arguments if a.base_type == "Tensor" and a.is_list)

    def __call__(
        self, values: Sequence[Any], options: Mapping[str, Any], given: Sequence[Any], result: Any
    ) -> Callable[..., Any] | None:
        """Return the recorded call for arguments with the metas of `values` and `options`; None if there is none, LATER
        if the plain call has no entry yet.

        The call takes the arguments in `given`, which are those of the public function's cache entry. `result` is what
        the autograd kernel returned for the same arguments.
        """
        results = (result,) if result.__class__ is Tensor else result
        nodes: list[type[Node] | None] = []  # `Node` for what is no tensor, None where no gradient is needed
        for one in results:
            record = one.autograd if one.__class__ is Tensor else None
            nodes.append(Node if one.__class__ is not Tensor else None if record is None else type(record.grad_fn))
        node = next((kind for kind in nodes if kind is not None), Node)
        known = {*nodes} <= {node, None} and getattr(node, "label", None) == self.label
        if not known or results.__class__ is list or not _is_loaded():
            return None
        formulas: Formulas = node.formulas  # type: ignore[attr-defined]
        arguments = {a.name: value for a, value in zip(self.schema.arguments, self._all(values), strict=True)}
        arguments.update(options)
        plain = {name: self._plain(name, value) for name, value in arguments.items()}
        pairs = zip(tensors_in(arguments.values()), tensors_in(plain.values()), strict=True)
        if any(without_autograd(one.meta) is not unpacked.meta for one, unpacked in pairs):
            return None  # another thread has changed one since
        if all(arguments[a.name] == a.default_value for a in self.numbers):
            plain.update((a.name, UNSET) for a in self.numbers)
        run = self.binding.kept(tuple([plain[p.name] for p in self.binding.parameters]))
        places = self._places(arguments, plain, given)
        if run is LATER:
            return run  # type: ignore[no-any-return]
        if run is None or places is None:
            return None
        call = _Operands(arguments, plain, places, self.passed, self.listed, formulas.inputs)
        if max(len(call.rows), call.edges) > MOST_TENSORS or (len(nodes) >= code.BITS and None in nodes):
            return None
        steps = [step for steps in self._steps(node, arguments, places, call) for step in steps]
        leading = -1 if None not in nodes else sum(1 << place for place, node in enumerate(nodes) if node is not None)
        maker = base = -1
        if self.maker is not None:
            maker, base = len(call.constants), places[self.passed[0]]
            call.constants += [self.maker, DEFAULT if result.__class__ is Tensor else creation_by(self.maker)]
        program = [len(steps) // 5, leading, maker, base, *steps]
        operands = [len(call.rows), call.edges, *(word for row in call.rows for word in row)]
        words = _words(operands), _words(program), tuple(call.constants), _words(call.lists)
        return builtin(Recorded(run, node, *words))

    def _places(
        self, arguments: Mapping[str, Any], plain: Mapping[str, Any], given: Sequence[Any]
    ) -> dict[str, int] | None:
        """Map each argument of the plain call to its position in `given`; return None if the two do not match. A list
        that is missing in `given` is part of the cache key, and so a constant."""
        there = [place for place, value in enumerate(given) if value is not None and value is not UNSET]
        wanted = [name for name in self.passed if plain[name] is not None and plain[name] is not UNSET]
        if len(given) == len(self.passed):  # numbers that are left out are constants, as their absence is in the key
            absent = {name for name, value in zip(self.passed, given, strict=True) if value is UNSET}
            wanted = [name for name in wanted if name not in absent or not self._is_default(name, plain[name])]
        if len(there) < len(wanted):
            wanted = [name for name in wanted if not isinstance(plain[name], (list, tuple))]
        if len(wanted) != len(there) or not all(
            is_same(given[place], arguments[name]) for name, place in zip(wanted, there, strict=True)
        ):
            return None
        return dict(zip(wanted, there, strict=True))

    def _is_default(self, name: str, value: Any) -> bool:
        """Return whether an argument is the number that stands for it where it is left out."""
        argument = next(one for one in self.schema.arguments if one.name == name)
        if argument.base_type not in ("Scalar", "float") or argument.default is None:
            return False
        return value == argument.default_value and value.__class__ is argument.default_value.__class__

    def _all(self, values: Sequence[Any]) -> Iterator[Any]:
        """Yield the value of each argument in the schema, or its default."""
        yield from values
        for argument in self.schema.arguments[len(values) :]:
            value = argument.default_value if argument.default is not None else None
            yield contiguous_format if argument.base_type == "MemoryFormat" and value is not None else value

    def _plain(self, name: str, value: Any) -> Any:
        """Return what the kernel gets for an argument."""
        if name in self.listed and value is not None:
            return [unpack(one) if one.__class__ is Tensor else one for one in value]
        return unpack(value) if value.__class__ is Tensor else value

    def _steps(
        self, node: type[Node], arguments: Mapping[str, Any], places: Mapping[str, int], call: _Operands
    ) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield the five words of each slot of a node."""
        formulas: Formulas = node.formulas  # type: ignore[attr-defined]
        offsets = _offsets(node)

        def constant(slot: str, value: Any) -> tuple[int, int, int, int, int]:
            call.constants.append(value)
            return code.CONSTANT_VALUE, len(call.constants) - 1, 0, offsets[slot], 0

        def number(name: str) -> int:
            place = formulas.results.get(name)
            return call.first[name] if place is None else code.OF_RESULT - place

        missing = {name for name, value in arguments.items() if value is None}
        for name, wanted_by in formulas.values:
            if name in missing:
                yield constant(f"v_{name}", None)
                yield constant(f"w_{name}", 0)
            elif name in self.listed:
                yield code.SAVED_LIST, number(name), len(arguments[name]), offsets[f"v_{name}"], offsets[f"w_{name}"]
            else:
                wanted = sum({1 << min(edge, code.BITS - 1) for one in wanted_by for edge in call.edges_of[one]})
                yield code.SAVED, number(name), wanted, offsets[f"v_{name}"], offsets[f"w_{name}"]
        for name, _ in formulas.described:
            if name in missing:
                yield constant(f"m_{name}", None)
            elif name in self.listed:
                yield code.DESCRIBED_LIST, number(name), len(arguments[name]), offsets[f"m_{name}"], 0
            else:
                yield code.DESCRIBED, number(name), 0, offsets[f"m_{name}"], 0
        for name, _ in formulas.plain:
            if name in places:
                yield code.ARGUMENT, places[name], 0, offsets[f"a_{name}"], 0
            else:
                yield constant(f"a_{name}", arguments[name])
        for name in formulas.inputs:
            if name in self.listed:
                yield constant(f"n_{name}", len(arguments[name] or ()))


class _Operands:
    """The operands of one call, of which `rows` has four words each (see Recorded), and its `constants`.

    `first` maps an argument of the plain call to its first operand, `edges_of` one with gradients to its edges.
    """

    def __init__(
        self, arguments: Mapping[str, Any], plain: Mapping[str, Any], places: Mapping[str, int], passed: Sequence[str],
        listed: frozenset[str], inputs: Sequence[str],
    ) -> None:  # fmt: skip
        def length(name: str) -> int:
            return len(arguments[name] or ()) if name in listed else -1

        self.rows: list[tuple[int, int, int, int]] = []
        self.constants: list[Any] = []
        self.first: dict[str, int] = {}
        self.edges_of: dict[str, range] = {}
        self.edges = 0
        self.lists = [length(name) if name in places else -1 for name in passed] if listed else []
        for name in inputs:
            count = abs(length(name))
            self.edges_of[name] = range(self.edges, self.edges + count)
            self.edges += count
        for name in passed:
            self.first[name] = len(self.rows)
            if name not in places:
                self.constants.append(plain[name])
                self.rows.append((len(self.constants) - 1, -1, code.CONSTANT, 0))
                continue
            for item, one in enumerate(arguments[name] if name in listed else [arguments[name]]):
                kind, edge = code.AS_IS, 0
                if one.__class__ is Tensor and one.meta.has_autograd:
                    recorded = name in self.edges_of
                    kind, edge = (code.RECORDED, self.edges_of[name][item]) if recorded else (code.UNPACKED, 0)
                self.rows.append((places[name], item if name in listed else -1, kind, edge))


def _words(numbers: Sequence[int]) -> bytes:
    return array.array("q", numbers).tobytes()


def recorder_of(kind: str, schema: Schema, run: Callable[..., Any], node: type[Node]) -> Recorder | None:
    """Return the recorder of an operator that `run` runs on plain tensors; None if machine code cannot record it."""
    binding = getattr(run, "binding", None)
    tensors = [a for a in schema.arguments if a.base_type == "Tensor"]
    if binding is None or not all(one.type.startswith("Tensor") for one in schema.returns):
        return None
    of_one = tensors and tensors[0] is schema.arguments[0] and not tensors[0].is_list
    if kind == "view" and not (of_one and len(schema.returns) == 1):
        return None
    return Recorder(kind, schema, binding, node)


def _offsets(node: type[Node]) -> dict[str, int]:
    """Return where the slots of nodes of a class lie."""
    if node not in OFFSETS:
        seal(node, ())
    return OFFSETS[node]


SEALED = (AutogradMeta, GradientState, ViewState, Node, AccumulateGrad)
for _class in SEALED:
    seal(_class, ())


def _is_loaded() -> bool:
    """Load the machine code if that of bound calls is loaded; return whether it is available."""
    if Recorded in METHODS:
        return True
    if not METHODS or not all(OFFSETS[cls] for cls in SEALED):
        return False
    offsets = [OFFSETS[cls] for cls in (*SEALED, Storage, TensorMeta)]
    objects = (
        Tensor, AutogradMeta, ViewState, AccumulateGrad, accumulator_of, with_autograd, COUNTER, UNRECORDED, IN_PYTHON,
        0, DEFAULT, FIRST, (), SeveralViews,
    )  # fmt: skip
    load_code(compiler(), f"recorded call {layout()} {offsets}", code.text, (Recorded,), objects)
    return True
