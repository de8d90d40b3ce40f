"""Which conditions the drawn calls of a requirement meet: its tests are gone through, and nothing is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gaugeblock_spec import capabilities

from ..budget import Budget
from ..requirement import TestCase
from ..session import Session
from .calls import OperatorCall
from .conditions import Condition, judged, met, possible, unmet


@dataclass
class Tally:
    """The calls of one operator that were drawn: how many, and what they met of what calls can meet."""

    operator: str
    calls: int
    met: frozenset[Condition]
    writable: bool

    @property
    def wanted(self) -> frozenset[Condition]:
        """What some judged call can meet."""
        return judged(self.operator, self.writable)

    @property
    def missing(self) -> list[Condition]:
        """What is wanted, and none of the calls met."""
        return sorted(self.wanted - self.met)

    @property
    def ruled_out(self) -> dict[str, str]:
        """The conditions that no judged call meets although the samples allow them, each with the reason."""
        left = possible(self.operator, self.writable) - self.wanted
        return {str(one): unmet(self.operator, one) for one in sorted(left)}


class _Asked(BaseException):
    """A test has called the backend, so that it draws nothing that could be counted."""


class _Nowhere:
    """A backend that has all capabilities, and of which nothing may be asked."""

    name, version, device = "nowhere", "0", "cpu"

    def __init__(self) -> None:
        self.capabilities = frozenset(capabilities.load())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("has_data", "dialect"):
            raise AttributeError(name)

        def asked(*args: Any, **kwargs: Any) -> Any:
            raise _Asked

        return asked


class _Counting(Session):
    """Counts the examples of a test instead of running them."""

    def __init__(self, budget: Budget, seed: int) -> None:
        backend: Any = _Nowhere()
        super().__init__(backend, budget, seed)
        self.calls: dict[str, list[OperatorCall]] = {}

    def run_example(self, body: Callable[..., None], drawn: dict[str, Any]) -> None:
        self.outcome.examples += 1
        for value in drawn.values():
            if isinstance(value, OperatorCall):
                self.calls.setdefault(value.operator, []).append(value)


def tally(cases: list[TestCase], budget: Budget, seed: int) -> list[Tally]:
    """Return what the calls meet that tests draw under a budget, operator by operator."""
    return list(_tallies(cases, budget, seed))


def _tallies(cases: list[TestCase], budget: Budget, seed: int) -> Iterator[Tally]:
    drawn: dict[str, list[OperatorCall]] = {}
    for case in cases:
        session = _Counting(budget, seed)
        with suppress(_Asked):
            case.function(session)
        for name, calls in session.calls.items():
            drawn.setdefault(name, []).extend(calls)
    for name, calls in sorted(drawn.items()):
        found = frozenset(one for call in calls for one in met(call))
        yield Tally(name, len(calls), found, all(call.writable for call in calls))
