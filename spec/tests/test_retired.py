"""Ids of requirements that were retired: they stay retired, and say what asks the same now."""

from __future__ import annotations

import pytest
from gaugeblock_spec import operators, requirements, retired
from gaugeblock_spec.error import SpecError

ENTRY = "- {id: views/once, when: 2026-11-24, replaced_by: views/now, operators: [add.Tensor]}\n"
KNOWN, TABLE = ("views/now",), ("add.Tensor",)


def test_no_retired_id_is_a_requirement_again() -> None:
    entries = retired.load()
    assert entries
    assert not entries.keys() & requirements.load().keys()
    assert all(entry.replaced_by in requirements.load() for entry in entries.values())
    assert all(name in operators.load() for entry in entries.values() for name in entry.operators)


def test_an_entry_says_what_asks_the_same() -> None:
    note = retired.parse(ENTRY, KNOWN, TABLE)["views/once"].note
    assert note == "requirement views/once was retired on 2026-11-24; views/now asks the same of add.Tensor"
    assert retired.load()["operators/kron-counts-its-out"].note.endswith("asks the same of kron")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ENTRY + ENTRY, r"retired.yaml:2: 'views/once' repeated; allowed: each id once"),
        (ENTRY.replace("views/once", "views/now"), "'views/now' is a requirement; allowed: an id that no chapter uses"),
        (ENTRY.replace("by: views/now", "by: views/then"), "replaced_by 'views/then'; allowed: a requirement"),
        (ENTRY.replace("add.Tensor", "ad"), "operator 'ad'; allowed: an operator of the table"),
        (ENTRY.replace("when: 2026-11-24, ", ""), "no field 'when'"),
        (ENTRY.replace("2026-11-24", "today"), "field 'when' 'today'; allowed: a date"),
        (ENTRY.replace("when", "since"), "field 'since'; allowed: id, when, replaced_by, operators"),
        ("- views/once\n", "a str; allowed: an entry with id"),
        ("id: views/once\n", "a dict; allowed: a list of entries"),
    ],
)
def test_a_wrong_entry_is_named(text: str, problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        retired.parse(text, KNOWN, TABLE)
