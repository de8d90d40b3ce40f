"""Formula tables by operator base name; variants carry a suffix ("add.alpha", "div.floor")."""

from __future__ import annotations

from . import activation, arithmetic, bitwise, comparison, elementary, normalization, rounding, special, ternary
from .table import Formula, table

FORMULAS: dict[str, Formula] = table(
    row
    for module in (arithmetic, comparison, bitwise, rounding, elementary, special, ternary, activation, normalization)
    for row in module.FORMULAS.values()
)
