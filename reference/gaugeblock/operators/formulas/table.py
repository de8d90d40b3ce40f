"""Rows of the formula tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn


class Formula(NamedTuple):
    """A pointwise formula and its dtype rules.

    `function` takes one Expr per operand. `compute`: "common" (promoted dtype of the operands) or "float" (the same,
    with bool and ints replaced by the default float dtype). `result`: "compute", "bool" or "real" (the component dtype
    of a complex compute dtype). `raw` lists operands that the formula takes in their own dtype, unconverted. The
    16-bit float dtypes are computed in float32 and rounded once. A function with the attribute `takes_dtype` gets the
    compute dtype as its last argument.
    """

    name: str
    function: Callable[..., Any]
    operands: int
    compute: str = "common"
    result: str = "compute"
    raw: tuple[int, ...] = ()


class Formulas(dict[str, Formula]):
    """Formulas by name. Looking up a name that has none raises NotImplementedError."""

    def __missing__(self, name: str) -> NoReturn:
        raise NotImplementedError(
            f"{name!r}: no formula of this name; a row of family pointwise needs one in a FORMULAS table of "
            f"gaugeblock.operators.formulas, or its base name in array_functions.WITHOUT_FORMULA"
        )


def table(rows: Iterable[Formula]) -> Formulas:
    """Return the rows by name. Raises ValueError for a name given twice."""
    found = Formulas()
    for row in rows:
        if row.name in found:
            raise ValueError(f"formula table: {row.name!r} is given twice")
        found[row.name] = row
    return found
