"""Number of operands and result dtype of a formula, for tests that record formulas without an operator."""

from __future__ import annotations

import functools
import inspect

from gaugeblock.core.dtype import DType, bool_
from gaugeblock.kernels.special import in_double
from gaugeblock.operators.deferred import Deferred
from gaugeblock.operators.formulas import FORMULAS
from gaugeblock.operators.rows import rows


def operand_count(name: str) -> int:
    """Return how many operands a formula takes."""
    function, given = FORMULAS[name], 0
    if isinstance(function, functools.partial) and function.func is in_double:
        function, given = function.args[0], 1
    if isinstance(function, Deferred):
        function = function._function()
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return len(needed) - given - getattr(function, "takes_dtype", False)


def result_dtype(name: str, compute: DType) -> DType:
    """Return the dtype of a formula's result, by the rule of the operator that it is named after."""
    rule = next((row.result for row in rows().values() if row.base == name.partition(".")[0]), "compute")
    return bool_ if rule == "bool" else compute.to_real() if rule == "real" else compute
