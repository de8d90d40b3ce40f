"""How hard one run tries."""

from __future__ import annotations

from dataclasses import dataclass

from .problem import unknown


@dataclass(frozen=True)
class Budget:
    """``examples`` drawn by a property of weight 1, and seconds: ``timeout`` for all tests of one requirement, or for
    each operator of one that goes over operators, and ``total`` for the whole run."""

    name: str
    examples: int
    timeout: float
    total: float = float("inf")


# Timeouts are for hangs: at least five times what the longest requirement takes on a quiet machine of two cores; and so
# is the total of the quick budget, for backends of which each requirement crashes.
QUICK = Budget("quick", examples=60, timeout=60.0, total=300.0)
STANDARD = Budget("standard", examples=400, timeout=300.0)
THOROUGH = Budget("thorough", examples=4000, timeout=3000.0)

BUDGETS = {budget.name: budget for budget in (QUICK, STANDARD, THOROUGH)}


def named(name: str) -> Budget:
    """The budget called ``name``. Raises UsageProblem for any other name."""
    if name not in BUDGETS:
        raise unknown("budget", name, BUDGETS)
    return BUDGETS[name]
