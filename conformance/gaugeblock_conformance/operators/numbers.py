"""Numbers as arguments: what they may be beside operands of a dtype, and the dtype that they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaugeblock_spec.schema import Argument

from ..oracles.promotion import FLOAT, KIND, result_type
from ..values import COMPLEX, FLOATS

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
    operands = operands_of(numbers)
    joined = result_type([dtype], (), operands)
    if numbers.get("rounding_mode", "") is None and KIND[joined] < FLOAT:
        # A quotient that nothing rounds.
        joined = "float32"
    if dtype == "bool":
        scale = True if joined == "bool" else 1
        numbers = {name: scale if name in _SCALES else value for name, value in numbers.items()}
    return numbers, joined


def operands_of(numbers: dict[str, Any]) -> list[Any]:
    """Those of ``numbers`` that count as operands."""
    return [value for name, value in numbers.items() if name in _OPERANDS and value is not None]


def promoting(numbers: dict[str, Any], dtype: str, dtypes: Sequence[str], choice: int) -> dict[str, Any]:
    """The first of ``numbers`` that is an operand with a value of a higher kind instead, the ``choice``-th there is, if
    the row, whose dtypes these are, computes in what comes out; else none."""
    names = [name for name in numbers if name in _OPERANDS]
    higher = _HIGHER.get(_kind(dtype), "")
    if not names or not higher or (dtype == "float16" and higher == "complex"):
        return {}
    values = [value for value in _NUMBERS[higher] if higher == "float" or isinstance(value, complex)]
    value = values[choice % len(values)]
    return {names[0]: value} if result_type([dtype], (), [value]) in dtypes else {}
