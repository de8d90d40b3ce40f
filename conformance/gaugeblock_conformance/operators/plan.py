"""A plan of the calls of one operator: which condition each next call is asked to meet, so that few calls meet all.

Every choice that a call leaves open has a few levels, such as the layouts of one operand. The next wish takes of each
the level that was asked for and met least, so that one call serves several conditions. Where many calls are wanted, of
several such wishes the one that brings together most levels that have not been together.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.samples import Form, NumberFact

from ..strategies.tensors import CLASSES
from .calls import OperatorCall, forms_of, schema_arguments
from .conditions import (
    FEW_DIMS,
    ORDINARY,
    Condition,
    can_be_empty,
    dims_of,
    judged,
    layouts_of,
    met,
    possible_in,
    tensor_facts,
)  # fmt: skip
from .drawing import dtypes_in_order, promotes
from .sizing import DEEPEST, JOINED, SEVERAL
from .wishes import GIVEN, LEFT_OUT, MIXED, RANKED, RELATIONS, SHAPES, Wish

# How often each of the shapes is asked for, beside the others; "" leaves it to chance.
_WEIGHTS = {"2": 3, "3": 2, "4": 1, "5": 1, "1": 1.5, "0": 1, "long": 0.7, "ones": 0.7, "empty": 0.7, "": 0.5}
# How many sizes there are that may stand first.
_TURNS = len(SEVERAL)
_EQUAL = RELATIONS.index("equal") + 1
_TWICE = 2
# Of so many calls pairs of levels are counted, and so many wishes compared.
_MANY, _COMPARED = 100, 8

Level = tuple[str, str, int]


class Plan:
    """Wishes for calls of ``operator`` under a seed, ``count`` of them; with ``writable`` for calls whose first tensor
    is written. :meth:`note` tells what a drawn call has met."""

    def __init__(self, operator: str, seed: Sequence[int], count: int, writable: bool = False) -> None:
        self._operator = operator
        self._random = np.random.default_rng((*seed, zlib.crc32(operator.encode())))
        self._writable = writable
        self._asked: Counter[Level] = Counter()
        self._met: Counter[Condition] = Counter()
        self._left: frozenset[Condition] = frozenset()
        self._apart = False
        self._pairs: set[tuple[Level, Level]] | None = set() if count >= _MANY else None

    def next(self) -> Wish:
        """The wish for the next call."""
        wishes = [self._wish() for _ in range(1 if self._pairs is None else _COMPARED)]
        levels = max(wishes, key=self._new_pairs)
        for level in levels:
            self._asked[level] += 1
        if self._pairs is not None:
            self._pairs.update(combinations(levels, 2))
        arguments = {name.split()[0]: number for kind, name, number in levels if kind in _OF_ARGUMENTS and number}
        whole = {kind: number for kind, name, number in levels if kind in _OF_CALLS}
        return Wish(**whole, arguments=arguments)

    def lacks(self, all_kinds: bool) -> bool:
        """Return whether a condition that some call can meet has not been met: one of any kind twice, since a single
        call may hide a fault by chance, or one of those that come first once."""
        possible = judged(self._operator, self._writable)
        if all_kinds:
            return any(self._met[one] < _TWICE for one in possible)
        return any(one.kind in _FIRST and not self._met[one] for one in possible)

    def note(self, call: OperatorCall) -> None:
        """Count the conditions that a call has met."""
        self._met.update(met(call))

    def _new_pairs(self, levels: list[Level]) -> int:
        return sum(pair not in self._pairs for pair in combinations(levels, 2)) if self._pairs is not None else 0

    def _wish(self) -> list[Level]:
        """Levels of one wish, of each factor one."""
        forms = forms_of(self._operator)
        form = self._least([("form", "", k + 1) for k in range(len(forms))])
        place = form[2] - 1
        factors = _factors(self._operator, place, self._writable)
        self._left = possible_in(self._operator, place, self._writable) - self._met.keys()
        shape = self._least([("shape", str(form[2]), number) for number in factors.shapes])
        found = [form, shape]
        found.append(self._least([("dtype", "", place) for place in factors.dtypes]))
        few = SHAPES[shape[2] - 1] if shape[2] and SHAPES[shape[2] - 1] in FEW_DIMS else ""
        found.append(self._least([("relation", few, number) for number in factors.relations]))
        found += self._turn(SHAPES[shape[2] - 1] if shape[2] else "")
        ranked = not shape[2] or SHAPES[shape[2] - 1] in RANKED
        for name, places in factors.layouts.items():
            # In few dims operands lie apart twice before they are contiguous once.
            apart, ordinary = (("apart", f"{name} {few}", number) for number in (1, 0))
            self._apart = bool(few) and self._asked[apart] < 2 * self._asked[ordinary] + 2
            found.append(self._least([("layout" if ranked else "line", name, number) for number in places]))
            if few and 0 < found[-1][2] <= len(CLASSES):
                found.append(ordinary if CLASSES[found[-1][2] - 1] in ORDINARY else apart)
        for name, places in factors.values.items():
            found.append(self._least([("value", f"{name} {form[2]}", number) for number in places]))
        return found

    def _turn(self, shape: str) -> list[Level]:
        """Return the order of sizes in which each size comes last in turn."""
        if not shape.isdigit() or shape == "0":
            return [self._least([("turn", "", k + 1) for k in range(_TURNS)])]
        last = self._least([("last", "", k) for k in range(_TURNS)])
        return [last, ("turn", "", (last[2] - int(shape) - 1) % _TURNS + 1)]

    def _least(self, levels: list[Level]) -> Level:
        """The level that was asked for and met least; which of several, the seed says."""
        if len(levels) == 1:
            return levels[0]
        chances = self._random.random(len(levels)).tolist()
        return min(zip(levels, chances, strict=True), key=lambda pair: self._cost(pair[0]) + pair[1] * 0.9)[0]

    def _cost(self, level: Level) -> float:
        kind, name, place = level
        asked = self._asked[level]
        if kind == "form":
            wide = possible_in(self._operator, place - 1, self._writable)
            return asked / (1 + len(wide - self._met.keys()) + len(wide) / 4) if asked else -1.0
        if kind == "shape":
            shape = SHAPES[place - 1] if place else ""
            wanted = any(one.kind in ("dims", "apart") and one.value.split()[0] == shape for one in self._left)
            return asked * (0.5 if wanted else 3 / _WEIGHTS[shape])
        if kind == "dtype" and place:
            names = dtypes_in_order(self._operator)
            dtype = "mixed" if place == MIXED else names[place - 1]
            return asked * (1 if Condition("dtype", "", dtype) in self._left else 3)
        if kind in ("layout", "line") and 0 < place <= len(CLASSES):
            late = 9 if self._apart and CLASSES[place - 1] in ORDINARY else 0
            return late + asked * (1 if Condition("layout", name, CLASSES[place - 1]) in self._left else 3)
        if kind == "value":
            argument, form = name.split()
            stated = forms_of(self._operator)[int(form) - 1].get(argument)
            options = stated.choices if isinstance(stated, NumberFact) else ()
            value = repr(options[place - 1]) if 0 < place <= len(options) else ""
            return asked * (1 if Condition("value", argument, value) in self._left else 3)
        if kind == "relation":
            # In few dims equal sizes come first, in any others broadcast ones.
            return asked / 2 if name and place == _EQUAL else asked + (0 if bool(name) is (place == _EQUAL) else 0.9)
        return asked


_OF_ARGUMENTS = frozenset(("layout", "line", "value"))
_OF_CALLS = frozenset(("form", "shape", "dtype", "relation", "turn"))
# What few calls have to meet at least.
_FIRST = frozenset(("apart", "layout", "dtype", "form", "sizes"))


class _Factors:
    """The levels of each factor for one form of an operator's samples."""

    def __init__(self, operator: str, form: Form, writable: bool) -> None:
        row = operators.load()[operator]
        tensors = tensor_facts(operator, form)
        ranges = [dims_of(form, tensors, fact) for fact in tensors.values()] or [(0, DEEPEST)]
        most, least = max(high for _, high in ranges), min(low for low, _ in ranges)
        alone = any(fact.relation == "free" and fact.dims == JOINED.dims for fact in tensors.values())
        empty = any(can_be_empty(tensors, fact) for fact in tensors.values()) and row.family != "network"
        fits = {
            **{dims: int(dims) <= most for dims in RANKED}, "1": least <= 1 <= most, "0": least == 0,
            "long": alone, "ones": True, "empty": empty,
        }  # fmt: skip
        self.shapes = (0, *(k + 1 for k, shape in enumerate(SHAPES) if fits[shape]))
        self.dtypes = tuple(range(1, len(row.dtypes) + 1))
        if len(tensors) > 1 and promotes(operator):
            self.dtypes = (*self.dtypes, MIXED)
        self.relations = tuple(range(len(RELATIONS) + 1)) if len(tensors) > 1 else (0,)
        self.layouts: Mapping[str, tuple[int, ...]] = {}
        self.values: Mapping[str, tuple[int, ...]] = {}
        written = writable or operator.partition(".")[0].endswith("_")
        layouts, values = {}, {}
        for k, (name, fact) in enumerate(tensors.items()):
            found = layouts_of(form, tensors, fact, written and k == 0)
            layouts[name] = tuple(CLASSES.index(layout) + 1 for layout in found)
        for argument in schema_arguments(operator):
            optional = argument.default is not None or argument.optional
            if argument.name in layouts:
                layouts[argument.name] += (LEFT_OUT,) if optional and not tensors[argument.name].given else ()
                continue
            stated = form.get(argument.name)
            levels: tuple[int, ...] = (0, GIVEN, LEFT_OUT) if optional else (0,)
            if isinstance(stated, NumberFact) and stated.choices:
                levels = tuple(range(1, len(stated.choices) + 1))
            elif isinstance(stated, NumberFact) and not stated.rule:
                levels = (0, 1, 2)
            values[argument.name] = levels
        self.layouts, self.values = MappingProxyType(layouts), MappingProxyType(values)


@cache
def _factors(operator: str, form: int, writable: bool) -> _Factors:
    return _Factors(operator, forms_of(operator)[form], writable)


def quick(operator: str) -> int:
    """The number of calls in which a plan meets each dtype and each layout of an operand of several dims."""
    return max(_FEWEST, len(operators.load()[operator].dtypes), 4 * len(forms_of(operator)))


_FEWEST = 12
