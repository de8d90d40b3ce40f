"""Pages that are one Markdown file each: errata, the formats of rows, and pages about deviations of peers."""

from __future__ import annotations

from collections.abc import Collection
from importlib import resources

from gaugeblock_spec import requirements

from . import addresses, prose


def page(name: str, known: Collection[str]) -> str:
    """The body of a document of the spec, such as "errata"."""
    text = resources.files("gaugeblock_spec").joinpath(f"{name}.md").read_text(encoding="utf-8")
    return _document(text, addresses.chapter(name), "spec", known)


def deviation(file: str, text: str, known: Collection[str]) -> str:
    """The body of the page of a Markdown file about deviations."""
    return _document(text, addresses.deviation(file), "deviations", known)


def deviations_list(texts: dict[str, str]) -> str:
    """The body of the page that lists the others, where no README.md does."""
    items = "".join(
        f'<li><a href="{addresses.relative(addresses.deviation(file), addresses.DEVIATIONS)}">'
        f"{prose.sentence(title(text, file), addresses.DEVIATIONS)}</a></li>"
        for file, text in texts.items()
    )
    return f'<section class="hero"><h1>Deviations</h1></section><ul class="list">{items}</ul>'


def deviations_by_requirement(texts: dict[str, str]) -> dict[str, list[str]]:
    """Requirement id -> the files about it: those named PEER/AREA-SLUG.md."""
    named = {identifier.replace("/", "-"): identifier for identifier in requirements.load()}
    found: dict[str, list[str]] = {}
    for file in texts:
        identifier = named.get(file.rpartition("/")[2].removesuffix(".md"))
        if identifier is not None:
            found.setdefault(identifier, []).append(file)
    return found


def title(text: str, otherwise: str) -> str:
    """The first heading of a Markdown text."""
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), otherwise)


def _document(text: str, path: str, folder: str, known: Collection[str]) -> str:
    return f'<div class="text wide">{prose.render(text, path, folder, known)}</div>'
