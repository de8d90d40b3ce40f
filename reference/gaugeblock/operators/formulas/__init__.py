"""Formula tables by operator base name; variants carry a suffix ("add.alpha", "div.floor")."""

from __future__ import annotations

from . import arithmetic, comparison, networks, special
from .table import Formula, table

FORMULAS: dict[str, Formula] = table(
    (*arithmetic.FORMULAS, *comparison.FORMULAS, *special.FORMULAS, *networks.FORMULAS)
)
