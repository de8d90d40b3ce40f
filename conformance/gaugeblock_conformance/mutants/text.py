"""A record of mutants as text: a table of classes, and a page of Markdown with every mutant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from .record import NONE, RecordOfMutants
from .trial import CAUGHT

_CLASSES = ("class", "mutants", "caught", "median examples")
_MUTANTS = ("mutant", "class", "caught by", "examples")


def classes(record: RecordOfMutants, form: str = "github") -> str:
    """The table of classes: mutants, caught, and the median of the examples that it took."""
    rows = [(c["class"], c["mutants"], c["caught"], _number(c["median_examples"])) for c in record["classes"]]
    rows.append(
        ("all", sum(c["mutants"] for c in record["classes"]), sum(c["caught"] for c in record["classes"]), "")
    )
    return tabulate(rows, _CLASSES, form, disable_numparse=True, colalign=("left", "right", "right", "right"))


def markdown(record: RecordOfMutants) -> str:
    """Classes, requirements that caught none, and every mutant."""
    facts = record["environment"]
    tried = len(record["mutants"])
    whole = "all of them" if facts["complete"] else f"**{tried} of {facts['mutants']} in the table**"
    parts = [
        f"# Mutants of {facts['base']} {facts['version']}",
        f"{tried} mutants ({whole}), {facts['budget']} budget, seed {facts['seed']}. Examples are those of the test "
        "that caught a mutant, until it failed; where a test goes over many operators, those that the mutant breaks "
        "come first.",
        classes(record),
    ]
    missed = [row for row in record["mutants"] if row["status"] != CAUGHT]
    if missed:
        parts += ["## Not caught", "\n".join(f"- `{row['name']}`: {row['status']} {row['text']}" for row in missed)]
    parts += ["## Requirements that caught no mutant", _unproven(record)]
    parts += ["## Mutants", _unpadded([_MUTANTS, ("---",) * len(_MUTANTS), *map(_cells, record["mutants"])])]
    return "\n\n".join(parts) + "\n"


def unproven(record: RecordOfMutants) -> list[str]:
    """The MUST requirements whose tests caught no mutant, although all that concern them were tried."""
    return [row["id"] for row in record["requirements"] if row["by"] == NONE]


def _unproven(record: RecordOfMutants) -> str:
    bare = [row for row in record["requirements"] if row["by"] == NONE]
    proven = len(record["requirements"]) - len(bare)
    text = f"Of the requirements of level MUST, {proven} caught a mutant and {len(bare)} did not"
    if not bare:
        return f"{text}."
    lines = "\n".join(f"- `{row['id']}` ({row['tried']} tried)" for row in bare)
    base = record["environment"]["base"]
    return f"{text}, either because no mutant breaks them or because {base} cannot be asked:\n\n{lines}"


def _unpadded(rows: Iterable[Sequence[Any]]) -> str:
    """A table whose cells are as wide as their text."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    ids = ", ".join(f"`{identifier}`" for identifier in row["requirements"])
    by = ids if row["status"] == CAUGHT else f"**{row['status']}**"
    verdict = "" if row["verdict"] in ("", "failed") else f" ({row['verdict']})"
    return f"`{row['name']}`", row["class"], by + verdict, row["examples"]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
