"""Calls of any operator of the table, drawn from its schema and the facts of ``samples/*.yaml``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.samples import Fact, NumberFact, TensorFact
from gaugeblock_spec.schema import Argument

from ..backend import Array, DType
from ..case import TensorCase
from ..oracles.ordering import comparable
from ..oracles.pointwise import has_oracle
from ..oracles.promotion import FLOAT, KIND, result_type
from ..strategies.shapes import Sizes, small_sizes
from ..strategies.tensors import CLASSES, LAYOUTS, WRITABLE, WRITABLE_CLASSES, lay_as, lay_out
from ..values import COMPLEX, FLOATS
from .calls import OperatorCall, cases_of, forms_of, schema_arguments
from .elements import HELD, distinct_places, holding, places, with_elements
from .numbers import choices, operands_of, promoting, settled
from .sizing import JOINED, Impossible, Sizing
from .wishes import GIVEN, LEFT_OUT, MIXED

_SEEDS = 2**20
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
# Operators whose second operand is judged by its own dtype, or takes no other.
_UNMIXED = frozenset({"ldexp", "gradient"})
_HALVES = frozenset(("float16", "bfloat16"))
_NO_TENSOR_TYPES = ("Layout", "Device", "MemoryFormat", "Generator")


@cache
def drawable(operator: str) -> bool:
    """Return whether every argument that a call must have can be drawn."""
    return all(
        argument.default is not None or argument.name in facts or _by_rule(argument)
        for facts in forms_of(operator)
        for argument in schema_arguments(operator)
    )


@cache
def _in_order(operator: str, form: int) -> tuple[Argument, ...]:
    """The arguments of a row in the order in which they are drawn: the first tensor, then the dims that the facts of
    others speak of, and all."""
    facts, declared = forms_of(operator)[form].values(), schema_arguments(operator)
    named = {f.dim for f in facts if isinstance(f, TensorFact)}
    named |= {f.index for f in facts if isinstance(f, TensorFact) and f.index}
    highs = [f.high for f in facts if isinstance(f, NumberFact)]
    named |= {high[5:-1] for high in highs if high.startswith("size(")}
    first = [a for a in declared if a.base_type == "Tensor"][:1]
    return (*dict.fromkeys((*first, *(a for a in declared if a.name in named), *declared)),)


def _by_rule(argument: Argument) -> bool:
    return argument.type in ("Tensor", "Tensor[]", "Scalar", "bool", "ScalarType") or _rule(argument) != ""


def _rule(argument: Argument) -> str:
    """The rule that type and name of an argument stand for."""
    if not argument.name.startswith(("dim", "axis")) or argument.base_type not in ("int", "SymInt"):
        return ""
    return "dims" if argument.is_list else "dim"


def draw(
    operator: str, code: bytes, dtype: str | None = None, writable: bool = False, least: int = 0, kind: str = ""
) -> OperatorCall:
    """The call that ``code`` stands for; zeros give the simplest.

    What stands behind the first ``CODE_LENGTH`` bytes is a wish of :mod:`.wishes`. ``least`` is the smallest number of
    dims that * may stand for; ``dtype`` fixes the dtype of the operands; ``writable`` gives the first tensor a layout
    without overlaps, and sizes that no other operand enlarges (always so for rows that only exist in place); ``kind``
    is what the elements of an operand are where its fact does not say.
    """
    writable = writable or operator.partition(".")[0].endswith("_")
    for empty in (True, False):
        try:
            return Drawing(operator, code, dtype, writable, empty, least, kind).call()
        except Impossible:
            continue
    raise LookupError(f"{operator}: its samples leave no call")


class Drawing(Sizing):
    """A call that is being drawn, argument by argument."""

    def __init__(
        self, operator: str, code: bytes, dtype: str | None, writable: bool, empty: bool, least: int, kind: str
    ) -> None:
        super().__init__(operator, code, writable, empty, least)
        digits, row = self.digits, self.row
        self.kind = kind
        self.drawn: set[str] = set()
        self.seed = digits.below(_SEEDS)
        names, dtypes = dtypes_in_order(operator), self.wish.dtype
        picked, mixed = digits.pick(names), digits.below(3) == 2
        self.dtype = dtype or (names[(dtypes - 1) % len(names)] if dtypes not in (0, MIXED) else picked)
        self.mixed = dtype is None and (dtypes == MIXED or (mixed and not dtypes)) and promotes(row.name)
        self.names = names

    def call(self) -> OperatorCall:
        for argument in _in_order(self.row.name, self.form):
            if argument.name not in self.drawn:
                self._take(argument)
        given = self.arguments
        self.arguments = {a.name: given[a.name] for a in schema_arguments(self.row.name) if a.name in given}
        free = [c for name, v in self.arguments.items() for c in cases_of(v) if not self._own_dtypes(name)]
        lifted = self.row.base_name in _LIFTED
        dims, dimless = [[c.dtype for c in free if bool(c.sizes or lifted) is some] for some in (True, False)]
        if self.row.base_name in _EXPANDED:
            dims, dimless = dims + dimless, []
        dtype = result_type(dims, dimless) if free else self.dtype
        if has_oracle(self.row.name):
            dtype = self._settled(dtype, bool(free))
        return OperatorCall(self.row.name, self.arguments, dtype, self.choice, self.facts, self.writable)

    def _settled(self, dtype: str, free: bool) -> str:
        """Settle the numbers of a pointwise operator, sometimes of a higher kind than the operands, and give the dtype
        with them counted in."""
        numbers = {name: value for name, value in self.arguments.items() if not cases_of(value)}
        if not free:
            return result_type((), (), operands_of(numbers)) if operands_of(numbers) else dtype
        if self.row.promotion in ("default", "int_to_float") and self.digits.below(5) == 4 and not self.writable:
            numbers |= promoting(numbers, dtype, self.row.dtypes, self.digits.below(8))
        numbers, dtype = settled(numbers, dtype)
        self.arguments |= numbers
        return dtype

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
            if (argument.default is not None or argument.optional) and not tensor.given and self._left_out(argument):
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
        if self.row.family == "pointwise":
            return JOINED
        first = next((n for n, v in self.arguments.items() if cases_of(v)), None)
        return TensorFact("free", ("*",)) if first is None else TensorFact("like", of=first)

    def _by_type(self, argument: Argument) -> Any:
        if argument.base_type == "ScalarType":
            return self._asked(argument)
        if left_to_default(argument):
            return None
        rule = _rule(argument)
        if rule:
            if argument.optional and self._left_out(argument):
                return None
            return self._dim() if rule == "dim" else self._dims(argument)
        if argument.base_type == "bool":
            return self._truth(argument)
        options = choices(argument, self.dtype)
        if options is None:
            return None
        if argument.type == "Scalar?" and self.row.family == "pointwise":
            return None if self._is_spare(argument) else self._picked(argument, options, needed=True)
        return self._picked(argument, options)

    def _is_spare(self, argument: Argument) -> bool:
        """Return whether a number is left out; one at least of several stays."""
        last = argument is schema_arguments(self.row.name)[-1]
        given = any(not cases_of(value) and value is not None for value in self.arguments.values())
        left_out = self.digits.below(4) == 3
        wished = self.wished.get(argument.name, 0)
        return (given or not last) and (wished == LEFT_OUT or (left_out and not wished))

    def _truth(self, argument: Argument) -> bool | None:
        wished = self.wished.get(argument.name, 0)
        left_out, drawn = self.digits.below(2) == 0, self.digits.below(2) == 1
        if wished == GIVEN:
            return argument.default != "True"
        if wished and wished != LEFT_OUT:
            return wished % 2 == 0
        return None if (left_out or wished == LEFT_OUT) and argument.default is not None else drawn

    def _picked(self, argument: Argument, options: Sequence[Any], needed: bool = False) -> Any:
        """The value that is wished for, one beside the default, or any."""
        wished = self.wished.get(argument.name, 0)
        drawn = self.digits.pick(options)
        if wished == LEFT_OUT and argument.default is not None and not needed:
            return None
        if wished == GIVEN:
            other = [value for value in options if argument.default is None or value != argument.default_value]
            return other[self.digits.below(len(other))] if other else drawn
        return options[(wished - 1) % len(options)] if wished and wished != LEFT_OUT else drawn

    def _left_out(self, argument: Argument) -> bool:
        drawn = self.digits.below(3) == 2
        wished = self.wished.get(argument.name, 0)
        return drawn if not wished else wished == LEFT_OUT

    def _asked(self, argument: Argument) -> DType | None:
        """A dtype to convert to, of no lower kind than the operands; any where there are none but numbers."""
        wished = self.wished.get(argument.name, 0)
        drawn = self.digits.below(4) == 3
        given = drawn if not wished else wished != LEFT_OUT
        if argument.optional and (not given or self.row.family == "random" or self.writable):
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
            if argument.optional and fact.rule != "given_dim" and self._left_out(argument):
                return None
            if fact.rule == "size":
                return tuple(small_sizes(self.digits, 0, 3, self.empty))
            if fact.rule == "new_dim":
                return self._dim(1)
            return self._dims(argument) if fact.rule == "dims" else self._dim()
        if fact.choices:
            return self._picked(argument, fact.choices)
        low, high = self._bound(fact.low), self._bound(fact.high)
        if high < low:
            raise Impossible
        drawn, wished = low + self.digits.below(high - low + 1), self.wished.get(argument.name, 0)
        return {1: low, 2: high}.get(wished, drawn)

    def _bound(self, text: str) -> int:
        if text.startswith("size("):
            return self._size_along(text[5:-1])
        if text.isalpha():
            return self._letter(text)
        return int(text)

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
        wished = self.wished.get(name, 0)
        own = self._own_dtypes(name)
        shared = place > 0 and self.dtype in own
        dtype = self.dtype if shared else self._one_of(own) if own else self._operand_dtype(first, dims)
        if first and len(own) > 1:
            self.dtype = dtype
        kind = "finite" if fact.kind in HELD else fact.kind or self.kind or _KINDS.get(self.row.family, "hard")
        if self.row.family == "pointwise" and KIND[dtype] < FLOAT and not self.kind:
            # Division by zero, and of the smallest integer by -1, are matters of the chapter on dtypes.
            kind = "positive"
        seed = self.seed + len(self.arguments) + 7 * place if self.seed else 0
        kind = kind if fact.index is None else "small"
        if 0 < wished <= len(CLASSES) and not fact.packed:
            classes = CLASSES[: WRITABLE_CLASSES if strict else len(CLASSES)]
            made = lay_as(dtype, dims, classes[(wished - 1 + place) % len(classes)], kind, seed, self.digits)
        else:
            made = lay_out(dtype, dims, layout, kind, seed, self.digits)
        if fact.index is not None:
            return holding(made, self._places(fact, dims))
        if fact.kind == "sorter":
            return holding(made, np.argsort(comparable(self._first.array), axis=-1, kind="stable"))
        return with_elements(made, fact.kind, seed, self.seed)

    def _one_of(self, dtypes: Sequence[str]) -> str:
        return self.digits.pick(dtypes)

    def _operand_dtype(self, first: bool, dims: Sizes) -> str:
        if first or not self.mixed:
            return self.dtype
        other = self.digits.pick(self.names)
        if self.row.family == "pointwise" and not _HALVES.isdisjoint((self.dtype, other)) and self._has_single(dims):
            # An operand of one element need not be rounded to the dtype of the others first.
            return self.dtype
        dimless = not all(case.sizes for value in self.arguments.values() for case in cases_of(value))
        if (dimless or not dims) and "float16" in (self.dtype, other):
            # There is no complex number of two of them.
            return self.dtype
        # One without dims may be outvoted, where a complex dtype of the width of float16 would come out.
        pair = {self.dtype, other}
        nameless = "float16" in pair and not pair.isdisjoint(COMPLEX)
        return other if not nameless and result_type([*pair]) in self.row.dtypes else self.dtype

    def _has_single(self, dims: Sizes) -> bool:
        sizes = [*(case.sizes for value in self.arguments.values() for case in cases_of(value)), *(self.joined or ())]
        return 1 in map(math.prod, (dims, *sizes))

    def _places(self, fact: TensorFact, dims: Sizes) -> Array:
        """Numbers of places: along a dim of the first tensor, or in it flattened."""
        size = math.prod(self._first.sizes) if not fact.index else self._size_along(fact.index)
        count = math.prod(dims)
        if count and not size:
            raise Impossible
        if fact.kind != "distinct":
            return places(size, dims, self.seed)
        return distinct_places(size, dims, self.arguments[str(fact.index)] if len(dims) > 1 else 0, self.seed)


@cache
def promotes(operator: str) -> bool:
    """Return whether operands of two dtypes are computed in one that is common to them, and drawn so."""
    row = operators.load()[operator]
    return row.promotion in ("default", "int_to_float") and row.family != "network" and row.base_name not in _UNMIXED


@cache
def dtypes_in_order(operator: str) -> tuple[str, ...]:
    """The dtypes of a row, floats first."""
    return tuple(sorted(operators.load()[operator].dtypes, key=lambda name: (name not in FLOATS, name)))


def left_to_default(argument: Argument) -> bool:
    """Return whether an argument is never given, since no value depends on it."""
    return argument.name in _LEFT_OUT or argument.base_type in _NO_TENSOR_TYPES
