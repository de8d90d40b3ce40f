"""The chapters are well formed, complete and agree with the tables beside them."""

from __future__ import annotations

import doctest
import re
from importlib import resources
from pathlib import Path

import pytest
from gaugeblock_spec import capabilities, origin_rows, requirements
from gaugeblock_spec.chapter import parse
from gaugeblock_spec.error import SpecError

FOLDER = resources.files("gaugeblock_spec")
ERRATA = (FOLDER / "errata.md").read_text(encoding="utf-8")
GOOD = """# Views

Prose.

## Section

### a-rule
MUST · views, core · VIEW-001 · source

A rule that says `x. y` and
goes on.

```python
>>> 1

1
```
"""
TWICE = "### a-rule\nMAY · core · VIEW-001 · text\n\nTwice."


def test_ids_join_area_and_slug_in_chapter_order() -> None:
    loaded = requirements.load()
    assert list(dict.fromkeys(name.split("/")[0] for name in loaded)) == list(requirements.AREAS)
    assert all(name == f"{r.area}/{r.slug}" == r.id for name, r in loaded.items())
    assert len(loaded) == sum(len(chapter.requirements) for chapter in requirements.chapters().values())


def test_every_origin_row_has_a_requirement_of_its_level() -> None:
    levels: dict[str, set[str]] = {row: set() for row in origin_rows.load()}
    for requirement in requirements.load().values():
        for row in requirement.origin:
            levels[row].add(requirement.level)
    wrong = {row.id: levels[row.id] for row in origin_rows.load().values() if row.level not in levels[row.id]}
    assert not wrong


def test_requirements_ask_for_the_capabilities_of_their_row() -> None:
    asked: dict[str, set[str]] = {row: set() for row in origin_rows.load()}
    for requirement in requirements.load().values():
        for row in requirement.origin:
            asked[row] |= set(requirement.capabilities)
    missing = {row.id: set(row.capabilities) - asked[row.id] for row in origin_rows.load().values()}
    assert not {row: names for row, names in missing.items() if names}


def test_origin_rows_use_known_levels_and_capabilities() -> None:
    for row in origin_rows.load().values():
        assert row.level in requirements.LEVELS
        assert set(row.capabilities) <= set(capabilities.load())


def test_chapters_open_with_prose_and_have_no_empty_section() -> None:
    for chapter in requirements.chapters().values():
        assert len(chapter.prose.splitlines()) >= 10, chapter.area
        assert all(section.requirements for section in chapter.sections), chapter.area


def test_errata_name_requirements_that_exist() -> None:
    named = set(re.findall(rf"\b(?:{'|'.join(requirements.AREAS)})/[a-z0-9-]+", ERRATA))
    assert named and not named - set(requirements.load())


def test_errata_that_requirements_name_exist() -> None:
    rows = re.findall(r"^\| ((?:E|S)-T?\d+) \|", ERRATA, flags=re.MULTILINE)
    assert len(rows) == len(set(rows))
    for requirement in requirements.load().values():
        assert set(re.findall(r"\b(?:E|S)-T?\d+\b", requirement.source)) <= set(rows), requirement.id


def test_rows_about_the_project_name_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    rows = re.findall(r"^\| (TOOLING-\d+) .* \| (\S+) \|$", (root / "spec/README.md").read_text("utf-8"), re.M)
    assert len(rows) == 7
    for row, test in rows:
        assert row not in origin_rows.load()
        if test != "informative":
            path, _, name = test.strip("`").partition("::")
            assert f"def {name}(" in (root / path).read_text("utf-8")


def test_readme_example_holds() -> None:
    readme = Path(__file__).parents[1] / "README.md"
    assert doctest.testfile(str(readme), module_relative=False).failed == 0


def test_parts_of_a_requirement() -> None:
    chapter = parse("views", GOOD, {"views", "core"}, {"VIEW-001"})
    (requirement,) = chapter.requirements
    assert (chapter.title, chapter.prose, chapter.sections[0].title) == ("Views", "Prose.", "Section")
    assert requirement.id == "views/a-rule" and requirement.anchor == "views.md#a-rule"
    assert requirement.capabilities == ("views", "core") and requirement.origin == ("VIEW-001",)
    assert requirement.sentence == "A rule that says `x. y` and goes on."
    assert requirement.examples == (">>> 1\n\n1\n",) and requirement.line == 7


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("MUST", "SHALL", 8, "level 'SHALL'; allowed: MUST, SHOULD, MAY"),
        ("views, core", "veiws", 8, "capability 'veiws'; allowed: "),
        ("VIEW-001", "VIEW-999", 8, "origin row 'VIEW-999'; allowed: a row of origin_rows.csv"),
        (" · source", "", 8, "line of facts .*; allowed: LEVEL · capability"),
        ("· source", "· ", 8, "no source; allowed: "),
        ("goes on.", "goes. On.", 10, "2 ends of a sentence"),
        ("goes on.", "goes on", 10, "0 ends of a sentence"),
        ("### a-rule", "### A rule", 7, "slug 'A rule'; allowed: lower-case words"),
        ("```python", "More words.\n\n```python", 13, "paragraph 'More words.' after the sentence"),
        (">>> 1", "1", 13, "example without a prompt"),
        ("# Views", "Views", 1, "0 headings of level 1"),
        ("## Section", f"## Section\n\n{TWICE}", 12, "slug 'a-rule' repeated"),
    ],
)
def test_malformed_chapter_is_refused_with_its_line(old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(SpecError, match=rf"^views.md:{line}: {message}"):
        parse("views", GOOD.replace(old, new, 1), {"views", "core"}, {"VIEW-001"})
