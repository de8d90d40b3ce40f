"""Every operator in every dtype and layout as a suite for the runner, whose workers may die of any of them."""

from __future__ import annotations

from functools import cache, partial

from gaugeblock_spec import operators
from gaugeblock_spec.requirements import Requirement

from ..requirement import TestCase
from ..runner.suite import Suite
from . import cells, layouts

ADDRESS = f"{__name__}:suite"


@cache
def identifier(operator: str, dtype: str) -> str:
    """``pointwise/add.Tensor/float32``."""
    return f"{operators.load()[operator].family}/{operator}/{dtype}"


@cache
def cell_of() -> dict[str, tuple[str, str]]:
    """Id -> operator and dtype or layout."""
    return {identifier(*cell): cell for cell in (*cells.cells(), *layouts.cells())}


def suite() -> Suite:
    """One requirement, with one test, for each operator and dtype or layout."""
    requirements = {name: _requirement(name, *cell) for name, cell in cell_of().items()}

    def tests() -> dict[str, list[TestCase]]:
        return {name: [_test(name, *cell)] for name, cell in cell_of().items()}

    return Suite(requirements, tests)


def _requirement(name: str, operator: str, dtype: str) -> Requirement:
    return Requirement(
        id=name, area=operators.load()[operator].family, slug=f"{operator}/{dtype}", level="MUST", capabilities=(),
        origin=(), source="", sentence="", examples=(), section="support", line=0,
    )  # fmt: skip


def _test(name: str, operator: str, dtype: str) -> TestCase:
    if dtype in layouts.LAYOUTS:
        run = partial(layouts.check, operator=operator, layout=dtype)
    else:
        run = partial(cells.check, operator=operator, dtype=dtype)
    return TestCase(name=name, function=run, module=__name__, line=0, ids=(name,), needs=())
