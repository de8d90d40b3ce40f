"""All requirements on one page, to be searched: a line each, which leads to its chapter."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from gaugeblock_spec import requirements
from gaugeblock_spec.requirements import Chapter, Requirement

from . import addresses, prose


def page(known: Collection[str] = ()) -> str:
    """The body of the page; ``known`` has no meaning here."""
    levels = "".join(f"<option>{level}</option>" for level in requirements.LEVELS)
    chapters = "\n".join(_chapter(chapter) for chapter in requirements.chapters().values())
    return (
        '<section class="hero"><h1>Requirements</h1></section>'
        '<form id="search" class="search" role="search" hidden><input type="search" name="q" aria-label="Search" '
        'placeholder="Id, sentence, origin ( / )" autocomplete="off" spellcheck="false">'
        f'<select name="kind" aria-label="Level"><option value="">every level</option>{levels}</select>'
        f'<output aria-live="polite"></output></form>{chapters}'
    )


def _chapter(chapter: Chapter) -> str:
    rows = "".join(_row(requirement) for requirement in chapter.requirements)
    heading = f'<h2><a href="{addresses.chapter(chapter.area)}">{escape(chapter.title)}</a></h2>'
    return f'<section class="lines" data-group="{escape(chapter.area)}">{heading}<ul>{rows}</ul></section>'


def _row(one: Requirement) -> str:
    words = " ".join([one.id, one.sentence, *one.origin, *one.capabilities, one.source]).lower()
    link = f"{addresses.chapter(one.area)}#{one.slug}"
    return (
        f'<li data-kind="{one.level}" data-words="{escape(words)}"><span class="lv {one.level}">{one.level}</span> '
        f'<a href="{link}"><code>{one.slug}</code></a> '
        f"<span>{prose.sentence(one.sentence, addresses.REQUIREMENTS)}</span></li>"
    )
