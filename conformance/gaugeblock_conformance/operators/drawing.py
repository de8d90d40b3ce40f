"""Calls of any operator of the table, drawn from its schema and the facts of ``samples/*.yaml``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.samples import Fact, NumberFact, TensorFact
from gaugeblock_spec.schema import Argument

from ..backend import Array, DType
from ..case import TensorCase
from ..iteration.samples import choices
from ..oracles.ordering import comparable
from ..oracles.promotion import FLOAT, KIND, result_type
from ..strategies.code import Digits
from ..strategies.shapes import Sizes, deep_sizes, small_sizes, threshold
from ..strategies.tensors import LAYOUTS, WRITABLE, lay_apart, lay_out
from ..values import COMPLEX, FLOATS
from .calls import OperatorCall, cases_of, forms_of, schema_arguments
from .elements import HELD, distinct_places, holding, places, with_elements

CODE_LENGTH = 200
# What a byte behind the code asks for: operands that lie apart in memory, and arguments that differ from their default.
APART, GIVEN = 1, 2
# The number of the form stands above them.
FORM = 4
_SEEDS = 2**20
_LETTERS = (2, 3, 1, 4, 5, 0)
_SEVERAL = (3, 2, 4, 5)
# What the elements of an operand are where its fact does not say: everything, unless sums of them are judged.
_KINDS = {"reduction": "finite", "scan": "small", "linalg": "finite", "pointwise": "hard", "network": "small"}
# Flags that no value depends on.
_LEFT_OUT = frozenset("non_blocking copy sparse_grad implicit assume_unique pin_memory sorted".split())
# Operators that give every operand dims before they join them.
_LIFTED = frozenset("hstack vstack dstack column_stack".split())
# Rows that give an operand without dims those of the result before dtypes are joined.
_EXPANDED = frozenset(("addr", "kron"))
# Factories that round their numbers to a dtype of integers before they count.
_STEPPED = frozenset({"arange", "linspace", "logspace"})
_NO_TENSOR_TYPES = ("Layout", "Device", "MemoryFormat", "Generator")


class _Impossible(Exception):
    """The sizes drawn leave a later argument without any value."""


def drawable(operator: str) -> bool:
    """Whether every argument that a call must have can be drawn."""
    return all(
        argument.default is not None or argument.name in facts or _by_rule(argument)
        for facts in forms_of(operator)
        for argument in schema_arguments(operator)
    )


def _by_rule(argument: Argument) -> bool:
    return argument.type in ("Tensor", "Tensor[]", "Scalar", "bool", "ScalarType") or _rule(argument) != ""


def _rule(argument: Argument) -> str:
    """The rule that type and name of an argument stand for."""
    if not argument.name.startswith(("dim", "axis")) or argument.base_type not in ("int", "SymInt"):
        return ""
    return "dims" if argument.is_list else "dim"


def draw(
    operator: str, code: bytes, dtype: str | None = None, writable: bool = False, least: int = 0
) -> OperatorCall:
    """The call that ``code`` stands for; zeros give the simplest.

    A byte behind the first ``CODE_LENGTH`` asks for more: with ``APART`` no operand of two elements and more is
    contiguous, and no dim is drawn with fewer, with ``GIVEN`` no argument is left out and none that is drawn from a few
    has its default; the multiple of ``FORM`` is the number of the form, counted round. Without it any form is drawn.
    ``least`` is the smallest number of dims that * may stand for; ``dtype`` fixes the dtype of the operands;
    ``writable`` gives the first tensor a layout without overlaps, and sizes that no other operand enlarges (always so
    for rows that only exist in place).
    """
    writable = writable or operator.partition(".")[0].endswith("_")
    for empty in (True, False):
        try:
            return _Drawing(operator, code, dtype, writable, empty, least).call()
        except _Impossible:
            continue
    raise LookupError(f"{operator}: its samples leave no call")


class _Drawing:
    def __init__(
        self, operator: str, code: bytes, dtype: str | None, writable: bool, empty: bool, least: int
    ) -> None:
        row = operators.load()[operator]
        digits = Digits(code[:CODE_LENGTH])
        self.choice = int.from_bytes(code[:CODE_LENGTH][-3:], "big")
        asked = code[CODE_LENGTH] if len(code) > CODE_LENGTH else 0
        self.apart, self.given = bool(asked & APART), bool(asked & GIVEN)
        self.least = least
        self.row, self.digits, self.writable, self.empty = row, digits, writable, empty
        forms = forms_of(operator)
        drawn = asked // FORM % len(forms) if len(code) > CODE_LENGTH else digits.below(len(forms))
        self.facts = forms[drawn]
        self.arguments: dict[str, Any] = {}
        self.drawn: set[str] = set()
        self.letters: dict[str, int] = {}
        self.star: Sizes | None = None
        size = digits.below(10)
        self.wide, self.deep = size == 9 and not self.apart, size == 8 and not self.apart
        self.seed = digits.below(_SEEDS)
        names = tuple(sorted(row.dtypes, key=lambda name: (name not in FLOATS, name)))
        self.dtype = dtype or digits.pick(names)
        self.mixed = dtype is None and row.promotion in ("default", "int_to_float") and digits.below(3) == 2
        self.mixed = self.mixed and row.family != "network" and row.base_name != "gradient"
        self.names = names

    def call(self) -> OperatorCall:
        declared = schema_arguments(self.row.name)
        tensors = [a for a in declared if a.base_type == "Tensor"]
        named = {f.dim for f in self.facts.values() if isinstance(f, TensorFact)}
        named |= {f.index for f in self.facts.values() if isinstance(f, TensorFact) and f.index}
        highs = [f.high for f in self.facts.values() if isinstance(f, NumberFact)]
        named |= {high[5:-1] for high in highs if high.startswith("size(")}
        # The first tensor, then the dims that others speak of.
        early = [*tensors[:1], *(a for a in declared if a.name in named)]
        for argument in (*early, *declared):
            if argument.name not in self.drawn:
                self._take(argument)
        self.arguments = {a.name: self.arguments[a.name] for a in declared if a.name in self.arguments}
        free = [c for a in tensors for c in cases_of(self.arguments.get(a.name)) if not self._own_dtypes(a.name)]
        lifted = self.row.base_name in _LIFTED
        dims, dimless = [[c.dtype for c in free if bool(c.sizes or lifted) is some] for some in (True, False)]
        if self.row.base_name in _EXPANDED:
            dims, dimless = dims + dimless, []
        dtype = result_type(dims, dimless) if free else self.dtype
        return OperatorCall(self.row.name, self.arguments, dtype, self.choice, self.facts)

    def _take(self, argument: Argument) -> None:
        self.drawn.add(argument.name)
        value = self._argument(argument)
        if value is not None or (argument.optional and argument.default is None):
            self.arguments[argument.name] = value

    def _own_dtypes(self, name: str) -> tuple[str, ...]:
        fact = self.facts.get(name)
        if not isinstance(fact, TensorFact):
            return ()
        return fact.dtypes or (("int64",) if fact.index is not None else ())

    def _argument(self, argument: Argument) -> Any:
        fact: Fact | None = self.facts.get(argument.name)
        if argument.base_type == "Tensor":
            if isinstance(fact, NumberFact) or (fact is None and argument.default is not None):
                return None
            tensor = fact if isinstance(fact, TensorFact) else self._default_tensor()
            if (argument.default is not None or argument.optional) and not tensor.given and self._left_out():
                return None
            if argument.is_list:
                return self._list(argument, tensor)
            return self._tensor(argument.name, tensor)
        if isinstance(fact, NumberFact):
            return self._number(argument, fact)
        return self._by_type(argument)

    def _list(self, argument: Argument, fact: TensorFact) -> list[TensorCase]:
        if fact.parts:
            return [self._tensor(argument.name, part, k) for k, part in enumerate(fact.parts)]
        parts = [self._tensor(argument.name, fact)]
        more = self.digits.below(3)
        if not fact.dim:
            return parts + [self._tensor(argument.name, fact, k + 1) for k in range(more)]
        self.arguments[argument.name] = parts
        for other in schema_arguments(self.row.name):
            if other.name == fact.dim:
                self._take(other)
        axis = self.arguments.get(fact.dim, 0) % max(len(parts[0].sizes), 1)
        for k in range(more):
            part = self._tensor(argument.name, fact, k + 1, (axis, self._fresh()))
            parts.append(part)
        return parts

    def _default_tensor(self) -> TensorFact:
        first = next((n for n, v in self.arguments.items() if cases_of(v)), None)
        return TensorFact("free", ("*",)) if first is None else TensorFact("like", of=first)

    def _by_type(self, argument: Argument) -> Any:
        if argument.base_type == "ScalarType":
            return self._asked(argument)
        if argument.name in _LEFT_OUT or argument.base_type in _NO_TENSOR_TYPES:
            return None
        rule = _rule(argument)
        if rule:
            if argument.optional and self._left_out():
                return None
            return self._dim() if rule == "dim" else self._dims(argument)
        if argument.base_type == "bool" and self.given:
            return argument.default != "True"
        if argument.base_type == "bool":
            return None if self.digits.below(2) == 0 and argument.default is not None else self.digits.below(2) == 1
        options = choices(argument, self.dtype)
        if options is not None and self.given and argument.default is not None and len(options) > 1:
            return self.digits.pick([value for value in options if value != argument.default_value])
        return None if options is None else self.digits.pick(options)

    def _left_out(self) -> bool:
        return self.digits.below(3) == 2 and not self.given

    def _asked(self, argument: Argument) -> DType | None:
        """A dtype to convert to, of no lower kind than the operands; any where there are none but numbers."""
        if argument.optional and (self.digits.below(4) != 3 or self.row.family == "random" or self.writable):
            return None
        any_kind = self.row.family == "factory" and self.row.base_name not in _STEPPED
        mine = KIND[self.dtype] if any(cases_of(v) for v in self.arguments.values()) else 0 if any_kind else FLOAT
        # No running sum or product is a bool, though bools are taken.
        higher = [n for n in self.names if KIND[n] >= mine and (n != "bool" or self.row.family != "scan")]
        # A norm takes no dtype that is narrower than its operand's.
        return DType(self.dtype if self.row.result == "real" or not higher else self.digits.pick(higher))

    # Numbers.

    def _number(self, argument: Argument, fact: NumberFact) -> Any:
        if fact.rule:
            if argument.optional and fact.rule != "given_dim" and self._left_out():
                return None
            if fact.rule == "size":
                return tuple(small_sizes(self.digits, 0, 3, self.empty))
            if fact.rule == "new_dim":
                return self._dim(1)
            return self._dims(argument) if fact.rule == "dims" else self._dim()
        if fact.choices:
            return self.digits.pick(fact.choices)
        low, high = self._bound(fact.low), self._bound(fact.high)
        if high < low:
            raise _Impossible
        return low + self.digits.below(high - low + 1)

    def _bound(self, text: str) -> int:
        if text.startswith("size("):
            return self._size_along(text[5:-1])
        if text.isalpha():
            return self._letter(text)
        return int(text)

    @property
    def _to_be_written(self) -> bool:
        return self.writable and not any(cases_of(value) for value in self.arguments.values())

    @property
    def _first(self) -> TensorCase:
        return next(case for value in self.arguments.values() for case in cases_of(value))

    def _dim(self, more: int = 0) -> int:
        rank = max(len(self._first.sizes) + more, 1)
        dim = self.digits.below(rank)
        return dim - rank if self.digits.below(3) == 2 else dim

    def _dims(self, argument: Argument) -> tuple[int, ...]:
        """Distinct dims, none of them where the schema allows that and the tensor has none."""
        rank = len(self._first.sizes)
        if rank == 0:
            return ()
        chosen = 1 + self.digits.below(2**rank - 1)
        dims = [k for k in range(rank) if chosen >> k & 1]
        if self.digits.below(2):
            dims.reverse()
        return tuple(k - rank if self.digits.below(3) == 2 else k for k in dims)

    def _size_along(self, argument: str) -> int:
        sizes = self._first.sizes
        dim = self.arguments.get(argument)
        if dim is None:
            default = next(a for a in schema_arguments(self.row.name) if a.name == argument)
            dim = default.default_value if default.default not in (None, "None") else None
        return math.prod(sizes) if not isinstance(dim, int) else sizes[dim] if sizes else 1

    # Tensors.

    def _tensor(
        self, name: str, fact: TensorFact, place: int = 0, other: tuple[int, int] | None = None
    ) -> TensorCase:
        """A tensor of the fact; the ``place``-th of a list, with another (dim, size)."""
        dims = self._sizes(fact)
        if other is not None and dims:
            dims = (*dims[: other[0]], other[1], *dims[other[0] + 1 :])
        first = not place and not any(cases_of(value) for value in self.arguments.values())
        strict = self._to_be_written or fact.kind in HELD
        layout = self.digits.pick(WRITABLE if strict else LAYOUTS) if not fact.packed else "contiguous"
        own = self._own_dtypes(name)
        shared = place > 0 and self.dtype in own
        dtype = self.dtype if shared else self.digits.pick(own) if own else self._operand_dtype(first, dims)
        if first and len(own) > 1:
            self.dtype = dtype
        kind = "finite" if fact.kind in HELD else fact.kind or _KINDS.get(self.row.family, "hard")
        if self.row.family == "pointwise" and KIND[dtype] < FLOAT:
            # Division by zero, and of the smallest integer by -1, are matters of the chapter on dtypes.
            kind = "positive"
        seed = self.seed + len(self.arguments) + 7 * place if self.seed else 0
        kind = kind if fact.index is None else "small"
        made = (lay_apart if self.apart and not fact.packed else lay_out)(dtype, dims, layout, kind, seed, self.digits)
        if fact.index is not None:
            return holding(made, self._places(fact, dims))
        if fact.kind == "sorter":
            return holding(made, np.argsort(comparable(self._first.array), axis=-1, kind="stable"))
        return with_elements(made, fact.kind, seed, self.seed)

    def _operand_dtype(self, first: bool, dims: Sizes) -> str:
        if first or not self.mixed:
            return self.dtype
        other = self.digits.pick(self.names)
        dimless = not all(case.sizes for value in self.arguments.values() for case in cases_of(value))
        if (dimless or not dims) and "float16" in (self.dtype, other):
            # There is no complex number of two of them.
            return self.dtype
        # One without dims may be outvoted, where a complex dtype of the width of float16 would come out.
        pair = {self.dtype, other}
        nameless = "float16" in pair and not pair.isdisjoint(COMPLEX)
        return other if not nameless and result_type([*pair]) in self.row.dtypes else self.dtype

    def _places(self, fact: TensorFact, dims: Sizes) -> Array:
        """Numbers of places: along a dim of the first tensor, or in it flattened."""
        size = math.prod(self._first.sizes) if not fact.index else self._size_along(fact.index)
        count = math.prod(dims)
        if count and not size:
            raise _Impossible
        if fact.kind != "distinct":
            return places(size, dims, self.seed)
        return distinct_places(size, dims, self.arguments[str(fact.index)] if len(dims) > 1 else 0, self.seed)

    def _sizes(self, fact: TensorFact) -> Sizes:
        if fact.relation == "free":
            return self._free(fact)
        base = self.arguments[fact.of]
        sizes: list[int] = list(cases_of(base)[0].sizes)
        if fact.relation == "to" and not self.apart:
            drop = self.digits.below(len(sizes) + 1) if self.digits.below(2) else 0
            kept = [1 if self.digits.below(3) == 1 else n for n in sizes]
            return tuple(kept[drop:])
        if fact.relation == "to":
            return tuple(sizes)
        axis = None
        if fact.dim and sizes:
            dim = self.arguments.get(fact.dim)
            axis = None if dim is None else dim % len(sizes)
            if dim is None and fact.relation == "like":
                return (self._letter(fact.size) if fact.size else self._fresh(),)
        if fact.relation == "within":
            for k, n in enumerate(sizes):
                if k != axis or fact.kind == "distinct":
                    sizes[k] = n - self.digits.below(min(n, 1 if self.apart else 2) + 1) if n else 0
                else:
                    sizes[k] = self._fresh() if n else 0
        elif axis is not None:
            sizes[axis] = self._letter(fact.size) if fact.size else self._fresh()
        return tuple(sizes)

    def _free(self, fact: TensorFact) -> Sizes:
        dims: list[int] = []
        for word in fact.dims[self._missing(fact) :]:
            word = word.rstrip("?")
            if word == "*":
                if self.star is None:
                    most = 3 if len(fact.dims) == 1 else 2
                    self.star = small_sizes(self.digits, min(self.least, most), most, self.empty)
                    if self.apart:
                        self.star = tuple(self._fresh() for _ in range(2 + self.digits.below(most - 1)))
                    if self.deep and fact.dims == ("*",):
                        self.star = deep_sizes(self.digits)
                    if self.wide and fact.dims == ("*",):
                        self.star = (threshold(self.digits, False),)
                dims += self.star
            elif word.isdigit():
                dims.append(int(word))
            else:
                most = None
                if fact.kind == "distinct" and fact.index is not None:
                    most = math.prod(self._first.sizes) if not fact.index else self._size_along(fact.index)
                size = self._letter(word[0], most)
                single = word.endswith("~") and size and self.digits.below(3) == 2 and not self._to_be_written
                single = single and not self.apart
                dims.append(1 if single else size)
        return tuple(dims)

    def _missing(self, fact: TensorFact) -> int:
        """How many of the first dims are left out."""
        most = max((k + 1 for k, word in enumerate(fact.dims) if word.endswith("?")), default=0)
        return self.digits.below(most + 1) if most and not self._to_be_written else 0

    def _letter(self, letter: str, most: int | None = None) -> int:
        if letter not in self.letters:
            size = self._fresh()
            self.letters[letter] = size if most is None else min(size, most)
        return self.letters[letter]

    def _fresh(self) -> int:
        if self.apart:
            return self.digits.pick(_SEVERAL)
        return self.digits.pick(_LETTERS if self.empty else _LETTERS[:-1])
