"""One call of an operator: an argument for each name of its schema, tensors as cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators, samples
from gaugeblock_spec.schema import Argument, parse

from ..backend import Array
from ..case import TensorCase, default_strides


@cache
def schema_arguments(operator: str) -> tuple[Argument, ...]:
    """The arguments of the row's schema."""
    return parse(operators.load()[operator].schema).arguments


@cache
def forms_of(operator: str) -> tuple[samples.Form, ...]:
    """What the samples say of a row, of which each says how a call may look; of one that exists in place only, what
    they say of its functional twin, of a copy of what a view shows, what they say of the view."""
    base, _, overload = operator.partition(".")
    twin = f"{base.rstrip('_').removesuffix('_copy')}.{overload}".rstrip(".")
    return samples.load().get(operator) or samples.load().get(twin, ({},))


@dataclass(frozen=True)
class OperatorCall:
    """``arguments`` by name (a left-out one has its default); ``dtype`` is the common dtype of the tensors;
    ``choice`` is a number for what a test chooses beyond the call; ``facts`` are those it was drawn from, ``writable``
    says that it was drawn so that its first tensor can be written; ``known`` is what was found out about it and would
    be found again."""

    operator: str
    arguments: dict[str, Any]
    dtype: str
    choice: int = 0
    facts: samples.Form = field(default_factory=dict, repr=False, compare=False)
    writable: bool = field(default=False, repr=False, compare=False)
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.operator}({given})"

    @property
    def tensors(self) -> tuple[TensorCase, ...]:
        """Every tensor among the arguments, those of lists too, in schema order."""
        return tuple(case for value in self.arguments.values() for case in cases_of(value))

    @property
    def row(self) -> operators.Operator:
        return operators.load()[self.operator]

    def bind(self, build: Callable[[TensorCase], Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments, with ``build(case)`` in the place of each tensor."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        in_order = True
        for argument in schema_arguments(self.operator):
            if argument.name not in self.arguments:
                in_order = False
                continue
            value = _built(self.arguments[argument.name], build)
            # A third positional argument of add would be taken for the overload with alpha in the middle.
            if argument.kwarg_only or not in_order or argument.name == "alpha":
                keywords[argument.name] = value
                in_order = False
            else:
                positional.append(value)
        return positional, keywords

    def values(self) -> dict[str, Any]:
        """Every argument of the schema by name for an oracle: tensors as arrays, left-out ones by their defaults."""
        found: dict[str, Any] = {}
        for argument in schema_arguments(self.operator):
            if argument.name in self.arguments:
                found[argument.name] = _built(self.arguments[argument.name], lambda case: case.array)
            else:
                found[argument.name] = None if argument.default is None else argument.default_value
        return found

    @property
    def arrays(self) -> list[Array | None]:
        """The elements of each tensor of the schema, None for one that is left out."""
        names = [argument.name for argument in schema_arguments(self.operator) if _is_tensor(argument)]
        given = [self.arguments.get(name) for name in names]
        return [value.array if isinstance(value, TensorCase) else None for value in given]

    @property
    def numbers(self) -> dict[str, Any]:
        """The arguments given that are no tensors."""
        tensors = {argument.name for argument in schema_arguments(self.operator) if _is_tensor(argument)}
        return {name: value for name, value in self.arguments.items() if name not in tensors}

    def packed(self) -> OperatorCall:
        """The same call on contiguous tensors."""
        return replace(self, arguments={name: _built(value, _packed) for name, value in self.arguments.items()})

    def turned(self) -> OperatorCall:
        """The same call on tensors that lie column by column: dense ones whose strides grow from dim to dim."""
        return replace(self, arguments={name: _built(value, _turned) for name, value in self.arguments.items()})

    def with_argument(self, name: str, value: Any) -> OperatorCall:
        return replace(self, arguments={**self.arguments, name: value})


def call_on(operator: str, tensors: Sequence[Any], numbers: dict[str, Any], dtype: str) -> OperatorCall:
    """A call with these tensors as the first ones of its schema, cases or tensors of a backend."""
    names = [argument.name for argument in schema_arguments(operator) if _is_tensor(argument)]
    return OperatorCall(operator, dict(zip(names, tensors, strict=False)) | numbers, dtype)


def _is_tensor(argument: Argument) -> bool:
    return argument.base_type == "Tensor"


def _packed(case: TensorCase) -> TensorCase:
    return case if case.plain else _relaid(case, case.array, default_strides(case.sizes))


def _turned(case: TensorCase) -> TensorCase:
    return _relaid(case, case.array.T, default_strides(case.sizes[::-1])[::-1])


def _relaid(case: TensorCase, stored: Array, strides: tuple[int, ...]) -> TensorCase:
    elements = stored.reshape(-1)
    literal = tuple(elements.astype(np.float32).tolist() if case.dtype == "bfloat16" else elements.tolist())
    return TensorCase(case.dtype, case.sizes, strides, literal=literal)


def cases_of(value: Any) -> list[TensorCase]:
    """The tensors of an argument: itself, those of a list, or none."""
    if isinstance(value, TensorCase):
        return [value]
    return [case for item in value for case in cases_of(item)] if isinstance(value, list) else []


def _built(value: Any, build: Callable[[TensorCase], Any]) -> Any:
    if isinstance(value, TensorCase):
        return build(value)
    if isinstance(value, list) and any(isinstance(v, TensorCase) for v in value):
        return [build(v) if isinstance(v, TensorCase) else v for v in value]
    return list(value) if isinstance(value, tuple) else value
