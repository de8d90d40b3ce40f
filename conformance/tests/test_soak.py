"""A soak: every backend under every seed, accusations told, resumed where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import soak
from gaugeblock_conformance.runner.run import Options

SAID = {"test": "t", "message": "wrong value", "expected": "1", "got": "2", "snippet": "assert False"}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The runs asked for; numpy is accused under seed 3, and under seed 5 Ctrl-C comes."""
    found: list[tuple[str, int]] = []

    def validate(options: Options, reporter: Any) -> dict[str, Any]:
        if options.seed == 5:
            raise KeyboardInterrupt
        found.append((options.backend, options.seed))
        status = "failed" if (options.backend, options.seed) == ("numpy", 3) else "passed"
        row = {"id": "views/x", "status": status, "reason": None, "failure": SAID if status == "failed" else None}
        row["unsupported"] = {"kron": "error of the suite: TypeError" if options.seed == 7 else "not offered"}
        facts = {"version": "1", "examples": 7, "seconds": 0.5}
        return {"environment": facts, "requirements": [row, {**row, "status": "xfailed"}]}

    monkeypatch.setattr(soak, "validate", validate)
    return found


def test_right_backends_under_all_seeds(
    seen: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main(["--seeds", "2", "--out", str(tmp_path)]) == 0
    assert seen == [("numpy", 0), ("reference", 0), ("numpy", 1), ("reference", 1)]
    told = capsys.readouterr()
    assert "0 accusations in 4 runs" in told.out
    assert "reference seed 1: 0 accusations" in told.err
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["schema"] == "gaugeblock-soak/1"
    assert [run["seed"] for run in record["runs"]] == [0, 0, 1, 1]


def test_accusation_is_told(
    seen: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main(["numpy", "--first-seed", "2", "--seeds", "3", "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "numpy seed 3: failed views/x\nt: wrong value\nexpected 1, got 2\nassert False" in out
    assert "1 accusations in 3 runs" in out


def test_an_error_of_the_suite_is_no_accusation_of_the_backend_but_is_told(
    seen: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main(["numpy", "--first-seed", "7", "--seeds", "1", "--out", str(tmp_path)]) == 1
    assert "numpy seed 7: views/x: kron: error of the suite: TypeError" in capsys.readouterr().out


def test_stopped_soak_goes_on(
    seen: list[tuple[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["numpy", "--first-seed", "4", "--out", str(tmp_path)]
    assert soak.main([*given, "--seeds", "2"]) == 1
    assert "--resume" in capsys.readouterr().err
    assert soak.main([*given, "--seeds", "1", "--resume"]) == 0
    assert seen == [("numpy", 4)]


@pytest.mark.parametrize("given", [["nonesuch"], ["--budget", "nonesuch"], ["--resume"]])
def test_mistakes_take_a_line(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main([*given, "--out", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
