"""Expected failures: judged rows, and every way in which a file can be wrong."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gaugeblock_conformance import expectations
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.runner.progress import PlainReporter
from gaugeblock_conformance.runner.run import Options, Record, exit_status, validate
from gaugeblock_conformance.text_file import TEXT_LIMIT

Run = Callable[..., Record]

ENTRY = """
[[expected]]
requirement = "{id}"
reason = "a known deviation"
evidence = "seen"
upstream = "https://example.org/1"
"""


def statuses(record: Record) -> dict[str, str]:
    return {row["id"]: row["status"] for row in record["requirements"]}


def test_expected_failure_and_crash(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(id="dtypes/negation"))
    record = run_fake("Wrong", expect=str(file))
    row = next(row for row in record["requirements"] if row["id"] == "dtypes/negation")
    assert (row["status"], row["reason"]) == ("xfailed", "a known deviation")
    assert row["upstream"] == "https://example.org/1"
    assert row["failure"]["snippet"]
    assert exit_status(record) == 0
    assert record["environment"]["expectations"] == str(file)

    file.write_text(ENTRY.format(id="views/bitwise-not"))
    record = run_fake("Segfaults", expect=str(file))
    assert statuses(record)["views/bitwise-not"] == "xfailed"
    assert exit_status(record) == 0


def test_unexpected_pass(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(id="views/neg"))
    record = run_fake("Healthy", expect=str(file))
    assert statuses(record)["views/neg"] == "xpassed"
    assert exit_status(record) == 1


def test_failing_in_another_way(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(id="dtypes/negation") + 'match = "wrong dtype"\n')
    record = run_fake("Wrong", expect=str(file))
    assert statuses(record)["dtypes/negation"] == "failed"
    assert exit_status(record) == 1
    file.write_text(ENTRY.format(id="dtypes/negation") + 'match = "wrong value"\n')
    assert statuses(run_fake("Wrong", expect=str(file)))["dtypes/negation"] == "xfailed"


def test_other_device(run_fake: Run, tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(ENTRY.format(id="dtypes/negation") + 'devices = ["meta"]\n')
    assert statuses(run_fake("Wrong", expect=str(file)))["dtypes/negation"] == "failed"


def test_none(run_fake: Run) -> None:
    assert run_fake("Healthy", expect="none")["environment"]["expectations"] is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[expected]\n", "line 1"),
        ("\n" + ENTRY.format(id="views/nag"), r":3: unknown requirement 'views/nag'; did you mean views/neg"),
        (ENTRY.format(id="operators/kron-takes-any-strides"), "kron-takes-any-strides was retired"),
        (ENTRY.format(id="views/neg") + 'also = ["views/nag"]\n', ":2: unknown requirement 'views/nag'; did you mean"),
        (ENTRY.format(id="views/neg") + "colour = 1\n", r":2: unknown field 'colour'; allowed: requirement, operator"),
        ('[[expected]]\nrequirement = "views/neg"\n', ":1: field 'reason' is missing"),
        (ENTRY.format(id="views/neg") + "match = 3\n", ":2: field 'match' must be a non-empty str, not 3"),
        (ENTRY.format(id="views/neg") + 'match = "("\n', ":2: field 'match' is not a regular expression"),
        (ENTRY.format(id="views/neg") * 2, ":8: 'views/neg' is expected twice"),
        ("backend = 'torch'\n", "unknown key 'backend'"),
        ("extends = 3\n", "'extends' must name a file beside it, not 3"),
        ("extends = '../torch.toml'\n", "'extends' must name a file beside it, not '../torch.toml'"),
        ("expected = 3\n", "must be tables"),
        ("expected = [3]\n", "must be a table"),
    ],
)
def test_malformed_file(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UsageProblem, match=problem) as error:
        expectations.read(file, ["views/neg", "views/clone"], "cpu")
    assert str(file) in str(error.value)
    assert error.value.exit_status == 2


def test_further_requirements_of_one_fault(tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    file.write_text(ENTRY.format(id="views/neg") + 'also = ["views/clone"]\nmatch = "wrong"\n' + SHOWING)
    neg, clone = expectations.rows(file, ["views/neg", "views/clone"])
    assert (clone.requirement, clone.see, clone.match) == ("views/clone", ("views/neg",), "wrong")
    assert clone.sometimes
    assert (neg.sometimes, neg.snippet, clone.snippet, clone.reason) == (False, "print(1)", None, neg.reason)
    file.write_text(file.read_text() + ENTRY.format(id="views/clone"))
    with pytest.raises(UsageProblem, match="'views/clone' is expected twice"):
        expectations.read(file, ["views/neg", "views/clone"], "cpu")


def test_of_some_operators_a_whole_requirement_may_hold(tmp_path: Path) -> None:
    file, id_ = tmp_path / "rows.toml", "operators/every-operator-gives-what-its-row-says"
    file.write_text(ENTRY.format(id="views/neg") + ENTRY.format(id=id_) + 'operator = "kron"\n')
    some = expectations.read(file, ["views/neg", id_], "cpu").of_some_operators().expected
    assert {key: one.sometimes for key, one in some.items()} == {("views/neg", None): True, (id_, "kron"): False}


def test_a_file_extends_another(tmp_path: Path) -> None:
    known, base, own = ["views/neg", "views/clone"], tmp_path / "base.toml", tmp_path / "own.toml"
    base.write_text(ENTRY.format(id="views/neg") + ENTRY.format(id="views/clone"))
    own.write_text('extends = "base.toml"\n' + ENTRY.format(id="views/neg") + 'match = "wrong"\n')
    expected = expectations.read(own, known, "cpu").expected
    neg, clone = expected["views/neg", None], expected["views/clone", None]
    assert (neg.match, neg.sometimes, clone.match, clone.sometimes) == ("wrong", False, None, True)
    assert [row.requirement for row in expectations.rows(own, known)] == ["views/neg"]


def test_extended_files_form_a_chain(tmp_path: Path) -> None:
    known = ["views/neg", "views/clone", "views/t"]
    chain = (("own.toml", "middle.toml", "views/neg"), ("middle.toml", "base.toml", "views/clone"))
    for name, below, identifier in chain:
        (tmp_path / name).write_text(f'extends = "{below}"\n' + ENTRY.format(id=identifier))
    (tmp_path / "base.toml").write_text(ENTRY.format(id="views/t") + ENTRY.format(id="views/neg"))
    expected = expectations.read(tmp_path / "own.toml", known, "cpu").expected
    assert [(name, one.sometimes) for (name, _), one in expected.items()] == [
        ("views/neg", False), ("views/clone", True), ("views/t", True),
    ]  # fmt: skip
    (tmp_path / "base.toml").write_text('extends = "own.toml"\n')
    with pytest.raises(UsageProblem, match=r"base\.toml extends own\.toml, which extends it"):
        expectations.read(tmp_path / "own.toml", known, "cpu")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="No such file"):
        expectations.read(tmp_path / "absent.toml", [], "cpu")


def test_no_shipped_file_for_an_unknown_version() -> None:
    assert expectations.shipped("torch", "0.0.1") is None
    assert expectations.shipped("nothing", "1") is None


SHOWING = 'snippet = "print(1)"\nexpected = "2"\ngot = "1"\ntried = ["1.0"]\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ENTRY.format(id="views/neg") + 'snippet = "print(1)"\n', ":2: field 'snippet' needs 'expected' too"),
        (ENTRY.format(id="views/neg") + SHOWING + 'see = ["views/neg"]\n', ":2: field 'see' points to another row"),
        (ENTRY.format(id="views/neg") + 'see = ["views/clone"]\n', ":2: field 'see' names 'views/clone', which has no"),
        (ENTRY.format(id="views/neg") + 'kind = "odd"\n', ":2: field 'kind' must be one of deviation, missing, differ"),
        (ENTRY.format(id="views/neg") + "tried = [2]\n", ":2: field 'tried' must be a list of strings"),
    ],
)
def test_malformed_page(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UsageProblem, match=problem):
        expectations.rows(file, ["views/neg", "views/clone"])


def test_rows_of_all_devices(tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    seen = ENTRY.format(id="views/neg") + 'devices = ["meta"]\nkind = "missing"\n' + SHOWING
    file.write_text(seen + ENTRY.format(id="views/clone") + 'see = ["views/neg"]\n')
    neg, clone = expectations.rows(file, ["views/neg", "views/clone"])
    assert (neg.snippet, neg.got, neg.tried, neg.slug) == ("print(1)", "1", ("1.0",), "views-neg")
    assert (clone.see, clone.kind, neg.kind) == (("views/neg",), "missing", "missing")
    assert clone.upstream == "https://example.org/1"
    assert list(expectations.read(file, ["views/neg", "views/clone"], "cpu").expected) == [("views/clone", None)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("[[expected]]\nrequirement = " + "[" * 300 + "]" * 300, "field 'requirement' must be a non-empty str"),
        ("[[expected]]\nrequirement = \"" + "x" * 100_000 + "\"", "field 'reason' is missing"),
        (ENTRY.format(id="x" * 100_000), "unknown requirement 'xxx"),
        ('"' + "k" * 100_000 + '" = 1', "unknown key 'kkk"),
        ("[[expected]]\n" + "k" * 100_000 + " = 1", "unknown field 'kkk"),
        ("a = 1" + "0" * 5000, "not TOML: "),
        ("a = {" + "b = {" * 100_000, "nested too deeply"),
        (ENTRY.format(id="views/neg") + "match = \"" + "(" * 100_000 + "\"", "not a regular expression"),
    ],
)
def test_hostile_files_are_reported_on_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "expected.toml"
    file.write_text(text)
    with pytest.raises(UsageProblem) as caught:
        expectations.read(file, {"views/neg"}, "cpu")
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "fifo"])
def test_expectations_are_read_from_regular_files(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name == "fifo":
        os.mkfifo(file)
    with pytest.raises(UsageProblem, match="not a regular file"):
        expectations.read(file, set(), "cpu")


def test_expectations_are_of_a_bounded_size(tmp_path: Path) -> None:
    file = tmp_path / "expected.toml"
    with file.open("wb") as stream:
        stream.truncate(TEXT_LIMIT + 1)
    with pytest.raises(UsageProblem, match="more than 16 MiB"):
        expectations.read(file, set(), "cpu")


def test_backends_without_a_valid_file_name_have_no_shipped_expectations() -> None:
    assert expectations.shipped("torch", "2.13.0") is not None
    for name in ("../expectations/torch", "x" * 4_000_000, "torch\0", ""):
        assert expectations.shipped(name, "2.13.0") is None


@pytest.mark.parametrize(
    ("name", "version", "file"),
    [
        ("torch", "2.15.0+cpu", "torch-2.13.toml"),
        ("gradcheck-torch", "3", "gradcheck-torch-2.13.toml"),
        ("array-api-strict", "3.0", "array-api-strict-2.6.toml"),
        ("nonesuch", "1", None),
        ("", "1", None),
    ],
)
def test_the_nearest_file_of_another_version(name: str, version: str, file: str | None) -> None:
    assert expectations.shipped(name, version) is None
    assert expectations.nearest(name, version) == file


def test_a_file_that_is_left_out_is_named(fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "nearest", lambda name, version: f"{name}-0.9.toml for {version}")
    said = io.StringIO()
    options = Options("fake_backends:Healthy", tmp_path, suite="fake_suite:fake", budget="quick", jobs=1)
    validate(options, PlainReporter(said))
    why = "no file for version 1.2.3+local; healthy-0.9.toml for 1.2.3+local is shipped and left out"
    assert f"expected failures: 0 ({why})\n" in said.getvalue()
    validate(replace(options, expect="none"), PlainReporter(said))
    assert "expected failures: 0 (no file)\n" in said.getvalue()
