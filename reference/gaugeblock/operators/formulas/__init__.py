"""Formulas by operator base name; variants carry a suffix ("add.alpha", "div.floor").

A formula takes one Expr per operand and returns one or a tuple of several. The 16-bit float dtypes are computed in
float32 and rounded once. A function with the attribute `takes_dtype` gets the dtype that is computed in as its last
argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from . import arithmetic, comparison, networks, quantization, special


class Formulas(dict[str, Callable[..., Any]]):
    """Formulas by name. Looking up a name that has none raises NotImplementedError."""

    def __missing__(self, name: str) -> NoReturn:
        raise NotImplementedError(
            f"{name!r}: no formula of this name; a row of family pointwise needs one in a FORMULAS table of "
            f"gaugeblock.operators.formulas, or its base name in array_functions.WITHOUT_FORMULA"
        )


FORMULAS = Formulas(
    arithmetic.FORMULAS | comparison.FORMULAS | special.FORMULAS | networks.FORMULAS | quantization.FORMULAS
)
RAW = {"where": (0,), "where.filled": (1,), "softmax": (0, 1, 2), "log_softmax": (0, 1, 2), "polygamma": (1, 2),
       "polygamma.log": (1, 2), "pivoted": (1, 2), "dequantize.wide": (0, 1, 2),
       "dequantize.channel": (0, 1, 2)}  # fmt: skip
"""Formula -> the operands that it takes in their own dtype, unconverted."""
