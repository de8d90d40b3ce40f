"""A killed run loses nothing, and continues only as the run it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance.journal import NAME, Journal
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.runner.rows import new_row
from gaugeblock_conformance.runner.run import Interrupted, Options, validate
from gaugeblock_conformance.runner.selection import Selection

SCRIPT = """
import sys
from pathlib import Path
from gaugeblock_conformance.runner.progress import reporter
from gaugeblock_conformance.runner.run import Options, validate
validate(Options("fake_backends:Healthy", Path(sys.argv[1]), suite="fake_suite:many", jobs=1), reporter())
"""


class Quiet:
    def __init__(self, interrupt_after: int = 10**9) -> None:
        self.decisions: list[str] = []
        self.interrupt_after = interrupt_after

    def note(self, text: str) -> None:
        assert text

    def start(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def decided(self, row: Any) -> None:
        self.decisions.append(row["id"])
        if len(self.decisions) >= self.interrupt_after:
            raise KeyboardInterrupt

    def finish(self) -> None:
        self.finished = True


def options(out: Path, **changes: Any) -> Options:
    settings: dict[str, Any] = {"backend": "fake_backends:Healthy", "out": out, "suite": "fake_suite:many", "jobs": 1}
    return Options(**{**settings, **changes})


def journalled(out: Path) -> list[str]:
    lines = (out / NAME).read_text().splitlines()
    return [json.loads(line)["row"]["id"] for line in lines[1:] if line.endswith("}")]


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_kill_9_and_resume(fakes: Path, tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], stderr=subprocess.DEVNULL)
    while not (tmp_path / NAME).exists() or len(journalled(tmp_path)) < 5:
        assert parent.poll() is None
        time.sleep(0.02)
    workers = [int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    decided = journalled(tmp_path)
    assert 5 <= len(decided) < 60
    end = time.monotonic() + 10
    while any(map(alive, workers)):
        assert time.monotonic() < end, "workers outlive the parent"
        time.sleep(0.02)

    with (tmp_path / NAME).open("a") as file:
        file.write('{"row": {"id": "torn')
    reporter = Quiet()
    record = validate(options(tmp_path, resume=True), reporter)
    assert reporter.done == len(decided)
    assert set(reporter.decisions).isdisjoint(decided)
    assert [row["id"] for row in record["requirements"]] == [f"views/slow-{n}" for n in range(60)]
    assert record["environment"]["resumed"] is True


def test_interrupt_and_resume(fakes: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="3 of 60 requirements are decided; --resume continues"):
        validate(options(tmp_path), Quiet(interrupt_after=3))
    assert len(journalled(tmp_path)) == 3
    with pytest.raises(UsageProblem, match="seed 0, this is 1; run without --resume to start anew"):
        validate(options(tmp_path, resume=True, seed=1), Quiet())
    with pytest.raises(UsageProblem, match="budget standard, this is quick"):
        validate(options(tmp_path, resume=True, budget="quick"), Quiet())
    with pytest.raises(UsageProblem, match="backend fake_backends:Healthy, this is fake_backends:Wrong"):
        validate(options(tmp_path, resume=True, backend="fake_backends:Wrong"), Quiet())
    with pytest.raises(UsageProblem, match="selection"):
        validate(options(tmp_path, resume=True, selection=Selection(requirements=("views/slow-1",))), Quiet())
    assert len(journalled(tmp_path)) == 3


def test_a_fresh_run_keeps_the_earlier_journal(tmp_path: Path) -> None:
    Journal.create(tmp_path, {"seed": 1}, "now").__exit__(None, None, None)
    Journal.create(tmp_path, {"seed": 2}, "now").__exit__(None, None, None)
    first = json.loads((tmp_path / "journal.previous.jsonl").read_text())
    assert first["configuration"] == {"seed": 1}


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"nothing to resume: no journal at .*journal\.jsonl"):
        Journal.resume(tmp_path, {})


def test_damaged_journal(tmp_path: Path) -> None:
    with Journal.create(tmp_path, {}, "now"):
        pass
    with (tmp_path / NAME).open("a") as file:
        file.write("nonsense\n")
    with pytest.raises(UsageProblem, match=r"journal\.jsonl:2: damaged: "):
        Journal.resume(tmp_path, {})
    (tmp_path / NAME).write_text("{}\n")
    with pytest.raises(UsageProblem, match="no journal of schema gaugeblock-journal/1"):
        Journal.resume(tmp_path, {})


def test_rows_are_on_disk_as_soon_as_appended(fakes: Path, tmp_path: Path) -> None:
    from fake_suite import make_requirement

    with Journal.create(tmp_path, {}, "now") as journal:
        journal.append(new_row(make_requirement("views/one")))
        assert journalled(tmp_path) == ["views/one"]
