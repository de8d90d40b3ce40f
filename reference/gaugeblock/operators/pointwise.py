"""Pointwise operators: a kernel for every form of every pointwise row, on CPU and Meta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import REGISTRY
from ..tensor.tensor import Tensor
from .array_functions import WITHOUT_FORMULA
from .pointwise_call import call_builder
from .pointwise_rule import PointwiseRule
from .pointwise_run import run_functional, run_into
from .rows import Row, rows

RULES: dict[str, PointwiseRule] = {}
"""Rule of each pointwise row by name."""


def register_row(row: Row) -> None:
    """Register the functional, in-place and out= kernels of one row."""
    rule = RULES[row.name] = PointwiseRule(row)
    for name, make in ((row.name, functional), (row.inplace_name, inplace), (row.out_name, into)):
        if name is not None:
            function = make(rule)
            function.__qualname__ = name
            REGISTRY.put(name, ("CPU", "Meta"), function)


def functional(rule: PointwiseRule) -> Callable[..., Tensor]:
    """The form with a new result."""
    build = call_builder(rule.name)

    def run(*args: Any, **kwargs: Any) -> Tensor:
        return run_functional(rule, build(*args, **kwargs))

    return run


def inplace(rule: PointwiseRule) -> Callable[..., Tensor]:
    """The form that writes into its first argument."""
    build = call_builder(rule.name)

    def run(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return run_into(rule, build(self, *args, **kwargs), self, inplace=True)

    return run


def into(rule: PointwiseRule) -> Callable[..., Tensor]:
    """The form that writes into `out`."""
    build = call_builder(rule.name)

    def run(*args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return run_into(rule, build(*args, **kwargs), out, inplace=False)

    return run


def register_pointwise() -> None:
    """Register every pointwise row of the spec that has a formula."""
    for row in rows().values():
        if row.family == "pointwise" and row.base not in WITHOUT_FORMULA:
            register_row(row)
