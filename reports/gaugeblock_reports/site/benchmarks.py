"""Benchmark records as a page: what was measured where, and the charts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..charts import charts
from ..record import Record


def page(records: Sequence[Record]) -> str:
    """The body of the page."""
    return f'<section class="hero"><h1>Benchmarks</h1></section>{"".join(map(_record, records))}'


def _record(record: Record) -> str:
    machine, options = record["machine"], record["options"]
    names = " · ".join(f"{one['name']} {one['version']}" for one in record["backends"])
    facts = {
        "backends": "; ".join(f"{one['label']}: {one['name']} {one['version']} on {one['device']}"
                              for one in record["backends"]),
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        "threads": f"{options['threads']}, {options['clock']} time, budget {options['budget']}",
        "started": record["started"],
        "load": ", ".join(f"{load:.1f}" for load in machine["load_start"] or ()),
    }  # fmt: skip
    listed = "".join(
        f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>" for name, value in facts.items() if value
    )
    drawn = "".join(figure.html() for figure in charts(record))
    return (
        f'<section><h2><bdi>{escape(names)}</bdi></h2><div class="runs"><section><dl>{listed}</dl></section></div>'
        f'<div class="charts">{drawn}</div></section>'
    )
