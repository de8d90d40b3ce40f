"""Mutants made by rule from the operator table: an operator, conditions on its operands, and what then goes wrong.

The conditions are those that calls of the operator can meet: dims of one operand, its layout, equal sizes of two, one
dtype, one length, and some of them together. Which are taken is drawn once and for all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import Array
from ..case import TensorCase
from ..operators.calls import forms_of, schema_arguments
from ..operators.conditions import ORDINARY, Condition, has_own_dtypes, judged, of_tensor, tensor_facts
from ..operators.coverage import swept
from ..oracles.pointwise import operators_with_oracle
from .mutant import Intercepted, Mutant, Patch
from .patches import fresh, with_data

COUNT = 240
KIND = "generated"
_SEED = 2026
# Operators whose values nobody asks for.
_LOOSE = frozenset({"random", "factory"})
_UNASKED = ("empty", "new_", "resize", "rrelu", "is_same_size")
_LENGTHS = ("2", "3", "4", "5")
# A loop's remainder: more elements than a vector has, and not a multiple of them.
_REMAINDER = "remainder"
_VECTOR = 16
POINTWISE = "iteration/strided-inputs-give-the-same-values"
ANY_ROW = "operators/every-operator-gives-what-its-row-says"

Fault = Callable[[Intercepted, str], Any]


@dataclass(frozen=True)
class Rule:
    """The rule of one mutant: under all ``conditions`` the ``fault`` befalls calls of ``operator``, which reads
    ``argument`` wrongly or gives another result."""

    operator: str
    argument: str
    conditions: tuple[Condition, ...]
    fault: str

    @property
    def name(self) -> str:
        words = [self.operator, self.fault, "at", *(str(condition) for condition in self.conditions)]
        return "-".join(" ".join(words).replace("_", "-").replace(".", "-").lower().split())

    @property
    def requirement(self) -> str:
        """The requirement that the mutant breaks."""
        return POINTWISE if self.operator in operators_with_oracle() else ANY_ROW


def _case(c: Intercepted, tensor: Any) -> TensorCase:
    """Sizes, strides and offset of a tensor, and its dtype."""
    return TensorCase(c.backend.dtype(tensor), *c.geometry(tensor))


def _given(c: Intercepted, operator: str, name: str) -> Any:
    """The tensor that is given for an argument, the first of a list; None where there is none."""
    place = [argument.name for argument in schema_arguments(operator)].index(name)
    value = c.args[place] if place < len(c.args) else c.kwargs.get(name)
    first = value[0] if isinstance(value, list | tuple) and value else value
    return first if c.is_tensor(first) else None


def _first(c: Intercepted) -> Any:
    values = (*c.args, *c.kwargs.values())
    flat = [item for value in values for item in (value if isinstance(value, list | tuple) else (value,))]
    return next((item for item in flat if c.is_tensor(item)), None)


def _typed(c: Intercepted, operator: str) -> Any:
    """The first tensor that has no dtype of its own, but that of the call."""
    facts = [item for form in forms_of(operator) for item in tensor_facts(operator, form).items()]
    own = {name for name, fact in facts if has_own_dtypes(fact)}
    tensors = (one.name for one in schema_arguments(operator) if one.base_type == "Tensor" and one.name not in own)
    given = (_given(c, operator, name) for name in tensors)
    return next((tensor for tensor in given if tensor is not None), _first(c))


def _holds(c: Intercepted, operator: str, condition: Condition) -> bool:
    """Return whether the call meets the condition."""
    kind, name, value = condition
    tensor = _given(c, operator, name) if name else _typed(c, operator)
    if tensor is None:
        return False
    case = _case(c, tensor)
    several = sum(n > 1 for n in case.sizes)
    if kind in ("dims", "layout"):
        found = {one.value for one in of_tensor(operator, name, case) if one.kind == kind}
        return value in found or (value == "strided" and bool(found - set(ORDINARY)))
    if kind == "dtype":
        return case.dtype == value
    if kind == "length" and value == _REMAINDER:
        return bool(case.sizes) and case.sizes[-1] > _VECTOR and case.sizes[-1] % _VECTOR > 0
    if kind == "length":
        return bool(case.sizes) and str(case.sizes[-1]) == value
    first = _case(c, _first(c)).sizes
    if value == "equal":
        return several > 1 and case.sizes == first
    pairs = zip(reversed(case.sizes), reversed(first), strict=False)
    return case.sizes != first and all(a == b or 1 in (a, b) for a, b in pairs)


def _misread(c: Intercepted, argument: str, operator: str) -> Any:
    """The operand is read from its first element on as it lies in memory, zeros where that ends."""
    tensor = _given(c, operator, argument)
    sizes, _, offset = c.geometry(tensor)
    room = c.backend.storage_nbytes(tensor) // c.array_itemsize(tensor)
    memory = c.array(c.do("as_strided", tensor, (room - offset,), (1,), offset))
    read = np.zeros(prod(sizes), memory.dtype)
    read[: len(memory)] = memory[: len(read)]
    wrong = c.tensor(read.reshape(sizes))

    def instead(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [wrong if item is tensor else item for item in value]
        return wrong if value is tensor else value

    args, kwargs = [instead(value) for value in c.args], {key: instead(value) for key, value in c.kwargs.items()}
    return c.by(lambda: c.do(c.operator, *args, **kwargs))


def _other(element: Any) -> Any:
    """Another number than ``element``."""
    return element.dtype.type(0 if element == element and element != 0 else 1)


def _changed(change: Callable[[Array], Array]) -> Callable[[Intercepted], Any]:
    """The right result with the elements of its first tensor changed, in a memory of its own."""

    def answer(c: Intercepted) -> Any:
        result = c.right()
        parts = list(result) if isinstance(result, list | tuple) else [result]
        for place, part in enumerate(parts):
            if isinstance(part, bool):
                parts[place] = not part
                break
            if not c.is_tensor(part):
                continue
            array = np.array(c.array(part))
            if array.size:
                flat = change(array.reshape(-1))
                parts[place] = fresh(c, flat.reshape(array.shape))
                break
        return parts[0] if not isinstance(result, list | tuple) else _like(result, parts)

    return answer


def _like(result: Any, parts: list[Any]) -> Any:
    """The parts in a sequence of the kind of ``result``."""
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


def _off(flat: Array) -> Array:
    flat[len(flat) // 2] = _other(flat[len(flat) // 2])
    return flat


def _dropped(flat: Array) -> Array:
    """The last element is not written, and holds what lay there."""
    flat[-1] = _other(flat[-1])
    return flat


def _shifted(flat: Array) -> Array:
    """Every element stands one place too early."""
    moved = np.roll(flat, -1)
    return moved if not np.array_equal(moved, flat, equal_nan=flat.dtype.kind in "fc") else _off(moved)


_RESULTS = {"is-off-in-one-element": _off, "drops-the-last": _dropped, "shifts-its-result": _shifted}
_MISREADS = "misreads-an-operand"


def _patch(rule: Rule) -> Patch:
    change = _RESULTS.get(rule.fault)
    answer = _changed(change) if change else lambda c: _misread(c, rule.argument, rule.operator)

    def patch(c: Intercepted) -> Any:
        if c.operator != rule.operator or not all(_holds(c, rule.operator, one) for one in rule.conditions):
            return c.right()
        return answer(c)

    return with_data(patch)


def mutant(rule: Rule) -> Mutant:
    """The mutant of a rule."""
    return Mutant(rule.name, KIND, (f"{rule.requirement}[{rule.operator}]",), (rule.operator,), _patch(rule))


@cache
def rules() -> tuple[Rule, ...]:
    """The rules, the first of them of ``sub`` and a second operand of two dims."""
    found = {rule.name: rule for rule in (_of_two_dims("sub.Tensor", "other"),)}
    draw, kinds = random.Random(_SEED), tuple(_MAKERS.values())
    names = [name for name in (*swept(), *operators_with_oracle()) if _is_asked(name)]
    while len(found) < COUNT:
        rule = next(kinds[len(found) % len(kinds)](draw.choice(names), draw), None)
        if rule is not None:
            found.setdefault(rule.name, rule)
    return tuple(found.values())


def _is_asked(name: str) -> bool:
    row = operators.load()[name]
    tensors = any(argument.base_type == "Tensor" for argument in schema_arguments(name))
    in_place = name.partition(".")[0].endswith("_")
    return tensors and not in_place and row.family not in _LOOSE and not row.base_name.startswith(_UNASKED)


def _of_two_dims(operator: str, argument: str) -> Rule:
    """An operand that is misread where it has two dims, lies apart, and is as large as the first."""
    found = (("dims", "2"), ("layout", "strided"), ("sizes", "equal"))
    return Rule(operator, argument, tuple(Condition(kind, argument, value) for kind, value in found), _MISREADS)


def _some(operator: str, kind: str, draw: random.Random) -> Condition | None:
    found = sorted(one for one in judged(operator) if one.kind == kind and one.value not in ("empty", "mixed"))
    return draw.choice(found) if found else None


def _single(kind: str) -> Callable[[str, random.Random], Iterator[Rule]]:
    """Rules of one condition of the kind."""

    def make(operator: str, draw: random.Random) -> Iterator[Rule]:
        condition = _some(operator, kind, draw)
        if condition is None:
            return
        apart = kind == "layout" and condition.value not in ORDINARY
        fault = _MISREADS if apart and draw.random() < 0.7 else draw.choice(sorted(_RESULTS))
        yield Rule(operator, condition.argument, (condition,), fault)

    return make


def _of_length(operator: str, draw: random.Random) -> Iterator[Rule]:
    """Rules of one length of the last dim of an operand, or of any that leaves a remainder."""
    condition = _some(operator, "dims", draw)
    if condition is None or not _is_free(operator, condition.argument):
        return
    alone = operator in operators_with_oracle()
    value = _REMAINDER if alone and draw.random() < 0.3 else draw.choice(_LENGTHS)
    length = Condition("length", condition.argument, value)
    yield Rule(operator, condition.argument, (length,), draw.choice(sorted(_RESULTS)))


def _is_free(operator: str, argument: str) -> bool:
    """Return whether the samples leave the operand any sizes."""
    facts = [tensor_facts(operator, form).get(argument) for form in forms_of(operator)]
    return any(fact is not None and fact.relation == "free" and fact.dims == ("*",) for fact in facts)


def _of_layout_and_dims(operator: str, draw: random.Random) -> Iterator[Rule]:
    """Rules of an operand that lies apart and has so many dims."""
    condition = _some(operator, "dims", draw)
    if condition is None or condition.value not in ("2", "3"):
        return
    layouts = {one.value for one in judged(operator) if one.kind == "layout" and one.argument == condition.argument}
    if layouts - set(ORDINARY):
        apart = Condition("layout", condition.argument, "strided")
        yield Rule(operator, condition.argument, (condition, apart), _MISREADS)


def _of_all(operator: str, draw: random.Random) -> Iterator[Rule]:
    """Rules of the kind of the first."""
    condition = _some(operator, "sizes", draw)
    if condition is None or condition.value != "equal":
        return
    possible, rule = judged(operator), _of_two_dims(operator, condition.argument)
    layouts = {one.value for one in possible if one.kind == "layout" and one.argument == condition.argument}
    if rule.conditions[0] in possible and layouts - set(ORDINARY):
        yield rule


_MAKERS: dict[str, Callable[[str, random.Random], Iterator[Rule]]] = {
    "dims": _single("dims"), "layout": _single("layout"), "sizes": _single("sizes"), "dtype": _single("dtype"),
    "length": _of_length, "layout and dims": _of_layout_and_dims, "all": _of_all,
}  # fmt: skip
