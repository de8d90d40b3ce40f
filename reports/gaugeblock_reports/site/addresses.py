"""Where everything is on the site, and relative links between its pages."""

from __future__ import annotations

import posixpath

from gaugeblock_spec import requirements

STYLE, SCRIPT = "style.css", "site.js"
INDEX = "index.html"
REQUIREMENTS = "requirements.html"
OPERATORS = "operators.html"
ERRATA = "spec/errata.html"
SCOREBOARD = "scoreboard/index.html"
REPORT = "scoreboard/report.html"
DEVIATIONS = "deviations/index.html"
BENCHMARKS = "benchmarks.html"
DOCUMENTS = {"errata": "Errata", "operator_rows": "Operator rows", "derivatives": "Derivative rows"}
"""Pages of the spec that hold no requirements."""


def chapter(area: str) -> str:
    """The page of a chapter, or of one of the documents beside them."""
    return f"spec/{area}.html"


def tests(module: str) -> str:
    """The page with the source of a module of tests."""
    return f"tests/{module}.html"


def deviation(file: str) -> str:
    """The page of a Markdown file about deviations."""
    folder, _, name = file.rpartition("/")
    stem = "index" if name == "README.md" else name.removesuffix(".md")
    return posixpath.join("deviations", folder, f"{stem}.html")


def requirement(identifier: str) -> str | None:
    """The anchor of a requirement; None for an id that the spec does not have."""
    found = requirements.load().get(identifier)
    return None if found is None else f"{chapter(found.area)}#{found.slug}"


def relative(target: str, page: str) -> str:
    """The link from one page of the site to another, or to an anchor in it."""
    path, mark, anchor = target.partition("#")
    if path == page:
        return f"{mark}{anchor}" or posixpath.basename(page)
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor


def of_source(link: str, page: str) -> str | None:
    """The page for a link in the Markdown file that ``page`` is made of; None if it leads to none.

    Chapters, their documents and files about deviations have pages.
    """
    path, mark, anchor = link.partition("#")
    name = posixpath.basename(path)
    stem = name.removesuffix(".md")
    if name.endswith(".md") and (stem in requirements.AREAS or stem in DOCUMENTS):
        return chapter(stem) + mark + anchor
    if page.startswith("deviations/") and name.endswith(".md") and ":" not in path:
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if file.startswith("deviations/"):
            return deviation(file.removeprefix("deviations/")) + mark + anchor
    return None
