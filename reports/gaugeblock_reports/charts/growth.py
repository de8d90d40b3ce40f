"""Time against size, both logarithmic: a chart for each operator, a line for each backend."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from . import quantities
from .axes import Scale, decades
from .cases import backends
from .figure import WIDTH, Figure, drawing
from .markup import Markup, element, escaped, text
from .series import COLOURS, legend, marker

LEFT, RIGHT, HIGH = 46.0, WIDTH - 14.0, 190.0
FITTED = "Dotted: overhead and rate that fit the points; the legend has both."
FLAT = "The time does not depend on the size; the legend has the overhead."
UNITS = {"bytes": "B/s", "operations": "flop/s"}


def figures(record: dict[str, Any]) -> list[Figure]:
    """One figure for each operator with points, families together."""
    by_operator: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in record["growth"]:
        if any(point["size"] for point in line["points"]):
            by_operator.setdefault((line["family"], line["operator"]), []).append(line)
    places = backends(record)
    return [_figure(name, family, lines, places) for (family, name), lines in sorted(by_operator.items())]


def _figure(operator: str, family: str, lines: list[dict[str, Any]], places: dict[str, int]) -> Figure:
    title = f"{operator}: time against size"
    parts, top = legend([(places[line["backend"]], _fit(line)) for line in lines], 4)
    top += 8
    points = [point for line in lines for point in line["points"]]
    across = decades((point["size"] for point in points if point["size"]), LEFT, RIGHT, most=8)
    down = decades((point["seconds"] for point in points), top + HIGH, top)
    parts += _grid(across, down)
    for line in lines:
        parts += _line(line, places[line["backend"]], across, down)
    described = "; ".join(f"{_fit(line)}, {_spoken(line)}" for line in lines)
    svg = drawing(title, described, top + HIGH + 34, parts)
    fitted = any(line["rate"] is not None for line in lines)
    caption = f"{family.capitalize()}. {FITTED if fitted else FLAT}"
    return Figure("growth", title, caption, svg)


def _fit(line: dict[str, Any]) -> str:
    found = [quantities.seconds(line["overhead_seconds"])] if line["overhead_seconds"] is not None else []
    if line["rate"] is not None:
        found.append(quantities.scaled(line["rate"], UNITS[line["unit"]]))
    return f"{line['backend']}: {' + '.join(found)}" if found else str(line["backend"])


def _spoken(line: dict[str, Any]) -> str:
    first, last = line["points"][0], line["points"][-1]
    return (
        f"{quantities.seconds(first['seconds'])} for size {quantities.size(first['size'])} to "
        f"{quantities.seconds(last['seconds'])} for size {quantities.size(last['size'])}"
    )


def _grid(across: Scale, down: Scale) -> Iterator[Markup]:
    for value in across.ticks:
        x = across(value)
        yield element("path", d=f"M{x:.1f} {down.end:g}V{down.start:g}", class_="gb-grid")
        yield text(x, down.start + 13, quantities.size(value), "soft mid")
    for value in down.ticks:
        y = down(value)
        yield element("path", d=f"M{LEFT:g} {y:.1f}H{RIGHT:g}", class_="gb-grid")
        yield text(LEFT - 5, y + 4, quantities.seconds(value), "soft end")
    yield text((LEFT + RIGHT) / 2, down.start + 28, "elements of an operand", "soft mid")


def _line(line: dict[str, Any], series: int, across: Scale, down: Scale) -> Iterator[Markup]:
    points = [point for point in line["points"] if point["size"]]
    places = [(across(point["size"]), down(point["seconds"])) for point in points]
    kind = f"l{series % COLOURS}"
    if line["overhead_seconds"] is not None and line["rate"] is not None:
        fitted = [
            (across(size), down(line["overhead_seconds"] + work / line["rate"])) for size, work in _between(points)
        ]
        yield element("path", d=_path(fitted), class_=f"gb-fit {kind}")
    yield element("path", d=_path(places), class_=f"gb-line {kind}")
    for (x, y), point in zip(places, points, strict=True):
        words = f"{line['backend']}, size {quantities.size(point['size'])}: {quantities.seconds(point['seconds'])}"
        yield element("g", element("title", escaped(words)), marker(series, x, y))


def _between(points: list[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    """Size and work at the points and at places between them, which lie evenly on a logarithmic scale."""
    for one, two in pairwise(points):
        for step in range(8):
            part = step / 8
            yield tuple(
                math.exp((1 - part) * math.log(max(one[name], 1)) + part * math.log(max(two[name], 1)))
                for name in ("size", "work")
            )  # type: ignore[misc]
    if points:
        yield points[-1]["size"], points[-1]["work"]


def _path(places: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if places else "M0 0"
