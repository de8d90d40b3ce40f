"""What all pages have in common: head, navigation, foot."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from importlib import resources

from . import addresses

NAVIGATION = {
    "Spec": addresses.INDEX,
    "Requirements": addresses.REQUIREMENTS,
    "Operators": addresses.OPERATORS,
    "Scoreboard": addresses.SCOREBOARD,
    "Deviations": addresses.DEVIATIONS,
    "Benchmarks": addresses.BENCHMARKS,
}


def page(path: str, title: str, body: str, known: Collection[str], kind: str = "") -> str:
    """The document at ``path``; ``body`` is HTML, ``title`` plain text; ``known`` are the pages that there are."""
    items = []
    for name, target in NAVIGATION.items():
        if target in known:
            here = ' aria-current="page"' if target == path or _under(path, target) else ""
            items.append(f'<a href="{addresses.relative(target, path)}"{here}>{name}</a>')
    parts = {
        "title": escape(title),
        "style": addresses.relative(addresses.STYLE, path),
        "script": addresses.relative(addresses.SCRIPT, path),
        "home": addresses.relative(addresses.INDEX, path),
        "navigation": "".join(items),
        "kind": kind,
        "body": body,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], asset("site.html"))


def asset(name: str) -> str:
    """A file of this package as text."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def style() -> str:
    """The sheet of all pages: that of the HTML report, and what the site has beside it."""
    report = (resources.files(__package__.rpartition(".")[0]) / "html" / "page.css").read_text(encoding="utf-8")
    return report + asset("site.css")


def _under(path: str, target: str) -> bool:
    """Return whether a page belongs to a part of the site: chapters and tests to the spec, others to their folder."""
    if target == addresses.INDEX:
        return path.startswith(("spec/", "tests/"))
    folder = target.rpartition("/")[0]
    return bool(folder) and path.startswith(f"{folder}/")
