"""Which rows of the operator table are differentiable."""

from __future__ import annotations

from functools import cache

from gaugeblock_spec import derivatives, operators
from gaugeblock_spec.schema import parse

# Families whose results carry no gradient wherever no derivative is declared.
_MISSING = "no_derivative("
_WITHOUT = frozenset({"factory", "query", "metadata"})


@cache
def differentiable() -> tuple[str, ...]:
    """Rows with floating operands and results of which the spec declares a derivative.

    Where it declares none for a whole file, all rows of it with floating results count, but for some families.
    """
    return tuple(name for name, row in operators.load().items() if _differentiable(row))


@cache
def undifferentiable(operator: str) -> frozenset[str]:
    """Operands of a row by which the spec declares no derivative, or that there is none yet."""
    entry = derivatives.find(operator, operators.load()[operator].file)
    if entry is None:
        return frozenset()
    missing = [names for names, formula in entry.formulas.items() if formula.startswith(_MISSING)]
    return frozenset([*entry.nothing, *(name for names in missing for name in names)])


def _differentiable(row: operators.Operator) -> bool:
    if "float64" not in row.dtypes and "complex128" not in row.dtypes:
        return False
    if not any(argument.base_type == "Tensor" for argument in parse(row.schema).arguments):
        return False
    entry = derivatives.find(row.name, row.file)
    if entry is not None and entry.kind == "formulas":
        return any(name not in undifferentiable(row.name) for name in entry.arguments)
    if entry is not None:
        return entry.kind == "composite"
    return row.family not in _WITHOUT and row.result not in ("bool", "int64") and not derivatives.entries(row.file)
