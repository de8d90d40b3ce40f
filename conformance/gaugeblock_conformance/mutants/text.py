"""A record of mutants as text: a table of classes, and a page of Markdown with every mutant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from .record import NONE, OTHER, RecordOfMutants
from .trial import CAUGHT, ELSEWHERE

_CLASSES = ("class", "mutants", "caught", "median examples")
# Names in a line.
_FEW = 3
_MUTANTS = ("mutant", "class", "caught by", "examples")


def classes(record: RecordOfMutants, form: str = "github") -> str:
    """The table of classes: mutants, caught, and the median of the examples that it took."""
    rows = [(c["class"], c["mutants"], c["caught"], _number(c["median_examples"])) for c in record["classes"]]
    rows.append(
        ("all", sum(c["mutants"] for c in record["classes"]), sum(c["caught"] for c in record["classes"]), "")
    )
    return tabulate(rows, _CLASSES, form, disable_numparse=True, colalign=("left", "right", "right", "right"))


def markdown(record: RecordOfMutants) -> str:
    """Classes, mutants that were not caught by what they break, requirements that caught none, and every mutant."""
    facts = record["environment"]
    tried = len(record["mutants"])
    whole = "all of them" if facts["complete"] else f"**{tried} of {facts['mutants']} in the table**"
    parts = [
        f"# Mutants of {facts['base']} {facts['version']}",
        f"{tried} mutants ({whole}), {facts['budget']} budget, seed {facts['seed']}. A mutant names "
        "the requirements whose sentence it contradicts, and is caught by a verdict on one of them alone. Examples are "
        "those of the test that caught it, until it failed; where a test goes over many operators, those that the "
        "mutant breaks come first.",
        classes(record),
    ]
    missed = [f"- {line}" for line in uncaught(record)]
    if missed:
        parts += ["## Not caught by what they break", "\n".join(missed)]
    parts += ["## Requirements that caught no mutant of theirs", _unproven(record)]
    parts += ["## Mutants", _unpadded([_MUTANTS, ("---",) * len(_MUTANTS), *map(_cells, record["mutants"])])]
    return "\n\n".join(parts) + "\n"


def uncaught(record: RecordOfMutants) -> list[str]:
    """A line for each mutant that none of the requirements caught which it breaks."""
    found = []
    for row in record["mutants"]:
        if row["status"] == CAUGHT:
            continue
        how = f"by {_ids(row['requirements'])} alone" if row["status"] == ELSEWHERE else row["status"]
        found.append(f"`{row['name']}`, which breaks {_ids(row['breaks'])}: {how} {row['text']}".rstrip())
    return found


def unproven(record: RecordOfMutants) -> list[str]:
    """The MUST requirements whose tests caught no mutant that breaks them, although all of them were tried."""
    return [row["id"] for row in record["requirements"] if row["by"] in (OTHER, NONE)]


def _unproven(record: RecordOfMutants) -> str:
    bare = {by: [row for row in record["requirements"] if row["by"] == by] for by in (OTHER, NONE)}
    proven = len(record["requirements"]) - sum(map(len, bare.values()))
    base = record["environment"]["base"]
    parts = [f"Of the requirements of level MUST, {proven} caught a mutant that breaks them."]
    if bare[OTHER]:
        lines = "\n".join(f"- `{row['id']}`: `{row['mutant']}`" for row in bare[OTHER])
        parts.append(f"{len(bare[OTHER])} caught only one that breaks something else:\n\n{lines}")
    if bare[NONE]:
        lines = "\n".join(f"- `{row['id']}` ({row['tried']} tried)" for row in bare[NONE])
        why = f"either because no mutant breaks them or because {base} cannot be asked"
        parts.append(f"{len(bare[NONE])} caught none, {why}:\n\n{lines}")
    return "\n\n".join(parts)


def _ids(names: Sequence[str]) -> str:
    """The first few of ``names``, and how many more there are."""
    told = ", ".join(f"`{name}`" for name in names[:_FEW])
    return f"{told} and {len(names) - _FEW} more" if len(names) > _FEW else told


def _unpadded(rows: Iterable[Sequence[Any]]) -> str:
    """A table whose cells are as wide as their text."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    by = f"`{row['target']}`" if row["status"] == CAUGHT else f"**{row['status']}**"
    verdict = "" if row["verdict"] in ("", "failed") else f" ({row['verdict']})"
    return f"`{row['name']}`", row["class"], by + verdict, row["examples"]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
