"""Rows of bars on one scale: a label beside each row, and in it one bar for each backend."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .axes import Scale
from .figure import WIDTH, drawing
from .markup import Markup, element, escaped, text
from .series import COLOURS, LETTER, legend, marker

LABELS = 128
BAR, GAP = 11, 8
LEFT, RIGHT = LABELS + 10.0, WIDTH - 18.0
"""Where the scale of every chart of bars begins and ends."""


@dataclass(frozen=True)
class Bar:
    """A value of one backend, its interval if it has one, and what to say about it."""

    series: int
    value: float
    words: str
    low: float | None = None
    high: float | None = None
    least: float | None = None


@dataclass(frozen=True)
class BarRow:
    """What a row is about, and its bars."""

    label: str
    bars: Sequence[Bar] = field(default_factory=tuple)


def chart(
    title: str,
    rows: Sequence[BarRow],
    names: Sequence[tuple[int, str]],
    scale: Scale,
    origin: float,
    tick: Callable[[float], str],
    axis: str,
) -> str:
    """The drawing: legend, rows from the top, ticks below; bars reach from ``origin`` to their values."""
    parts, top = legend(names, 4)
    top += 8
    body: list[Markup] = []
    y = top
    for row in rows:
        lines = textwrap.wrap(row.label, int(LABELS / LETTER) + 1, break_on_hyphens=True, max_lines=3, placeholder="…")
        high = max(BAR * len(row.bars), 12 * len(lines))
        first = y + high / 2 - 6 * len(lines) + 9.5
        body += [text(LABELS, first + 12 * number, line, "end") for number, line in enumerate(lines)]
        start = y + (high - BAR * len(row.bars)) / 2
        for number, bar in enumerate(row.bars):
            body.append(_bar(row.label, bar, scale, origin, start + BAR * number))
        y += high + GAP
    bottom = y - GAP / 2
    for value in scale.ticks:
        x = scale(value)
        parts.append(
            element("path", d=f"M{x:.1f} {top - 4:g}V{bottom:g}", class_="gb-base" if value == origin else "gb-grid")
        )
        parts.append(text(x, bottom + 13, tick(value), "soft mid"))
    parts += body
    parts.append(text((LEFT + RIGHT) / 2, bottom + 28, axis, "soft mid"))
    said = "; ".join(f"{row.label}: {', '.join(bar.words for bar in row.bars)}" for row in rows)
    return drawing(title, said, bottom + 34, parts)


def _bar(label: str, bar: Bar, scale: Scale, origin: float, top: float) -> Markup:
    x, end, middle = scale(origin), scale(bar.value), top + BAR / 2
    left, width = min(x, end), abs(end - x)
    parts = [
        element("title", escaped(f"{label}: {bar.words}")),
        element("rect", x=LEFT, y=top, width=RIGHT - LEFT, height=BAR, fill="none", pointer_events="all"),
        element("rect", x=left, y=top + 2, width=width, height=BAR - 4, class_=f"gb-bar f{bar.series % COLOURS}"),
    ]
    if bar.low is not None and bar.high is not None:
        a, b = scale(bar.low), scale(bar.high)
        ends = f"M{a:.1f} {middle - 3:g}v6M{a:.1f} {middle:g}H{b:.1f}M{b:.1f} {middle - 3:g}v6"
        parts.append(element("path", d=ends, class_="gb-whisker"))
    if bar.least is not None:
        parts.append(element("path", d=f"M{scale(bar.least):.1f} {top:g}v{BAR:g}", class_="gb-least"))
    parts.append(marker(bar.series, end, middle))
    return element("g", *parts)
