"""Python's operators and the functions behind them."""

from __future__ import annotations

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
"""Name in ``__add__``, ``__radd__`` and ``__iadd__`` -> function."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive"}
REVERSED_ROWS = {"pow": "pow.Scalar", "remainder": "remainder.Scalar_Tensor"}
"""Functions that have an own row for a number on the left."""
