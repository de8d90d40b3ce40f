"""Rows of an adapter for what its library documents differently from the spec.

An adapter may have a member ``rules``, a sequence of :class:`OwnRule`. Where one of them applies the library is asked
what it says of itself, and reports list that under "asked by its own rules", with the sentence and its source:

    rules = (
        OwnRule("dtypes", ("argmax", "argmin"), {"int64": "uint32"},
                "The output is a uint32 array with the indices.", "https://.../mlx.core.argmax.html"),
    )

========== ================================================== ==================================================
kind       ``holds``                                          what is asked
========== ================================================== ==================================================
exceptions the spec's class -> the library's class or classes refused calls may raise these as well
dtypes     the spec's dtype -> the library's                  results of the one dtype have the other
refusals   the classes that are not promised; none: all       calls that the spec has raise them are not made
texts      nothing                                            refused calls may say anything
values     names of :data:`OPEN`                              elements where that is so may be anything
strides    nothing, or ``"no elements"``                      results, or those without elements, may have any
sharing    nothing                                            results may be views, copies or the argument itself
addresses  nothing                                            fresh tensors may lie at any address
========== ================================================== ==================================================

``operators`` are names of ``gaugeblock operators``: ``add.Tensor`` is one overload, ``add`` all of them with their
in-place and ``out=`` forms, ``*`` every operator; or Python's own, such as ``__getitem__``. Of several results
``max.dim[1]`` is the second.
"""

from __future__ import annotations

import operator as python
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from gaugeblock_spec import operators as spec

from .backend import NUMPY_NAMES, Array, dtype_name
from .backend_interop import CALLS as EXCHANGES
from .comparison import ulp_distance
from .dialect import METHODS
from .problem import shown, unknown
from .reach import Dims, reached
from .values import FLOATS

KINDS = ("exceptions", "dtypes", "refusals", "texts", "values", "strides", "sharing", "addresses")
LEAVING_OUT = ("refusals", "texts", "values", "strides", "sharing", "addresses")
"""Kinds by which something is not asked at all."""
ALL = "*"
MOST = 200
"""Largest number of rules of a backend."""
_LONGEST = 1000
_FEW = 8
"""Number of operators that a rule's name lists."""
_PLACE = re.compile(r"\[(\d)\]$")
_SOURCE = re.compile(r"https?://\S+$")

Condition = Callable[[Array, Array, Sequence[Array]], Array | bool]
_ROUNDINGS = 4.0
"""Units in the last place of the largest element by which roundings of its own may change a result."""


def _everything(got: Array, want: Array, operands: Sequence[Array]) -> bool:
    return True


def _any_operand(test: Callable[[Array], Any]) -> Condition:
    return lambda got, want, operands: any(bool(np.any(test(operand))) for operand in operands)


def _is_nan(array: Array) -> Array | bool:
    return np.not_equal(array, array)


def _is_infinite(array: Array) -> Array | bool:
    return np.isinf(array.astype(np.complex128)) if array.dtype.kind not in "biu" else False


def _is_subnormal(array: Array) -> Array | bool:
    """Return where elements are subnormal, or the smallest normal number, to which a subnormal may be rounded."""
    if array.dtype.kind == "c":
        return np.logical_or(_is_subnormal(array.real), _is_subnormal(array.imag))
    if dtype_name(array.dtype) not in FLOATS:
        return False
    limits: Any = ml_dtypes.finfo
    size = np.abs(array.astype(np.float64))
    return np.logical_and(size > 0, size <= float(limits(array.dtype).smallest_normal))


def _integer_zero_divisor(got: Array, want: Array, operands: Sequence[Array]) -> bool:
    whole = all(operand.dtype.kind in "biu" for operand in operands)
    return whole and len(operands) > 1 and bool(np.any(operands[1] == 0))


def _rounded(got: Array, want: Array, operands: Sequence[Array]) -> Array | bool:
    if dtype_name(got.dtype) not in FLOATS:
        return False
    limits: Any = ml_dtypes.finfo
    wide = want.astype(np.float64)
    largest = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
    return np.abs(got.astype(np.float64) - wide) <= _ROUNDINGS * float(limits(got.dtype).eps) * largest


def _of_subnormal(got: Array, want: Array, operands: Sequence[Array]) -> Array | bool:
    same = bool(operands) and operands[0].shape == want.shape
    return _is_subnormal(operands[0]) if same else False


def _rounded_to_zero(got: Array, want: Array, operands: Sequence[Array]) -> Array | bool:
    same = bool(operands) and operands[0].shape == want.shape
    return np.logical_and(np.logical_and(got == 0, want == 0), operands[0] != 0) if same else False


def _next_to(got: Array, want: Array, operands: Sequence[Array]) -> Array | bool:
    return ulp_distance(got, want.astype(got.dtype)) <= 1 if dtype_name(got.dtype) in FLOATS else False


def _accumulated(got: Array, want: Array, operands: Sequence[Array]) -> Array | bool:
    if dtype_name(got.dtype) not in FLOATS or not operands:
        return False
    limits: Any = ml_dtypes.finfo
    exact = want.astype(np.float64)
    given = np.abs(operands[0].astype(np.complex128))
    scale = np.maximum(np.abs(exact), float(np.sum(given + given**2)))
    return np.abs(got.astype(np.float64) - exact) <= given.size * float(limits(got.dtype).eps) * scale


def _may_overflow(got: Array, want: Array, operands: Sequence[Array]) -> bool:
    if want.dtype.kind not in "iu" or not operands or any(x.dtype.kind not in "biu" for x in operands):
        return False
    sizes = [[abs(int(v)) for v in x.reshape(-1)] for x in operands]
    most = int(np.iinfo(want.dtype).max)
    if len(sizes) == 1:
        # The lengths of the factors in bits add up to no less than that of their product.
        return sum(sizes[0]) > most or sum(size.bit_length() for size in sizes[0] if size > 1) > most.bit_length()
    return prod(max(values, default=0) * max(len(values), 1) for values in sizes) > most


SUBNORMAL_OPERAND = "subnormal operand"
OPEN: Mapping[str, Condition] = {
    "all": _everything,
    "sign of zero": lambda got, want, operands: np.logical_and(got == 0, want == 0),
    "rounded to zero": _rounded_to_zero,
    "rounding": _rounded,
    "last place": _next_to,
    "accumulation": _accumulated,
    "nan": lambda got, want, operands: _is_nan(want),
    "infinity": lambda got, want, operands: _is_infinite(want),
    "subnormal": lambda got, want, operands: np.logical_or(_is_subnormal(want.astype(got.dtype)), _is_subnormal(got)),
    "nan operand": _any_operand(_is_nan),
    "infinite operand": _any_operand(_is_infinite),
    "of a subnormal": _of_subnormal,
    SUBNORMAL_OPERAND: _any_operand(_is_subnormal),
    "empty operand": lambda got, want, operands: any(operand.size == 0 for operand in operands),
    "integer overflow": _may_overflow,
    "integer divided by zero": _integer_zero_divisor,
}
"""Condition -> which elements are open, by those that came, the specified ones, and the operands of the call.

Tensors that an earlier call made are not among the operands, but conjugates and parts of drawn ones are. Of the
conditions that their names do not explain: ``of a subnormal``: the first operand is subnormal at the same place;
``subnormal operand``: an element of an operand that reaches the element is (:mod:`.reach`); ``last place``: the result
is a neighbour of the specified element; ``integer overflow``: a sum or product of the operands may not fit;
``accumulation``: the result is as close as if each element of the first operand, and its square, were added with one
rounding.
"""
_NO_ELEMENTS = "no elements"
_COUNTING = frozenset({"nonzero", "argwhere"})
"""Operators whose results have as many rows as the operand has elements that are not zero."""


@dataclass(frozen=True)
class OwnRule:
    """One row: of ``operators`` ``holds`` is asked instead of what the spec says, as ``sentence`` of ``source`` has it.

    ``sentence`` is the library's own, ``source`` the address of the page that it stands on.
    """

    kind: str
    operators: tuple[str, ...]
    holds: Any = ()
    sentence: str = field(kw_only=True)
    source: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """The rule in a line: ``argmax, argmin: uint32 for int64``."""
        rest = len(self.operators) - _FEW
        listed = ", ".join(self.operators[:_FEW]) + (f" and {rest} more" if rest > 0 else "")
        of = "all operators" if self.operators == (ALL,) else listed
        return f"{of}: {_SAYS[self.kind](self.holds)}"

    def covers(self, operator: str, place: int = 0) -> bool:
        """Return whether the rule covers the result at ``place`` of ``operator``, a schema name or a protocol's."""
        names = _names_of(operator)
        return any(
            name in names if not (at := _PLACE.search(name)) else name[: at.start()] in names and int(at[1]) == place
            for name in self.operators
        )

    def to_json(self) -> dict[str, Any]:
        """The rule as it stands in records."""
        return {
            "kind": self.kind,
            "rule": self.name,
            "operators": list(self.operators),
            "sentence": self.sentence,
            "source": self.source,
        }


class OwnRules:
    """The rules of one backend, as its judges ask for them; ``use`` is told of each rule that made a difference."""

    def __init__(self, rules: Sequence[OwnRule], use: Callable[[OwnRule], None]) -> None:
        self._rules = rules
        self._use = use

    def __bool__(self) -> bool:
        """Return whether there are any rules."""
        return bool(self._rules)

    def accepted(self, operator: str, classes: tuple[type[Exception], ...]) -> tuple[type[Exception], ...]:
        """The classes that may be raised where the spec says ``classes``, these first."""
        found = dict.fromkeys(classes)
        for rule in self._of("exceptions", operator):
            for spec_class, own in rule.holds.items():
                if spec_class in classes:
                    found.update(dict.fromkeys(_classes(own)))
        return tuple(found)

    def stands_for(self, operator: str, classes: tuple[type[Exception], ...], error: Exception) -> bool:
        """Return whether ``error`` stands for one of ``classes``."""
        for rule in self._of("exceptions", operator):
            stand_ins = [_classes(own) for spec_class, own in rule.holds.items() if spec_class in classes]
            if any(isinstance(error, own) for own in stand_ins):
                self._use(rule)
                return True
        return False

    def promised(self, operator: str, classes: tuple[type[Exception], ...]) -> bool:
        """Return whether to make a call that must raise one of ``classes``, or anything if there are none."""
        for rule in self._of("refusals", operator):
            if not rule.holds or all(issubclass(one, rule.holds) for one in classes):
                self._use(rule)
                return False
        return True

    def says(self, operator: str) -> bool:
        """Return whether to check the text of an error, which differs from the specified one."""
        return self._asks("texts", operator)

    def sharing(self, operator: str, place: int = 0) -> bool:
        """Return whether to check what a result shares, which differs from what is specified."""
        return self._asks("sharing", operator, place)

    def aligned(self, operator: str) -> bool:
        """Return whether to check the address of a fresh tensor, which differs from the specified one."""
        return self._asks("addresses", operator)

    def dtype(self, operator: str, place: int, specified: str) -> str:
        """The dtype of the result at ``place`` of which the spec says ``specified``."""
        for rule in self._of("dtypes", operator, place):
            if specified in rule.holds:
                self._use(rule)
                return str(rule.holds[specified])
        return specified

    def asked(
        self, operator: str, place: int, wrong: Array, got: Array, want: Array,
        operands: Callable[[], Sequence[Array]], dims: Callable[[], Dims] = lambda: None,
    ) -> Array:  # fmt: skip
        """The elements of ``wrong``, those of ``got`` that are not as in ``want``, without those that are left open.

        ``dims`` gives those that the call names.
        """

        def opened(name: str, given: Sequence[Array]) -> Array | bool:
            if name == SUBNORMAL_OPERAND:
                return reached(operator, given, _is_subnormal, want.shape, dims())
            return OPEN[name](got, want, given)

        for rule in self._of("values", operator, place):
            given = operands()
            with np.errstate(all="ignore"):
                free = [np.broadcast_to(opened(name, given), want.shape) for name in rule.holds]
            open_ = np.logical_or.reduce(free) & wrong
            if open_.any():
                self._use(rule)
                wrong = wrong & ~open_
        return wrong

    def counted(self, operator: str, operands: Sequence[Array]) -> bool:
        """Return whether it is certain which elements of the operands are not zero, as the sizes of results tell."""
        if not _names_of(operator) & _COUNTING:
            return True
        for rule in self._of("values", operator):
            if SUBNORMAL_OPERAND in rule.holds and any(np.any(_is_subnormal(operand)) for operand in operands):
                self._use(rule)
                return False
        return True

    def strided(self, operator: str, place: int, sizes: Sequence[int]) -> bool:
        """Return whether to check the strides of a result, which differ from the specified ones."""
        empty = 0 in sizes
        rule = next((r for r in self._of("strides", operator, place) if empty or not r.holds), None)
        if rule is not None:
            self._use(rule)
        return rule is None

    def repeatable(self, operator: str) -> bool:
        """Return whether a repeated call must give the same result."""
        return not any("all" in rule.holds for rule in self._of("values", operator))

    def _asks(self, kind: str, operator: str, place: int = 0) -> bool:
        rule = next(self._of(kind, operator, place), None)
        if rule is not None:
            self._use(rule)
        return rule is None

    def _of(self, kind: str, operator: str, place: int = 0) -> Iterator[OwnRule]:
        return (rule for rule in self._rules if rule.kind == kind and rule.covers(operator, place))


def checked(rules: object) -> tuple[OwnRule, ...]:
    """Return the rules that an adapter lists.

    Raises:
        ValueError: one of them is no OwnRule, or has no sentence or source, an unknown kind, operator, dtype, class or
            condition; or two say the same.
    """
    if not isinstance(rules, Sequence) or isinstance(rules, str) or len(rules) > MOST:
        raise ValueError(f"rules must be a sequence of at most {MOST} OwnRule, not {shown(rules, 60)}")
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        if not isinstance(rule, OwnRule):
            raise ValueError(f"rules[{place}] must be an OwnRule, not {shown(rule, 60)}")
        try:
            _check(rule)
        except ValueError as error:
            raise ValueError(f"rules[{place}]: {error}") from None
        if rule.name in seen:
            raise ValueError(f"rules[{place}] says again {rule.name!r}")
        seen.add(rule.name)
    return tuple(rules)


def _check(rule: OwnRule) -> None:
    if rule.kind not in KINDS:
        raise unknown("kind", str(rule.kind), KINDS)
    if not isinstance(rule.operators, tuple) or not rule.operators:
        raise ValueError(f"operators must be a tuple of names, or ({ALL!r},), not {shown(rule.operators, 60)}")
    for name in (_PLACE.sub("", name) for name in map(str, rule.operators)):
        if name != ALL and name not in known_operators() and not _is_python(name):
            raise unknown("operator", name, known_operators(), "all: gaugeblock operators")
    if not isinstance(rule.sentence, str) or not 0 < len(rule.sentence.strip()) <= _LONGEST:
        raise ValueError(f"sentence must be what the documentation says, in 1 to {_LONGEST} characters")
    if not isinstance(rule.source, str) or not _SOURCE.match(rule.source) or len(rule.source) > _LONGEST:
        raise ValueError(f"source must be the address of the page with the sentence, not {shown(rule.source, 60)}")
    problem = _HOLDS[rule.kind](rule.holds)
    if problem is not None:
        raise ValueError(f"holds must be {problem}, not {shown(rule.holds, 60)}")


@cache
def known_operators() -> frozenset[str]:
    """Names of overloads and forms, of all overloads together, and aliases; those of methods without a row, and of
    calls that share memory with other libraries."""
    found = {*METHODS, *EXCHANGES}
    for row in spec.load().values():
        names = (row.name, row.inplace_name, row.out_name, *row.aliases)
        found.update(name for name in names if name is not None)
    return frozenset(found | {name.partition(".")[0] for name in found})


def _is_python(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name in {*dir(python), *dir(complex), *dir(list)}


@cache
def _names_of(operator: str) -> frozenset[str]:
    """The names of rules that a call of ``operator`` goes by."""
    schema = operator.rpartition(":")[2]
    base = schema.partition(".")[0]
    functional = base if base.startswith("__") else base.rstrip("_")
    return frozenset({ALL, operator, schema, base, functional})


def _classes(value: Any) -> tuple[type[Exception], ...]:
    return value if isinstance(value, tuple) else (value,)


def _are_classes(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, type) and issubclass(one, Exception) for one in value)


def _exceptions_problem(holds: Any) -> str | None:
    ok = isinstance(holds, Mapping) and holds and _are_classes(tuple(holds))
    ok = ok and all(_are_classes(_classes(own)) for own in holds.values())
    return None if ok else "the spec's class -> the library's class, or a tuple of them"


def _dtypes_problem(holds: Any) -> str | None:
    known = (*NUMPY_NAMES, "bfloat16")
    ok = isinstance(holds, Mapping) and holds and all(name in known for pair in holds.items() for name in pair)
    return None if ok else f"the spec's dtype -> the library's; dtypes: {', '.join(known)}"


def _refusals_problem(holds: Any) -> str | None:
    return None if _are_classes(holds) else "a tuple of exception classes, () for all"


def _nothing_problem(holds: Any) -> str | None:
    return None if holds == () else "left out"


def _strides_problem(holds: Any) -> str | None:
    return None if holds in ((), (_NO_ELEMENTS,)) else f"left out, or {(_NO_ELEMENTS,)}"


def _values_problem(holds: Any) -> str | None:
    ok = isinstance(holds, tuple) and holds and all(name in OPEN for name in holds)
    return None if ok else f"a tuple of names, of {', '.join(OPEN)}"


def _listed(classes: Collection[type[Exception]]) -> str:
    return " or ".join(one.__name__ for one in classes)


_HOLDS: Mapping[str, Callable[[Any], str | None]] = {
    "exceptions": _exceptions_problem, "dtypes": _dtypes_problem, "refusals": _refusals_problem,
    "texts": _nothing_problem, "values": _values_problem, "strides": _strides_problem, "sharing": _nothing_problem,
    "addresses": _nothing_problem,
}  # fmt: skip
_SAYS: Mapping[str, Callable[[Any], str]] = {
    "exceptions": lambda holds: ", ".join(f"{_listed(_classes(own))} for {s.__name__}" for s, own in holds.items()),
    "dtypes": lambda holds: ", ".join(f"{own} for {specified}" for specified, own in holds.items()),
    "refusals": lambda holds: f"{_listed(holds) or 'an error'} is not promised",
    "texts": lambda holds: "texts of errors are not promised",
    "values": lambda holds: "any values" if "all" in holds else f"any values where {' or '.join(holds)}",
    "strides": lambda holds: "strides are not promised" + (f" where there are {_NO_ELEMENTS}" if holds else ""),
    "sharing": lambda holds: "what results share is not promised",
    "addresses": lambda holds: "addresses are not promised",
}
