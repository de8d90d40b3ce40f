"""What became of each requirement from one run to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..matrix import BROKEN, HELD, labels
from ..record import Record, Row, level_rank

# Kind -> its name in reports, in the order in which they are shown.
KINDS = {
    "broken": "newly broken",
    "mended": "mended",
    "still": "still broken",
    "lost": "newly skipped",
    "found": "newly checked",
    "first": "only in the first",
    "second": "only in the second",
    "changed": "changed for some operators",
    "same": "unchanged",
}

# What decides how comparable two runs are.
CONDITIONS = ("budget", "seed", "device", "spec_version", "suite_version", "python", "cpu", "selection")


@dataclass(frozen=True)
class Change:
    """One requirement: its rows in both runs (None: not in that one) and what became of it.

    Where it is judged operator by operator, `operators` has what became of those that changed.
    """

    kind: str
    before: Row | None
    after: Row | None
    operators: dict[str, str] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[str]:
        """The operators that something became of."""
        return [name for name, found in self.operators.items() if found == kind]

    @property
    def row(self) -> Row:
        """The later row: its sentence and level are shown."""
        row = self.after or self.before
        assert row is not None
        return row

    @property
    def level(self) -> str:
        return str(self.row["level"])

    @property
    def must(self) -> bool:
        """Whether either run had it as a MUST."""
        return any(row is not None and row["level"] == "MUST" for row in (self.before, self.after))


@dataclass(frozen=True)
class Comparison:
    """All requirements of two runs, in the order of the chapters."""

    runs: tuple[Record, Record]
    labels: tuple[str, str]
    changes: list[Change]

    def of_kind(self, kind: str) -> list[Change]:
        return [change for change in self.changes if change.kind == kind]

    @property
    def regressions(self) -> list[Change]:
        """Every MUST that held and is broken now, as a whole or for an operator, whether or not that was expected."""
        return [
            change
            for change in self.changes
            if change.must
            and ((change.kind == "broken" and _group(change.before) == "held") or change.of_kind("broken"))
        ]

    @property
    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """(area, level) -> kind -> how many."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for change in self.changes:
            found.setdefault((change.row["area"], change.level), Counter())[change.kind] += 1
        areas = list(dict.fromkeys(area for area, _ in found))
        return dict(sorted(found.items(), key=lambda item: (areas.index(item[0][0]), level_rank(item[0][1]))))

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        counts = Counter(change.kind for change in self.changes)
        parts = [f"{counts[kind]:,} {name}" for kind, name in KINDS.items() if counts[kind] and kind != "same"]
        told = ", ".join(parts) if parts else "no requirement changed"
        return f"{self.labels[0]} → {self.labels[1]}: {told}"

    @property
    def cautions(self) -> list[str]:
        """Conditions in which the runs differ, so that a change may be theirs and not the backend's."""
        first, second = (run["environment"] for run in self.runs)
        found = [
            f"{name.replace('_', ' ')} differs: {_shown(first[name])} and {_shown(second[name])}"
            for name in CONDITIONS
            if first[name] != second[name]
        ]
        if any(run["environment"].get("unfinished") for run in self.runs):
            found.append("an unfinished run: what it had not decided counts as only in the other")
        return found


def compare(first: Record, second: Record) -> Comparison:
    """Each requirement of either run, with what became of it from ``first`` to ``second``."""
    sides = [{row["id"]: row for row in record["requirements"]} for record in (first, second)]
    names = dict.fromkeys([*sides[1], *sides[0]])
    areas = list(dict.fromkeys(identifier.partition("/")[0] for identifier in names))
    ordered = sorted(names, key=lambda identifier: areas.index(identifier.partition("/")[0]))
    changes = [_change(sides[0].get(identifier), sides[1].get(identifier)) for identifier in ordered]
    named: Sequence[str] = labels([first, second])
    return Comparison((first, second), (named[0], named[1]), changes)


def _change(before: Row | None, after: Row | None) -> Change:
    if before is None or after is None:
        return Change("second" if before is None else "first", before, after)
    kind = _kind(_group(before), _group(after))
    operators = _operators(before["subresults"], after["subresults"])
    if kind == "same" and operators:
        kind = "changed"
    return Change(kind, before, after, operators)


def _operators(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """What became of each operator that both runs judged and that changed."""
    kinds = {name: _kind(_status_group(before[name]), _status_group(after[name])) for name in after if name in before}
    return {name: kind for name, kind in kinds.items() if kind not in ("same", "still")}


def _kind(*groups: str) -> str:
    if groups[1] == "skipped":
        return "same" if groups[0] == "skipped" else "lost"
    if groups[1] == "broken":
        return "still" if groups[0] == "broken" else "broken"
    return {"broken": "mended", "held": "same", "skipped": "found"}[groups[0]]


def _group(row: Row | None) -> str:
    """Held, broken (expected or not) or skipped."""
    return _status_group("skipped" if row is None else row["status"])


def _status_group(status: str) -> str:
    return "held" if status in HELD else "broken" if status in BROKEN or status == "xfailed" else "skipped"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else str(value)
