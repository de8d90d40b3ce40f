"""The command line of ``gaugeblock validate``: what it writes, and one line for every bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock_conformance import command
from gaugeblock_conformance.discovery import installed
from gaugeblock_conformance.runner import suite as suites
from gaugeblock_reports import record as run_record


@pytest.fixture
def fake_suite(fakes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Runs the fake suite in place of the real one, in an empty folder."""
    monkeypatch.setattr("gaugeblock_conformance.commands.validate.SUITE", "fake_suite:fake")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run(fake_suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["validate", "fake_backends:Wrong", "--budget", "quick", "--jobs", "1", "--no-snippet-check"]
    assert command.main([*argv, "--format", "terminal,markdown", "junit"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("wrong 1.2.3+local on cpu\n")
    assert max(map(len, out.splitlines())) <= 100
    assert "\033" not in out
    assert "failed  MUST   dtypes/negation: wrong value of neg's result at (1,)" in err
    folder = fake_suite / "runs" / "fake_backends-Wrong"
    assert {path.name for path in folder.iterdir()} == {"journal.jsonl", "record.json", "report.md", "junit.xml"}
    record = run_record.load(folder)
    assert record["environment"]["seed"] == 0
    assert command.main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == out


def test_annotations_are_printed(fake_suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["validate", "fake_backends:Wrong", "--budget", "quick", "--jobs", "1", "--no-snippet-check"]
    assert command.main([*argv, "--format", "github"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("::error title=wrong 1.2.3+local on cpu%3A dtypes/negation::wrong value of neg's")
    assert out[-1] == "::notice title=wrong 1.2.3+local on cpu::not conforming: 1 MUST broken"
    assert command.main([*argv, "--format", "all"]) == 1
    assert "::error" not in capsys.readouterr().out


def test_filters(fake_suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["validate", "fake_backends:Wrong", "--budget", "quick", "--jobs", "1", "--seed", "7", "--out", "here"]
    assert command.main([*argv, "--area", "views"]) == 0
    rows = run_record.load(Path("here"))["requirements"]
    assert {row["area"] for row in rows} == {"views"}
    assert command.main([*argv, "--level", "must", "--requirement", "dtypes/negation", "--format", "json"]) == 1
    captured = capsys.readouterr()
    record = json.loads(Path("here/record.json").read_text())
    assert [row["id"] for row in record["requirements"]] == ["dtypes/negation"]
    assert record["environment"]["seed"] == 7
    assert "written: here/record.json" in captured.err


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["nonesuch"], 2, f"unknown backend 'nonesuch'; known: {', '.join(installed())}"),
        (["torhc"], 2, "unknown backend 'torhc'; did you mean torch?"),
        (["no_such_module:Class"], 3, "ModuleNotFoundError: No module named 'no_such_module'"),
        (["fake_backends:Absent"], 3, "AttributeError: module 'fake_backends' has no attribute 'Absent'"),
        (["fake_backends:RaisesAtLoad"], 3, "cannot be loaded: RuntimeError: the driver is missing"),
        (["fake_backends:DiesAtLoad"], 3, "the process ended with signal SIGABRT"),
        (["fake_backends:Misspelt"], 3, "unknown capability 'storages'; did you mean storage"),
        (["fake_backends:Claims"], 3, "capability 'version' needs a method version_of"),
        (["fake_backends:DiesAtLoad"], 3, "the process ended with signal SIGABRT: Fatal Python error: Aborted"),
        (["fake_backends:Incomplete"], 3, "Incomplete lacks version, device, capabilities, from_numpy"),
        (["fake_backends:Healthy:gpu"], 3, "ValueError: TEMPLATE has no device 'gpu'; allowed: cpu"),
        (["absent.py:Class"], 3, "no file absent.py"),
        (["fake_backends:Healthy", "--area", "vews"], 2, "unknown area 'vews'; did you mean views?"),
        (["fake_backends:Healthy", "--level", "shall"], 2, "unknown level 'shall'; known: must, should, may"),
        (["fake_backends:Healthy", "--level", "Must", "--requirement", "dtypes/untested"], 2, "nothing to run: no req"),
        (["fake_backends:Healthy", "--requirement", "operators/kron-takes-any-strides"], 2, "asks the same of kron"),
        (["fake_backends:Healthy", "--requirement", "views/neq"], 2, "unknown requirement 'views/neq'; did you mean"),
        (["fake_backends:Healthy", "--requirement", "views/neg", "--area", "dtypes"], 2, "--area dtypes and --requir"),
        (["fake_backends:Healthy", "--budget", "huge"], 2, "unknown budget 'huge'; known: quick, standard, thorough"),
        (["fake_backends:Healthy", "--format", "pdf"], 2, "unknown format 'pdf'"),
        (["fake_backends:Healthy", "--expect", "absent.toml"], 2, "expectation file absent.toml: No such file"),
        (
            ["fake_backends:Healthy", "--out", "/dev/null/x"],
            2,
            "--out /dev/null/x: cannot write there: Not a directory",
        ),
        (["fake_backends:Healthy", "--resume"], 2, "nothing to resume: no journal at runs/fake_backends-Healthy"),
    ],
)
def test_bad_input(
    fake_suite: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, problem: str
) -> None:
    assert command.main(["validate", "--budget", "quick", *arguments]) == status
    error = capsys.readouterr().err.splitlines()
    assert problem in error[-1]
    assert error[-1].startswith("gaugeblock: ")
    assert sum(line.startswith("gaugeblock: ") for line in error) == 1
    assert not Path("runs").exists()


def test_a_folder_that_was_there_stays(fake_suite: Path) -> None:
    Path("kept").mkdir()
    assert command.main(["validate", "fake_backends:RaisesAtLoad", "--out", "kept/a/b"]) == 3
    assert list(fake_suite.iterdir()) == [fake_suite / "kept"]
    assert list(Path("kept").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "BACKEND"),
        (["--area", "dtypes", "numpy"], "required: BACKEND, before options that take several values, such as --area"),
        (["numpy", "--jobs", "0"], "argument --jobs: '0' is not a whole number from 1"),
        (["numpy", "--timeout", "-1"], "argument --timeout: '-1' is not a number of seconds above 0"),
        (["numpy", "--memory", "x"], "argument --memory: 'x' is not a whole number of MiB from 0"),
        (["numpy", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["numpy", "--nonesuch"], "unrecognized arguments: --nonesuch"),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str) -> None:
    with pytest.raises(SystemExit) as stop:
        command.main(["validate", *arguments])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["validtae"]) == 2
    assert "unknown command 'validtae'; did you mean validate?" in capsys.readouterr().err


def test_a_suite_that_is_broken(fakes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gaugeblock_conformance.commands.validate.SUITE", "fake_suite:broken")
    assert command.main(["validate", "fake_backends:Healthy"]) == 2


def test_it_runs_as_a_module() -> None:
    argv = [sys.executable, "-m", "gaugeblock_conformance", "validate", "nonesuch"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("gaugeblock: unknown backend 'nonesuch'")
    assert suites.STANDARD.startswith("gaugeblock_conformance.")
