"""Thousands of tensors exchanged with processes that are killed at random times, under each strategy of sharing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import pytest

PROGRAM = Path(__file__).parents[1] / "reference" / "tests" / "killed_exchanges.py"
EXCHANGES = 10_000
MARK = "GAUGEBLOCK_ATTACK"


def left(mark: str) -> list[str]:
    """Processes with the mark that are still there."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and f"{MARK}={mark}".encode() in (path / "environ").read_bytes():
                found.append(f"process {path.name} is left: {(path / 'cmdline').read_text()}")
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_exchanges(strategy: str, seed: int, scaled: Callable[[int], int]) -> None:
    mark = token_hex(8)
    command = [sys.executable, str(PROGRAM), strategy, str(scaled(EXCHANGES)), str(seed)]
    ran = subprocess.run(command, env={**os.environ, MARK: mark}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}: {ran.stderr}"
    end = time.monotonic() + 30
    while left(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left(mark)
