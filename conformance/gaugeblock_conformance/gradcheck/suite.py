"""The derivatives of every differentiable operator as a suite for the runner: one requirement for each order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from gaugeblock_spec import operators
from gaugeblock_spec.requirements import Requirement

from ..requirement import TestCase
from ..runner.suite import Suite
from ..session import Session
from .operators import FIRST, FORWARD, NEEDS, ORDERS, SECOND, check_operator
from .rows import differentiable

SLOW = f"{__name__}:slow"
FAST = f"{__name__}:fast"
_SENTENCES = {
    FIRST: "The gradient of `{}` agrees with central differences of it.",
    SECOND: "The gradient of the gradient of `{}` agrees with central differences of its gradient.",
    FORWARD: "The forward derivative of `{}` agrees with central differences of it.",
}


def identifier(operator: str, order: str) -> str:
    """The requirement's id: ``first_order/add--tensor``; outer underscores are told by words."""
    base, _, overload = operator.partition(".")
    words = ["internal" * base.startswith("_"), base.strip("_"), "in-place" * base.endswith("_")]
    slug = "-".join(word for word in words if word) + f"--{overload}" * bool(overload)
    return f"{order}/{slug.replace('_', '-').lower()}"


@cache
def operator_of() -> dict[str, str]:
    """Requirement id -> operator."""
    return {identifier(operator, order): operator for operator in differentiable() for order in ORDERS}


def slow() -> Suite:
    """Full Jacobians."""
    return _suite(fast=False)


def fast() -> Suite:
    """Random projections."""
    return _suite(fast=True)


def _suite(fast: bool) -> Suite:
    found = {name: _requirement(name, operator) for name, operator in operator_of().items()}
    in_order = sorted(found, key=lambda name: ORDERS.index(found[name].area))
    requirements = {name: found[name] for name in in_order}

    def tests() -> dict[str, list[TestCase]]:
        return {name: [_test(requirement, fast)] for name, requirement in requirements.items()}

    return Suite(requirements, tests)


def _requirement(name: str, operator: str) -> Requirement:
    order, _, slug = name.partition("/")
    file = operators.load()[operator].file
    return Requirement(
        id=name, area=order, slug=slug, level="MUST", capabilities=NEEDS[order], origin=("AUTOGRAD-045",),
        source=f"derivatives/{file}", sentence=_SENTENCES[order].format(operator), examples=(), section="gradcheck",
        line=0,
    )  # fmt: skip


def _test(requirement: Requirement, fast: bool) -> TestCase:
    operator = operator_of()[requirement.id]
    run: Callable[[Session], None] = partial(check_operator, operator=operator, order=requirement.area, fast=fast)
    return TestCase(
        name=f"{requirement.area} {operator}", function=run, module=__name__, line=0, ids=(requirement.id,), needs=(),
    )  # fmt: skip
