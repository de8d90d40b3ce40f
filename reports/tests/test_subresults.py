"""Verdicts on single operators in every report, and records of the schema before them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from gaugeblock_reports import junit, markdown, terminal
from gaugeblock_reports.comparison.changes import compare
from gaugeblock_reports.comparison.formats import FORMATS
from gaugeblock_reports.html import index
from gaugeblock_reports.record import RUN, load
from gaugeblock_reports.summary import failures, known_name
from sample_records import failure, row, run

BROKEN = ("kron", "sub", "add", "mul")


def swept(identifier: str = "operators/sweep", known: tuple[str, ...] = (), **facts: Any) -> dict[str, Any]:
    """A requirement that five operators were judged for, of which ``BROKEN`` break it, some as expected."""
    found = [
        failure(operator=name, cause="wrong sign", known="it is known" if name in known else None) for name in BROKEN
    ]
    ordered = sorted(found, key=lambda one: one["known"] is not None)
    statuses = {name: "xfailed" if name in known else "failed" for name in BROKEN}
    status = "failed" if len(known) < len(BROKEN) else "xfailed"
    parts = {"failure": ordered[0], "further_failures": ordered[1:], "subresults": {**statuses, "div": "passed"}}
    return row(identifier, status, **{**parts, **facts})


def test_a_cause_names_the_operators() -> None:
    (group,) = failures(run(swept()))
    assert group.name_of(group.row) == "operators/sweep[kron, sub, add and 1 more]"
    assert "1. failed operators/sweep[kron, sub, add and 1 more] (MUST; VIEW-001)" in terminal.render([run(swept())])
    assert r"### 1. failed: operators/sweep\[kron, sub, add and 1 more\] (MUST)" in markdown.render([run(swept())])


def test_expected_operators_are_no_cause() -> None:
    (group,) = failures(run(swept(known=("kron", "add", "mul"))))
    assert group.operators == {"operators/sweep": ["sub"]}
    whole = swept(known=BROKEN, reason="it is known")
    assert failures(run(whole)) == []
    assert known_name(whole) == "operators/sweep[kron, sub, add and 1 more]"
    text = terminal.render([run(whole)])
    assert "    operators/sweep[kron, sub, add and 1 more] (MUST, failed)\n        it is known\n" in text
    assert text.endswith("no unexpected failures, 1 known: 0 MUST held, 1 broken as expected\n")


def test_junit_has_a_case_for_each_operator_that_did_not_hold() -> None:
    suite = ET.fromstring(junit.render([run(swept(known=("kron",)))])).find("testsuite")
    assert suite is not None
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "operators/sweep": [],
        "operators/sweep[kron]": ["skipped"],
        "operators/sweep[sub]": ["failure"],
        "operators/sweep[add]": ["failure"],
        "operators/sweep[mul]": ["failure"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "3", "1")


def test_html_counts_operators_that_held_and_names_the_others() -> None:
    record = run(swept(known=("kron",)))
    (detail,) = index.details(index.aligned([record]), [record])["rows"]
    assert detail["cells"][0]["subresults"] == {"xfailed": ["kron"], "failed": ["sub", "add", "mul"], "passed": 1}
    assert index.index(index.aligned([record]), ["torch"], ["torch"], None)["rows"][0][3] == "f"


def test_partial_verdicts_are_counted_apart() -> None:
    record = run(row("views/a"), row("views/b", "partial", reason="1 of 2 operators skipped: kron"))
    text = terminal.render([record])
    assert "Held in part\n    views/b: 1 of 2 operators skipped: kron\n" in text
    assert text.endswith("conforming: 2 MUST held, 1 of them in part\n")
    assert index.index(index.aligned([record]), ["torch"], ["torch"], None)["rows"][1][3] == "h"


def test_comparison_tells_operators_that_changed() -> None:
    before = swept(subresults={"kron": "failed", "sub": "passed", "add": "failed", "mul": "passed", "div": "passed"})
    after = swept(subresults={"kron": "failed", "sub": "failed", "add": "passed", "mul": "passed", "div": "passed"})
    found = compare(run(before), run(after, version="2.14.0"))
    (change,) = found.changes
    assert (change.kind, change.operators) == ("still", {"sub": "broken", "add": "mended"})
    assert found.regressions == [change]
    assert "newly broken: sub; mended: add" in FORMATS["terminal"](found)

    held = row("operators/sweep", "partial", subresults={"sub": "passed", "add": "skipped"})
    more = row("operators/sweep", subresults={"sub": "passed", "add": "passed"})
    (change,) = compare(run(held), run(more, version="2.14.0")).changes
    assert (change.kind, change.operators) == ("changed", {"add": "found"})


def test_a_record_of_the_earlier_schema_is_read(tmp_path: Path) -> None:
    record = run(row("views/a", "failed"), row("views/b", reason="1 of 2 tests skipped: missing capability sort"))
    record["schema"] = "gaugeblock-run/1"
    for one in record["requirements"]:
        del one["subresults"]
        if one["failure"]:
            del one["failure"]["operator"], one["failure"]["known"]
    (tmp_path / "record.json").write_text(json.dumps(record))
    found = load(tmp_path)
    assert found["schema"] == RUN
    assert [(one["status"], one["subresults"]) for one in found["requirements"]] == [("failed", {}), ("partial", {})]
    assert found["requirements"][0]["failure"]["operator"] is None


def test_operators_that_one_test_finds_to_accept_bad_input_lack_one_check() -> None:
    accepting = [failure(cause=f"{name}.out accepts bad input", test="test_overlap") for name in ("add", "sub")]
    further = failure(cause="sub.out accepts bad input", test="test_else")
    third = failure(cause="mul.out accepts bad input", test="test_else")
    record = run(
        row("views/overlap", "failed", failure=accepting[0], further_failures=[accepting[1]]),
        row("views/else", "failed", failure=further, further_failures=[third]),
        row("views/other", "failed", failure=failure(cause="div.out accepts bad input", test="test_other")),
    )
    found = [(group.cause, [one["id"] for one in group.rows]) for group in failures(record)]
    assert found == [
        ("add.out accepts bad input", ["views/overlap", "views/else"]),
        ("div.out accepts bad input", ["views/other"]),
    ]


def test_refusals_of_rows_are_no_one_check() -> None:
    accepting = [failure(cause=f"{name} accepts bad input", test="test_listed_errors") for name in ("add", "sub")]
    record = run(row("operators/errors", "failed", failure=accepting[0], further_failures=[accepting[1]]))
    assert [group.cause for group in failures(record)] == ["add accepts bad input", "sub accepts bad input"]


def test_a_cause_is_shown_by_its_shortest_snippet_that_was_executed() -> None:
    long, short, brief = "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\n", "a = 1\n"
    record = run(
        row("views/a", "failed", failure=failure(snippet=long)),
        row("views/b", "failed", failure=failure(snippet=short)),
        row("views/c", "failed", failure=failure(snippet=brief, snippet_checked=None)),
    )
    (group,) = failures(record)
    assert (group.shown["snippet"], group.row["id"]) == (short, "views/b")


def test_wrong_results_of_forms_are_one_cause_with_those_of_their_operator() -> None:
    causes = (
        "wrong value of all.out's result", "wrong value of all's result", "wrong value of add_'s result",
        "wrong value of add's result", "wrong value of mm.out's result", "wrong size of all.out's result",
    )  # fmt: skip
    rows = [row(f"views/{k}", "failed", failure=failure(cause=cause)) for k, cause in enumerate(causes)]
    found = {group.cause: len(group.rows) for group in failures(run(*rows))}
    assert found == {causes[1]: 2, causes[3]: 2, causes[4]: 1, causes[5]: 1}
