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
from ..calls.call_cache import LATER
from ..core.memory_format import contiguous_format
from ..core.sealed import OFFSETS, seal
from ..dispatch.state import IN_PYTHON, UNRECORDED
from ..kernels.bound_call import METHODS, UNSET, builtin, layout, load_code
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
from .view_history import DEFAULT


class Recorded(NamedTuple):
    """The plain call, the class of the node, and the tables of 64-bit ints that the machine code reads.

    `operands` holds the numbers of operands and of edges, then three words for each operand: the position of its
    argument or constant, its kind, and the number of its edge. `program` holds a header of four words, then five words
    for each slot of the node: its kind, what it is filled with, a mask of the edges that need it, its offset, and the
    offset of the version that goes with it. The constants in recorded_call_code name the kinds.
    """

    run: Callable[..., Any]
    node: type[Node]
    operands: bytes
    program: bytes
    constants: tuple[Any, ...]

    def __call__(self, *values: Any) -> None:
        """Return None: only machine code runs the call."""


class Recorder:
    """Makes the recorded calls of one operator. `binding` keeps its plain calls, `node` is the class of its nodes."""

    def __init__(self, kind: str, schema: Schema, binding: Binding, formulas: Formulas, node: type[Node]) -> None:
        self.schema = schema
        self.binding = binding
        self.formulas = formulas
        self.node = node
        self.numbers = left_out(schema)
        self.passed = [p.name for p in binding.parameters if p.value() is not None]
        self.maker = maker_of(node) if kind == "view" else None

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
        if not {self.node} <= {*nodes} <= {self.node, None} or not _is_loaded():
            return None
        arguments = {a.name: value for a, value in zip(self.schema.arguments, self._all(values), strict=True)}
        arguments.update(options)
        tensors = {name: value for name, value in arguments.items() if value.__class__ is Tensor}
        plain = arguments | {name: unpack(value) for name, value in tensors.items()}
        if any(without_autograd(value.meta) is not plain[name].meta for name, value in tensors.items()):
            return None  # another thread has changed one since
        if all(arguments[a.name] == a.default_value for a in self.numbers):
            plain.update((a.name, UNSET) for a in self.numbers)
        run = self.binding.kept(tuple([plain[p.name] for p in self.binding.parameters]))
        places = self._places(arguments, plain, given)
        if run is LATER:
            return run  # type: ignore[no-any-return]
        if run is None or places is None:
            return None
        constants: list[Any] = [self.maker]
        operands = [len(self.passed), len(self.formulas.inputs)]
        for name in self.passed:
            operands += self._operand(name, arguments, plain, places, constants)
        steps = [step for steps in self._steps(arguments, places, constants) for step in steps]
        leading = sum(1 << place for place, node in enumerate(nodes) if node is not None)
        maker, base = (-1, -1) if self.maker is None else (0, places[self.passed[0]])
        program = [len(steps) // 5, leading, maker, base, *steps]
        return builtin(Recorded(run, self.node, _words(operands), _words(program), tuple(constants)))

    def _places(
        self, arguments: Mapping[str, Any], plain: Mapping[str, Any], given: Sequence[Any]
    ) -> dict[str, int] | None:
        """Map each argument of the plain call to its position in `given`; return None if the two do not match. A list
        that is missing in `given` is part of the cache key, and so a constant."""
        there = [place for place, value in enumerate(given) if value is not None and value is not UNSET]
        wanted = [name for name in self.passed if plain[name] is not None and plain[name] is not UNSET]
        if len(there) < len(wanted):
            wanted = [name for name in wanted if not isinstance(plain[name], (list, tuple))]
        if len(wanted) != len(there) or any(
            arguments[name] is not given[place] for name, place in zip(wanted, there, strict=True)
        ):
            return None
        return dict(zip(wanted, there, strict=True))

    def _all(self, values: Sequence[Any]) -> Iterator[Any]:
        """Yield the value of each argument in the schema, or its default."""
        yield from values
        for argument in self.schema.arguments[len(values) :]:
            value = argument.default_value if argument.default is not None else None
            yield contiguous_format if argument.base_type == "MemoryFormat" and value is not None else value

    def _operand(
        self, name: str, arguments: Mapping[str, Any], plain: Mapping[str, Any], places: Mapping[str, int],
        constants: list[Any],
    ) -> tuple[int, int, int]:  # fmt: skip
        """Return the three words of an operand: its position, its kind, and the number of its edge."""
        value = arguments[name]
        if name not in places:
            constants.append(plain[name])
            return len(constants) - 1, code.CONSTANT, 0
        if value.__class__ is not Tensor or not value.meta.has_autograd:
            return places[name], code.AS_IS, 0
        if name not in self.formulas.inputs:
            return places[name], code.UNPACKED, 0
        return places[name], code.RECORDED, self.formulas.inputs.index(name)

    def _steps(
        self, arguments: Mapping[str, Any], places: Mapping[str, int], constants: list[Any]
    ) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield the five words of each slot of the node."""

        def constant(slot: str, value: Any) -> tuple[int, int, int, int, int]:
            constants.append(value)
            return code.CONSTANT_VALUE, len(constants) - 1, 0, offsets[slot], 0

        def number(name: str) -> int:
            place = self.formulas.results.get(name)
            return self.passed.index(name) if place is None else code.OF_RESULT - place

        offsets, inputs = OFFSETS[self.node], self.formulas.inputs
        missing = {name for name, value in arguments.items() if value is None}
        for name, wanted_by in self.formulas.values:
            if name in missing:
                yield constant(f"v_{name}", None)
                yield constant(f"w_{name}", 0)
            else:
                wanted = sum({1 << inputs.index(one) for one in wanted_by})
                yield code.SAVED, number(name), wanted, offsets[f"v_{name}"], offsets[f"w_{name}"]
        for name, _ in self.formulas.described:
            if name in missing:
                yield constant(f"m_{name}", None)
            else:
                yield code.DESCRIBED, number(name), 0, offsets[f"m_{name}"], 0
        for name, _ in self.formulas.plain:
            if name in places:
                yield code.ARGUMENT, places[name], 0, offsets[f"a_{name}"], 0
            else:
                yield constant(f"a_{name}", arguments[name])


def _words(numbers: Sequence[int]) -> bytes:
    return array.array("q", numbers).tobytes()


def recorder_of(
    kind: str, schema: Schema, run: Callable[..., Any], formulas: Formulas, node: type[Node]
) -> Recorder | None:
    """Return the recorder of an operator that `run` runs on plain tensors; None if machine code cannot record it."""
    binding = getattr(run, "binding", None)
    tensors = [a for a in schema.arguments if a.base_type == "Tensor"]
    if binding is None or any(one.type != "Tensor" for one in schema.returns) or any(a.is_list for a in tensors):
        return None
    if kind == "view" and not len(tensors) == len(schema.returns) == 1:
        return None
    if node not in OFFSETS:
        seal(node, ())
    return Recorder(kind, schema, binding, formulas, node)


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
