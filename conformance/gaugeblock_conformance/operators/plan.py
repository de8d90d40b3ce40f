"""A plan of the calls of one operator: which condition each next call is asked to meet, so that few calls meet all.

Every choice that a call leaves open has a few levels, such as the layouts of one operand. The next wish takes of each
the level that was asked for and met least, so that one call serves several conditions. Where many calls are wanted, of
several such wishes the one that brings together most levels that have not been together.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.samples import Fact, NumberFact

from ..strategies.tensors import CLASSES
from ..values import COMPLEX, FLOATS
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
# Of so many calls pairs of levels are counted, and so many wishes compared.
_MANY, _COMPARED = 100, 8

Level = tuple[str, str, int]
Levels = tuple[Level, ...]


class Plan:
    """Wishes for calls of ``operator`` under a seed, ``count`` of them; with ``writable`` for calls whose first tensor
    is written. :meth:`note` tells what a drawn call has met."""

    def __init__(self, operator: str, seed: Sequence[int], count: int, writable: bool = False) -> None:
        self._operator = operator
        self._random = np.random.default_rng((*seed, zlib.crc32(operator.encode())))
        self._chances: list[float] = []
        self._taken = 0
        self._writable = writable
        self._forms = tuple(("form", "", k + 1) for k in range(len(forms_of(operator))))
        self._asked: dict[Level, int] = {}
        self._met: set[Condition] = set()
        self._met_again: set[Condition] = set()
        self._left: frozenset[Condition] = frozenset()
        self._pairs: set[tuple[Level, Level]] | None = set() if count >= _MANY else None

    def next(self) -> Wish:
        """The wish for the next call."""
        wishes = [self._wish() for _ in range(1 if self._pairs is None else _COMPARED)]
        levels = wishes[0] if self._pairs is None else max(wishes, key=self._new_pairs)
        for level in levels:
            self._asked[level] = self._asked.get(level, 0) + 1
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
            return bool(possible - self._met_again)
        return any(one.kind in _FIRST for one in possible - self._met)

    def note(self, call: OperatorCall) -> None:
        """Count the conditions that a call has met."""
        found = met(call)
        self._met_again |= found & self._met
        self._met |= found

    def _new_pairs(self, levels: list[Level]) -> int:
        return sum(pair not in self._pairs for pair in combinations(levels, 2)) if self._pairs is not None else 0

    def _wish(self) -> list[Level]:
        """Levels of one wish, of each factor one."""
        form = self._least(self._forms, self._costs_of_forms())
        place = form[2] - 1
        factors = _factors(self._operator, place, self._writable)
        self._left = possible_in(self._operator, place, self._writable) - self._met
        shape = self._least(factors.shapes, self._costs_of_shapes(factors.shapes))
        word = SHAPES[shape[2] - 1] if shape[2] else ""
        few = word if word in FEW_DIMS else ""
        found = [form, shape, self._open(*factors.dtypes, rare=factors.trivial)]
        found.append(self._least(factors.relations[few], self._costs_of_relations(factors.relations[few])))
        found += self._turn(word, form[2])
        ranked = not word or word in RANKED
        for name, (layouts, conditions) in factors.layouts.items():
            # In few dims operands lie apart twice before they are contiguous once.
            apart, ordinary = (("apart", f"{name} {few}", number) for number in (1, 0))
            asked = self._asked
            late = bool(few) and asked.get(apart, 0) < 2 * asked.get(ordinary, 0) + 2
            found.append(self._open(layouts[not ranked], conditions, late))
            if few and 0 < found[-1][2] <= len(CLASSES):
                found.append(ordinary if CLASSES[found[-1][2] - 1] in ORDINARY else apart)
        found += [self._open(*value) for value in factors.values]
        return found

    def _turn(self, shape: str, form: int) -> list[Level]:
        """Return the order of sizes in which each size comes last in turn among the calls of a form."""
        if not shape.isdigit() or shape == "0":
            return [self._least(_ANY_TURN, map(self._times, _ANY_TURN))]
        sizes = _last(form)
        last = self._least(sizes, map(self._times, sizes))
        return [last, ("turn", "", (last[2] - int(shape) - 1) % _TURNS + 1)]

    def _open(
        self, levels: Levels, conditions: Sequence[Condition | None], late: bool = False,
        rare: frozenset[Level] = frozenset(),
    ) -> Level:  # fmt: skip
        """The level of those with a condition each, of which the ones that no call has met come sooner; None stands
        for a level without. With ``late`` ordinary layouts come last; levels of ``rare`` are seldom repeated."""
        asked, left = self._asked, self._left
        costs = [
            asked.get(level, 0) * (1 if condition is None or condition in left else 3) * (_RARE if level in rare else 1)
            + (_LATE if late and condition is not None and condition.value in ORDINARY else 0)
            for level, condition in zip(levels, conditions, strict=True)
        ]
        return self._least(levels, costs)

    def _least(self, levels: Levels, costs: Iterable[float]) -> Level:
        """The level that was asked for and met least; which of several, the seed says."""
        if len(levels) == 1:
            return levels[0]
        start, end = self._taken, self._taken + len(levels)
        if end > len(self._chances):
            self._chances = self._chances[start:] + self._random.random(max(_AHEAD, len(levels))).tolist()
            start, end = 0, len(levels)
        self._taken = end
        whole = [cost + chance * 0.9 for cost, chance in zip(costs, self._chances[start:end], strict=True)]
        return levels[whole.index(min(whole))]

    def _times(self, level: Level) -> int:
        return self._asked.get(level, 0)

    def _costs_of_forms(self) -> Iterator[float]:
        for level in self._forms:
            wide = possible_in(self._operator, level[2] - 1, self._writable)
            asked = self._times(level)
            yield asked / (1 + len(wide - self._met) + len(wide) / 4) if asked else -1.0

    def _costs_of_shapes(self, levels: Levels) -> Iterator[float]:
        wanted = {one.value.split()[0] for one in self._left if one.kind in ("dims", "apart")}
        for level in levels:
            shape = SHAPES[level[2] - 1] if level[2] else ""
            yield self._times(level) * (0.5 if shape in wanted else 3 / _WEIGHTS[shape])

    def _costs_of_relations(self, levels: Levels) -> Iterator[float]:
        """In few dims equal sizes come first, in any others broadcast ones."""
        for level in levels:
            asked, few, equal = self._times(level), bool(level[1]), level[2] == _EQUAL
            yield asked / 2 if few and equal else asked + (0 if few is equal else 0.9)


_OF_ARGUMENTS = frozenset(("layout", "line", "value"))
_OF_CALLS = frozenset(("form", "shape", "dtype", "relation", "turn"))
# What few calls have to meet at least.
_FIRST = frozenset(("apart", "layout", "dtype", "form", "sizes"))
_ANY_TURN = tuple(("turn", "", k + 1) for k in range(_TURNS))
# The cost of a layout that is not wanted yet, the factor of the cost of a rare level, and the number of random numbers
# that are drawn at once.
_LATE, _RARE, _AHEAD = 9, 5, 128
# Predicates, and the dtypes whose elements they tell apart; for any other dtype the answer is always the same.
_DTYPES_OF_PREDICATES = {
    "isreal": COMPLEX,
    "isnan": (*FLOATS, *COMPLEX),
    "isinf": (*FLOATS, *COMPLEX),
    "isfinite": (*FLOATS, *COMPLEX),
    "isposinf": FLOATS,
    "isneginf": FLOATS,
}


class _Factors:
    """The levels of each factor for one form of an operator's samples; of dtypes, layouts and values with the condition
    that each is to meet, if there is one."""

    def __init__(self, operator: str, place: int, writable: bool) -> None:
        row, form = operators.load()[operator], forms_of(operator)[place]
        tensors = tensor_facts(operator, form)
        ranges = [dims_of(form, tensors, fact) for fact in tensors.values()] or [(0, DEEPEST)]
        most, least = max(high for _, high in ranges), min(low for low, _ in ranges)
        alone = any(fact.relation == "free" and fact.dims == JOINED.dims for fact in tensors.values())
        empty = any(can_be_empty(tensors, fact) for fact in tensors.values()) and row.family != "network"
        fits = {
            **{dims: int(dims) <= most for dims in RANKED}, "1": least <= 1 <= most, "0": least == 0,
            "long": alone, "ones": True, "empty": empty,
        }  # fmt: skip
        self._form = str(place + 1)
        shapes = (0, *(k + 1 for k, shape in enumerate(SHAPES) if fits[shape]))
        self.shapes = tuple(("shape", self._form, number) for number in shapes)
        names = dtypes_in_order(operator)
        dtypes = tuple(range(1, len(row.dtypes) + 1))
        if len(tensors) > 1 and promotes(operator):
            dtypes = (*dtypes, MIXED)
        words = ["mixed" if number == MIXED else names[number - 1] for number in dtypes]
        self.dtypes = (
            tuple(("dtype", "", number) for number in dtypes),
            tuple(Condition("dtype", "", word) for word in words),
        )
        decisive = _DTYPES_OF_PREDICATES.get(operator, words)
        self.trivial = frozenset(
            level for level, word in zip(self.dtypes[0], words, strict=True) if word not in decisive
        )
        relations = tuple(range(len(RELATIONS) + 1)) if len(tensors) > 1 else (0,)
        self.relations = {few: tuple(("relation", few, number) for number in relations) for few in ("", *FEW_DIMS)}
        self.layouts: Mapping[str, tuple[tuple[Levels, Levels], tuple[Condition | None, ...]]] = {}
        self.values: tuple[tuple[Levels, tuple[Condition | None, ...]], ...] = ()
        written = writable or operator.partition(".")[0].endswith("_")
        layouts, values = {}, []
        for k, (name, fact) in enumerate(tensors.items()):
            found = layouts_of(form, tensors, fact, written and k == 0)
            layouts[name] = tuple(CLASSES.index(layout) + 1 for layout in found)
        for argument in schema_arguments(operator):
            optional = argument.default is not None or argument.optional
            if argument.name in layouts:
                layouts[argument.name] += (LEFT_OUT,) if optional and not tensors[argument.name].given else ()
                continue
            values.append(self._of_value(argument.name, form.get(argument.name), optional))
        self.layouts = MappingProxyType({name: self._of_layouts(name, places) for name, places in layouts.items()})
        self.values = tuple(values)

    def _of_layouts(
        self, name: str, places: tuple[int, ...]
    ) -> tuple[tuple[Levels, Levels], tuple[Condition | None, ...]]:
        """The levels of an operand's layouts, in dims in which they can be told apart and in others."""
        kinds = [tuple((kind, name, number) for number in places) for kind in ("layout", "line")]
        known = [CLASSES[number - 1] if number <= len(CLASSES) else "" for number in places]
        conditions = tuple(Condition("layout", name, layout) if layout else None for layout in known)
        return (kinds[0], kinds[1]), conditions

    def _of_value(
        self, name: str, stated: Fact | None, optional: bool
    ) -> tuple[Levels, tuple[Condition | None, ...]]:
        options = stated.choices if isinstance(stated, NumberFact) else ()
        numbers: tuple[int, ...] = (0, GIVEN, LEFT_OUT) if optional else (0,)
        if options:
            numbers = tuple(range(1, len(options) + 1))
        elif isinstance(stated, NumberFact) and not stated.rule:
            numbers = (0, 1, 2)
        levels = tuple(("value", f"{name} {self._form}", number) for number in numbers)
        found = [repr(options[number - 1]) if 0 < number <= len(options) else "" for number in numbers]
        return levels, tuple(Condition("value", name, value) for value in found)


@cache
def _last(form: int) -> Levels:
    return tuple(("last", str(form), k) for k in range(_TURNS))


@cache
def _factors(operator: str, place: int, writable: bool) -> _Factors:
    return _Factors(operator, place, writable)


def quick(operator: str) -> int:
    """The number of calls in which a plan meets each dtype and each layout of an operand of several dims."""
    return max(_FEWEST, len(operators.load()[operator].dtypes), 4 * len(forms_of(operator)))


_FEWEST = 12
