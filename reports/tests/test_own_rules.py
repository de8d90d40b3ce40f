"""What a backend was asked by its own rules stands in every report, with the sentence and its source."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
import sample_records
from gaugeblock_reports import html, json_text, junit, markdown, record, summary, terminal

RULE = {
    "kind": "dtypes",
    "rule": "argmax: uint32 for int64",
    "operators": ["argmax"],
    "sentence": "The result has dtype uint32.",
    "source": "https://own.example/argmax",
    "used": 12,
    "requirements": ["views/own"],
}
UNUSED = {**RULE, "rule": "argmin: uint32 for int64", "operators": ["argmin"], "used": 0, "requirements": []}
REASON = "asked by its own rules: argmax: uint32 for int64"


@pytest.fixture
def run() -> dict[str, Any]:
    own = sample_records.row("views/own", own_rules={RULE["rule"]: 12}, reason=REASON)
    made = sample_records.run(own, sample_records.row("views/other"), own_rules=[dict(UNUSED), dict(RULE)])
    record.check(made)
    return made


def test_those_that_made_a_difference_come_first(run: dict[str, Any]) -> None:
    rules = summary.own_rules(run)
    assert [rule.rule for rule in rules] == [RULE["rule"], UNUSED["rule"]]
    assert [rule.used for rule in rules] == ["12 times, for 1 requirement", "not needed"]
    assert rules[0].told == "\u201cThe result has dtype uint32.\u201d https://own.example/argmax"


def test_the_verdict_counts_what_held_so(run: dict[str, Any]) -> None:
    assert summary.verdict(run) == "conforming: 2 MUST held, 1 of them by its own rules"


@pytest.mark.parametrize("render", [terminal.render, markdown.render, html.render, junit.render, json_text.render])
def test_rule_sentence_and_source_are_shown(run: dict[str, Any], render: Any) -> None:
    text = " ".join(render([run]).split())
    for part in ("argmax: uint32 for int64", "The result has dtype uint32.", "https://own.example/argmax"):
        assert part in text
    assert "sked by its own rules" in text or json.loads(text)["environment"]["own_rules"] == [UNUSED, RULE]


def test_terminal(run: dict[str, Any]) -> None:
    lines = terminal.render([run]).splitlines()
    at = lines.index("Asked by its own rules: 2 rules")
    assert lines[at + 1] == "    argmax: uint32 for int64 (12 times, for 1 requirement: views/own)"
    assert lines[at + 3] == "    argmin: uint32 for int64 (not needed)"


def test_junit_tells_the_case_too(run: dict[str, Any]) -> None:
    root = ET.fromstring(junit.render([run]).partition("?>")[2])
    told = {case.get("name"): case.findtext("system-out") for case in root.iter("testcase")}
    assert told == {"views/own": REASON, "views/other": None}


def test_records_without_rules_say_nothing_of_them() -> None:
    plain = sample_records.run(sample_records.row("views/other"))
    assert summary.own_rules(plain) == []
    for render in (terminal.render, markdown.render, html.render, junit.render):
        assert "own rules" not in render([plain])


@pytest.mark.parametrize("field", ["sentence", "source"])
def test_a_rule_without_its_source_is_no_valid_record(run: dict[str, Any], field: str) -> None:
    del run["environment"]["own_rules"][0][field]
    with pytest.raises(record.RecordError, match=field):
        record.check(run)
