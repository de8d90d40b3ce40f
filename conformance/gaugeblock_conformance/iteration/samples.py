"""Calls of a pointwise operator, drawn from its row in the operator table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import Argument, parse
from hypothesis import strategies as hs

from ..case import TensorCase
from ..oracles.promotion import common, result_type
from ..strategies.code import Digits, coded
from ..strategies.shapes import Sizes, narrowed, small_sizes, threshold
from ..strategies.tensors import LAYOUTS, lay_out
from ..values import COMPLEX, FLOATS

_SEEDS = 2**20
# Operators whose second operand is judged by its own dtype and not by the common one.
_UNMIXED = frozenset({"ldexp.Tensor"})
# Values of arguments that are not tensors, by argument name; None stands for "left out".
_OPTIONS: dict[str, Sequence[Any]] = {
    "rounding_mode": ("floor", "trunc"),
    "decimals": (0, 1, 2, 3),
    "alpha": (1, 2, -1, 3),
    "value": (1, 2, -1),
    "equal_nan": (False, True),
    "eps": (None, 0.125),
    "min": (-1, 0, 1),
    "max": (1, 2, 5, -2),
}
_HALF = frozenset(("float16", "bfloat16"))
_SCALES = frozenset({"alpha", "value"})
_NUMBERS: dict[str, Sequence[Any]] = {
    "bool": (2, 1, 3, 7),
    "int": (2, 1, 3, -2, 7, -1),
    "float": (2.0, 0.5, -1.5, 3.0, -0.25, 1.0),
    "complex": (2.0, 0.5, 1.5 - 0.5j, -1.0),
}


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
    options = _OPTIONS.get(argument.name)
    if options is None and argument.type == "Scalar":
        options = _NUMBERS[_kind(dtype)]
        if argument.name == "exponent" and _kind(dtype) == "int":
            options = (2, 1, 3, 0, 7)
    return options


def settled(numbers: dict[str, Any], dtype: str) -> tuple[dict[str, Any], str]:
    """``numbers`` as bool operands take them, and the common dtype with the numbers counted in."""
    if dtype != "bool":
        return numbers, dtype
    if any(type(value) is int for name, value in numbers.items() if name not in _SCALES):
        return {name: 1 if name in _SCALES else value for name, value in numbers.items()}, "int64"
    return {name: True if name in _SCALES else value for name, value in numbers.items()}, "bool"


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
        result = small_sizes(digits, 0, 3, True)
        shapes: list[Sizes] = [narrowed(result, digits) for _ in range(count)]
        if wide:
            shapes = [(threshold(digits, False),)] * count
        if second != first and ({first, second} & _HALF or _kind(dtype) == "complex"):
            # An operand without dims need not be rounded to the dtype of the others first; nor has complex half a name.
            shapes = [shape or (1,) for shape in shapes]
        made = []
        names = [a.name for a in arguments if a.type.startswith("Tensor")]
        for k, (shape, name) in enumerate(zip(shapes, names, strict=True)):
            own = "bool" if name == "condition" else first if k % 2 == 0 else second
            layout = digits.pick(LAYOUTS)
            made.append(lay_out(own, shape, layout, kind, seed + k if seed else 0, digits))
        valued = [case for case, name in zip(made, names, strict=True) if name != "condition"]
        dims = [case.dtype for case in valued if case.sizes]
        dimless = [case.dtype for case in valued if not case.sizes]
        joined = result_type(dims, dimless) if valued else "float32"
        numbers: dict[str, Any] = {}
        for argument in arguments:
            if argument.type.startswith("Tensor"):
                continue
            options = choices(argument, joined)
            if options is not None:
                value = digits.pick(options)
                if value is not None or argument.default is None:
                    numbers[argument.name] = value
        numbers, joined = settled(numbers, joined)
        return Sample(operator, tuple(made), numbers, joined)

    return coded(read, count + 1)
