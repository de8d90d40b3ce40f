"""Records with everything awkward in them, rendered in every format."""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sample_records
from gaugeblock_reports import junit, markdown, record, summary, terminal
from sample_records import environment, row

AWKWARD = 'a <b> & "c" ]]> | `d` *e* \x00\x1b[31m ü\ud800'


def failure(verdict: str = "failed", cause: str = "one cause", **facts: Any) -> dict[str, Any]:
    return sample_records.failure(verdict, cause, **{"message": AWKWARD, "got": AWKWARD, **facts})


@pytest.fixture
def run() -> dict[str, Any]:
    return {
        "schema": "gaugeblock-run/1",
        "environment": environment(backend="torch:cpu"),
        "requirements": [
            row("views/a", "passed"),
            row("views/b", "failed", failure=failure()),
            row("views/c", "failed", "SHOULD", failure=failure(snippet=None, snippet_checked=None)),
            row("views/d", "crashed", failure=failure("crashed", "signal", output="Fatal Python error: Aborted\nx")),
            row("dtypes/e", "timeout", "MAY", failure=failure("timeout", "hang", snippet_checked=False)),
            row("dtypes/f", "skipped", reason="missing capability sort, index.adv; unsupported operator q, r"),
            row("dtypes/g", "xfailed", failure=failure(), reason="known", upstream="https://example.org/1"),
            row("dtypes/h", "xpassed", reason="expected to fail: known"),
            row("dtypes/i", "partial", reason="1 of 2 tests skipped: missing capability half"),
            row("dtypes/j", "skipped", reason="unsupported operator q", unsupported={"q": "not offered"}),
        ],
    }


def test_the_example_is_a_valid_record(run: dict[str, Any]) -> None:
    record.check(run)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(record.schema())


def test_grouping(run: dict[str, Any]) -> None:
    groups = summary.failures(run)
    assert [(group.cause, [row["id"] for row in group.rows]) for group in groups] == [
        ("one cause", ["views/b", "views/c"]),
        ("signal", ["views/d"]),
        ("hang", ["dtypes/e"]),
    ]
    assert summary.verdict(run) == "not conforming: 2 MUST broken, 1 unexpectedly held"


def test_counts(run: dict[str, Any]) -> None:
    lines = summary.lines(run)
    assert [(line.area, line.level) for line in lines] == [
        ("views", "MUST"),
        ("views", "SHOULD"),
        ("dtypes", "MUST"),
        ("dtypes", "MAY"),
        (None, None),
    ]
    assert sum(lines[-1].counts.values()) == len(run["requirements"])


def test_terminal(run: dict[str, Any]) -> None:
    text = terminal.render([run])
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "\x1b" not in text
    assert r"\x00\x1b[31m ü\ud800" in text
    for words in ("A sentence about `views/b`", "expected  (1, 2)", "x = torch.ones(3)", "also      views/c (SHOULD)",
                  "1  capability sort", "dtypes/h: expected to fail: known", "https://example.org/1",
                  "9,000 examples in 60.0 s (150 a second)", "40% not", "Operators not offered: 1",
                  "1 of 2 tests skipped"):  # fmt: skip
        assert words in text, words
    assert "A sentence about `views/c`" not in text
    coloured = terminal.render([run], True)
    assert "\x1b[31mfailed\x1b[0m" in coloured


def test_terminal_of_a_conforming_run(run: dict[str, Any]) -> None:
    run["requirements"] = run["requirements"][:1]
    text = terminal.render([run])
    assert text.endswith("conforming: 1 MUST held\n")
    assert "Broken" not in text


def test_several_records(run: dict[str, Any]) -> None:
    assert terminal.render([run, run]).count("not conforming: ") == 2
    assert markdown.render([run, run]).count("# torch 2.13.0 on cpu") == 2


def test_junit_is_well_formed_and_counts_add_up(run: dict[str, Any]) -> None:
    text = junit.render([run]).encode("utf-8")
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("10", "3", "2")
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.get("errors", "")) == sum(case.find("error") is not None for case in cases)
        assert int(suite.get("skipped", "")) == sum(case.find("skipped") is not None for case in cases)
    broken = root.find(".//testcase[@name='views/b']/failure")
    assert broken is not None
    assert broken.text is not None and 'a <b> & "c" ]]>' in broken.text
    assert "x = torch.ones(3)" in broken.text


def test_markdown(run: dict[str, Any]) -> None:
    text = markdown.render([run])
    assert "**not conforming: 2 MUST broken, 1 unexpectedly held**" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1
    assert text.count("````python") == text.count("\n````\n")
    assert 'a \\<b\\> & "c" \\]\\]\\> \\| \\`d\\` \\*e\\*' in text
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda run: run.update(schema="other/2"), "schema is 'other/2'; allowed: 'gaugeblock-run/2'"),
        (lambda run: run["environment"].pop("seed"), "$.environment: 'seed' is a required property"),
        (lambda run: run["requirements"][1].update(status="odd"), "$.requirements[1].status: 'odd' is not one of"),
        (lambda run: run["requirements"][2].update(examples=-1), "$.requirements[2].examples: -1 is less than"),
        (lambda run: run["requirements"][0].update(extra=1), "$.requirements[0]: Additional properties"),
    ],
)
def test_invalid_record(run: dict[str, Any], change: Any, problem: str, tmp_path: Path) -> None:
    broken = copy.deepcopy(run)
    change(broken)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(record.RecordError, match=re.escape(problem)) as error:
        record.load(tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_unreadable_record(tmp_path: Path) -> None:
    with pytest.raises(record.RecordError, match="No such file"):
        record.load(tmp_path)
    (tmp_path / "record.json").write_text("{\n nonsense")
    with pytest.raises(record.RecordError, match=r"record\.json:2: not JSON"):
        record.load(tmp_path)
    (tmp_path / "record.json").write_text("[]")
    with pytest.raises(record.RecordError, match="schema is None"):
        record.load(tmp_path)


def test_what_skipped_requirements_want(run: dict[str, Any]) -> None:
    wants = {want: [row["id"] for row in rows] for want, rows in summary.skips(run)}
    assert wants == {
        "operators not offered": ["dtypes/f", "dtypes/j"],
        "capability sort": ["dtypes/f"],
        "capability index.adv": ["dtypes/f"],
    }


def test_a_run_that_checked_nothing_does_not_conform(run: dict[str, Any]) -> None:
    run["requirements"] = [row("views/a", "skipped", reason="missing capability views")]
    assert summary.verdict(run) == "not conforming: nothing was checked, all 1 skipped"
    run["requirements"] = []
    assert summary.verdict(run) == "not conforming: nothing was judged, none of the operators asked for is offered"


def test_a_group_is_headed_by_the_requirement_named_after_the_operator(run: dict[str, Any]) -> None:
    told = failure(message="expand's result is not on the storage of x1, against its schema")
    run["requirements"] = [row(f"views/{slug}", "failed", failure=told) for slug in ("nbytes-is", "expand-copies", "z")]
    (group,) = summary.failures(run)
    assert group.row["id"] == "views/expand-copies"


def test_a_group_is_headed_by_a_must(run: dict[str, Any]) -> None:
    told = failure(message="t's result is not on the storage of y1, against its schema")
    levels = {"refused-calls": "SHOULD", "transpose-permutes": "MUST", "views-share": "MUST", "strides-may": "MAY"}
    run["requirements"] = [row(f"views/{slug}", "failed", level, failure=told) for slug, level in levels.items()]
    (group,) = summary.failures(run)
    assert group.row["id"] == "views/transpose-permutes"
    assert [row["level"] for row in group.rows] == list(levels.values())


def test_what_is_not_offered_takes_a_few_lines(run: dict[str, Any]) -> None:
    names = [f"operator_{n}.Tensor" for n in range(700)]
    tried = {f"lost_{n}": f"lib has none of lost_{n}, nn.functional.lost_{n}, Tensor.lost_{n}" for n in range(9)}
    many = [row(f"views/part-{n}", "passed", reason="1 of 2 tests skipped: " + "operators, " * 99) for n in range(40)]
    many.append(row("views/k", unsupported={**dict.fromkeys(names, "not offered by the backend"), **tried}))
    run["requirements"] += many
    record.check(run)
    short, whole = terminal.render([run]), terminal.render([run], verbose=True)
    assert len(short.splitlines()) < 100 < 400 < len(whole.splitlines())
    for text in (short, whole):
        assert "Operators not offered: 710\n" in text
        words = " ".join(text.split())
        assert "not offered by the backend: operator_0.Tensor, operator_1.Tensor, " in words
        assert "lib has none of NAME, nn.functional.NAME, Tensor.NAME: lost_0, lost_1, lost_2" in words
    listed = re.search(r"operator_0.Tensor.*?, and (\d+) more \(all: --verbose\)", short, re.DOTALL)
    assert listed is not None
    assert len(re.findall("operator_", listed[0])) + int(listed[1]) == 700
    assert "operator_699.Tensor" in whole and "operator_699.Tensor" not in short
    assert "    and 36 more (all: --verbose)\n" in short
    assert "--verbose" not in whole
    assert max(map(len, short.splitlines())) <= 100


def test_reasons_beyond_a_few_stand_together() -> None:
    absent = {f"op{n}": f"reason {n}" for n in range(9)} | {"a": "first", "b": "first"}
    assert summary.by_reason(absent, 3) == [
        ("first", ["a", "b"]), ("reason 0", ["op0"]),
        ("for other reasons, each its own", [f"op{n}" for n in range(1, 9)]),
    ]  # fmt: skip
