"""A backend that attacks the suite's own process fails the requirement that ran, and the run continues."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gaugeblock_conformance import command
from gaugeblock_conformance.problem import BackendProblem
from gaugeblock_conformance.runner.progress import PlainReporter
from gaugeblock_conformance.runner.rows import TEXT
from gaugeblock_conformance.runner.run import Options, Record, exit_status, validate
from gaugeblock_conformance.runner.selection import Selection
from gaugeblock_reports import record as run_record
from gaugeblock_reports import summary

SOME = ("views/bitwise-not", "views/clone")
NEGATION = ("dtypes/negation",)


@pytest.fixture
def run(fakes: Path, tmp_path: Path) -> Callable[..., Record]:
    """Return a function that runs two requirements of the fake suite on a backend that attacks the first."""

    def start(backend: str, requirements: tuple[str, ...] = SOME, jobs: int = 1) -> Record:
        options = Options(
            f"hostile_backends:{backend}",
            tmp_path / "out",
            Selection(requirements=requirements),
            budget="quick",
            jobs=jobs,
            suite="fake_suite:fake",
            check_snippets=False,
        )
        with (tmp_path / "progress").open("w") as stream:
            record = validate(options, PlainReporter(stream))
        run_record.check(record)
        return record

    return start


def gone(pid: int) -> bool:
    """Return whether the process is dead or dies within two seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("ReturnsTwice", "a call returned twice: the backend forked and both processes went on"),
        ("ReturnsTwiceUnseen", "a call returned twice: the backend forked and both processes went on"),
        ("WritesGarbage", "the backend wrote to a descriptor of the suite"),
        ("ForgesProblem", "the backend wrote to a descriptor of the suite"),
        ("ForgesFrame", "the backend wrote a message in the suite's name"),
        ("ClosesAll", "the backend closed a descriptor of the suite"),
        ("KillsItsParent", "its supervisor was killed"),
        ("LeavesByBaseException", "the backend aborted the test with Away: away"),
    ],
)
def test_an_attack_crashes_the_requirement_that_ran(run: Callable[..., Record], backend: str, message: str) -> None:
    record = run(backend)
    attacked, other = record["requirements"]
    assert attacked["status"] == "crashed"
    assert message in attacked["failure"]["message"]
    assert other["status"] == "passed"
    assert exit_status(record) == 1


def test_the_suite_keeps_nothing_in_the_temporary_folder(run: Callable[..., Record]) -> None:
    assert {row["status"] for row in run("RemovesTemporaryFolder")["requirements"]} == {"passed"}


def test_no_process_outlives_the_run(
    run: Callable[..., Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUGEBLOCK_TEST_PIDS", str(tmp_path / "pids"))
    assert {row["status"] for row in run("LeavesProcesses")["requirements"]} == {"passed"}
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert all(map(gone, pids))


def test_a_removed_current_folder_is_made_again_for_the_record(
    run: Callable[..., Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "victim").touch()
    monkeypatch.chdir(home)
    options = Options(
        "hostile_backends:RemovesCurrentFolder",
        Path("out"),
        Selection(requirements=SOME),
        budget="quick",
        jobs=1,
        suite="fake_suite:fake",
    )
    with (tmp_path / "progress").open("w") as stream:
        record = validate(options, PlainReporter(stream))
    assert {row["status"] for row in record["requirements"]} == {"passed"}
    assert run_record.load(home / "out") == record


def test_a_backend_that_loads_only_once_yields_a_record(
    run: Callable[..., Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUGEBLOCK_TEST_FLAG", str(tmp_path / "flag"))
    attacked, other = run("LoadsOnce")["requirements"]
    assert attacked["status"] == other["status"] == "crashed"
    assert attacked["failure"]["message"] == "test_bitwise_not: the process ended with signal SIGABRT"
    assert other["failure"]["message"].startswith("the backend could not be loaded again: ")
    assert "no second time" in other["failure"]["message"]


@pytest.mark.parametrize(("backend", "given"), [("LongName", "'xxxx"), ("NameOfEscapes", r"'\x1b[31mred'")])
def test_an_overlong_or_unprintable_name_is_rejected(run: Callable[..., Record], backend: str, given: str) -> None:
    with pytest.raises(BackendProblem, match="name must be a string of 1 to 200 printable characters") as caught:
        run(backend)
    assert given in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_name_with_a_path_reads_no_other_folder(run: Callable[..., Record]) -> None:
    assert run("NameOfAnotherFolder")["environment"]["expectations"] is None


def test_long_texts_are_cut_and_progress_shows_no_escapes(run: Callable[..., Record], tmp_path: Path) -> None:
    (attacked, _) = run("Screams")["requirements"]
    assert attacked["status"] == "failed"
    assert len(attacked["failure"]["message"]) < TEXT
    assert (tmp_path / "out" / "record.json").stat().st_size < 100_000
    progress = (tmp_path / "progress").read_text()
    assert "\x1b" not in progress
    assert r"bitwise_not raised ValueError: \x1b[31m" in progress
    assert max(map(len, progress.splitlines())) < 240


def test_an_exception_without_a_text_is_a_failure(run: Callable[..., Record]) -> None:
    (attacked, _) = run("RaisesUnprintable")["requirements"]
    assert attacked["status"] == "failed"
    assert attacked["failure"]["message"] == "bitwise_not raised Mute: (its str() raises RuntimeError)"


def test_a_backend_that_offers_nothing_is_not_judged(run: Callable[..., Record]) -> None:
    record = run("OffersNothing", (*SOME, "dtypes/needs-sort"))
    assert {row["status"] for row in record["requirements"]} == {"skipped"}
    assert exit_status(record) == 4
    assert summary.verdict(record) == "not conforming: nothing was checked, all 3 skipped"


def test_making_and_reading_tensors_judges_nothing(run: Callable[..., Record]) -> None:
    record = run("OffersNothing")
    passed = {**record["requirements"][1], "status": "passed", "reason": None, "examples": 1}
    record["requirements"][1] = passed
    assert exit_status(record) == 4
    assert summary.verdict(record) == "not conforming: nothing was judged, none of the operators asked for is offered"
    passed["operators"] = 1
    assert exit_status(record) == 0


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("HidesBehindCapability", "the backend lists capability core and raises MissingCapability for it"),
        ("HidesBehindNothing", "the backend raises MissingCapability for 'patience', which is not a capability"),
    ],
)
def test_a_listed_capability_is_not_missing(run: Callable[..., Record], backend: str, message: str) -> None:
    for row in run(backend)["requirements"]:
        assert row["status"] == "failed"
        assert message in row["failure"]["message"]


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("Flatters", "wrong value of neg's result at (0,)"),
        ("FlattersByDtype", "wrong dtype of neg's result"),
        ("FlattersByShape", "to_numpy gives an array of (1,) int32 for neg's result, which is (3,) int32"),
        ("GivesList", "to_numpy gave an object of type list, not a NumPy array"),
    ],
)
def test_answers_that_equal_everything_hide_no_failure(run: Callable[..., Record], backend: str, message: str) -> None:
    (row,) = run(backend, NEGATION)["requirements"]
    assert row["status"] == "failed"
    assert message in row["failure"]["message"]


def test_validate_leaves_nothing_in_the_current_folder(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gaugeblock_conformance.commands.validate.SUITE", "fake_suite:fake")
    monkeypatch.chdir(tmp_path)
    argv = ["validate", "fake_backends:Healthy", "--budget", "quick", "--jobs", "1", "--out", "here"]
    assert command.main([*argv, "--requirement", "dtypes/drawn-negation"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
