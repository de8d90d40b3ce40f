"""Hostile backends: each leads to a verdict and a record, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_reports.record import RecordError, load

HERE = Path(__file__).parent
FAKES = HERE.parent / "conformance" / "tests" / "fakes"
REQUIREMENTS = ("views/bitwise-not", "views/clone", "dtypes/negation")
PROGRAM = (
    "import sys; from gaugeblock_conformance.commands import validate; validate.SUITE = 'fake_suite:fake'; "
    "from gaugeblock_conformance.command import main; sys.exit(main(sys.argv[1:]))"
)
PATIENCE = 240
LONGEST_OUTPUT = 60_000
LONGEST_RECORD = 200_000


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def left_alive(pids: Path) -> list[int]:
    """Return recorded processes that outlive the run, and kill them."""
    listed = [int(line) for line in pids.read_text().split()] if pids.exists() else []
    end = time.monotonic() + 2
    while any(map(alive, listed)) and time.monotonic() < end:
        time.sleep(0.02)
    found = [pid for pid in listed if alive(pid)]
    for pid in found:
        os.kill(pid, 9)
    return found


def faults(name: str, deed: Any, folder: Path) -> list[str]:
    """Return the faults of the run of one deed."""
    home, temporary, pids = folder / "home", folder / "tmp", folder / "pids"
    home.mkdir(parents=True)
    temporary.mkdir()
    command = [sys.executable, "-c", PROGRAM, "validate", f"deeds:Hostile:{name}", "--requirement", *REQUIREMENTS]
    command += ["--budget", "quick", "--jobs", "1", "--timeout", "4", "--memory", "500", "--no-snippet-check"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(FAKES)]),
        "TMPDIR": str(temporary),
        "GAUGEBLOCK_ATTACK_PIDS": str(pids),
    }
    try:
        done = subprocess.run(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return ["the harness hangs"]
    told = done.stdout + done.stderr
    found = [f"exit status {done.returncode}: {done.stderr[-300:]!r}"] if done.returncode not in deed.status else []
    found += ["a traceback"] if b"Traceback" in told else []
    found += ["escapes are printed"] if b"\x1b" in told else []
    found += [f"{len(told)} bytes are printed"] if len(told) > LONGEST_OUTPUT else []
    found += [f"left in the temporary folder: {path.name}" for path in temporary.iterdir()]
    found += [f"left in the current folder: {path.name}" for path in home.iterdir() if path.name != "runs"]
    found += [f"process {pid} outlives the run" for pid in left_alive(pids)]
    return found + (_wrong_verdicts(home / "runs" / f"deeds-Hostile-{name}", deed) if deed.verdicts else [])


def _wrong_verdicts(folder: Path, deed: Any) -> list[str]:
    try:
        rows = {row["id"]: row["status"] for row in load(folder)["requirements"]}
    except RecordError as error:
        return [f"no record: {error}"]
    if set(rows) != set(REQUIREMENTS):
        return [f"decided are {', '.join(rows)}"]
    attacked, *others = REQUIREMENTS
    found = [f"{attacked} {rows[attacked]}"] if rows[attacked] not in deed.verdicts else []
    found += [f"{name} {rows[name]}" for name in others if rows[name] not in deed.others]
    size = (folder / "record.json").stat().st_size
    return [*found, *([f"a record of {size} bytes"] if size > LONGEST_RECORD else [])]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_hostile_backends(tmp_path: Path, scaled: Callable[[int], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    from deeds import DEEDS

    assert len(DEEDS) >= 120
    names, count = list(DEEDS), min(len(DEEDS), scaled(len(DEEDS)))
    found = []
    for k in range(count):
        name = names[k * len(names) // count]
        found += [f"{name}: {fault}" for fault in faults(name, DEEDS[name], tmp_path / name)]
    assert not found, "\n".join(found)
