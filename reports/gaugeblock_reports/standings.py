"""The table of committed runs in the README: ``python -m gaugeblock_reports.standings [FOLDER]`` prints it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .matrix import BROKEN, HELD
from .record import FILE, Record, load, printable

FOLDER = Path("reports/scoreboard")
_HEAD = """\
| backend | version | budget | asked | hold | hold in part | known not to hold | broken otherwise | skipped by name |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def read(folder: Path) -> list[Record]:
    """The records of ``folder``/NAME/record.json, the one with the most requirements that hold first.

    Raises:
        RecordError: one of them is no record.
    """
    records = [load(path) for path in sorted(folder.glob(f"*/{FILE}"))]
    return sorted(records, key=lambda record: -_held(_statuses(record)))


def table(records: Sequence[Record]) -> str:
    """One row of Markdown for each record: its requirements of all levels, by what became of them."""
    return "\n".join([_HEAD, *map(_row, records)])


def _row(record: Record) -> str:
    environment, counts = record["environment"], _statuses(record)
    broken = sum(counts[status] for status in BROKEN)
    whole = _held(counts) - counts["partial"]
    figures = (counts.total(), whole, counts["partial"], counts["xfailed"], broken, counts["skipped"])
    names = [str(printable(environment[field])).replace("|", r"\|") for field in ("name", "version", "budget")]
    if (kind := str(printable(environment["device"])).partition(":")[0].lower()) != "cpu":
        names[0] += f" on {kind}"
    return f"| {' | '.join([*names, *map(str, figures)])} |"


def _statuses(record: Record) -> Counter[str]:
    return Counter(row["status"] for row in record["requirements"])


def _held(counts: Counter[str]) -> int:
    return sum(counts[status] for status in HELD)


def main(arguments: Sequence[str]) -> None:
    """Print the table of the records in the folder that is named, else of the committed ones."""
    print(table(read(Path(arguments[0]) if arguments else FOLDER)))


if __name__ == "__main__":
    main(sys.argv[1:])
