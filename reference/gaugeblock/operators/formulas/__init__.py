"""Formula tables by operator base name; variants carry a suffix ("add.alpha", "div.floor")."""

from __future__ import annotations

from . import (
    activation,
    arithmetic,
    bitwise,
    comparison,
    elementary,
    loss,
    normalization,
    rounding,
    special,
    ternary,
    transcendental,
)
from .table import Formula, table

_MODULES = (
    arithmetic,
    comparison,
    bitwise,
    rounding,
    elementary,
    special,
    ternary,
    activation,
    loss,
    normalization,
    transcendental,
)
FORMULAS: dict[str, Formula] = table(row for module in _MODULES for row in module.FORMULAS.values())
