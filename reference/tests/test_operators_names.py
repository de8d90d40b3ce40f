"""Operators are found by their names: each stands as a word in the engine's sources."""

from __future__ import annotations

import re
from pathlib import Path

import gaugeblock
from gaugeblock.operators.factories import FACTORIES
from gaugeblock_spec import operators

SOURCES = Path(gaugeblock.__file__).parent
FORMS = re.compile(r"^new_(.+)|(.+)_like$")
"""Factories with another way to give sizes, dtype and device; they are registered with the factory."""


def test_every_operator_stands_in_the_sources() -> None:
    words = {word for path in SOURCES.rglob("*.py") for word in re.findall(r"[A-Za-z_]\w*", path.read_text("utf-8"))}
    missing = {row.name.partition(".")[0] for row in operators.load().values()} - words
    forms = {name: next(filter(None, found.groups())) for name in missing if (found := FORMS.match(name))}
    assert {name for name in missing if forms.get(name) not in FACTORIES} == set()
