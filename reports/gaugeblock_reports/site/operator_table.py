"""The operator table as a page: one row for each row of the spec's YAML, to be searched."""

from __future__ import annotations

from html import escape
from typing import Any

from gaugeblock_spec import derivative_checks, operators


def page() -> str:
    """The body of the page."""
    rows = sorted(operators.rows(), key=lambda row: str(row["name"]).lower())
    families = sorted({row["family"] for row in rows})
    options = "".join(f"<option>{escape(name)}</option>" for name in families)
    lines = "\n".join(_row(row) for row in rows)
    return (
        f'<section class="hero"><h1>Operators</h1><p class="note">{len(rows)} rows; what their fields mean is in '
        '<a href="spec/operator_rows.html">operator rows</a>, derivatives in '
        '<a href="spec/derivatives.html">derivative rows</a>.</p></section>'
        '<form id="search" class="search" role="search" hidden><input type="search" name="q" aria-label="Search" '
        'placeholder="Name, schema, dtype, note ( / )" autocomplete="off" spellcheck="false">'
        f'<select name="kind" aria-label="Family"><option value="">every family</option>{options}</select>'
        '<output aria-live="polite"></output></form>'
        '<div class="box table" role="region" aria-label="operators" tabindex="0">'
        '<table class="operators"><thead><tr><th scope="col">Operator</th>'
        '<th scope="col">Family</th><th scope="col">Dtypes</th><th scope="col">Result</th>'
        '<th scope="col">Error bound</th><th scope="col">Derivative</th></tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )


def _row(row: dict[str, Any]) -> str:
    schemas = [row[form] for form in ("schema", "inplace", "out") if form in row]
    aliases = f" <small>also {escape(', '.join(row['aliases']))}</small>" if row.get("aliases") else ""
    note = f"<p>{escape(row['note'])}</p>" if row.get("note") else ""
    errors = "".join(
        f"<li><code>{escape(case['example'])}</code> raises {escape(case['raises'])}: {escape(case['when'])}</li>"
        for case in row.get("errors", ())
    )
    more = f"{note}{f'<ul>{errors}</ul>' if errors else ''}"
    words = " ".join([*schemas, *row.get("aliases", ()), row["family"], row["dtypes"], row.get("note", "")]).lower()
    folded = "".join(f"<code>{escape(schema)}</code>" for schema in schemas)
    return (
        f'<tr id="{escape(row["name"])}" data-kind="{escape(row["family"])}" data-words="{escape(words)}">'
        f'<th scope="row"><details><summary>{escape(row["name"])}{aliases}</summary>'
        f'<div class="more">{folded}{more}</div></details></th>'
        f'<td data-name="family">{escape(row["family"])}</td><td data-name="dtypes">{escape(row["dtypes"])}</td>'
        f'<td data-name="result">{escape(row["result"])}</td><td data-name="error bound">{_bound(row)}</td>'
        f'<td data-name="derivative">{_derivative(row)}</td></tr>'
    )


def _bound(row: dict[str, Any]) -> str:
    """ULP by dtype, dtypes with one bound together."""
    by_bound: dict[float, list[str]] = {}
    for dtype, bound in row.get("ulp", {}).items():
        by_bound.setdefault(bound, []).append(dtype)
    if not by_bound:
        return "–"
    scale = f" of {escape(row['ulp_scale'])}" if row.get("ulp_scale", "result") != "result" else ""
    if len(by_bound) == 1:
        return f"{next(iter(by_bound)):g} ulp{scale}"
    parts = [f"{bound:g} <small>{escape(', '.join(dtypes))}</small>" for bound, dtypes in by_bound.items()]
    return f"{'; '.join(parts)} ulp{scale}"


def _derivative(row: dict[str, Any]) -> str:
    found = derivative_checks.load().get(row["name"])
    return "–" if found is None or found.kind == "none" else escape(found.kind)
