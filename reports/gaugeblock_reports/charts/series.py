"""What tells the backends of a chart apart: a colour and a marker each, and a legend that names them."""

from __future__ import annotations

from collections.abc import Sequence

from .figure import WIDTH
from .markup import Markup, element, text

COLOURS = 6
LETTER = 6.1
"""Width of a letter of the charts' text, roughly, in units."""
_SHAPES = (
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
    "M-3.3-3.3h6.6v6.6h-6.6z",
    "M0-4.3L4.1 3H-4.1z",
    "M0-4.6L4.6 0 0 4.6-4.6 0z",
    "M0 4.3L4.1-3H-4.1z",
    "M-4-1.4h2.6V-4h2.8v2.6H4v2.8H1.4V4h-2.8V1.4H-4z",
)


def marker(series: int, x: float, y: float) -> Markup:
    """The marker of a series with its centre at a point."""
    shape = _SHAPES[series % len(_SHAPES)]
    return element("path", d=shape, transform=f"translate({x:.1f} {y:.1f})", class_=f"f{series % COLOURS}")


def legend(names: Sequence[tuple[int, str]], top: float) -> tuple[list[Markup], float]:
    """Markers with names, in lines from ``top`` on, and where the last line ends."""
    parts: list[Markup] = []
    x, y = 8.0, top + 10
    for series, name in names:
        shown = shortened(name, 52)
        width = 9 + 6.6 * len(shown) + 16
        if x > 8 and x + width > WIDTH:
            x, y = 8.0, y + 15
        parts += [marker(series, x, y - 4), text(x + 9, y, shown)]
        x += width
    return parts, y + 4


def shortened(words: str, most: int) -> str:
    """At most so many characters, the last one three dots where some are missing."""
    return words if len(words) <= most else words[: most - 1] + "…"
