"""scaled_abs(x, scale) = |x| * scale as an operator from outside: a row, a formula, a check and a derivative row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gaugeblock as gb
from gaugeblock.library import DeclaredOperator, load_operators

HERE = Path(__file__).parent


def formula(self: Any, scale: Any) -> Any:
    """One element; called once with a symbolic expression, from which vector and scalar loops are made."""
    return abs(self) * scale


def check(self: gb.Tensor, scale: float) -> None:
    """RuntimeError unless `self` is floating."""
    if not self.is_floating_point():
        raise RuntimeError(f"scaled_abs: expected float tensor, got {str(self.dtype).rpartition('.')[2]}")


def load() -> DeclaredOperator:
    """Declare the operator; it goes with the object that is returned."""
    return load_operators(
        HERE / "scaled_abs.yaml",
        formulas={"scaled_abs": formula},
        checks={"scaled_abs": check},
        derivatives=HERE / "derivatives.yaml",
        namespace="examples",
    )["scaled_abs"]
