"""Cases of a benchmark record, as charts name and cut them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from . import quantities

Item = TypeVar("Item")
MOST = 24
"""Rows of one chart at most."""


def label(case: dict[str, Any]) -> str:
    """What a case does, without what all cases have: the operator, a layout that is not plain, dtype and size."""
    if case["call"] is None:
        return str(case["operator"])
    layout = "" if case["layout"] == "contiguous" else f" {case['layout']}"
    dtype = "" if case["dtype"] == "float32" else f" {case['dtype']}"
    return f"{case['operator']}{layout}{dtype}, {quantities.size(case['size'])}"


def backends(record: dict[str, Any]) -> dict[str, int]:
    """Label of each backend -> its place, which is that of its colour and marker."""
    return {backend["label"]: place for place, backend in enumerate(record["backends"])}


def named(places: dict[str, int], series: set[int]) -> list[tuple[int, str]]:
    """Place and label of the backends that a chart has bars of."""
    return [(place, name) for name, place in places.items() if place in series]


def pages(rows: Sequence[Item]) -> Iterator[tuple[str, Sequence[Item]]]:
    """Runs of at most ``MOST`` rows, of about one length, with what to add to a title: "" or " (1 of 3)"."""
    count = -(-len(rows) // MOST)
    for page in range(count):
        part = rows[len(rows) * page // count : len(rows) * (page + 1) // count]
        yield (f" ({page + 1} of {count})" if count > 1 else ""), part


def absences(cases: Sequence[dict[str, Any]], suite: str) -> str:
    """A sentence about results of a suite that were not measured; empty if all were."""
    found: dict[tuple[str, str], int] = {}
    for case in cases:
        for result in case["results"] if case["suite"] == suite else ():
            if result["status"] != "measured":
                key = result["backend"], result["status"]
                found[key] = found.get(key, 0) + 1
    if not found:
        return ""
    parts = [f"{count} of {backend} ({status})" for (backend, status), count in found.items()]
    return f"Not measured: {', '.join(parts)}."
