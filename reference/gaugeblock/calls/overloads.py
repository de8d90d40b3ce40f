"""Public names, the overloads behind them from the rows of the spec, and what the types of their schemas take.

For each type there is a converter of Python arguments; `NO` says that an argument does not fit. The parameters of a
name are merged from those of its overloads: they say what a binding takes, and what a key of the call cache holds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from keyword import iskeyword
from operator import index
from typing import Any, NamedTuple

from gaugeblock_spec.schema import Argument, parse

from ..core import lazy_numpy as np
from ..core.memory_format import MemoryFormat
from ..kernels.bound_call import UNSET
from ..operators.arguments import OPTIONS
from ..operators.rows import Row, rows
from ..operators.tensor_data import tensor as tensor_of
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


SCALED = frozenset({"add", "sub", "rsub"})
"""Operators whose number `alpha` is a keyword in Python even where the schema takes it by position."""


def by_keyword(row: Row, argument: Argument) -> bool:
    """Return whether Python takes an argument of the row's operator by keyword only."""
    return argument.kwarg_only or (argument.name == "alpha" and row.base in SCALED)


def _collect(variant: str) -> dict[str, Group]:
    found: dict[str, list[Overload]] = {}
    for row in rows().values():
        if variant in row.variants:
            for name in (row.base, *row.aliases):
                found.setdefault(name, []).append(Overload(row, row.schema, row.out))
        if row.inplace is not None and variant == ("method" if "method" in row.variants else row.variants[0]):
            base = (row.inplace_name or "").partition(".")[0]
            for name in (base, *(alias + "_" for alias in row.aliases)):
                found.setdefault(name, []).append(Overload(row, row.inplace, None))

    def number_last(overload: Overload) -> int:
        return overload.schema.count("Scalar ") - 100 * overload.schema.count("Tensor")

    return {name: Group(name, tuple(sorted(overloads, key=number_last))) for name, overloads in found.items()}


functions = functools.cache(functools.partial(_collect, "function"))
"""Names of the module's operator functions, with their groups."""
methods = functools.cache(functools.partial(_collect, "method"))
"""Names of the Tensor methods that are operators, in-place ones included, with their groups."""
nn_functions = functools.cache(functools.partial(_collect, "nn"))
"""Names of the functions of neural networks, in-place ones included, with their groups."""


def find_operator(name: str) -> Overload | None:
    """The overload with the operator name ``add.Tensor`` or ``add_.Tensor``."""
    for group in (functions(), methods(), nn_functions()):
        for overload in (o for entry in group.values() for o in entry.overloads):
            if name in (overload.operator, (overload.out or "").partition("(")[0]):
                return overload
    return None


SIZES_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int)\[\d*\] \w+(, \*|\))")
INT_FIRST = re.compile(r"^\w+(\.\w+)?\(Tensor(\([^)]*\))? self, (SymInt|int) \w+(, \*|\))")


def takes_spread(group: Group) -> bool:
    """Return whether a method takes its first argument, a list of ints, also one by one. It does not where one int
    alone is another overload."""
    if any(INT_FIRST.match(overload.schema) for overload in group.overloads):
        return False
    return any(SIZES_FIRST.match(overload.schema) for overload in group.overloads)


NO = UNSET
INTEGRAL = 1
"""The kind of the integer dtypes."""
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
INTS = frozenset({"int", "SymInt"})
Converter = Callable[[Any], Any]
NUMBERS_AS_TENSORS = frozenset(
    {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "copy_"}
)
"""Functions whose Tensor arguments also take Python numbers, as upstream."""


def tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else NO


def array_operand(value: Any) -> Any:
    """Return a tensor of the elements of a NumPy array; NO for an array of another dtype, and for anything else."""
    if not issubclass(type(value), np.ndarray):
        return NO
    try:
        return tensor_of(value)
    except TypeError:
        return NO


def number(value: Any) -> Any:
    kind = value.__class__
    if kind is float or kind is int or kind is bool or kind is complex:
        return value
    if isinstance(value, Tensor):
        return value.item() if value.meta.ndim == 0 else NO  # type: ignore[attr-defined]
    if isinstance(value, (float, complex)):
        return float(value) if isinstance(value, float) else complex(value)
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:
        found = item()
        return found if isinstance(found, (int, float, complex)) else NO
    return integer(value) if isinstance(value, int) else NO


def integer(value: Any) -> Any:
    if value.__class__ is int:
        if LOWEST <= value <= HIGHEST:
            return value
        raise ValueError(f"Overflow when unpacking long: {value} does not fit 64 bits")
    if isinstance(value, bool):
        return NO
    if isinstance(value, Tensor):
        if value.meta.ndim or value.meta.dtype.kind != INTEGRAL:
            return NO
        return value.item()  # type: ignore[attr-defined]
    try:
        return integer(index(value))
    except TypeError:
        return NO


def first_size(value: Any, error: type[Exception] = TypeError) -> Any:
    """Convert the first item of a list of ints: as `size` does, but without bools."""
    if isinstance(value, bool) or (isinstance(value, Tensor) and value.meta.dtype.kind != INTEGRAL):
        return NO
    return size(value, error)


def size(value: Any, error: type[Exception] = TypeError) -> Any:
    """Convert an item of a list of ints, anything with ``__index__``. Raise `error` if it does not fit 64 bits."""
    if value.__class__ is int:
        found = value
    else:
        try:
            found = int(index(value))
        except (TypeError, RuntimeError):
            return NO
    if LOWEST <= found <= HIGHEST:
        return found
    raise error(f"Overflow when unpacking long: {found} does not fit 64 bits")


def real(value: Any) -> Any:
    found = number(value)
    return float(found) if found is not NO and not isinstance(found, complex) else NO


def truth(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    return bool(value) if type(value).__name__ in ("bool_", "bool") and hasattr(value, "item") else NO


def option(name: str) -> Converter:
    """Return the converter of an option of new tensors."""
    convert = OPTIONS[name]

    def check(value: Any) -> Any:
        found = convert(value)
        return NO if found is None else found

    return check


def instance(*kinds: type) -> Converter:
    def check(value: Any) -> Any:
        return value if isinstance(value, kinds) else NO

    return check


def anything(value: Any) -> Any:
    return value


SCALARS: dict[str, Converter] = {
    "Tensor": tensor, "Scalar": number, "int": integer, "SymInt": integer, "float": real, "bool": truth,
    "str": instance(str), "ScalarType": option("dtype"), "Device": option("device"), "Layout": option("layout"),
    "MemoryFormat": instance(MemoryFormat), "Dimname": instance(str),
}  # fmt: skip
SHOWN = {
    "Scalar": "Number", "SymInt": "int", "ScalarType": "dtype", "Device": "device", "Layout": "layout",
    "MemoryFormat": "memory_format",
}  # fmt: skip
"""Schema types as error messages name them."""


def sequence(item: Converter, count: int, first: Converter, alone: Converter) -> Converter:
    """Return the converter of a list or tuple of items, of which the `first` has a converter of its own; with a `count`
    one item `alone` stands for a list of so many of it."""

    def convert(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            found = [item(part) if place else first(part) for place, part in enumerate(value)]
            return NO if any(part is NO for part in found) else tuple(found)
        one = alone(value) if count else NO
        return NO if one is NO else (one,) * count

    return convert


def optional(inner: Converter, default: Any = None) -> Converter:
    """Return a converter that takes None for the default."""

    def convert(value: Any) -> Any:
        return default if value is None else inner(value)

    return convert


def or_number(inner: Converter) -> Converter:
    """Return a converter that takes numbers too."""

    def convert(value: Any) -> Any:
        found = inner(value)
        return number(value) if found is NO else found

    return convert


def converter_of(text: str) -> Converter:
    """The converter of a schema type such as ``int[2]?`` or ``Tensor?[]``."""
    if text.endswith("?"):
        return optional(converter_of(text[:-1]))
    if text.endswith("]"):
        base, _, count = text[:-1].rpartition("[")
        if base in INTS:
            return sequence(size, int(count or 0), first_size, functools.partial(first_size, error=ValueError))
        item = converter_of(base)
        return sequence(item, int(count or 0), item, item)
    return SCALARS.get(text, anything)


def wrong_element(text: str, given: Any) -> tuple[int, Any] | None:
    """Return the first element of a list that does not fit the list's schema type, after its place."""
    base = text.rstrip("?").rpartition("[")[0]
    if not base or not isinstance(given, (tuple, list)):
        return None
    item = size if base in INTS else converter_of(base)
    first = first_size if base in INTS else item
    return next(((place, one) for place, one in enumerate(given) if (item if place else first)(one) is NO), None)


def shown_type(text: str) -> str:
    """A schema type in the words of an error message."""
    base = text.rstrip("?")
    if base.endswith("]"):
        return f"tuple of {SHOWN.get(base.partition('[')[0], base.partition('[')[0])}s"
    return SHOWN.get(base, base)


KINDS = {
    "Tensor": "tensor", "Scalar": "number", "float": "number", "int": "int", "SymInt": "int", "bool": "bool",
    "str": "str", "ScalarType": "object", "Layout": "object", "Device": "object", "MemoryFormat": "object",
}  # fmt: skip
"""Type of the schema -> kind. Lists of ints are "ints", lists of tensors "tensors", everything else "other"."""
NUMBER_FIRST = {*((a, b) for a in ("tensor", "number") for b in ("tensor", "number")), ("int", "tensor")}
"""Kinds of the first two arguments of operators that may begin with a number; one of them is a tensor in kept calls."""
VALUED = frozenset(
    """celu celu_ isclose linalg_vector_norm logit logit_ nan_to_num nan_to_num_ norm pdist polygamma polygamma_
    renorm renorm_ softshrink special_logit special_polygamma""".split()
)
"""Operators whose numbers decide what is computed: their keys hold the values."""



class Parameter(NamedTuple):
    """Name, kinds of value, source of the default, whether it is given by keyword only (`either` way, depending on the
    overload), whether ints may come singly (`spread`, by keyword as `named`), whether entries are `given` its ints."""

    name: str
    kinds: frozenset[str]
    default: str
    keyword: bool = False
    spread: bool = False
    named: tuple[str, ...] = ()
    either: bool = False
    given: bool = False

    @property
    def by_class(self) -> bool:
        """Return whether the key holds the meta of a tensor or the class of a number, not the value."""
        return self.kinds <= {"tensor", "number"} or (self.given and self.kinds <= {"tensor", "int", "ints"})

    @property
    def is_listed(self) -> bool:
        """Return whether it may be a list of tensors or something else that is no tensor."""
        return "tensors" in self.kinds and not self.kinds <= {"tensors", "tensor"}

    def part(self) -> str:
        """Source of its part in the key."""
        name = self.name
        if self.spread:
            ints = f"{name} if {name} and only_ints({name})"
            return f"{ints} else plain({name}[0]) if len({name}) == 1 else OTHER if {name} else 'not given'"
        if "value" in self.kinds:
            return f"{name}.meta if {name}.__class__ is Tensor else valued({name})"
        if self.by_class and "tensor" not in self.kinds:
            return f"{name}.__class__"
        if self.by_class:
            return f"{name}.meta if {name}.__class__ is Tensor else {name}.__class__"
        if self.is_listed:
            return f"metas({name}, None) if holds_tensors({name}) else valued({name})"
        if "tensors" in self.kinds:
            return f"metas({name}, None)"
        if "tensor" in self.kinds:
            return f"{name}.meta if {name}.__class__ is Tensor else plain({name})"
        if self.kinds == {"bool"}:
            return f"{name} if {name}.__class__ is bool or {name} is UNSET or {name} is None else OTHER"
        if self.kinds == {"ints"}:
            listed = f"{name}.__class__ is tuple and only_ints({name})"
            return f"{name} if {name} is UNSET or ({listed}) else plain({name})"
        if self.kinds <= {"int", "ints"}:
            return f"{name} if {name}.__class__ is int or {name} is UNSET else plain({name})"
        return f"{name} if {name} is UNSET else plain({name})"

    def value(self) -> str | None:
        """Source of what the cached call is given for it; None if it is in the key by value."""
        if self.is_listed:
            return f"{self.name} if holds_tensors({self.name}) else UNSET"
        if self.by_class or "tensors" in self.kinds:
            return self.name
        return f"{self.name} if {self.name}.__class__ is Tensor else UNSET" if "tensor" in self.kinds else None


def parameters_of(
    group: Group, *, spread: bool, given: frozenset[str] | bool = False, by_schema: bool = False
) -> list[Parameter] | None:
    """Return the parameters of a public name, in order; None unless one overload or more has tensors, and each begins
    with tensors or with two that are tensors or numbers. A name that is a keyword of Python ends in an underscore.

    With `spread` ints may be given singly for a first argument that is a list of ints. One entry of the call cache
    serves all ints and lists of ints for the arguments `given`, True for all. `by_schema`, arguments are keywords where
    the schema says so, whatever Python's functions take.
    """
    forms = []
    for overload in group.overloads:
        schema = parse(overload.schema)
        keyword = [a for a in schema.arguments if a.kwarg_only or (not by_schema and by_keyword(overload.row, a))]
        forms.append(([a for a in schema.arguments if a not in keyword], keyword))
    begin = {tuple(map(kind_of, positional[:2])) for positional, _ in forms}
    if all("tensor" not in kinds and "tensors" not in kinds for kinds in begin):
        return None
    if not begin <= NUMBER_FIRST and not all(kinds and kinds[0] in ("tensor", "tensors") for kinds in begin):
        return None
    longest = max((positional for positional, _ in forms), key=len)
    found = []
    for place, argument in enumerate(longest):
        here = [positional[place] if place < len(positional) else None for positional, _ in forms]
        found.append(_merged(here, keyword=False)._replace(name=argument.name + "_" * iskeyword(argument.name)))
    names = dict.fromkeys(a.name for _, keyword in forms for a in keyword if a.name not in {p.name for p in found})
    by_name = {a.name for _, keyword in forms for a in keyword}
    found = [p._replace(either=p.name in by_name) for p in found]
    for name in names:
        here = [next((a for a in keyword if a.name == name), None) for _, keyword in forms]
        found.append(_merged(here, keyword=True))
    if len({p.name for p in found}) < len(found):
        return None
    if spread and len(found) > 1:
        named = tuple(dict.fromkeys(positional[1].name for positional, _ in forms if len(positional) > 1))
        found[1] = found[1]._replace(name="ints", spread=True, named=named)
        found[2:] = [p._replace(keyword=True) for p in found[2:]]
    if group.name.partition(".")[0] in VALUED:
        found = [p._replace(kinds=frozenset("value" if k == "number" else k for k in p.kinds)) for p in found]
    passed = frozenset(p.name for p in found) if given is True else given or frozenset()
    return [p._replace(given=not p.spread and p.name in passed) for p in found]


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
