"""Markdown pages of what peers do against the spec: one for each row with a snippet, and lists of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gaugeblock_spec import requirements as spec

from .expectation import KINDS, Expectation
from .peers import Peer, load, requirements

DERIVATIVES = "derivatives"
INDEX = "README.md"
_SPEC = "../../../spec/gaugeblock_spec"
_ISSUE = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
_KINDS = {
    "deviation": ("Deviations", "against the documentation of {peer}, or against what it does itself elsewhere"),
    "missing": ("Missing", "not implemented, and {peer} says so in its error"),
    "difference": ("Differences", "{peer} promises nothing else, or documents it: this suite alone asks for more"),
}


def write(folder: Path, peers: Iterable[Peer]) -> list[Path]:
    """Write the pages of some peers into ``FOLDER/PEER-VERSION/`` and the list of all peers; what was written."""
    texts = {INDEX: overview()}
    for peer in peers:
        texts.update({f"{peer.folder}/{name}": text for name, text in pages(peer).items()})
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def pages(peer: Peer) -> dict[str, str]:
    """File name -> text: the list of a peer's pages, and each page."""
    return {INDEX: listing(peer), **{f"{row.slug}.md": page(peer, row) for row in peer.shown}}


def page(peer: Peer, row: Expectation) -> str:
    """Requirement, snippet, what is expected, what came, versions and the upstream issue."""
    requirement = requirements()[row.requirement]
    seen = [other.requirement for other in peer.rows if row.name in other.see]
    parts = [
        f"# {peer.name} {peer.version}: {row.reason}",
        f"Requirement {_linked(row.requirement)} ({requirement.level}): {requirement.sentence}",
        _fenced("python", row.snippet or ""),
        f"Expected: {row.expected}" + (f" ([documentation]({row.source}))" if row.source else ""),
        f"Got on {peer.name} {', '.join(row.tried)}{_on(row)}:",
        _fenced("text", row.got or ""),
        f"Upstream: {_upstream(row)}.",
    ]
    if row.kind != KINDS[0]:
        parts.append(f"Kind: {row.kind}, {_KINDS[row.kind][1].format(peer=peer.name)}.")
    if seen:
        parts.append(f"It is also why these are expected to fail: {_among(seen)}.")
    return "\n\n".join(parts) + "\n"


def listing(peer: Peer) -> str:
    """All pages of a peer by kind and area, with counts."""
    parts = [
        f"# What {peer.name} {peer.version} does against the spec",
        "Each line leads to a page with a snippet that was run alone in a fresh process; a test runs it again wherever "
        f"{peer.name} is installed in the version tried. "
        f"{len(peer.rows)} requirements are expected to fail because of these {len(peer.shown)}.",
        _counts(peer),
    ]
    for kind in KINDS:
        chosen = [row for row in peer.shown if row.kind == kind]
        if chosen:
            heading, meaning = _KINDS[kind]
            parts += [f"## {heading} ({len(chosen)})", f"{_capital(meaning.format(peer=peer.name))}.", _table(chosen)]
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    """The peers, with counts."""
    lines = ["| peer | deviations | missing | differences | known upstream |", "| --- | ---: | ---: | ---: | ---: |"]
    for folder, peer in load().items():
        count = Counter(row.kind for row in peer.shown)
        known = sum(row.upstream is not None for row in peer.shown)
        cells = [str(count[kind]) for kind in KINDS]
        lines.append(f"| [{peer.name} {peer.version}]({folder}/{INDEX}) | {' | '.join(cells)} | {known} |")
    text = "Found by the suite and brought to a few lines; written by `gaugeblock deviations --out reports/deviations`."
    return "\n\n".join(["# Deviations of peers", text, "\n".join(lines)]) + "\n"


def by_area(peer: Peer, kind: str) -> dict[str, int]:
    """Area -> number of a peer's pages of a kind, in the spec's order."""
    count = Counter(_area(row) for row in peer.shown if row.kind == kind)
    return {area: count[area] for area in (*spec.AREAS, DERIVATIVES) if count[area]}


def _counts(peer: Peer) -> str:
    tables = {kind: by_area(peer, kind) for kind in KINDS}
    areas = [area for area in (*spec.AREAS, DERIVATIVES) if any(area in table for table in tables.values())]
    lines = [f"| area | {' | '.join(KINDS)} |", f"| --- |{' ---: |' * len(KINDS)}"]
    lines += [f"| {area} | {' | '.join(str(tables[kind].get(area, 0)) for kind in KINDS)} |" for area in areas]
    totals = " | ".join(str(sum(tables[kind].values())) for kind in KINDS)
    return "\n".join([*lines, f"| all | {totals} |"])


def _table(rows: Iterable[Expectation]) -> str:
    lines = ["| requirement | what it does | upstream |", "| --- | --- | --- |"]
    for row in rows:
        cells = f"[{row.name}]({row.slug}.md)", _cell(row.reason), _upstream(row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _area(row: Expectation) -> str:
    area = requirements()[row.requirement].area
    return area if area in spec.AREAS else DERIVATIVES


def _linked(identifier: str) -> str:
    """The requirement's id, leading to its heading in the spec; operators' derivatives have none."""
    area, _, slug = identifier.partition("/")
    return f"[`{identifier}`]({_SPEC}/{area}.md#{slug})" if area in spec.AREAS else f"`{identifier}`"


def _among(identifiers: Iterable[str]) -> str:
    """Requirements with commas between; derivatives of one operator together."""
    orders: dict[str, list[str]] = {}
    for identifier in identifiers:
        area, _, slug = identifier.partition("/")
        orders.setdefault(_linked(identifier) if area in spec.AREAS else f"`{slug}`", []).append(area)
    words = [name if name.startswith("[") else f"{name} ({', '.join(areas)})" for name, areas in orders.items()]
    return ", ".join(words)


def _on(row: Expectation) -> str:
    return f" ({', '.join(row.devices)})" if row.devices else ""


def _upstream(row: Expectation) -> str:
    if row.upstream is None:
        return "not reported that we know"
    found = _ISSUE.match(row.upstream)
    return f"[{found[1]}#{found[2]}]({row.upstream})" if found else f"<{row.upstream}>"


def _fenced(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.strip()}\n{fence}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
