"""The quick check of records says yes only where JSON Schema does."""

from __future__ import annotations

import copy
import random
from typing import Any

import jsonschema
import pytest
from gaugeblock_reports import record, schema_check
from sample_records import failure, hostile, large, row, run

ODD = (None, True, -1, 1.5, "odd", [], {}, [1], {"odd": 1}, float("inf"))


def quick() -> schema_check.Check:
    return schema_check.compiled(record.schema())


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a document."""
    found: list[tuple[Any, Any]] = []
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in keys:
        found += [(value, key), *places(item)]
    return found


def test_records_are_known_at_once() -> None:
    assert quick()(run(row("views/a"), row("views/b", "failed", failure=failure())))
    assert quick()(hostile())
    assert quick()(large(200))


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_record_is_never_let_through(seed: int) -> None:
    """One field changed, dropped or added at a random place, many times over."""
    chance, check = random.Random(seed), quick()
    judge = jsonschema.Draft202012Validator(record.schema())
    refused = 0
    for _ in range(60):
        changed = copy.deepcopy(hostile())
        container, key = chance.choice(places(changed))
        action = chance.choice(("change", "drop", "add"))
        if action == "change":
            container[key] = chance.choice(ODD)
        elif action == "drop":
            del container[key]
        elif isinstance(container, dict):
            container["surplus"] = chance.choice(ODD)
        if check(changed):
            assert judge.is_valid(changed), (key, action)
        else:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("schema", "value", "yes"),
    [
        ({"type": "integer"}, 3, True),
        ({"type": "integer"}, True, False),
        ({"type": ["string", "null"]}, None, True),
        ({"const": 1}, True, False),
        ({"enum": ["a", None]}, None, True),
        ({"minimum": 0, "maximum": 1}, 0.5, True),
        ({"minimum": 0, "maximum": 1}, 2, False),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "x", True),
        ({"multipleOf": 2}, 4, False),
        ({}, object(), True),
    ],
)
def test_keywords(schema: dict[str, Any], value: Any, yes: bool) -> None:
    assert schema_check.compiled(schema)(value) is yes


def test_a_definition_of_itself_is_left_to_jsonschema() -> None:
    schema = {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    assert schema_check.compiled(schema)([])
    assert not schema_check.compiled(schema)([[]])
