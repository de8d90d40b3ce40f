"""Sizes of the tensors of a call, from the facts of its operator's samples and what is wished for."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeGuard

from gaugeblock_spec import operators
from gaugeblock_spec.samples import Fact, TensorFact

from ..case import TensorCase
from ..strategies.code import Digits
from ..strategies.shapes import Sizes, deep_sizes, narrowed, small_sizes, threshold
from .calls import cases_of, forms_of, schema_arguments
from .wishes import CODE_LENGTH, RANKED, RELATIONS, SHAPES, read

# The most dims that * stands for on demand.
DEEPEST = 5
# The operands of a pointwise operator that nothing more is said of: they broadcast together.
JOINED = TensorFact("free", ("*",))
_LETTERS = (2, 3, 1, 4, 5, 0)
SEVERAL = (3, 2, 4, 5)


class Impossible(Exception):
    """The sizes drawn leave a later argument without any value."""


class Sizing:
    """Draws sizes; ``arguments`` are those drawn so far."""

    def __init__(self, operator: str, code: bytes, writable: bool, empty: bool, least: int) -> None:
        self.row = operators.load()[operator]
        digits = Digits(code[:CODE_LENGTH])
        self.digits, self.writable, self.empty, self.least = digits, writable, empty, least
        self.choice = int.from_bytes(code[:CODE_LENGTH][-3:], "big")
        wish = read(operator, code[CODE_LENGTH:])
        self.wish, self.wished = wish, wish.arguments
        self.shape = SHAPES[(wish.shape - 1) % len(SHAPES)] if wish.shape else ""
        self.relation = RELATIONS[(wish.relation - 1) % len(RELATIONS)] if wish.relation else ""
        forms = forms_of(operator)
        drawn = digits.below(len(forms))
        self.form = (wish.form - 1) % len(forms) if wish.form else drawn
        self.facts = forms[self.form]
        self.arguments: dict[str, Any] = {}
        self.letters: dict[str, int] = {}
        self.star: Sizes | None = None
        self.joined: list[Sizes] | None = None
        self.taken = 0
        # Whether the dim of 1 or 0 that is wished for was drawn.
        self.odd = False
        size = digits.below(10)
        self.deep = size == 8 and not self.shape
        self.wide = self.shape == "long" or (size == 9 and not self.shape)
        self.ranked = self.shape in RANKED
        self.square = self.relation == "equal" and _of_several_shapes(operator, self.form)

    @property
    def _to_be_written(self) -> bool:
        return self.writable and not any(cases_of(value) for value in self.arguments.values())

    @property
    def _first(self) -> TensorCase:
        return next(case for value in self.arguments.values() for case in cases_of(value))

    def _size_along(self, argument: str) -> int:
        sizes = self._first.sizes
        dim = self.arguments.get(argument)
        if dim is None:
            default = next(a for a in schema_arguments(self.row.name) if a.name == argument)
            dim = default.default_value if default.default not in (None, "None") else None
        return math.prod(sizes) if not isinstance(dim, int) else sizes[dim] if sizes else 1

    def _sizes(self, fact: TensorFact) -> Sizes:
        if fact is JOINED:
            return self._next_joined()
        if fact.relation == "free":
            return self._free(fact)
        base = self.arguments[fact.of]
        sizes: list[int] = list(cases_of(base)[0].sizes)
        if fact.relation == "to":
            return self._broadcast_to(sizes)
        axis = None
        if fact.dim and sizes:
            dim = self.arguments.get(fact.dim)
            axis = None if dim is None else dim % len(sizes)
            if dim is None and fact.relation == "like":
                return (self._letter(fact.size) if fact.size else self._fresh(),)
        if fact.relation == "within":
            for k, n in enumerate(sizes):
                if k != axis or fact.kind == "distinct":
                    sizes[k] = n - self.digits.below(min(n, 1 if self.ranked else 2) + 1) if n else 0
                else:
                    sizes[k] = self._fresh() if n else 0
        elif axis is not None:
            sizes[axis] = self._letter(fact.size) if fact.size else self._fresh()
        return tuple(sizes)

    def _broadcast_to(self, sizes: list[int]) -> Sizes:
        drop = self.digits.below(len(sizes) + 1) if self.digits.below(2) else 0
        kept = tuple([1 if self.digits.below(3) == 1 else n for n in sizes][drop:])
        if self.relation == "equal" or (self.ranked and not self.relation):
            return tuple(sizes)
        return tuple(sizes[1:]) if self.relation and kept == tuple(sizes) else kept

    def _next_joined(self) -> Sizes:
        """The sizes of the next operand of those that broadcast together."""
        if self.joined is None:
            self._free(TensorFact("free", ("*",)))
            names = {f for f, fact in self.facts.items() if not isinstance(fact, TensorFact)}
            count = sum(a.base_type == "Tensor" and a.name not in names for a in schema_arguments(self.row.name))
            self.joined = self._joined_sizes(self.star or (), count)
        return self.joined.pop(0) if self.joined else self.star or ()

    def _joined_sizes(self, whole: Sizes, count: int) -> list[Sizes]:
        alone = self.relation == "equal" or (self.shape and not self.relation)
        if count < 2 or self.wide or alone:
            return [whole] * count
        sizes = [narrowed(whole, self.digits) for _ in range(count)]
        chosen = self.digits.below(count)
        if self.relation and all(s == whole for s in sizes):
            # One operand at least is broadcast, along a dim or along the leading ones.
            fewer = [tuple(1 if k == 0 else n for k, n in enumerate(whole)), whole[1:]]
            sizes[chosen] = fewer[self.digits.below(2)]
        if self.writable:
            sizes[0] = whole
        elif self.relation and not any(s == whole for s in sizes):
            sizes[(chosen + 1) % count] = whole
        return sizes

    def _free(self, fact: TensorFact) -> Sizes:
        dims: list[int] = []
        for word in fact.dims[self._missing(fact) :]:
            word = word.rstrip("?")
            if word == "*":
                if self.star is None:
                    self.star = self._star(len(fact.dims) - 1)
                dims += self.star
            elif word.isdigit():
                dims.append(int(word))
            else:
                most = None
                if fact.kind == "distinct" and fact.index is not None:
                    most = math.prod(self._first.sizes) if not fact.index else self._size_along(fact.index)
                size = self._letter(word[0], most)
                single = word.endswith("~") and size and not self._to_be_written and self._is_single()
                dims.append(1 if single else size)
        return tuple(dims)

    def _is_single(self) -> bool:
        drawn = self.digits.below(3)
        return drawn > 0 if self.relation == "broadcast" else drawn == 2 and not (self.relation or self.ranked)

    def _star(self, others: int) -> Sizes:
        """Return the sizes that * stands for beside so many ``others``."""
        most = 2 if others else 3
        drawn = small_sizes(self.digits, min(self.least, most), most, self.empty)
        if not others and (self.deep or self.wide):
            return deep_sizes(self.digits) if self.deep else (threshold(self.digits, False),)
        if self.shape in ("", "long"):
            return drawn
        if self.shape in ("ones", "empty"):
            rank = 1 + self.digits.below(most)
            place = self.digits.below(2 * rank)
            self.odd = True
            sizes = [self._fresh() for _ in range(rank)]
            self.odd = place < rank
            if place < rank and (self.shape == "ones" or self.empty):
                sizes[place] = int(self.shape == "ones")
            return tuple(sizes)
        rank = max(self.least, min(int(self.shape) - others, most if others else DEEPEST))
        return tuple(self._fresh() for _ in range(max(rank, 0)))

    def _missing(self, fact: TensorFact) -> int:
        """Return the number of leading dims that are left out."""
        most = max((k + 1 for k, word in enumerate(fact.dims) if word.endswith("?")), default=0)
        missing = self.digits.below(most + 1) if most and not self._to_be_written else 0
        if self.relation != "equal":
            return missing
        # As many as give the operand the dims of the first.
        more = len(fact.dims) - len(self._first.sizes) if any(map(cases_of, self.arguments.values())) else 0
        return max(0, min(most, more))

    def _letter(self, letter: str, most: int | None = None) -> int:
        if letter not in self.letters:
            size = SEVERAL[self.wish.turn % len(SEVERAL)] if self.square else self._fresh()
            self.letters[letter] = size if most is None else min(size, most)
        return self.letters[letter]

    def _fresh(self) -> int:
        drawn = self.digits.pick(_LETTERS if self.empty else _LETTERS[:-1])
        if self.shape in ("", "0", "long"):
            return drawn
        self.taken += 1
        if self.shape in ("ones", "empty") and not self.odd and self.choice >> self.taken & 1:
            self.odd = True
            return 1 if self.shape == "ones" or not self.empty else 0
        return SEVERAL[(self.wish.turn + self.taken if self.wish.turn else drawn) % len(SEVERAL)]


@cache
def _of_several_shapes(operator: str, form: int) -> bool:
    """Return whether the facts of a form name the free sizes of operands differently."""
    facts = forms_of(operator)[form].values()
    return len({tuple(word.rstrip("~?") for word in fact.dims) for fact in facts if _is_free(fact)}) > 1


def _is_free(fact: Fact) -> TypeGuard[TensorFact]:
    return isinstance(fact, TensorFact) and fact.relation == "free"
