"""Arguments of a call through the registry, checked against the operator's schema before any kernel runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NoReturn

from gaugeblock_spec.schema import Argument, parse

from ..calls.overloads import NO, NUMBERS_AS_TENSORS, Converter, converter_of, or_number
from ..core.dtype import BY_NAME
from ..dispatch.operator import Operator
from ..operators.operand_checks import check_number
from ..tensor.tensor import Tensor

Bound = tuple[list[Any], dict[str, Any]]


def bind(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
    """Positional values, defaults filled in, and the keyword-only ones that were given. Raises RuntimeError for a
    missing, surplus, unknown or doubly given argument and for one of a wrong type."""
    converters = _converters(operator.name, operator.text)
    positional = operator.schema.positional
    if len(args) > len(positional):
        _fail(operator, f"expected at most {len(positional)} argument(s) but received {len(args)} argument(s)")
    named = dict(kwargs)
    options: dict[str, Any] = {}
    outputs = [argument.name for argument in operator.schema.keyword_only if argument.written]
    packed = "::" not in operator.name and len(outputs) > 1
    if packed:
        options["out"] = _outputs(operator, outputs, named)
    values: list[Any] = []
    for place, argument in enumerate(positional):
        if place < len(args):
            if argument.name in named:
                _fail(operator, f"got multiple values for argument '{argument.name}'")
            values.append(_converted(operator, argument, converters, args[place], place))
        elif argument.name in named:
            values.append(_converted(operator, argument, converters, named.pop(argument.name), place))
        else:
            values.append(_default(operator, argument))
    for argument in operator.schema.keyword_only:
        if argument.name in named:
            options[argument.name] = _converted(operator, argument, converters, named.pop(argument.name), None)
        elif not (packed and argument.written):
            _default(operator, argument)
    if named:
        _fail(operator, f"got an unknown keyword argument '{next(iter(named))}'")
    return values, options


def _outputs(operator: Operator, names: list[str], named: dict[str, Any]) -> tuple[Any, ...]:
    """Take the outputs of one of the engine's own operators, given as ``out=`` or by name, out of the keywords.
    RuntimeError when some are missing."""
    for name in names:
        if name not in named and "out" not in named:
            _fail(operator, f"is missing value for argument '{name}'")
    given = named.pop("out") if "out" in named else tuple(named.pop(name) for name in names)
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if len(parts) != len(names) or not all(isinstance(part, Tensor) for part in parts):
        _fail(operator, f"expected {len(names)} Tensors for 'out', got {type(given).__name__}")
    return tuple(parts)


def _default(operator: Operator, argument: Argument) -> Any:
    if argument.default is None:
        _fail(operator, f"is missing value for argument '{argument.name}'")
    default = argument.default_value
    return BY_NAME[default] if argument.base_type == "ScalarType" and isinstance(default, str) else default


def _converted(
    operator: Operator, argument: Argument, converters: Mapping[str, Converter], given: Any, place: int | None
) -> Any:
    found = converters[argument.name](given)
    if found is NO:
        where = "" if place is None else f" at position {place}"
        _fail(
            operator,
            f"expected a value of type '{argument.type}' for argument '{argument.name}'{where}, but found type "
            f"'{type(given).__name__}'",
        )
    return check_number(operator.name, argument.name, found) if found.__class__ is int else found


def _fail(operator: Operator, problem: str) -> NoReturn:
    raise RuntimeError(f"{operator.qualified_name}() {problem}. Declaration: {operator.text}")


@functools.lru_cache(maxsize=1024)
def _converters(name: str, text: str) -> dict[str, Converter]:
    base = name.partition(".")[0]
    numbers_too = not NUMBERS_AS_TENSORS.isdisjoint((base, base.rstrip("_")))
    return {
        a.name: or_number(converter_of(a.type)) if numbers_too and a.type == "Tensor" else converter_of(a.type)
        for a in parse(text).arguments
    }
