"""``validate --write-expect``: a file of what failed, that keeps what a person has written into it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import command
from gaugeblock_conformance.expectations import writing
from gaugeblock_conformance.problem import UsageProblem

QUICK = ("--budget", "quick", "--jobs", "1", "--no-snippet-check", "--format", "json")
KEPT = """# words of our own
[[expected]]
requirement = "dtypes/negation"  # and here
reason = "negates the first element alone"
evidence = "looked at by hand"
"""


@pytest.fixture
def validate(fakes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr("gaugeblock_conformance.commands.validate.SUITE", "fake_suite:fake")
    monkeypatch.chdir(tmp_path)
    return lambda backend, *argv: command.main(["validate", f"fake_backends:{backend}", *QUICK, *argv])


def entries(path: Path) -> dict[str, dict[str, Any]]:
    return {entry["requirement"]: entry for entry in tomllib.loads(path.read_text())["expected"]}


def test_the_next_run_has_no_unexpected_failure(validate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate("Wrong", "--write-expect", "wrong.toml") == 1
    assert "wrong.toml: 1 entry added; say in each why it fails" in capsys.readouterr().err
    written = entries(Path("wrong.toml"))
    assert set(written) == {"dtypes/negation"}
    assert written["dtypes/negation"]["reason"] == "not looked into yet"
    evidence = written["dtypes/negation"]["evidence"]
    assert evidence.startswith("wrong 1.2.3+local on cpu, budget quick, seed 0, suite ")
    assert ": wrong value of neg's result at (1,)" in evidence
    assert validate("Wrong", "--expect", "wrong.toml") == 0


def test_crashes_are_written_too(validate: Any) -> None:
    assert validate("Aborts", "--write-expect", "aborts.toml") == 1
    assert "signal SIGABRT" in entries(Path("aborts.toml"))["views/bitwise-not"]["evidence"]
    assert validate("Aborts", "--expect", "aborts.toml") == 0


def test_entries_that_are_there_keep_their_words(validate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("mine.toml")
    file.write_text(KEPT)
    assert validate("Wrong", "--write-expect", "mine.toml") == 0
    assert file.read_text() == KEPT
    assert validate("Aborts", "--write-expect", "mine.toml") == 1
    assert "mine.toml: dtypes/negation holds now: take it out" in capsys.readouterr().err
    assert file.read_text().startswith(KEPT)
    assert set(entries(file)) == {"dtypes/negation", "views/bitwise-not"}


def test_an_entry_that_fails_in_another_way_is_told(validate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("mine.toml")
    file.write_text(KEPT + 'match = "wrong dtype"\n')
    before = file.read_text()
    assert validate("Wrong", "--write-expect", "mine.toml") == 1
    assert file.read_text() == before
    assert "dtypes/negation fails in another way than 'wrong dtype': wrong value of neg's" in capsys.readouterr().err


def test_reasons_of_another_file_are_taken_over(validate: Any) -> None:
    Path("other.toml").write_text(KEPT)
    assert validate("Wrong", "--expect", "other.toml", "--write-expect", "mine.toml") == 0
    assert entries(Path("mine.toml"))["dtypes/negation"]["reason"] == "negates the first element alone"


def test_an_entry_of_another_device_stands_beside(validate: Any) -> None:
    file = Path("mine.toml")
    file.write_text(KEPT + 'devices = ["gpu"]\n')
    assert validate("Wrong", "--write-expect", "mine.toml") == 1
    assert [entry["devices"] for entry in tomllib.loads(file.read_text())["expected"]] == [["gpu"], ["cpu"]]
    assert validate("Wrong", "--expect", "mine.toml") == 0


def test_operators_of_one_requirement_are_entries_of_their_own(tmp_path: Path) -> None:
    """A record whose failures name operators has an entry for each; a failure of the whole covers them all."""
    environment = {"name": "b", "version": "1", "device": "cpu", "budget": "quick", "seed": 0, "suite_version": "0"}

    def row(*operators: str | None) -> dict[str, Any]:
        failures = [{"operator": name, "message": f"of {name} \x7f\u2028\ud800"} for name in operators]
        return {"id": "a/b", "status": "failed", "failure": failures[0], "further_failures": failures[1:]}

    for operators, wanted in [(("add", "sub", "add"), ["add", "sub"]), (("add", None), [None])]:
        path = tmp_path / f"{len(wanted)}.toml"
        writing._replace(path, writing._head(environment))
        found = [writing._entry(key, "x", f, environment, False) for key, f in writing._failures(row(*operators))]
        text = "\n".join(found)
        assert [entry.get("operator") for entry in tomllib.loads(text)["expected"]] == wanted


@pytest.mark.parametrize(
    ("path", "problem"),
    [("absent/x.toml", "--write-expect absent/x.toml: no folder absent"), (".", "--write-expect .: not a regular fi")],
)
def test_bad_paths(
    validate: Any, path: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert validate("Wrong", "--write-expect", path) == 2
    assert problem in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_file_of_something_else_is_not_touched(validate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text("[project]\n")
    assert validate("Wrong", "--write-expect", "pyproject.toml") == 2
    assert "unknown key 'project'; allowed: extends, [[expected]]" in capsys.readouterr().err
    assert Path("pyproject.toml").read_text() == "[project]\n"
    with pytest.raises(UsageProblem, match="no folder"):
        writing.check_path(Path("absent/x"))
