"""The share that calls reach of what the machine can do at most: copying memory, or multiplying matrices."""

from __future__ import annotations

from typing import Any

from .axes import linear
from .bars import LEFT, RIGHT, Bar, BarRow, chart
from .cases import absences, backends, label, named, pages
from .figure import Figure

ROOFS = {"copy": "bandwidth of a copy", "product": "rate of a matrix product"}


def figures(record: dict[str, Any]) -> list[Figure]:
    """Of large tensors, the share of each backend, for either roof."""
    places = backends(record)
    found = []
    for roof, words in ROOFS.items():
        rows = []
        for case in record["cases"]:
            if case["suite"] == "throughput":
                bars = [bar for result in case["results"] if (bar := _bar(places, result, roof)) is not None]
                rows += [BarRow(label(case), bars)] if bars else []
        names = named(places, {bar.series for row in rows for bar in row.bars})
        highest = max([1.0, *(bar.value for row in rows for bar in row.bars)])
        for page, part in pages(rows):
            title = f"Share of the machine's {words}{page}"
            scale = linear(min(highest, 4.0), LEFT, RIGHT, most=4)
            svg = chart(title, part, names, scale, 0.0, lambda share: f"{share:.0%}", f"of the {words}")
            caption = "Measured in the same run; 100 % is as fast as that, and tensors that fit a cache can be faster."
            found.append(Figure("roof", title, f"{caption} {absences(record['cases'], 'throughput')}".strip(), svg))
    return found


def _bar(places: dict[str, int], result: dict[str, Any], roof: str) -> Bar | None:
    share = result.get("share")
    if share is None or share["roof"] != roof:
        return None
    return Bar(places[result["backend"]], share["share"], f"{result['backend']} {share['share']:.0%}")
