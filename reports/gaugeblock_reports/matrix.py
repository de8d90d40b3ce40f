"""Several runs side by side: areas and levels down, runs across."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .record import Record, level_rank

LEVELS = ("MUST", "SHOULD", "MAY")
HELD = ("passed", "partial", "xpassed")
BROKEN = ("failed", "crashed", "timeout")
LONGEST = 32


@dataclass(frozen=True)
class Cell:
    """What one run says of the requirements of one area and level."""

    counts: Counter[str]

    @property
    def held(self) -> int:
        """Requirements that hold, expected or not."""
        return sum(self.counts[status] for status in HELD)

    @property
    def partial(self) -> int:
        """Requirements that hold as far as they were judged: some of their tests or operators were skipped."""
        return self.counts["partial"]

    @property
    def known(self) -> int:
        """Broken as expected."""
        return self.counts["xfailed"]

    @property
    def broken(self) -> int:
        """Broken, and nobody said so before."""
        return sum(self.counts[status] for status in BROKEN)

    @property
    def skipped(self) -> int:
        """Not asked, for want of a capability or an operator."""
        return self.counts["skipped"]

    @property
    def judged(self) -> int:
        """Held or broken."""
        return self.held + self.known + self.broken

    @property
    def text(self) -> str:
        """``28/32 ½3 ~4 -5``: held of judged, of these held in part, known not to hold, broken, skipped."""
        if not self.counts:
            return ""
        parts = [f"{self.held}/{self.judged}"] if self.judged else []
        signs = (("½", self.partial), ("~", self.known), ("!", self.broken), ("-", self.skipped))
        return " ".join([*parts, *(f"{sign}{count}" for sign, count in signs if count)])

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.counts + other.counts)


MEANING = "Cells: requirements that hold, of those checked; ½ in part, ~ known not to, ! broken otherwise, - skipped."

NOTHING = Cell(Counter())


@dataclass(frozen=True)
class Matrix:
    """``cells[area, level]`` has one cell per run; a run without such requirements has an empty one."""

    labels: list[str]
    areas: list[str]
    cells: dict[tuple[str, str], list[Cell]]

    def levels(self, area: str) -> list[str]:
        """The levels that the area has in any run, MUST first."""
        return [level for level in LEVELS if (area, level) in self.cells]

    def text(self) -> list[list[str]]:
        """Rows of a table: area, level, one cell per run; the last rows are the totals."""
        rows = [[area, level, *(cell.text for cell in cells)] for (area, level), cells in self.cells.items()]
        found = [level for level in LEVELS if any(key[1] == level for key in self.cells)]
        return [*rows, *(["all", level, *(cell.text for cell in self.total(level))] for level in found)]

    def total(self, level: str) -> list[Cell]:
        """One cell per run over all areas."""
        columns = [cells for (_, found), cells in self.cells.items() if found == level]
        return [sum((cells[run] for cells in columns), NOTHING) for run in range(len(self.labels))]


def matrix(records: Sequence[Record]) -> Matrix:
    """The matrix of ``records``, areas in the order in which they first appear."""
    counts: dict[tuple[str, str], list[Counter[str]]] = {}
    for run, record in enumerate(records):
        for row in record["requirements"]:
            cells = counts.setdefault((row["area"], row["level"]), [Counter() for _ in records])
            cells[run][row["status"]] += 1
    areas = list(dict.fromkeys(row["area"] for record in records for row in record["requirements"]))
    ordered = sorted(counts, key=lambda key: (areas.index(key[0]), level_rank(key[1])))
    return Matrix(labels(records), areas, {key: [Cell(count) for count in counts[key]] for key in ordered})


def labels(records: Sequence[Record]) -> list[str]:
    """A short name for each run; device, budget or a number join in only where names are the same without."""
    found = [_name(record) for record in records]
    for extra in ("device", "budget", "started"):
        counted = Counter(found)
        if max(counted.values(), default=0) <= 1:
            break
        same = {name: {_short(str(r["environment"][extra])) for r, n in zip(records, found, strict=True) if n == name}
                for name in counted}  # fmt: skip
        found = [
            f"{name} {_short(str(record['environment'][extra]))}" if len(same[name]) > 1 else name
            for name, record in zip(found, records, strict=True)
        ]
    counted = Counter(found)
    seen: Counter[str] = Counter()
    for place, name in enumerate(found):
        seen[name] += 1
        if counted[name] > 1:
            found[place] = f"{name} ({seen[name]})"
    return found


def short_labels(records: Sequence[Record]) -> list[str]:
    """The name alone where that tells the runs apart, else version or full label."""
    for field in ("name", "version"):
        found = [_short(str(record["environment"][field])) for record in records]
        if len(set(found)) == len(found):
            return found
    return labels(records)


def sentence(record: Record) -> str:
    """The run in a sentence for people: ``torch 2.13.0: 549 of 555 MUST hold, 6 known not to``."""
    rows = record["requirements"]
    must = Cell(Counter(row["status"] for row in rows if row["level"] == "MUST"))
    lesser = Cell(Counter(row["status"] for row in rows if row["level"] != "MUST"))
    if not must.judged and not lesser.judged:
        return f"{_name(record)}: nothing was checked"
    parts = [f"{must.held:,} of {must.judged:,} MUST hold"]
    if must.partial:
        parts.append(f"{must.partial:,} of them in part")
    if must.known:
        parts.append(f"{must.known:,} known not to")
    if must.broken:
        parts.append(f"{must.broken:,} broken")
    if must.counts["xpassed"]:
        parts.append(f"{must.counts['xpassed']:,} held against expectation")
    if lesser.broken + lesser.known:
        parts.append(f"{lesser.broken + lesser.known:,} SHOULD or MAY not met")
    if must.skipped:
        parts.append(f"{must.skipped:,} skipped")
    unfinished = " (an unfinished run)" if record["environment"].get("unfinished") else ""
    return f"{_name(record)}{unfinished}: {', '.join(parts)}"


def _name(record: Record) -> str:
    environment = record["environment"]
    return f"{_short(environment['name'])} {_short(environment['version'])}"


def _short(text: str) -> str:
    """A name that fits the head of a column; the whole one stands among the facts of its run."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
