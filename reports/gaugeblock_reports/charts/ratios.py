"""Times as ratios to one backend, with their 95 % intervals, around 1: a chart for each suite."""

from __future__ import annotations

from typing import Any

from . import quantities
from .axes import doublings
from .bars import LEFT, RIGHT, Bar, BarRow, chart
from .cases import absences, backends, label, named, pages
from .figure import Figure

TITLES = {
    "overhead": "Small tensors", "throughput": "Large tensors", "autograd": "Autograd", "training": "Training",
    "allocator": "Allocator",
}  # fmt: skip


def figures(record: dict[str, Any]) -> list[Figure]:
    """Of each suite that has ratios, cases in order of their ratio."""
    return [figure for suite in TITLES for figure in _suite(record, suite)]


def _suite(record: dict[str, Any], suite: str) -> list[Figure]:
    places = backends(record)
    rows = []
    for case in record["cases"]:
        if case["suite"] == suite and case["ratios"]:
            rows.append(BarRow(label(case), [_bar(places, ratio) for ratio in case["ratios"]]))
    rows.sort(key=lambda row: min(bar.value for bar in row.bars))
    against = record["options"]["against"]
    values = [end for row in rows for bar in row.bars for end in (bar.value, bar.low or 1.0, bar.high or 1.0)]
    names = named(places, {bar.series for row in rows for bar in row.bars})
    caption = f"Time of one call divided by that of {against}, with 95 % intervals: to the left of 1 is faster."
    found = []
    for page, part in pages(rows):
        title = f"{TITLES[suite]}: time against {against}{page}"
        scale = doublings(values, LEFT, RIGHT, most=6)
        svg = chart(title, part, names, scale, 1.0, quantities.ratio, f"times as long as {against}")
        found.append(Figure("ratios", title, f"{caption} {absences(record['cases'], suite)}".strip(), svg))
    return found


def _bar(places: dict[str, int], ratio: dict[str, Any]) -> Bar:
    words = f"{ratio['backend']} {ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    return Bar(places[ratio["backend"]], ratio["ratio"], words, ratio["low"], ratio["high"])
