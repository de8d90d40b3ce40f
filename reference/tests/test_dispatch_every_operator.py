"""A kernel registered later takes effect on every operator of the table, by function and by method, and goes again."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.calls.overloads import Group, Overload, functions, methods
from gaugeblock.dispatch import REGISTRY
from gaugeblock_spec.schema import Argument, parse

REACHED = object()
UNCALLED = {"stft"}
"""Overloads whose calls the public function turns into those of another overload."""
TAKEN_APART = {"unique_consecutive"}
"""Operators of whose three results the public function gives those that were asked for."""
QUERIES = {"is_floating_point", "is_complex", "is_signed", "requires_grad_"}
"""Questions about metadata and flags that take no part in dispatch."""
ELSEWHERE = {"norm": "linalg_vector_norm", "item": "_local_scalar_dense"}
"""Public names whose calls go to another operator, as upstream's."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "arange.start_step": {"step": 1},
    "view.dtype": {"dtype": gb.int32},
    "any.dims": {"dim": (0, 1)},
    "all.dims": {"dim": (0, 1)},
    "clamp": {"min": 1},
    "clamp_": {"min": 1},
    "conv1d.padding": {"padding": "same"},
    "conv2d.padding": {"padding": "same"},
    "conv3d.padding": {"padding": "same"},
    "linalg_pinv.atol_rtol_float": {"atol": 0.5},
    "linalg_matrix_rank.atol_rtol_float": {"atol": 0.5},
    "squeeze.dims": {"dim": (0, 1)},
    "squeeze_.dims": {"dim": (0, 1)},
    "std.correction": {"dim": (0,), "correction": 1.5},
    "std_mean.correction": {"dim": (0,), "correction": 1.5},
    "var.correction": {"dim": (0,), "correction": 1.5},
    "var_mean.correction": {"dim": (0,), "correction": 1.5},
}
"""Arguments without which a call fits another overload, or none."""


PUBLIC = {"tensordot": [gb.ones(2, 2), gb.ones(2, 2), ([1], [1])]}
"""Positional arguments of public functions that are not the operator's."""


def value_of(argument: Argument) -> Any:
    """Something of the schema's type."""
    base = argument.base_type
    values = {
        "Scalar": 2, "int": 1, "SymInt": 1, "float": 0.5, "bool": True, "str": "none", "ScalarType": gb.float32,
        "Device": gb.device("cpu"), "Layout": gb.strided, "MemoryFormat": gb.contiguous_format, "Generator": None,
    }  # fmt: skip
    if base == "Tensor":
        value: Any = gb.ones(2, 2)
    elif base == "Storage":
        value = gb.ones(4).untyped_storage()
    else:
        value = values[base]
    return [value] * 2 if argument.is_list else value


def arguments_of(overload: Overload) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that the schema takes: those it requires, and what keeps other overloads from fitting."""
    given = ARGUMENTS.get(overload.operator, {})
    positional, options = [], {}
    for argument in parse(overload.schema).arguments:
        if argument.default is not None and argument.name not in given:
            continue
        value = given.get(argument.name) if argument.name in given else value_of(argument)
        if argument.kwarg_only or argument.default is not None:
            options[argument.name] = value
        else:
            positional.append(value)
    return positional, options


def parametrized(groups: dict[str, Group]) -> dict[str, Any]:
    """Names and overloads for pytest."""
    cases = [
        (group.name, overload)
        for group in groups.values()
        for overload in group.overloads
        if overload.operator.partition(".")[0] not in QUERIES
        and group.name not in ELSEWHERE
        and overload.operator not in UNCALLED
    ]
    return {"argvalues": cases, "ids": [f"{name}-{overload.operator}" for name, overload in cases]}


def check(overload: Overload, run: Any) -> None:
    """Run with an override for the CPU and without it."""
    reached = []

    def override(*args: Any, **kwargs: Any) -> Any:
        reached.append(args)
        return (REACHED,) * 3 if overload.operator in TAKEN_APART else REACHED

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        remove = REGISTRY.register(overload.operator, "CPU", override, warn=False)
        try:
            result = run()
        finally:
            remove()
        assert result in (REACHED, (REACHED,) * 3), f"{overload.operator} was not overridden"
        assert len(reached) == 1
        try:
            result = run()
        except (RuntimeError, TypeError, ValueError, IndexError):
            result = None
        assert result is not REACHED and len(reached) == 1, f"{overload.operator} is still overridden"


@pytest.mark.parametrize(("name", "overload"), **parametrized(functions()))
def test_functions_reach_overrides(name: str, overload: Overload) -> None:
    positional, options = arguments_of(overload)
    positional = PUBLIC.get(name, positional)
    check(overload, lambda: getattr(gb, name)(*positional, **options))


@pytest.mark.parametrize(("name", "overload"), **parametrized(methods()))
def test_methods_reach_overrides(name: str, overload: Overload) -> None:
    positional, options = arguments_of(overload)
    self = next(value for value in positional if isinstance(value, gb.Tensor))
    names = [argument.name for argument in parse(overload.schema).positional]
    if not isinstance(positional[names.index("self")], gb.Tensor):
        pytest.skip("its self is a number")
    rest = [value for value, argument in zip(positional, names, strict=False) if argument != "self"]
    check(overload, lambda: getattr(self, name)(*rest, **options))


def test_names_that_call_another_operator() -> None:
    for name, operator in ELSEWHERE.items():
        reached: list[Any] = []

        def override(*args: Any, reached: list[Any] = reached, **kwargs: Any) -> Any:
            reached.append(args)
            return 1.0

        remove = REGISTRY.register(operator, "CPU", override, warn=False)
        try:
            getattr(gb.ones(1), name)()
        finally:
            remove()
        getattr(gb.ones(1), name)()
        assert len(reached) == 1, name
