"""Public names, the overloads behind them, and the parameters that these have together, from the rows of the spec."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any, NamedTuple

from gaugeblock_spec.schema import Argument, parse

from ..core.device import Device
from ..core.dtype import DType
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat
from ..operators.rows import Row, rows
from ..tensor.geometry import only_ints
from ..tensor.tensor import Tensor


class Overload(NamedTuple):
    """One schema that a public name may stand for, and the out= form of it if there is one."""

    row: Row
    schema: str
    out: str | None

    @property
    def operator(self) -> str:
        return self.schema.partition("(")[0]


class Group(NamedTuple):
    """A public name with its overloads, those with tensors before those with numbers."""

    name: str
    overloads: tuple[Overload, ...]

    @property
    def inplace(self) -> bool:
        return self.name.endswith("_") and not self.name.endswith("__")


SCALED = frozenset({"add", "sub", "rsub"})
"""Operators whose number `alpha` is a keyword in Python even where the schema takes it by position."""


def by_keyword(row: Row, argument: Argument) -> bool:
    """Whether Python takes an argument of the row's operator by keyword only."""
    return argument.kwarg_only or (argument.name == "alpha" and row.base in SCALED)


@functools.cache
def functions() -> dict[str, Group]:
    """Names of the module's operator functions."""
    return _collect("function")


@functools.cache
def methods() -> dict[str, Group]:
    """Names of the Tensor methods that are operators, in-place ones included."""
    return _collect("method")


@functools.cache
def nn_functions() -> dict[str, Group]:
    """Names of the functions of neural networks, in-place ones included."""
    return _collect("nn")


def _collect(variant: str) -> dict[str, Group]:
    found: dict[str, list[Overload]] = {}
    for row in rows().values():
        if variant in row.variants:
            for name in (row.base, *row.aliases):
                found.setdefault(name, []).append(Overload(row, row.schema, row.out))
        if row.inplace is not None and variant == _home_of_inplace(row):
            base = (row.inplace_name or "").partition(".")[0]
            for name in (base, *(alias + "_" for alias in row.aliases)):
                found.setdefault(name, []).append(Overload(row, row.inplace, None))
    return {name: Group(name, tuple(sorted(overloads, key=_number_last))) for name, overloads in found.items()}


def _home_of_inplace(row: Row) -> str:
    return "method" if "method" in row.variants else row.variants[0]


def _number_last(overload: Overload) -> int:
    return overload.schema.count("Scalar ") - 100 * overload.schema.count("Tensor")


def find_operator(name: str) -> Overload | None:
    """The overload with the operator name ``add.Tensor`` or ``add_.Tensor``."""
    for group in (functions(), methods(), nn_functions()):
        for overload in (o for entry in group.values() for o in entry.overloads):
            if name in (overload.operator, (overload.out or "").partition("(")[0]):
                return overload
    return None


OTHER: Any = object()
"""Stands in a key for a value that the cache does not distinguish: a call with such a key is never kept."""
TRUE, FALSE = object(), object()
"""Stand in a key for bools where ints may stand too, which are equal to them."""
BY_VALUE = frozenset({int, str, type(None), DType, Device, Layout, MemoryFormat, object})
KINDS = {
    "Tensor": "tensor", "Scalar": "number", "float": "number", "int": "int", "SymInt": "int", "bool": "bool",
    "str": "str", "ScalarType": "object", "Layout": "object", "Device": "object", "MemoryFormat": "object",
}  # fmt: skip
"""Type of the schema -> kind. Lists of ints are "ints", lists of tensors "tensors", everything else "other"."""
SIZES_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int)\[\d*\] \w+(, \*|\))")
INT_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int) \w+(, \*|\))")


class Parameter(NamedTuple):
    """Name, kinds of value, source of the default, whether it is given by keyword only (`either` way, depending on the
    overload), whether ints may come singly (`spread`), whether entries are `given` its ints."""

    name: str
    kinds: frozenset[str]
    default: str
    keyword: bool = False
    spread: bool = False
    either: bool = False
    given: bool = False

    @property
    def by_class(self) -> bool:
        """Return whether the key holds the geometry of a tensor or the class of a number, not the value."""
        return self.kinds <= {"tensor", "number"} or (self.given and self.kinds <= {"tensor", "int", "ints"})

    def part(self) -> str:
        """Source of its part in the key."""
        name = self.name
        if self.spread:
            ints = f"{name} if {name} and only_ints({name})"
            return f"{ints} else plain({name}[0]) if len({name}) == 1 else OTHER"
        if self.by_class and "tensor" not in self.kinds:
            return f"{name}.__class__"
        if self.by_class:
            return f"{name}.geometry if {name}.__class__ is Tensor else {name}.__class__"
        if "tensors" in self.kinds:
            return f"metas({name})"
        if "tensor" in self.kinds:
            return f"{name}.geometry if {name}.__class__ is Tensor else plain({name})"
        if self.kinds == {"bool"}:
            return f"{name} if {name}.__class__ is bool or {name} is UNSET else OTHER"
        if self.kinds == {"ints"}:
            listed = f"{name}.__class__ is tuple and only_ints({name})"
            return f"{name} if {name} is UNSET or ({listed}) else plain({name})"
        if self.kinds <= {"int", "ints"}:
            return f"{name} if {name}.__class__ is int or {name} is UNSET else plain({name})"
        return f"{name} if {name} is UNSET else plain({name})"

    def value(self) -> str | None:
        """Source of what the cached call is given for it; None if it is in the key by value."""
        if self.by_class or "tensors" in self.kinds:
            return self.name
        return f"{self.name} if {self.name}.__class__ is Tensor else UNSET" if "tensor" in self.kinds else None


def plain(value: Any) -> Any:
    """Return the part in a key of an argument that is neither tensor nor number."""
    kind = value.__class__
    if kind is tuple:
        return value if only_ints(value) else OTHER
    if kind in BY_VALUE:
        return value
    if kind is bool:
        return TRUE if value else FALSE
    if isinstance(value, (tuple, list)) and only_ints(value):
        return tuple(value)
    return OTHER


def metas(tensors: Any) -> Any:
    """Return the part in a key of a list of tensors."""
    if tensors.__class__ is list or tensors.__class__ is tuple:
        return tuple([one.geometry if one.__class__ is Tensor else OTHER for one in tensors])
    return OTHER


def parameters_of(group: Group, *, spread: bool, given: bool = False) -> list[Parameter] | None:
    """Return the parameters of a public name, in order; None unless each overload begins with a tensor or tensors,
    or if a name is a keyword of Python.

    With `spread` ints may be given singly for a first argument that is a list of ints. With `given` one entry of the
    call cache serves all ints and lists of ints.
    """
    forms = []
    for overload in group.overloads:
        schema = parse(overload.schema)
        keyword = [a for a in schema.arguments if by_keyword(overload.row, a)]
        forms.append(([a for a in schema.arguments if a not in keyword], keyword))
    if not all(positional and kind_of(positional[0]) in ("tensor", "tensors") for positional, _ in forms):
        return None
    longest = max((positional for positional, _ in forms), key=len)
    found = []
    for place, argument in enumerate(longest):
        here = [positional[place] if place < len(positional) else None for positional, _ in forms]
        found.append(_merged(here, keyword=False)._replace(name=argument.name))
    names = dict.fromkeys(a.name for _, keyword in forms for a in keyword if a.name not in {p.name for p in found})
    by_name = {a.name for _, keyword in forms for a in keyword}
    found = [p._replace(either=p.name in by_name) for p in found]
    for name in names:
        here = [next((a for a in keyword if a.name == name), None) for _, keyword in forms]
        found.append(_merged(here, keyword=True))
    if len({p.name for p in found}) < len(found) or any(map(iskeyword, (p.name for p in found))):
        return None
    if spread and len(found) > 1:
        found[1] = found[1]._replace(spread=True)
        found[2:] = [p._replace(keyword=True) for p in found[2:]]
    return [p._replace(given=given) for p in found]


def _merged(arguments: Iterable[Argument | None], *, keyword: bool) -> Parameter:
    """Return the parameter for what the overloads have in one place; None stands for an overload without it."""
    given = [a for a in arguments if a is not None]
    optional = len(given) == len(list(arguments)) and all(a.default == "None" for a in given)
    kinds = frozenset(map(kind_of, given))
    default = "None" if optional and kinds <= {"tensor", "number"} else "UNSET"
    return Parameter(given[0].name, kinds, default, keyword)


def kind_of(argument: Argument) -> str:
    """Return the kind of value that an argument takes."""
    if argument.is_list:
        return {"Tensor": "tensors", "int": "ints", "SymInt": "ints"}.get(argument.base_type, "other")
    return KINDS.get(argument.base_type, "other")


def takes_spread(group: Group) -> bool:
    """Return whether a method takes its first argument, a list of ints, also one by one.

    It does not where one int alone is another overload.
    """
    if any(INT_FIRST.match(overload.schema) for overload in group.overloads):
        return False
    return any(SIZES_FIRST.match(overload.schema) for overload in group.overloads)
