"""The benchmark part of the page: charts of each record, the first two in sight, the others to be unfolded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..charts import charts
from ..record import Record, printable

SHOWN = 2


def section(records: Sequence[Record]) -> str:
    """The section of ``records``, or nothing if there is no chart to show."""
    parts = [part for record in records if (part := _part(printable(record)))]
    if not parts:
        return ""
    head = '<section id="benchmarks" aria-labelledby="h-benchmarks" tabindex="-1"><h2 id="h-benchmarks">Benchmarks</h2>'
    return f"{head}\n{''.join(parts)}</section>"


def _part(record: Record) -> str:
    figures = [figure.html() for figure in charts(record)]
    if not figures:
        return ""
    first, rest = "\n".join(figures[:SHOWN]), figures[SHOWN:]
    more = ""
    if rest:
        count = f"{len(rest)} more chart{'s' if len(rest) > 1 else ''}"
        more = f'<details class="more"><summary>{count}</summary><div class="charts">{"".join(rest)}</div></details>'
    return f'<p class="note">{escape(_told(record))}</p><div class="charts">{first}</div>{more}'


def _told(record: Record) -> str:
    names = ", ".join(f"{backend['name']} {backend['version']}" for backend in record["backends"])
    return f"{names}; measured {record['started']} on {record['machine']['cpu']}."
