"""What a session has counted and found over all its examples."""

from __future__ import annotations

from dataclasses import dataclass, field

from .failure import ConformanceError
from .own_rules import LEAVING_OUT, OwnRule
from .trace import Step


@dataclass
class Outcome:
    """Totals of a session over all its examples.

    ``operators`` has those that the backend answered for some arguments, ``figures`` a test's measurements by name. Of
    a test that goes over operators, ``judged`` has the number of examples of each, ``broken`` the failures, and
    ``first_steps`` the calls that led to the first of these. ``misbuilt`` is the failure of the first tensor that was
    not built as asked: an example with one says nothing of operators. ``own_rules`` has how often each rule of the
    library's own made a difference, and ``left_out`` is set when something was not asked because of one.
    """

    examples: int = 0
    calls: int = 0
    tensors: int = 0
    noncontiguous: int = 0
    unsupported: dict[str, str] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)
    figures: dict[str, float] = field(default_factory=dict)
    judged: dict[str, int] = field(default_factory=dict)
    broken: dict[str, ConformanceError] = field(default_factory=dict)
    first_steps: list[Step] | None = None
    misbuilt: ConformanceError | None = None
    own_rules: dict[str, int] = field(default_factory=dict)
    left_out: bool = False

    def used(self, rule: OwnRule) -> None:
        """Count a rule of the library's own that made a difference."""
        self.own_rules[rule.name] = self.own_rules.get(rule.name, 0) + 1
        self.left_out = self.left_out or rule.kind in LEAVING_OUT
