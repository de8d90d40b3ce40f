"""The scoreboard: areas down, runs across, and how each run was made; beside it the whole report of the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from .. import html, matrix
from ..html import overview
from ..record import Record
from . import addresses


def page(runs: Sequence[Record]) -> str:
    """The body of the page; its cells lead into the report."""
    link = addresses.relative(addresses.REPORT, addresses.SCOREBOARD)
    table = overview.table(matrix.matrix(runs)).replace('<a href="#', f'<a href="{link}#')
    return (
        f"{_symbols()}"
        '<section class="hero"><h1>Scoreboard</h1><p class="note">Runs of the suite that are kept with the project. '
        f'<a href="{link}">The whole report</a> has them requirement by requirement.</p></section>'
        f'<section><div class="box" role="region" aria-label="areas" tabindex="0">'
        f'<table class="matrix">{table}</table></div>'
        '<p class="note">Of each area: MUST requirements that hold, of those that were checked.</p></section>'
        f'<section><h2>How they were run</h2><div class="runs">'
        f"{overview.circumstances(runs, matrix.labels(runs))}</div></section>"
    )


def _symbols() -> str:
    """The marks that the cells of the matrix show, from the template of the report."""
    template = (resources.files(html.__name__) / "page.html").read_text(encoding="utf-8")
    start = template.index('<svg class="sheet"')
    return template[start : template.index("</svg>", start)] + "</svg>"


def report(records: Sequence[Record]) -> str:
    """The HTML report of all runs, with charts of benchmarks; its chapters are those of the site."""
    return html.render(records, chapters="../spec")


def verdicts(runs: Sequence[Record]) -> dict[str, Sequence[tuple[str, str]]]:
    """Requirement id -> name and status of each run that has it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for label, record in zip(matrix.short_labels(runs), runs, strict=True):
        for row in record["requirements"]:
            found.setdefault(row["id"], []).append((label, row["status"]))
    return dict(found)


def summary(runs: Sequence[Record]) -> str:
    """One line for each run: what it comes to, for the first page."""
    lines = "".join(f"<li><bdi>{escape(matrix.sentence(record))}</bdi></li>" for record in runs)
    return f'<ul class="list">{lines}</ul>'
