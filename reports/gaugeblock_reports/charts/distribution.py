"""The distribution of the ratios of all operators for each size, and the largest ratios."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from . import quantities
from .axes import doublings, linear
from .bars import LEFT, RIGHT, Bar, BarRow, chart
from .cases import absences, backends, label, named, pages
from .figure import Figure

SUITE = "operators"
SLOWEST = 50
OCTAVES = range(-4, 5)
"""Ratios are counted between powers of 2; those outside of 1/16 to 16 with the last."""


def figures(record: dict[str, Any]) -> list[Figure]:
    """A histogram of ratios for each number of elements, then the cases with the largest ratios."""
    cases = [case for case in record["cases"] if case["suite"] == SUITE and case["ratios"]]
    if not cases:
        return []
    sizes = sorted({case["size"] for case in cases})
    return [*(_histogram(record, cases, size) for size in sizes), *_slowest(record, cases)]


def _histogram(record: dict[str, Any], cases: list[dict[str, Any]], size: int) -> Figure:
    places, against = backends(record), record["options"]["against"]
    found: dict[str, list[float]] = {}
    for case in cases:
        for ratio in case["ratios"] if case["size"] == size else ():
            found.setdefault(ratio["backend"], []).append(ratio["ratio"])
    shares = {name: _by_octave(values) for name, values in found.items()}
    rows = [
        BarRow(
            _octave(octave),
            [
                Bar(places[name], share[octave], f"{name}: {share[octave]:.1f} % of {len(found[name])} cases")
                for name, share in shares.items()
            ],
        )
        for octave in OCTAVES
    ]
    title = f"All operators on {quantities.size(size)} elements: times against {against}"
    scale = linear(max(max(share.values()) for share in shares.values()), LEFT, RIGHT)
    names = named(places, {places[name] for name in found})
    svg = chart(title, rows, names, scale, 0.0, _percent, "share of the cases")
    means = [f"{name} {math.exp(math.fsum(map(math.log, v)) / len(v)):.2f}" for name, v in found.items()]
    caption = f"Cases by time of one call divided by that of {against}. Geometric mean: {', '.join(means)}."
    return Figure("distribution", title, caption, svg)


def _by_octave(values: list[float]) -> dict[int, float]:
    counts = Counter(max(OCTAVES[0], min(OCTAVES[-1], math.floor(math.log2(value)))) for value in values)
    return {octave: 100 * counts[octave] / len(values) for octave in OCTAVES}


def _octave(octave: int) -> str:
    low, high = quantities.ratio(2.0**octave), quantities.ratio(2.0 ** (octave + 1))
    if octave == OCTAVES[0]:
        return f"below {high}"
    return f"{low} and more" if octave == OCTAVES[-1] else f"{low} to {high}"


def _percent(value: float) -> str:
    return f"{value:g} %"


def _slowest(record: dict[str, Any], cases: list[dict[str, Any]]) -> list[Figure]:
    places, against = backends(record), record["options"]["against"]
    found = sorted(((ratio, case) for case in cases for ratio in case["ratios"]), key=lambda one: -one[0]["ratio"])
    rows = []
    for ratio, case in found[:SLOWEST]:
        words = f"{ratio['backend']} {ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
        words += f": {ratio['why']}" if "why" in ratio else ""
        bar = Bar(places[ratio["backend"]], ratio["ratio"], words, ratio["low"], ratio["high"])
        rows.append(BarRow(label(case), [bar]))
    names = named(places, {bar.series for row in rows for bar in row.bars})
    scale = doublings([end for row in rows for bar in row.bars for end in (bar.value, bar.high or 1.0)], LEFT, RIGHT, 6)
    figures = []
    for page, part in pages(rows):
        title = f"The slowest of all operators against {against}{page}"
        svg = chart(title, part, names, scale, 1.0, quantities.ratio, f"times as long as {against}")
        caption = f"The {len(rows)} largest ratios, with 95 % intervals. {absences(record['cases'], SUITE)}"
        figures.append(Figure("slowest", title, caption.strip(), svg))
    return figures
