"""What the spec's chapters say around a requirement: the section's prose and the literal example."""

from __future__ import annotations

import base64
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import gaugeblock_spec
from gaugeblock_spec import requirements
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token


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
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=SelfContained).enable("table")
    found = {}
    for chapter in requirements.chapters().values():
        for section in chapter.sections:
            prose = made.render(section.prose)
            for requirement in section.requirements:
                excerpt = Excerpt(chapter.title, section.title, prose, "\n".join(requirement.examples))
                found[requirement.id] = (requirement.sentence, excerpt)
    return found


class SelfContained(RendererHTML):
    """Prose that refers to no other file: the spec's pictures are in it, and links between its files are plain text."""

    def image(
        self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]
    ) -> str:
        words = tokens[idx].content
        folder, _, name = str(tokens[idx].attrs.get("src", "")).rpartition("/")
        file = resources.files(gaugeblock_spec) / folder / name
        if not name.endswith(".svg") or ":" in folder or ".." in folder or not file.is_file():
            return escape(words)
        data = base64.b64encode(file.read_bytes()).decode()
        return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        address = str(tokens[idx].attrs.get("href", ""))
        if address.startswith("https://"):
            return f'<a href="{escape(address)}" rel="noreferrer noopener">'
        return "<span>"

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        opened = next(token for token in reversed(tokens[:idx]) if token.type == "link_open")
        return "</a>" if str(opened.attrs.get("href", "")).startswith("https://") else "</span>"
