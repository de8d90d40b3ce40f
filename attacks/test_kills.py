"""Runs killed by SIGKILL at journal lines or times: resumed, they give the record of an uninterrupted run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from gaugeblock_reports.record import load

FAKES = Path(__file__).parents[1] / "conformance" / "tests" / "fakes"
KILLS = 100
BACKENDS = ("Wrong", "Segfaults", "Healthy")
LINES = 11
LATEST = 3.0
"""Latest time in seconds at which a run is killed."""
PATIENCE = 240.0
TOLD = ("verdict", "message", "expected", "got", "snippet", "snippet_checked")
MARK = "GAUGEBLOCK_ATTACK"
PROGRAM = (
    "import sys; from gaugeblock_conformance.commands import validate; validate.SUITE = 'fake_suite:fake'; "
    "from gaugeblock_conformance.command import main; sys.exit(main(sys.argv[1:]))"
)


class Run:
    """A run of ``gaugeblock validate`` in its own folder."""

    def __init__(self, backend: str, folder: Path, resume: bool = False) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.home.mkdir(parents=True, exist_ok=True)
        self.temporary.mkdir(exist_ok=True)
        self.mark = token_hex(8)
        self.journal = self.home / "out" / "journal.jsonl"
        command = [sys.executable, "-c", PROGRAM, "validate", f"fake_backends:{backend}", "--budget", "quick"]
        command += ["--jobs", "2", "--out", "out", "--format", "json", *(["--resume"] if resume else [])]
        environment = {**os.environ, "PYTHONPATH": str(FAKES), "TMPDIR": str(self.temporary), MARK: self.mark}
        self.process = subprocess.Popen(
            command, cwd=self.home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def kill_at(self, lines: int, seconds: float) -> None:
        """Kill the run when its journal has `lines` lines, or after `seconds`; it may have ended before."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end and self.decided() < lines:
            time.sleep(0.002)
        self.process.kill()
        self.process.communicate()

    def decided(self) -> int:
        return self.journal.read_bytes().count(b"\n") if self.journal.exists() else 0

    def finish(self) -> str | None:
        """Wait for the end of the run; return its fault, or None."""
        try:
            _, errors = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "the run hangs"
        if self.process.returncode not in (0, 1) or b"Traceback" in errors:
            return f"exit status {self.process.returncode}: {errors[-300:]!r}"
        return None

    def leftovers(self) -> list[str]:
        """Return processes of the run that are still alive, and files in its temporary folder."""
        end = time.monotonic() + 15
        while (pids := self._processes()) and time.monotonic() < end:
            time.sleep(0.02)
        found = [f"process {pid} outlives the run" for pid in pids]
        for pid in pids:
            os.kill(pid, 9)
        return found + [f"left in the temporary folder: {path.name}" for path in self.temporary.iterdir()]

    def _processes(self) -> list[int]:
        mark, found = f"{MARK}={self.mark}".encode(), []
        for path in Path("/proc").iterdir():
            if path.name.isdecimal():
                try:
                    marked = mark in (path / "environ").read_bytes()
                except OSError:
                    continue
                if marked:
                    found.append(int(path.name))
        return found


def verdicts(folder: Path) -> list[Any]:
    """Return the verdicts of a record, without times and captured output."""
    told = []
    for row in load(folder / "home" / "out")["requirements"]:
        failure = row["failure"] and [row["failure"][name] for name in TOLD]
        told.append([row["id"], row["status"], row["reason"], row["examples"], failure])
    return told


def resumed(backend: str, folder: Path, again: bool) -> list[str]:
    """Resume a killed run, or restart one killed before it had a journal; return the faults."""
    found = []
    for kill in (*([True] if again else []), False):
        journal = folder / "home" / "out" / "journal.jsonl"
        run = Run(backend, folder, resume=journal.exists() and b"\n" in journal.read_bytes())
        if kill:
            run.kill_at(run.decided() + 2, LATEST)
        elif (fault := run.finish()) is not None:
            found.append(fault)
        found += run.leftovers()
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_kills(tmp_path: Path, scaled: Callable[[int], int]) -> None:
    right = {}
    for backend in BACKENDS:
        assert Run(backend, tmp_path / backend).finish() is None
        right[backend] = verdicts(tmp_path / backend)
    count, found = scaled(KILLS), []
    for k in range(count):
        backend, folder = BACKENDS[k % len(BACKENDS)], tmp_path / str(k)
        by_line = k % 2 == 0
        lines, seconds = ((k // 2) % LINES, PATIENCE) if by_line else (10**6, LATEST * (k + 1) / count)
        run = Run(backend, folder)
        run.kill_at(lines, seconds)
        what = f"{backend} killed at " + (f"line {lines}" if by_line else f"{seconds:.2f} s")
        faults = [*run.leftovers(), *resumed(backend, folder, again=k % 5 == 0)]
        if not faults:
            faults += [] if verdicts(folder) == right[backend] else ["another record than that of a run left alone"]
            names = {path.name for path in (folder / "home").rglob("*")} - {"out", "record.json", "journal.jsonl"}
            faults += [f"left behind: {name}" for name in names]
            rows = [json.loads(line)["row"]["id"] for line in run.journal.read_text().splitlines()[1:]]
            faults += ["a requirement is decided twice"] if len(rows) != len(set(rows)) else []
        found += [f"{what}: {fault}" for fault in faults]
        shutil.rmtree(folder)
    assert not found, "\n".join(found)
