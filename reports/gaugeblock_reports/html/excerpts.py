"""What the spec's chapters say around a requirement: the section's prose and the literal example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gaugeblock_spec import requirements
from markdown_it import MarkdownIt


@dataclass(frozen=True)
class Excerpt:
    """``title`` of the chapter, ``section`` with its prose as HTML, and the example as text."""

    title: str
    section: str
    prose: str
    example: str


def of(identifier: str, sentence: str) -> Excerpt | None:
    """The surroundings of a requirement, if the installed spec has it in the same words."""
    found = _excerpts().get(identifier)
    return found[1] if found is not None and found[0] == sentence else None


@cache
def _excerpts() -> dict[str, tuple[str, Excerpt]]:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    found = {}
    for chapter in requirements.chapters().values():
        for section in chapter.sections:
            prose = made.render(section.prose)
            for requirement in section.requirements:
                excerpt = Excerpt(chapter.title, section.title, prose, "\n".join(requirement.examples))
                found[requirement.id] = (requirement.sentence, excerpt)
    return found
