"""A session: one test's conversation with a backend, run example by example under a budget and a seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from .backend import Backend, Unsupported
from .budget import STANDARD, Budget
from .conversation import Handle, Outcome
from .failure import ConformanceError
from .judge import Judge

__all__ = ["Budget", "ConformanceError", "Handle", "Outcome", "Session"]


class Session(Judge):
    """Runs the checks of one test against ``backend``: what every test of the suite is given.

    ``budget`` says how many examples a property tries, ``seed`` which ones, ``shrink`` whether a failing one is made
    smaller before it is told. A test that goes over many operators tries those of ``foremost`` before the others,
    or, if ``narrow``, them alone; ``sweeps`` says afterwards whether it was such a test.
    """

    def __init__(self, backend: Backend, budget: Budget = STANDARD, seed: int = 0) -> None:
        super().__init__(backend)
        self.budget = budget
        self.seed = seed
        self.shrink = True
        self.foremost: Collection[str] = ()
        self.narrow = False
        self.sweeps = False

    def in_order(self, operators: Iterable[str]) -> list[str]:
        """``operators`` with the foremost ones, whatever their overload or form, before the others."""
        self.sweeps = True
        first = {_base(name) for name in self.foremost}
        if self.narrow:
            return [name for name in operators if _base(name) in first]
        return sorted(operators, key=lambda name: _base(name) not in first)

    def run_example(self, body: Callable[..., None], drawn: dict[str, Any]) -> None:
        """Run ``body(self, **drawn)`` as one example; an unsupported operator in it is noted and ends it."""
        self.begin(drawn)
        self._inside = True
        try:
            body(self, **drawn)
            self._purity.check_all(self)
        except Unsupported as missing:
            self.outcome.unsupported[f"{missing.operator}"] = f"{missing.reason}"
            return
        finally:
            self._inside = False
        self.outcome.examples += 1

    def table(self, rows: Iterable[Any], body: Callable[..., None]) -> None:
        """Run ``body(self, *row)`` for each row of a table, each an example of its own; its tensors are not drawn."""
        self._from_table = True
        try:
            for row in rows:
                values = row if isinstance(row, tuple) else (row,)
                self.run_example(lambda s, row, values=values: body(s, *values), {"row": row})
        finally:
            self._from_table = False


def _base(operator: str) -> str:
    """``add_.Tensor`` as ``add``."""
    return operator.partition(".")[0].rstrip("_")
