"""Why a call of the reference takes longer than PyTorch's: one line for each group of cases of the suite operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SLOWER_FROM = 1.25
"""The ratio of times from which a case has to have a reason."""


class Reason(NamedTuple):
    """Why the calls of some operators take longer; empty tuples stand for all layouts or sizes."""

    operators: str
    layouts: tuple[str, ...]
    sizes: tuple[int, ...]
    why: str

    def covers(self, operator: str, layout: str, size: int) -> bool:
        """Return whether the reason is meant for a case."""
        return (
            operator in self.operators.split()
            and (not self.layouts or layout in self.layouts)
            and (not self.sizes or size in self.sizes)
        )


REASONS: tuple[Reason, ...] = ()


def reason(case: Mapping[str, Any], backend: str, against: str, ratio: float) -> dict[str, str]:
    """Return the member `why` of the ratio of a case, where it has a reason."""
    if (backend, against) != ("reference", "torch") or case["suite"] != "operators" or ratio < SLOWER_FROM:
        return {}
    found = [one.why for one in REASONS if one.covers(case["operator"], case["layout"], case["size"])]
    return {"why": found[0]} if found else {}
