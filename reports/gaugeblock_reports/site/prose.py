"""Markdown to HTML: links between sources become links between pages, names of requirements and errata become links."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape
from importlib import resources
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from . import addresses

_NAME = re.compile(r"\b(?:[a-z0-9_]+/[a-z0-9]+(?:-[a-z0-9]+)*|E-(?:\d+|T\d+)|S-\d+)\b")
_ROW = re.compile(r'<td (?=data-name="erratum"><a href="#([ES]-T?\d+)">)')


class _Renderer(RendererHTML):
    """Knows which page it writes (``env["page"]``), and of which folder the text is (``env["folder"]``)."""

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        href = str(tokens[idx].attrs["href"])
        env["inside"] = True
        if re.match(r"https?://", href) or href.startswith("#"):
            return f'<a href="{escape(href)}">'
        target = addresses.of_source(href, env["page"])
        env["plain"] = target is None or target.partition("#")[0] not in env["known"]
        return "<span>" if env["plain"] else f'<a href="{escape(addresses.relative(str(target), env["page"]))}">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["inside"] = False
        return "</span>" if env.pop("plain", False) else "</a>"

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _linked(tokens[idx].content, env)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<code>{_linked(tokens[idx].content, env)}</code>"

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        source, caption = str(tokens[idx].attrs["src"]), tokens[idx].content
        drawn = picture(source) if env["folder"] == "spec" else None
        if drawn is None:
            return f"<span>{escape(caption)}</span>"
        return f'<span class="picture">{drawn}<code>{escape(caption)}</code></span>'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<{tokens[idx].tag} id="{anchor(tokens[idx + 1].content)}">'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        end = next(place for place in range(idx, len(tokens)) if tokens[place].type == "thead_close")
        heads = [place for place in range(idx, end) if tokens[place].type == "th_open"]
        env["heads"] = [tokens[place + 1].content for place in heads]
        worded = [place for place in heads if not _is_number(tokens[place])]
        kind = "box table many" if len(worded) > 3 else "box table"
        return f'<div class="{kind}" role="region" aria-label="table" tabindex="0"><table>'

    def tr_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["column"] = 0
        return "<tr>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        head = env["heads"][env["column"]]
        env["column"] += 1
        kind = ' class="number"' if _is_number(tokens[idx]) else ""
        return f'<td{kind} data-name="{escape(head)}">'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>"


_MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")


def render(text: str, page: str, folder: str = "spec", known: Collection[str] = ()) -> str:
    """The HTML of a Markdown text that stands on ``page``; pages that are not ``known`` are not linked to."""
    made: str = _MARKDOWN.render(text, {"page": page, "folder": folder, "known": known, "inside": False})
    return _ROW.sub(r'<td id="\1" ', made) if page == addresses.ERRATA else made


def sentence(text: str, page: str, known: Collection[str] = ()) -> str:
    """The HTML of a line of Markdown."""
    made: str = _MARKDOWN.renderInline(text, {"page": page, "folder": "spec", "known": known, "inside": False})
    return made


def anchor(title: str) -> str:
    """The id of a heading. It begins with "s-", so that none is a requirement's."""
    return "s-" + "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def names_linked(text: str, page: str, known: Collection[str]) -> str:
    """Plain text, escaped, in which names of requirements are links."""
    return _linked(text, {"page": page, "known": known, "inside": False})


def picture(source: str) -> str | None:
    """A drawing of the spec, to stand in a page; None if there is no such drawing."""
    if not re.fullmatch(r"pictures/[a-z0-9-]+\.svg", source):
        return None
    file = resources.files("gaugeblock_spec").joinpath(source)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _is_number(cell: Token) -> bool:
    """Return whether the column of a cell is set to the right."""
    return "right" in str(cell.attrs.get("style", ""))


def _linked(text: str, env: Any) -> str:
    """Escaped text in which names of requirements and errata are links, unless it is part of a link already."""
    if env["inside"]:
        return escape(text)
    parts, end = [], 0
    for match in _NAME.finditer(text):
        name = match.group()
        target = addresses.requirement(name) if "/" in name else f"{addresses.ERRATA}#{name}"
        if target is None or target.partition("#")[0] not in env["known"]:
            continue
        parts.append(escape(text[end : match.start()]))
        parts.append(f'<a href="{escape(addresses.relative(target, env["page"]))}">{escape(name)}</a>')
        end = match.end()
    return "".join([*parts, escape(text[end:])])
