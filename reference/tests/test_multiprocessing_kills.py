"""Partners of an exchange killed at random times: the survivor goes on, and no descriptor, segment or process is left.

``attacks/test_shared_memory.py`` does the same for hours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex

import pytest

PROGRAM = Path(__file__).with_name("killed_exchanges.py")
MARK = "GAUGEBLOCK_EXCHANGES"


def processes(mark: str) -> list[str]:
    """The processes that were started under a mark and are still there."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and f"{MARK}={mark}".encode() in (path / "environ").read_bytes():
                found.append(path.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_killed_partners_leave_nothing(strategy: str) -> None:
    mark = token_hex(8)
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), strategy, "120", "1"], env={**os.environ, MARK: mark}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "nothing is left" in ran.stdout
    end = time.monotonic() + 30
    while processes(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes(mark) == []
