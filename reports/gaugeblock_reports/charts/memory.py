"""The most memory that a call holds, beside what its result needs."""

from __future__ import annotations

from typing import Any

from . import quantities
from .axes import linear
from .bars import LEFT, RIGHT, Bar, BarRow, chart
from .cases import backends, label, named, pages
from .figure import Figure


def figures(record: dict[str, Any]) -> list[Figure]:
    """Peaks by case, with a mark at the least that is possible."""
    places = backends(record)
    rows = []
    for case in record["memory"]:
        results = [result for result in case["results"] if result.get("peak_bytes") is not None]
        if results:
            rows.append(BarRow(label(case), [_bar(places, result) for result in results]))
    names = named(places, {bar.series for row in rows for bar in row.bars})
    highest = max((bar.value for row in rows for bar in row.bars), default=0.0)
    found = []
    for page, part in pages(rows):
        title = f"Peak memory of a call{page}"
        scale = linear(highest, LEFT, RIGHT, most=4)
        svg = chart(title, part, names, scale, 0.0, lambda value: quantities.scaled(value, "B"), "bytes at most")
        caption = "Beside its arguments, at the worst moment. The line across each bar is what the result needs."
        found.append(Figure("memory", title, caption, svg))
    return found


def _bar(places: dict[str, int], result: dict[str, Any]) -> Bar:
    peak, least = result["peak_bytes"], result.get("least_bytes")
    words = f"{result['backend']} {quantities.scaled(peak, 'B')}"
    if least is not None:
        words += f", result {quantities.scaled(least, 'B')}"
    return Bar(places[result["backend"]], peak, words, least=least)
