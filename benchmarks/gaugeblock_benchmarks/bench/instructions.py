"""Instructions of the steps of :mod:`.layers`, counted by valgrind's callgrind, which no load of the machine changes.

``python -m gaugeblock_benchmarks.bench.instructions BACKEND`` counts them; it must run under callgrind.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaugeblock_conformance.backend import MissingCapability, Unsupported
from gaugeblock_conformance.discovery import load, resolve

from .layers import STEPS, step

CALLS = 3000
WARM = 50
SECONDS = 900
_TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)


def available() -> bool:
    """Return whether callgrind is installed."""
    return shutil.which("valgrind") is not None and shutil.which("callgrind_control") is not None


def count(backend: str) -> dict[str, float]:
    """Return the instructions of one call of each step, by name; a step that a backend does not offer is left out.

    Raises RuntimeError where the run under valgrind fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
                   "--smc-check=all-non-file", sys.executable, "-m", __name__, backend]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode:
            raise RuntimeError(f"valgrind ended with status {done.returncode}: {done.stderr.strip()[-400:]}")
        names = done.stdout.splitlines()
        totals = [int(_TOTAL.findall((Path(folder) / f"out.{k + 1}").read_text())[-1]) for k in range(len(names))]
    found = dict(zip(names, totals, strict=True))
    base = found.pop(_IDLE)
    return {name: max(0.0, (total - base) / CALLS) for name, total in found.items()}


_IDLE = "idle"


def _control(*words: str) -> None:
    """Tell the callgrind around this process something.

    It listens every few thousand instructions, so the wait is one of short sleeps: a single long one would make it
    deaf, and a loop without sleeps would add as many instructions as the machine is slow.
    """
    command = ["callgrind_control", *words, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(0.01)


def _counted(call: Callable[[], Any], calls: int) -> None:
    for _ in range(WARM):
        call()
    _control("--instr=on")
    _control("--zero")
    for _ in range(calls):
        call()
    _control("--dump")
    _control("--instr=off")


def main(arguments: list[str]) -> int:
    """Count, and print the names of the steps in the order of the dumps."""
    backend = load(resolve(arguments[0]))
    _counted(lambda: None, 0)
    print(_IDLE)
    for name in STEPS:
        try:
            call = step(backend, name)
        except (Unsupported, MissingCapability):
            continue
        _counted(call, CALLS)
        print(name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
