"""Pointwise operators: a kernel for every form of every pointwise row, on CPU and Meta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import REGISTRY
from ..tensor.tensor import Tensor
from .plan import Plannable, Planned
from .pointwise_call import CALLS, Call, call_builder
from .pointwise_rule import PointwiseRule
from .pointwise_run import Loop, loop_of, planned_functional, planned_into, run_functional, run_into
from .rows import Row, rows

WITHOUT_FORMULA = frozenset(
    {"mvlgamma", "special_multigammaln", "frexp", "polar", "complex", "isreal", "float_power"}
)
"""Pointwise operators without overload that modules of their own register."""
RULES: dict[str, PointwiseRule] = {}
"""Rule of each pointwise row by name."""


def register_row(row: Row) -> None:
    """Register the functional, in-place and out= kernels of one row."""
    rule = RULES[row.name] = PointwiseRule(row)
    build = call_builder(row.name)
    for name, form in ((row.name, Functional), (row.inplace_name, InPlace), (row.out_name, Into)):
        if name is not None:
            REGISTRY.put(name, ("CPU", "Meta"), form(name, rule, CALLS.get(name, build)))


class Form(Plannable[..., Tensor]):
    """A kernel of a pointwise operator; `build` makes a call of the operator's arguments."""

    def __init__(self, name: str, rule: PointwiseRule, build: Callable[..., Call]) -> None:
        self.__qualname__ = self.__name__ = name
        self.rule = rule
        self.build = build


class Functional(Form):
    """The form with a new result."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        return run_functional(self.rule, self.build(*args, **kwargs))

    def planned(self, *args: Any, **kwargs: Any) -> Planned[Tensor]:
        """Return the result together with the call behind it."""
        return planned_functional(self.rule, self.build(*args, **kwargs))

    def loop(self, *args: Any, **kwargs: Any) -> Loop | None:
        """Return the loop of a call without running it."""
        return loop_of(self.rule, self.build(*args, **kwargs), None, inplace=False)


class InPlace(Form):
    """The form that writes into its first argument."""

    def __call__(self, first: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return run_into(self.rule, self.build(first, *args, **kwargs), first, inplace=True)

    def planned(self, first: Tensor, *args: Any, **kwargs: Any) -> Planned[Tensor]:
        """Return the first argument, written, together with the call that writes."""
        return planned_into(self.rule, self.build(first, *args, **kwargs), first, inplace=True)

    def loop(self, first: Tensor, *args: Any, **kwargs: Any) -> Loop | None:
        """Return the loop of a call without running it."""
        return loop_of(self.rule, self.build(first, *args, **kwargs), first, inplace=True)


class Into(Form):
    """The form that writes into `out`."""

    def __call__(self, *args: Any, out: Tensor, **kwargs: Any) -> Tensor:
        return run_into(self.rule, self.build(*args, **kwargs), out, inplace=False)

    def planned(self, *args: Any, out: Tensor, **kwargs: Any) -> Planned[Tensor]:
        """Return `out`, written, together with the call that writes."""
        return planned_into(self.rule, self.build(*args, **kwargs), out, inplace=False)


def register_pointwise() -> None:
    """Register every pointwise row of the spec that has a formula."""
    for row in rows().values():
        if row.family == "pointwise" and row.base not in WITHOUT_FORMULA:
            register_row(row)
