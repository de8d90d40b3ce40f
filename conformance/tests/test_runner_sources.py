"""The source text of tests in a run record."""

from __future__ import annotations

from gaugeblock_conformance import requirement
from gaugeblock_conformance.runner.rows import Row, new_row
from gaugeblock_conformance.runner.sources import sources
from gaugeblock_spec import requirements


def row_of(identifier: str, *names: str) -> Row:
    row = new_row(requirements.load()[identifier])
    row["tests"] = list(names)
    return row


def test_every_test_of_the_suite_has_its_source() -> None:
    requirement.load_tests()
    rows = [
        row_of(identifier, *(f"{case.module}:{case.line} {case.name}" for case in cases))
        for identifier, cases in requirement.tests().items()
        if identifier in requirements.load()
    ]
    found = sources(rows)
    assert found.keys() == {name for row in rows for name in row["tests"]}
    for name, source in found.items():
        assert source["code"].startswith("@"), name
        assert "@requirement(" in source["code"], name
    (name,) = (name for name in found if name.endswith(" test_element_access_follows_the_formula"))
    assert found[name]["file"].startswith("gaugeblock_conformance/views/test_")
    assert f"def {name.partition(' ')[2]}(" in found[name]["code"]


def test_a_name_without_a_source_is_left_out() -> None:
    row = row_of("views/expand-has-stride-zero", "nowhere.to_be_found:3 test_it", "no line", "json:99999 test_it", "")
    assert sources([row]) == {}
