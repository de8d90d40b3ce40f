"""The source of a module of tests as a page whose lines can be linked to."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from gaugeblock_spec import requirements

from . import addresses, prose


def page(module: str, source: str, known: Collection[str]) -> str:
    """The body of the page; names of requirements are links to them."""
    path = addresses.tests(module)
    area = module.partition(".")[0]
    back = addresses.relative(addresses.chapter(area), path)
    lines = [
        f'<span id="L{number}" class="source-line">{prose.names_linked(line, path, known) or " "}</span>'
        for number, line in enumerate(source.splitlines(), 1)
    ]
    title = requirements.chapters()[area].title
    return (
        f'<section class="hero"><h1><code>{escape(module)}</code></h1>'
        f'<p class="note">Tests of the chapter <a href="{back}">{escape(title)}</a></p></section>'
        f'<pre class="source">{"".join(lines)}</pre>'
    )
