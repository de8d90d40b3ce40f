"""Calls of a pointwise operator, drawn from its row in the operator table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import Argument, parse
from hypothesis import strategies as hs

from ..case import TensorCase
from ..oracles.promotion import FLOAT, KIND, common, result_type
from ..strategies.code import Digits, coded
from ..strategies.shapes import Sizes, deep_sizes, narrowed, small_sizes, threshold
from ..strategies.tensors import LAYOUTS, lay_out
from ..values import COMPLEX, FLOATS

_SEEDS = 2**20
# Operators whose second operand is judged by its own dtype and not by the common one.
_UNMIXED = frozenset({"ldexp.Tensor"})
# Values of arguments that are not tensors, by argument name; None stands for "left out".
_OPTIONS: dict[str, Sequence[Any]] = {
    "rounding_mode": ("floor", "trunc", None),
    "decimals": (0, 1, 2, 3, -1, -2),
    "equal_nan": (False, True),
    "rtol": (1e-05, 0.0, 0.5),
    "atol": (1e-08, 0.0, 2.0),
    "eps": (None, 0.125, 0.0),
    "nan": (None, 0.5, -2.0),
    "posinf": (None, 3.0, -0.5),
    "neginf": (None, -7.0, 1.5),
}
_HALF = frozenset(("float16", "bfloat16"))
_SCALES = frozenset({"alpha", "value"})
# Arguments that count as operands where they are numbers.
_OPERANDS = frozenset("self other exponent weight min max".split())
_NUMBERS: dict[str, Sequence[Any]] = {
    "bool": (2, 1, 3, 7),
    "int": (2, 1, 3, -2, 7, -1),
    "float": (2.0, 0.5, -1.5, 3.0, -0.25, 1.0, 0.0, -2.0),
    "complex": (2.0, 0.5, 1.5 - 0.5j, -1.0),
}
_FACTORS: dict[str, Sequence[Any]] = {
    "bool": (1, 2, -1, 3),
    "int": (1, 2, -1, 3),
    "float": (1, 2, 0.5, -1, -1.5),
    "complex": (1, 2, 0.5, -1, 0.5 - 2j),
}
_BOUNDS: dict[str, dict[str, Sequence[Any]]] = {
    "min": {"int": (-1, 0, 1), "float": (-1, 0.5, 0, -1.5)},
    "max": {"int": (1, 2, 5, -2), "float": (1, 2.5, 5, -2, -0.5)},
}
# The kind of numbers with which operands of a lower kind are promoted.
_HIGHER = {"bool": "float", "int": "float", "float": "complex"}


@dataclass(frozen=True)
class Sample:
    """One call: the tensors in schema order, the other arguments by name, and the operands' common dtype."""

    operator: str
    tensors: tuple[TensorCase, ...]
    numbers: dict[str, Any]
    dtype: str

    def __repr__(self) -> str:
        given = [*map(repr, self.tensors), *(f"{name}={value!r}" for name, value in self.numbers.items())]
        return f"{self.operator}({', '.join(given)})"

    def arguments(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments, with ``tensors`` in the place of the cases."""
        left = iter(tensors)
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for argument in parse(operators.load()[self.operator].schema).arguments:
            if argument.type.startswith("Tensor"):
                positional.append(next(left))
            elif argument.name in self.numbers:
                if argument.kwarg_only or argument.default is not None:
                    keywords[argument.name] = self.numbers[argument.name]
                else:
                    positional.append(self.numbers[argument.name])
        return positional, keywords


def _kind(dtype: str) -> str:
    if dtype in COMPLEX:
        return "complex"
    return "float" if dtype in FLOATS else "bool" if dtype == "bool" else "int"


def choices(argument: Argument, dtype: str) -> Sequence[Any] | None:
    """What an argument that is no tensor may be, for operands whose common dtype is ``dtype``; None: its default."""
    options, kind = _OPTIONS.get(argument.name), _kind(dtype)
    if argument.name in _BOUNDS and argument.base_type == "Scalar":
        return _BOUNDS[argument.name]["int" if kind in ("bool", "int") else "float"]
    if argument.name in _SCALES and argument.type == "Scalar":
        return _FACTORS[kind]
    if options is None and argument.type == "Scalar":
        options = _NUMBERS[kind]
        if argument.name == "exponent" and kind == "int":
            options = (2, 1, 3, 0, 7)
    return options


def settled(numbers: dict[str, Any], dtype: str) -> tuple[dict[str, Any], str]:
    """``numbers`` as operands of ``dtype`` take them, and the common dtype with the numbers counted in.

    Raises:
        KeyError: no core dtype is common to them.
    """
    operands = [value for name, value in numbers.items() if name in _OPERANDS and value is not None]
    joined = result_type([dtype], (), operands)
    if numbers.get("rounding_mode", "") is None and KIND[joined] < FLOAT:
        # A quotient that nothing rounds.
        joined = "float32"
    if dtype == "bool":
        scale = True if joined == "bool" else 1
        numbers = {name: scale if name in _SCALES else value for name, value in numbers.items()}
    return numbers, joined


def _promoting(name: str, dtype: str, dtypes: Sequence[str], digits: Digits) -> dict[str, Any]:
    """A number of a higher kind for argument ``name``, if the row computes in what comes out."""
    higher = _HIGHER.get(_kind(dtype), "")
    if not higher or (dtype == "float16" and higher == "complex"):
        return {}
    value = digits.pick([value for value in _NUMBERS[higher] if higher == "float" or isinstance(value, complex)])
    return {name: value} if result_type([dtype], (), [value]) in dtypes else {}


@cache
def samples(operator: str, kind: str = "hard", mixed: bool = True) -> hs.SearchStrategy[Sample]:
    """Calls of ``operator`` over the dtypes of its row: broadcasting operands of any layout, hard values, sometimes of
    two dtypes that promote to one that the row has."""
    row = operators.load()[operator]
    arguments = parse(row.schema).arguments
    promotes = mixed and row.promotion in ("default", "int_to_float") and operator not in _UNMIXED
    count = sum(argument.type.startswith("Tensor") for argument in arguments)
    dtypes = tuple(sorted(row.dtypes, key=lambda name: (name not in FLOATS, name)))

    def read(digits: Digits) -> Sample:
        wide, seed = digits.below(7) == 6, digits.below(_SEEDS)
        first, other = digits.pick(dtypes), digits.pick(dtypes)
        second = other if digits.below(3) == 2 and promotes else first
        dtype = common(first, second)
        if dtype not in row.dtypes:
            second = dtype = first
        result = deep_sizes(digits) if digits.below(12) == 11 else small_sizes(digits, 0, 3, True)
        shapes: list[Sizes] = [narrowed(result, digits) for _ in range(count)]
        if wide:
            shapes = [(threshold(digits, False),)] * count
        if second != first and _kind(dtype) == "complex":
            # Complex half has no name.
            shapes = [shape or (1,) for shape in shapes]
        if {first, second} & _HALF and 1 in map(prod, shapes):
            # An operand of one element need not be rounded to the dtype of the others first.
            second = first
        made = []
        names = [a.name for a in arguments if a.type.startswith("Tensor")]
        for k, (shape, name) in enumerate(zip(shapes, names, strict=True)):
            own = "bool" if name == "condition" else first if k % 2 == 0 else second
            layout = digits.pick(LAYOUTS)
            made.append(lay_out(own, shape, layout, kind, seed + k if seed else 0, digits))
        valued = [case for case, name in zip(made, names, strict=True) if name != "condition"]
        dims = [case.dtype for case in valued if case.sizes]
        dimless = [case.dtype for case in valued if not case.sizes]
        joined = result_type(dims, dimless) if valued else digits.pick(("float32", "int64", "complex64"))
        numbers: dict[str, Any] = {}
        for argument in arguments:
            if argument.type.startswith("Tensor"):
                continue
            if argument.type == "Scalar?" and (numbers or argument is not arguments[-1]) and digits.below(4) == 3:
                continue
            options = choices(argument, joined)
            if options is not None:
                value = digits.pick(options)
                if value is not None or argument.default is None:
                    numbers[argument.name] = value
        named = [name for name in numbers if name in _OPERANDS]
        if named and valued and row.promotion in ("default", "int_to_float") and digits.below(5) == 4:
            numbers |= _promoting(named[0], joined, row.dtypes, digits)
        numbers, joined = settled(numbers, joined) if valued else (numbers, result_type((), (), [*numbers.values()]))
        return Sample(operator, tuple(made), numbers, joined)

    return coded(read, count + 1)
