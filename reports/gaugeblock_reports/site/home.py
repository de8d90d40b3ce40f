"""The first page: the chapters with what they hold, and ways to the rest."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

from gaugeblock_spec import operators, requirements
from gaugeblock_spec.requirements import Chapter

from . import addresses, prose, scoreboard
from .inputs import Inputs


def page(inputs: Inputs, known: Collection[str]) -> str:
    """The body of the page."""
    count = len(requirements.load())
    cards = "".join(_card(chapter) for chapter in requirements.chapters().values())
    documents = "".join(
        f'<li><a href="{addresses.chapter(name)}">{title}</a></li>' for name, title in addresses.DOCUMENTS.items()
    )
    parts = [
        '<section class="hero"><h1>What a tensor backend must do</h1>'
        f'<p><a href="{addresses.REQUIREMENTS}">{count} requirements</a> of a backend with PyTorch\'s semantics, each '
        "with the test that checks it, and "
        f'<a href="{addresses.OPERATORS}">{len(operators.rows())} rows of operators</a>.</p></section>',
        f'<section><h2>Chapters</h2><div class="cards">{cards}</div></section>',
        f'<section><h2>Beside the chapters</h2><ul class="list">{documents}'
        f'<li><a href="{addresses.OPERATORS}">Operator table</a></li></ul></section>',
    ]
    if inputs.runs:
        lines = scoreboard.summary(inputs.runs)
        parts.append(f'<section><h2><a href="{addresses.SCOREBOARD}">Scoreboard</a></h2>{lines}</section>')
    if addresses.DEVIATIONS in known:
        parts.append(
            f'<section><h2><a href="{addresses.DEVIATIONS}">Deviations</a></h2><p class="note">Where peers do '
            "otherwise, each shown by a snippet.</p></section>"
        )
    if addresses.BENCHMARKS in known:
        parts.append(
            f'<section><h2><a href="{addresses.BENCHMARKS}">Benchmarks</a></h2><p class="note">Engines side by side, '
            "interleaved on one machine.</p></section>"
        )
    return "\n".join(parts)


def _card(chapter: Chapter) -> str:
    path = addresses.chapter(chapter.area)
    first = re.split(r"(?<=[.!?])\s", " ".join(chapter.prose.split()), maxsplit=1)[0]
    musts = sum(requirement.level == "MUST" for requirement in chapter.requirements)
    return (
        f'<article class="card"><h3><a href="{path}">{escape(chapter.title)}</a></h3>'
        f"<p>{prose.sentence(first, addresses.INDEX)}</p>"
        f"<small>{len(chapter.requirements)} requirements, {musts} MUST</small></article>"
    )
