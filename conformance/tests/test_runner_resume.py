"""A killed run loses nothing, and continues only as the run it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance.journal import NAME, SCHEMA, Journal, digest
from gaugeblock_conformance.problem import UsageProblem
from gaugeblock_conformance.runner.rows import new_row
from gaugeblock_conformance.runner.run import Interrupted, Options, once, validate
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
    with pytest.raises(UsageProblem, match="seed 0, this is 1; run without --resume to start over"):
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


def written(folder: Path) -> list[bytes]:
    """Write a journal of two rows and return its lines."""
    from fake_suite import make_requirement

    with Journal.create(folder, {"seed": 1}, "now") as journal:
        for name in ("views/one", "views/two"):
            journal.append(new_row(make_requirement(name), "skipped", "no time"))
    return (folder / NAME).read_bytes().splitlines(keepends=True)


def resumed(folder: Path) -> list[str]:
    from fake_suite import make_requirement

    known = {name: make_requirement(name) for name in ("views/one", "views/two")}
    with Journal.resume(folder, {"seed": 1}, once(known)) as journal:
        return [row["id"] for row in journal.rows]


def signed(**line: Any) -> bytes:
    """Return a journal line with a valid digest."""
    return json.dumps({**line, "digest": digest(line)}).encode() + b"\n"


ROW = {"id": "views/one"}
DEEP = b'{"row": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
CORRUPT: list[tuple[Callable[[list[bytes]], bytes], str]] = [
    (lambda lines: b"", "has no complete line"),
    (lambda lines: lines[0][:-1], "has no complete line"),
    (lambda lines: b"\n", r":1: damaged: Expecting value"),
    (lambda lines: b"\0" * 100 + b"\n", r":1: damaged: "),
    (lambda lines: b"\xff\xfe\n", r":1: damaged: "),
    (lambda lines: b"{}\n", ":1: not a journal of schema gaugeblock-journal/3"),
    (lambda lines: b"[]\n", ":1: damaged: not an object"),
    (lambda lines: b"3\n", ":1: damaged: not an object"),
    (lambda lines: lines[0].replace(b"journal/3", b"journal/1"), ":1: not a journal of schema"),
    (lambda lines: lines[0].replace(b'"seed": 1', b'"seed": 7'), ":1: damaged: its digest is not"),
    (lambda lines: signed(schema=SCHEMA, started="now"), ":1: not a journal of schema"),
    (lambda lines: signed(schema=SCHEMA, configuration=[], started="now"), ":1: not a journal of schema"),
    (lambda lines: signed(schema=SCHEMA, configuration={"seed": 1}, started=3), ":1: not a journal of schema"),
    (lambda lines: signed(schema=SCHEMA, configuration={"seed": 2}, started="now"), "seed 2, this is 1"),
    (lambda lines: signed(schema=SCHEMA, configuration={}, started="now"), "seed null, this is 1"),
    (lambda lines: lines[0] + b"nonsense\n", ":2: damaged: "),
    (lambda lines: lines[0] + b"\n" + lines[1], ":2: damaged: "),
    (lambda lines: lines[0] + DEEP, ":2: damaged: nested too deeply"),
    (lambda lines: lines[0] + b'{"row": ' + b"1" * 5000 + b"}\n", ":2: damaged: "),
    (lambda lines: lines[0] + lines[1][:-2] + lines[2], ":2: damaged: "),
    (lambda lines: lines[0] + lines[1].replace(b"skipped", b"passed "), ":2: damaged: its digest is not"),
    (lambda lines: lines[0] + lines[1].replace(b'"seconds": 0.0', b'"seconds": 0.5'), ":2: damaged: its digest"),
    (lambda lines: lines[0] + b'{"row": {"id": "views/one"}}\n', ":2: damaged: its digest is not None"),
    (lambda lines: lines[0] + lines[0], ":2: damaged: a line has one field"),
    (lambda lines: lines[0] + signed(line={}), ":2: damaged: a line has one field"),
    (lambda lines: lines[0] + lines[1] + lines[1], ":3: views/one is decided twice"),
    (lambda lines: lines[0] + lines[1] + lines[2] + lines[1], ":4: views/one is decided twice"),
    (lambda lines: lines[0] + signed(row=None), ":2: a row must be an object"),
    (lambda lines: lines[0] + signed(row=ROW), ":2: views/one: field 'area' is missing"),
    (lambda lines: lines[0] + changed(lines[1], id="views/three"), ":2: id is 'views/three', which is not one"),
    (lambda lines: lines[0] + changed(lines[1], status="perfect"), ":2: views/one: field 'status' is 'perfect'"),
    (lambda lines: lines[0] + changed(lines[1], status="passed"), "status 'passed' without an example"),
    (lambda lines: lines[0] + changed(lines[1], level="MAY"), "level is 'MAY'; the spec says 'MUST'"),
]


def changed(line: bytes, **fields: Any) -> bytes:
    return signed(row={**json.loads(line)["row"], **fields})


@pytest.mark.parametrize(("corrupt", "text"), CORRUPT)
def test_a_corrupt_journal_is_reported_with_file_and_line(
    fakes: Path, tmp_path: Path, corrupt: Callable[[list[bytes]], bytes], text: str
) -> None:
    lines = written(tmp_path)
    assert resumed(tmp_path) == ["views/one", "views/two"]
    (tmp_path / NAME).write_bytes(corrupt(lines))
    with pytest.raises(UsageProblem, match=text) as caught:
        resumed(tmp_path)
    assert str(tmp_path / NAME) in str(caught.value)
    assert "run without --resume" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("length", [1, 40, -2, -1])
def test_an_incomplete_last_line_is_dropped(fakes: Path, tmp_path: Path, length: int) -> None:
    lines = written(tmp_path)
    (tmp_path / NAME).write_bytes(lines[0] + lines[1] + lines[2][:length])
    assert resumed(tmp_path) == ["views/one"]
    assert (tmp_path / NAME).read_bytes() == lines[0] + lines[1]


def test_a_journal_is_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / NAME).symlink_to("/dev/zero")
    with pytest.raises(UsageProblem, match="not a regular file"):
        Journal.resume(tmp_path, {})
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with pytest.raises(UsageProblem, match=r"Is a directory|not a regular file"):
        Journal.resume(tmp_path, {})


def test_rows_are_on_disk_as_soon_as_appended(fakes: Path, tmp_path: Path) -> None:
    from fake_suite import make_requirement

    with Journal.create(tmp_path, {}, "now") as journal:
        journal.append(new_row(make_requirement("views/one")))
        assert journalled(tmp_path) == ["views/one"]
