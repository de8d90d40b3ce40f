"""What a site is made of beside the spec: run records, benchmark records, Markdown pages of deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..record import BENCH, FILE, RUN, Record, RecordError, load_all, printable


@dataclass(frozen=True)
class Inputs:
    """Records with printable texts alone, in the order of their folders; deviations by file name."""

    runs: Sequence[Record] = ()
    benches: Sequence[Record] = ()
    deviations: dict[str, str] = field(default_factory=dict)


def read(scoreboard: Path | None = None, deviations: Path | None = None, benches: Sequence[Path] = ()) -> Inputs:
    """The inputs in these folders and files. Raises RecordError for one that is missing or is not what it should be."""
    found = [record for path in sorted(scoreboard.glob(f"*/{FILE}")) for record in load_all(path)] if scoreboard else []
    measured = list(benches) or (sorted(scoreboard.glob("*/bench*.json")) if scoreboard else [])
    records = [*found, *(record for path in measured for record in load_all(path))]
    texts: dict[str, str] = {}
    for path in sorted(deviations.rglob("*.md")) if deviations else ():
        try:
            texts[path.relative_to(deviations).as_posix()] = path.read_text(encoding="utf-8")  # type: ignore[arg-type]
        except (OSError, UnicodeDecodeError) as error:
            raise RecordError(f"{path}: cannot be read: {error}") from error
    return Inputs(
        [printable(record) for record in records if record["schema"] == RUN],
        [printable(record) for record in records if record["schema"] == BENCH],
        texts,
    )
