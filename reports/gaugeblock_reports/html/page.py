"""Fills the page's template with style sheet, script, overview and data."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from .. import matrix as model
from ..record import BENCH, RUN, Record, RecordError, printable
from . import benchmarks, index, overview


def render(records: Sequence[Record], colour: bool = False, *, chapters: str | None = None) -> str:
    """The page of all ``records``: runs side by side, and benchmark records as charts under them.

    ``chapters`` is where the chapters of the spec lie, for links; ``colour`` has no meaning here.

    Raises:
        RecordError: ``chapters`` is no address that a link may have.
    """
    if chapters is not None and re.match(r"(?!https?:|file:)[a-z][a-z0-9+.-]*:", chapters.strip(), re.IGNORECASE):
        raise RecordError(f"--chapters {chapters}: an address of https, http or file, or a folder, is needed")
    runs = [printable(record) for record in records if record["schema"] == RUN]
    title = " · ".join(model.labels(runs))
    heading = title if len(runs) == 1 else f"{_listed(model.short_labels(runs))} side by side"
    charts = benchmarks.section([record for record in records if record["schema"] == BENCH])
    return page(runs, title, heading, overview.leads(runs), chapters=chapters, charts=charts)


def page(
    runs: Sequence[Record],
    title: str,
    heading: str,
    leads: str,
    *,
    chapters: str | None = None,
    changes: Mapping[str, str] | None = None,
    charts: str = "",
) -> str:
    """The whole document; ``runs`` must be printable, ``leads`` and ``charts`` are HTML already."""
    found = model.matrix(runs)
    rows = index.aligned(runs)
    listed = index.index(rows, found.labels, model.short_labels(runs), changes)
    listed["chapters"] = chapters.strip().rstrip("/") if chapters else None
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "digest": digest,
        "title": escape(title),
        "heading": escape(heading),
        "leads": leads,
        "matrix": overview.table(found),
        "charts": charts,
        "benchmarks": '<a href="#benchmarks">Benchmarks</a>' if charts else "",
        "runs": overview.circumstances(runs, found.labels),
        "style": _asset("page.css"),
        "script": script,
        "index": index.json_in_script(listed),
        "details": index.packed(index.details(rows, runs)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], _asset("page.html"))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
