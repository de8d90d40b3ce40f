"""Which requirements a run covers, and in which order they are handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gaugeblock_spec import operators as spec
from gaugeblock_spec.requirements import LEVELS, Requirement

from ..problem import UsageProblem, unknown, unknown_requirement


@dataclass(frozen=True)
class Selection:
    """Filters, all of which must let a requirement through. ``level`` is the weakest level wanted.

    With ``operators``, named without overload or form, only verdicts on these operators are asked for.
    """

    areas: tuple[str, ...] = ()
    level: str = "may"
    requirements: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def apply(self, known: Mapping[str, Requirement]) -> list[str]:
        """The ids selected, in the spec's order.

        Raises:
            UsageProblem: an area, level, operator or id that does not exist, or filters that together let nothing
                through.
        """
        areas = list(dict.fromkeys(requirement.area for requirement in known.values()))
        levels = [level.lower() for level in LEVELS]
        for area in self.areas:
            if area not in areas:
                raise unknown("area", area, areas)
        for identifier in self.requirements:
            if identifier not in known:
                raise unknown_requirement(identifier, known, "all: gaugeblock requirements")
        names = {word for name in spec.load() for word in (name, name.partition(".")[0].rstrip("_"))}
        for operator in self.operators:
            if operator not in names:
                raise unknown("operator", operator, sorted(names))
        if self.level not in levels:
            raise unknown("level", self.level, levels)
        wanted = LEVELS[: levels.index(self.level) + 1]
        selected = [
            identifier
            for identifier, requirement in known.items()
            if requirement.level in wanted
            and (not self.areas or requirement.area in self.areas)
            and (not self.requirements or identifier in self.requirements)
        ]
        if not selected:
            raise UsageProblem(f"nothing to run: no requirement matches {self._described()}")
        return selected

    def _described(self) -> str:
        parts = []
        if self.areas:
            parts.append(f"--area {' '.join(self.areas)}")
        if self.level != "may":
            parts.append(f"--level {self.level}")
        if self.requirements:
            parts.append(f"--requirement {' '.join(self.requirements)}")
        return " and ".join(parts) or "(the spec has no requirements)"


def longest_first(ids: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Order of work: by time in an earlier run, longest first; ids without a known time come before, as they stand."""
    if not seconds:
        return list(ids)
    return sorted(ids, key=lambda identifier: -seconds.get(identifier, float("inf")))
