"""The head of the page, made here and not by its script: sentences, matrix of areas and runs, how each was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from .. import matrix as model
from .. import summary
from ..matrix import Cell, Matrix
from ..record import Record

BAR = 1000


def mark(kind: str, word: str) -> str:
    """A shape from the page's sheet of symbols, with its meaning in words."""
    return (
        f'<svg class="mark {kind}" aria-hidden="true"><use href="#m-{kind}"/></svg>'
        f'<span class="unseen">{escape(word)} </span>'
    )


def verdict(cell: Cell) -> tuple[str, str]:
    """Symbol and word for what a run made of some requirements."""
    if not cell.judged:
        return "skipped", "not checked"
    if cell.broken:
        return "failed", "broken"
    if cell.counts["xpassed"]:
        return "xpassed", "held against expectation"
    if cell.known:
        return "xfailed", "some known not to hold"
    if cell.partial or cell.skipped:
        return "partial", "all hold as far as they were checked"
    return "passed", "all hold"


def leads(records: Sequence[Record]) -> str:
    """One sentence per run."""
    lines = []
    for record in records:
        must = Cell(Counter(row["status"] for row in record["requirements"] if row["level"] == "MUST"))
        name, _, rest = model.sentence(record).partition(": ")
        lines.append(f"<li>{mark(*verdict(must))}<span><bdi>{escape(name)}</bdi>: {escape(rest)}.</span></li>")
    return "\n".join(lines)


def table(found: Matrix) -> str:
    """The matrix: one row per area, one column per run; a cell is a link to its requirements."""
    heads = "".join(f'<th scope="col"><bdi>{escape(label)}</bdi></th>' for label in found.labels)
    lines = [f'<thead><tr><th scope="col">area</th>{heads}</tr></thead>', "<tbody>"]
    for area in found.areas:
        cells = [{level: found.cells[area, level][run] for level in found.levels(area)}
                 for run in range(len(found.labels))]  # fmt: skip
        link = f"#area={quote(area)}"
        head = f'<th scope="row"><a href="{escape(link)}">{escape(area)}</a></th>'
        lines.append(f"<tr>{head}{''.join(_cell(f'{link}&run={run}', cell) for run, cell in enumerate(cells))}</tr>")
    levels = [level for level in model.LEVELS if any(found.cells.get((area, level)) for area in found.areas)]
    totals = {level: found.total(level) for level in levels}
    columns = [{level: totals[level][run] for level in levels} for run in range(len(found.labels))]
    cells_ = "".join(_cell(f"#run={run}", column) for run, column in enumerate(columns))
    lines += ["</tbody>", f'<tfoot><tr><th scope="row">all areas</th>{cells_}</tr></tfoot>']
    return "\n".join(lines)


def circumstances(records: Sequence[Record], labels: Sequence[str]) -> str:
    """How each run was made, to be unfolded."""
    return "\n".join(
        f"<section><h3><bdi>{escape(label)}</bdi></h3><dl>{''.join(_facts(record))}</dl></section>"
        for record, label in zip(records, labels, strict=True)
    )


def _cell(link: str, levels: dict[str, Cell]) -> str:
    whole = sum(levels.values(), model.NOTHING)
    if not whole.counts:
        return '<td class="none"><span class="unseen">not in this run</span></td>'
    must = levels.get("MUST", model.NOTHING)
    kind, word = verdict(must if must.judged or must.skipped else whole)
    notes = [f"{level} {cell.held}/{cell.judged}" for level, cell in levels.items() if level != "MUST" and cell.judged]
    count = f"{must.held:,}<i>/{must.judged:,}</i>" if must.judged else "–"
    notes += [f"{whole.skipped:,} skipped"] if whole.skipped else []
    note = f"<small>{' '.join(f'<span>{part}</span>' for part in notes)}</small>" if notes else ""
    words = f"{word}: {must.held} of {must.judged} MUST hold"
    inner = f'<span class="count">{mark(kind, words)}<b aria-hidden="true">{count}</b></span>{_bar(whole)}{note}'
    return f'<td><a href="{escape(link)}" title="{escape(words)}">{inner}</a></td>'


def _bar(cell: Cell) -> str:
    total = sum(cell.counts.values())
    parts = (("passed", cell.held), ("xfailed", cell.known), ("failed", cell.broken), ("skipped", cell.skipped))
    at, rects = 0.0, []
    for kind, count in parts:
        width = BAR * count / total
        if count:
            rects.append(f'<rect class="{kind}" x="{at:.1f}" width="{width:.1f}" height="6"/>')
        at += width
    shape = f'class="bar" viewBox="0 0 {BAR} 6" preserveAspectRatio="none" aria-hidden="true"'
    return f"<svg {shape}>{''.join(rects)}</svg>"


def _facts(record: Record) -> Iterator[str]:
    environment = record["environment"]
    selection = environment["selection"]
    asked = [*selection["areas"], *selection["requirements"], *selection.get("operators", [])]
    packages = ", ".join(f"{name} {version}" for name, version in sorted(environment["packages"].items()))
    facts = {
        "backend": environment["backend"],
        "device": environment["device"],
        "budget": f"{environment['budget']}, seed {environment['seed']}",
        "examples": f"{environment['examples']:,} in {environment['seconds']:.1f} s",
        "operator calls": f"{environment['calls']:,}",
        "tensors drawn": f"{environment['tensors']:,}, {environment['noncontiguous_share']:.0%} not contiguous "
        "or with an offset",
        "selection": ", ".join(asked) or "everything",
        "expected failures": environment["expectations"] or "none listed",
        "spec and suite": f"{environment['spec_version']}, {environment['suite_version']}",
        "started": environment["started"],
        "machine": f"{environment['cpu']}, {environment['cores']} cores, {environment['platform']}, "
        f"Python {environment['python']}",
        "packages": packages,
        "capabilities": ", ".join(environment["capabilities"]),
        "asked by its own rules": "; ".join(
            f"{rule.rule} ({rule.used}): {rule.told}" for rule in summary.own_rules(record)
        ),
        "withdrawn": "; ".join(f"{name}: {why}" for name, why in summary.withdrawn(record).items()),
    }
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>"
