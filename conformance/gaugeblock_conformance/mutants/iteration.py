"""Plans of an iterator whose loops run in another order, over other dims, or in another dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..iteration_plan import IterationPlan
from .mutant import Intercepted, Patch, rows

_PLAN = ("iteration_plan",)


def _planned(change: Callable[[IterationPlan], IterationPlan]) -> Patch:
    """The right plan, changed."""
    return lambda c: change(c.right())


def _halved(plan: IterationPlan) -> IterationPlan:
    """The innermost loop is two where its length is even or a multiple of three."""
    length = plan.shape[0] if plan.shape else 1
    part = next((n for n in (2, 3) if length % n == 0 and length > n), 1)
    if part == 1 or not all(plan.strides):
        return plan
    shape = (length // part, part, *plan.shape[1:])
    strides = tuple((row[0], row[0] * (length // part), *row[1:]) for row in plan.strides)
    return replace(plan, shape=shape, strides=strides)


def _outward(plan: IterationPlan) -> IterationPlan:
    return replace(plan, shape=plan.shape[::-1], strides=tuple(row[::-1] for row in plan.strides))


def _never_empty(plan: IterationPlan) -> IterationPlan:
    return replace(plan, runs=max(plan.runs, 1), visits=max(plan.visits, 1))


def _of_the_first(c: Intercepted) -> Any:
    """The loops are those that the first operand asks for."""
    return c.instead(c.args[0][:1], *c.args[1:])


def _apart(c: Intercepted) -> Any:
    """A dim of size 1 keeps its neighbours apart."""
    plan, sizes = c.right(), c.backend.shape(c.args[0][0])
    long = [n for n in sizes if n > 1]
    if 1 not in sizes or len(plan.shape) != 1 or len(long) < 2:
        return plan
    inner, outer = long[-1], plan.shape[0] // long[-1]
    strides = tuple((row[0], row[0] * inner) for row in plan.strides)
    return replace(plan, shape=(inner, outer), strides=strides, runs=plan.runs * outer)


def _promoted(c: Intercepted) -> Any:
    return c.instead(c.args[0], True)


MUTANTS = (
    *rows(
        "strides and layout",
        ("loops-are-cut-in-two", "iteration/dims-collapse-when-strides-continue", _PLAN, _planned(_halved)),
        ("largest-stride-runs-innermost", "iteration/smallest-stride-runs-innermost", _PLAN, _planned(_outward)),
        ("empty-ranges-call-the-kernel", "iteration/empty-range-calls-no-kernel", _PLAN, _planned(_never_empty)),
        ("first-operand-decides-the-loops", "iteration/one-operand-blocks-collapsing", _PLAN, _of_the_first),
        ("unit-dims-keep-dims-apart", "iteration/unit-dims-never-block-collapsing", _PLAN, _apart),
    ),
    *rows(
        "dtypes",
        ("plans-promote-unasked", "iteration/iterator-promotes-on-request", _PLAN, _promoted),
    ),
)
