"""Conditions that a call meets, such as the layout of one operand, and those that some call of an operator can meet."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.samples import Fact, Form, NumberFact, TensorFact
from gaugeblock_spec.schema import Argument

from ..backend import DType
from ..case import TensorCase
from ..oracles.making import Unfilled
from ..oracles.near import Near
from ..strategies.tensors import CLASSES, WRITABLE_CLASSES, layout_of
from .calls import OperatorCall, cases_of, forms_of, schema_arguments
from .drawing import left_to_default, promotes
from .elements import HELD
from .numbers import choices
from .sizing import DEEPEST, JOINED

# Layouts whose elements lie one behind the other.
ORDINARY = ("contiguous", "offset")
# Numbers of dims in which each tensor lies apart in some call.
FEW_DIMS = ("2", "3")


class Condition(NamedTuple):
    """One condition: of which ``kind``, on which argument ("" for the call as a whole), and its ``value``."""

    kind: str
    argument: str
    value: str

    def __str__(self) -> str:
        return " ".join(word for word in self if word)


# Kinds of conditions that only the elements of a result show.
_SHOWN = frozenset(("dims", "layout", "apart", "sizes", "dtype"))


def met(call: OperatorCall) -> set[Condition]:
    """Return the conditions that a call meets; of one that is known to give no elements for operands that have some,
    those alone that do without."""
    found = _met(call)
    if all(case.numel for case in call.tensors) and not _may_show(call.known.get("expected")):
        return {one for one in found if one.kind not in _SHOWN}
    return found


def _may_show(expected: Any) -> bool:
    """Return whether what an oracle gives is not known to be without elements."""
    if isinstance(expected, list | tuple):
        return not expected or any(map(_may_show, expected))
    if isinstance(expected, Near):
        return _may_show(expected.value)
    if isinstance(expected, Unfilled):
        return 0 not in expected.sizes
    return not isinstance(expected, np.ndarray) or expected.size > 0


def _met(call: OperatorCall) -> set[Condition]:
    found = {Condition("form", "", str(forms_of(call.operator).index(call.facts) + 1))} if call.facts else set()
    first: TensorCase | None = None
    for argument in schema_arguments(call.operator):
        value = call.arguments.get(argument.name)
        cases = cases_of(value)
        for case in cases:
            found.update(of_tensor(call.operator, argument.name, case))
        for case in cases[:1]:
            found.update(_apart(first, argument.name, case))
        if cases and first is not None:
            found.update(_beside(first, argument.name, cases[0]))
        if cases and first is None:
            first = cases[0]
        if argument.name in call.arguments and _differs(argument, value):
            found.add(_one("given", argument.name, ""))
        fact = call.facts.get(argument.name)
        if isinstance(fact, NumberFact) and fact.choices:
            found.add(_one("value", argument.name, repr(value)))
    operands = _operand_dtypes(call)
    found.update([_one("dtype", "", dtype) for dtype in _dtypes(call, operands)])
    if len(operands) > 1:
        found.add(_one("dtype", "", "mixed"))
    return found


@cache
def _one(kind: str, argument: str, value: str) -> Condition:
    """The condition; the same few are met by all calls."""
    return Condition(kind, argument, value)


def of_tensor(operator: str, name: str, case: TensorCase) -> Iterator[Condition]:
    """The dims and the layout of a tensor that stands for an argument."""
    if 0 in case.sizes:
        yield _one("dims", name, "empty")
        return
    yield _one("dims", name, str(min(len(case.sizes), DEEPEST)))
    several = sum([n > 1 for n in case.sizes])
    if several >= min(2, max(1, _most_dims(operator, name))):
        yield _one("layout", name, layout_of(case))
        if case.offset:
            yield _one("layout", name, "offset")


def _apart(first: TensorCase | None, name: str, case: TensorCase) -> Iterator[Condition]:
    """A tensor of few dims that lies apart in memory, alone or beside a first one of its sizes."""
    dims = str(len(case.sizes))
    if dims not in FEW_DIMS or 0 in case.sizes or sum([n > 1 for n in case.sizes]) < 2:
        return
    if layout_of(case) not in ORDINARY:
        yield _one("apart", name, dims)
        if first is not None and first.sizes == case.sizes:
            yield _one("apart", name, f"{dims} of equal sizes")


def _beside(first: TensorCase, name: str, case: TensorCase) -> Iterator[Condition]:
    if case.sizes == first.sizes:
        if sum([n > 1 for n in case.sizes]) > 1 and 0 not in case.sizes:
            yield _one("sizes", name, "equal")
    elif case.numel and first.numel:
        pairs = zip(reversed(case.sizes), reversed(first.sizes), strict=False)
        if all(a == b or 1 in (a, b) for a, b in pairs):
            yield _one("sizes", name, "broadcast")


def _differs(argument: Argument, value: object) -> bool:
    if argument.default is None and not argument.optional:
        return False
    default = None if argument.default is None else argument.default_value
    return bool(cases_of(value)) or (value != default and not cases_of(value))


def _operand_dtypes(call: OperatorCall) -> set[str]:
    own = {name for name, fact in call.facts.items() if isinstance(fact, TensorFact) and has_own_dtypes(fact)}
    free = [case for name, value in call.arguments.items() if name not in own for case in cases_of(value)]
    return {case.dtype for case in free if case.numel}


def _dtypes(call: OperatorCall, operands: set[str]) -> set[str]:
    asked = call.arguments.get("dtype")
    return (operands or ({str(asked)} if isinstance(asked, DType) else set())) & set(call.row.dtypes)


def has_own_dtypes(fact: Fact | None) -> bool:
    """Return whether an operand has dtypes of its own, and not that of the call."""
    return isinstance(fact, TensorFact) and (bool(fact.dtypes) or fact.index is not None)


@cache
def possible(operator: str, writable: bool = False) -> frozenset[Condition]:
    """The conditions that calls of an operator can meet, by its schema and samples; with ``writable`` calls that write
    to their first tensor.

    Not all of them at once: what a form of the samples fixes, others may leave free.
    """
    found: set[Condition] = set()
    forms = forms_of(operator)
    if len(forms) > 1 or forms[0]:
        found |= {Condition("form", "", str(k + 1)) for k in range(len(forms))}
    for place in range(len(forms)):
        found |= possible_in(operator, place, writable)
    return frozenset(found)


@cache
def possible_in(operator: str, place: int, writable: bool = False) -> frozenset[Condition]:
    """The conditions that calls of one form of an operator's samples can meet."""
    writable = writable or operator.partition(".")[0].endswith("_")
    return frozenset(_of_form(operator, forms_of(operator)[place], writable))


@cache
def judged(operator: str, writable: bool = False) -> frozenset[Condition]:
    """The conditions under which some call of an operator can be judged: the possible ones but those that are named,
    with a reason, as met by none."""
    return frozenset(one for one in possible(operator, writable) if not unmet(operator, one))


@cache
def unmet(operator: str, condition: Condition) -> str:
    """Why no judged call of an operator meets a condition; empty for one that is met."""
    for pattern, reason in _unmet_of(operator):
        if fnmatchcase(str(condition), pattern):
            return reason
    row = operators.load()[operator]
    if row.family == "network" and condition.value == "empty":
        return "networks of no elements are not judged"
    return ""


@cache
def _unmet_of(operator: str) -> tuple[tuple[str, str], ...]:
    """Condition and reason of each line of ``unmet.txt`` for an operator."""
    return tuple((pattern, reason) for name, pattern, reason in _unmet_lines() if fnmatchcase(operator, name))


@cache
def _unmet_lines() -> tuple[tuple[str, str, str], ...]:
    """Operator, condition and reason of each line of ``unmet.txt``."""
    lines = files(__package__).joinpath("unmet.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split(":", 2) for line in lines if line and not line.startswith("#")]
    return tuple((name.strip(), pattern.strip(), reason.strip()) for name, pattern, reason in parts)


def _of_form(operator: str, form: Form, writable: bool) -> Iterator[Condition]:
    row = operators.load()[operator]
    tensors = tensor_facts(operator, form)
    free = [name for name, fact in tensors.items() if not has_own_dtypes(fact)]
    if free:
        # A first operand of own dtypes decides on those of the others.
        leading = next(iter(tensors.values())).dtypes
        yield from (Condition("dtype", "", dtype) for dtype in row.dtypes if dtype in leading or len(leading) < 2)
    if len(free) > 1 and promotes(operator) and len(row.dtypes) > 1:
        yield Condition("dtype", "", "mixed")
    first = next(iter(tensors), None)
    for name, fact in tensors.items():
        alone = set(_of_fact(operator, form, name, fact, writable and name == first))
        beside = set(_of_pair(form, tensors, first, name)) if name != first and first is not None else set()
        yield from (*alone, *beside)
        yield from _of_apart(name, alone, beside, _ones(fact))
    for argument in schema_arguments(operator):
        stated = form.get(argument.name)
        if isinstance(stated, NumberFact) and stated.choices:
            yield from (Condition("value", argument.name, repr(value)) for value in stated.choices)
        if _can_differ(operator, argument, stated, tensors, writable):
            yield Condition("given", argument.name, "")


def tensor_facts(operator: str, form: Form) -> dict[str, TensorFact]:
    """The facts of the tensor arguments that calls of a form may have, those that the form says nothing of too."""
    found: dict[str, TensorFact] = {}
    pointwise = operators.load()[operator].family == "pointwise"
    for argument in schema_arguments(operator):
        fact = form.get(argument.name)
        if argument.base_type != "Tensor" or isinstance(fact, NumberFact):
            continue
        if fact is None and argument.default is not None:
            continue
        first = next(iter(found), None)
        usual = JOINED if pointwise or first is None else TensorFact("like", of=first)
        found[argument.name] = fact or usual
    return found


def _parts(fact: TensorFact) -> tuple[TensorFact, ...]:
    return fact.parts or (fact,)


def dims_of(form: Form, tensors: dict[str, TensorFact], fact: TensorFact) -> tuple[int, int]:
    """The smallest and the largest number of dims that a tensor of a fact may have."""
    ranges = [_dims_of_part(form, tensors, part) for part in _parts(fact)]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _dims_of_part(form: Form, tensors: dict[str, TensorFact], fact: TensorFact) -> tuple[int, int]:
    if fact.relation == "free":
        words = len([word for word in fact.dims if word != "*"])
        missing = max((k + 1 for k, word in enumerate(fact.dims) if word.endswith("?")), default=0)
        star = len(fact.dims) - words
        return words - missing, words + star * _most_of_star(tensors)
    low, high = dims_of(form, tensors, tensors.get(fact.of, JOINED))
    if fact.relation == "to":
        return 0, high
    return low, high


def _most_of_star(tensors: dict[str, TensorFact]) -> int:
    """Return the largest number of dims that * stands for, as the first operand with one decides."""
    first = next((part for fact in tensors.values() for part in _parts(fact) if "*" in part.dims), JOINED)
    return DEEPEST if len(first.dims) == 1 else 2


@cache
def _most_dims(operator: str, name: str) -> int:
    found = 0
    for form in forms_of(operator):
        tensors = tensor_facts(operator, form)
        if name in tensors:
            found = max(found, _several(form, tensors, tensors[name]))
    return found


def _several(form: Form, tensors: dict[str, TensorFact], fact: TensorFact) -> int:
    """The most dims of several elements that a tensor of a fact may have."""
    return dims_of(form, tensors, fact)[1] - _ones(fact)


def _ones(fact: TensorFact) -> int:
    """Return the number of dims that a fact fixes as 1."""
    return max(sum(word.rstrip("?") == "1" for word in part.dims) for part in _parts(fact))


def layouts_of(form: Form, tensors: dict[str, TensorFact], fact: TensorFact, written: bool) -> tuple[str, ...]:
    """The layouts that a tensor of a fact may have."""
    if fact.packed:
        return CLASSES[:1]
    strict = written or fact.kind in HELD
    return tuple(
        layout for layout in CLASSES[: WRITABLE_CLASSES if strict else len(CLASSES)]
        if _several(form, tensors, fact) > 1 or layout not in ("permuted", "overlapping")
    )  # fmt: skip


def _of_fact(operator: str, form: Form, name: str, fact: TensorFact, written: bool) -> Iterator[Condition]:
    tensors = tensor_facts(operator, form)
    low, high = dims_of(form, tensors, fact)
    yield from (Condition("dims", name, str(dims)) for dims in range(low, min(high, DEEPEST) + 1))
    if can_be_empty(tensors, fact):
        yield Condition("dims", name, "empty")
    several = _several(form, tensors, fact)
    if several >= min(2, max(1, _most_dims(operator, name))) and several:
        yield from (Condition("layout", name, layout) for layout in layouts_of(form, tensors, fact, written))


def _of_apart(name: str, alone: set[Condition], beside: set[Condition], ones: int) -> Iterator[Condition]:
    """That a tensor of few dims, ``ones`` of them fixed as 1, lies apart, if it may do so by the conditions that are
    possible for it."""
    if all(layout in ORDINARY for kind, _, layout in alone if kind == "layout"):
        return
    for dims in FEW_DIMS:
        if Condition("dims", name, dims) in alone and int(dims) - ones > 1:
            yield Condition("apart", name, dims)
            if Condition("sizes", name, "equal") in beside:
                yield Condition("apart", name, f"{dims} of equal sizes")


def can_be_empty(tensors: dict[str, TensorFact], fact: TensorFact) -> bool:
    """Return whether a size that is free, of a tensor of a fact, may be 0."""
    if fact.relation != "free":
        return can_be_empty(tensors, tensors.get(fact.of, JOINED))
    return any(not word.rstrip("?").isdigit() for part in _parts(fact) for word in part.dims)


def _of_pair(form: Form, tensors: dict[str, TensorFact], first: str, name: str) -> Iterator[Condition]:
    one, other = tensors[first], tensors[name]
    several = min(_several(form, tensors, one), _several(form, tensors, other))
    if other is JOINED and one is JOINED:
        yield Condition("sizes", name, "broadcast")
    if other.relation == "to" and other.of == first and dims_of(form, tensors, one)[1]:
        yield Condition("sizes", name, "broadcast")
    if one.relation == other.relation == "free" and one is not JOINED and _some_single(one, other):
        yield Condition("sizes", name, "broadcast")
    alike = other.relation in ("like", "to") and other.of == first and not other.dim
    if several > 1 and (alike or (other is JOINED and one is JOINED) or _unify(one, other)):
        yield Condition("sizes", name, "equal")


def _some_single(one: TensorFact, other: TensorFact) -> bool:
    """Return whether two tensors of free sizes end in the same dims, of which some may be 1 or missing."""
    pairs = zip(reversed(one.dims), reversed(other.dims), strict=False)
    alike = all(a.rstrip("~?") == b.rstrip("~?") for a, b in pairs)
    return alike and one.dims != other.dims and any("~" in word or "?" in word for word in (*one.dims, *other.dims))


def _unify(one: TensorFact, other: TensorFact) -> bool:
    """Return whether two tensors of free sizes have as many dims, and none of two different fixed sizes."""
    if not one.relation == other.relation == "free" or one.parts or other.parts or len(one.dims) != len(other.dims):
        return False
    pairs = zip((w.rstrip("~?") for w in one.dims), (w.rstrip("~?") for w in other.dims), strict=True)
    return all(a == b or not (a.isdigit() or b.isdigit() or "*" in (a, b)) for a, b in pairs)


def _can_differ(
    operator: str, argument: Argument, stated: Fact | None, tensors: dict[str, TensorFact], written: bool
) -> bool:
    """Return whether an argument that may be left out can be drawn beside its default."""
    if argument.default is None and not argument.optional:
        return False
    if argument.base_type == "Tensor":
        return argument.name in tensors
    default = None if argument.default is None else argument.default_value
    if isinstance(stated, NumberFact):
        if stated.choices:
            return any(value is not None and value != default for value in stated.choices)
        return bool(stated.rule) or stated.low != stated.high
    if left_to_default(argument):
        return False
    row = operators.load()[operator]
    if argument.base_type == "ScalarType":
        return not (row.family == "random" or written)
    if argument.base_type == "bool" or (argument.optional and argument.name.startswith(("dim", "axis"))):
        return True
    return any(value != default for value in choices(argument, row.dtypes[-1]) or ())
