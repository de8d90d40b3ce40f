"""A figure: a title, a caption, and a drawing that scales, names itself to screen readers and carries its style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .markup import Markup, element, escaped

WIDTH = 360
"""Of every drawing, in units; a screen of 390 pixels shows it at about its own size."""


@dataclass(frozen=True)
class Figure:
    """One chart: ``svg`` is a document of its own that can stand inside a page; title and caption are plain text."""

    kind: str
    title: str
    caption: str
    svg: str

    def html(self) -> str:
        """The figure element of a page."""
        words = f"<b>{escaped(self.title)}</b> {escaped(self.caption)}".strip()
        return f'<figure class="chart">{self.svg}<figcaption>{words}</figcaption></figure>'


def drawing(title: str, description: str, height: float, parts: Sequence[Markup]) -> str:
    """The SVG document of ``parts``, ``WIDTH`` wide."""
    return element(
        "svg",
        element("title", escaped(title)),
        element("desc", escaped(description)),
        element("style", Markup(_style())),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="gb-chart",
        role="img",
        aria_label=title,
        viewBox=f"0 0 {WIDTH} {height:g}",
    )


@cache
def _style() -> str:
    return (resources.files(__package__) / "charts.css").read_text(encoding="utf-8")
