"""Random calls over the whole public surface of the engine: none crashes, hangs or raises an internal error."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("random_calls.py")
SEEDS = 2000
AT_ONCE = 20  # seeds that share a process
MEMORY = 16 << 30


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def findings(first: int, count: int, folder: Path) -> list[dict[str, Any]]:
    """Run the seeds from ``first`` on in a new process; return the faults, including crashes and hangs."""
    journal = folder / f"{first}.journal"
    command = [sys.executable, str(PROGRAM), str(first), str(count), "--journal", str(journal)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, preexec_fn=_limited, timeout=60 + 60 * count
        )
    except subprocess.TimeoutExpired:
        return [{"text": journal.read_text(), "fault": "hung, and did not answer SIGALRM"}]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or not lines or lines[-1].get("seeds") != count:
        ended = f"ended with status {done.returncode}: {done.stderr[-500:]}"
        return [*lines, {"text": journal.read_text(errors="replace").strip(), "fault": ended}]
    assert lines[-1]["surface"] > 1000
    return lines[:-1]


def test_random_calls(tmp_path: Path, scaled: Callable[[int], int]) -> None:
    seeds = scaled(SEEDS)
    found = [
        fault for first in range(0, seeds, AT_ONCE) for fault in findings(first, min(AT_ONCE, seeds - first), tmp_path)
    ]
    kinds = Counter(fault["fault"] for fault in found)
    examples = {fault["fault"]: fault["text"] for fault in found}
    assert not found, "\n".join(f"{count} x {fault}\n    {examples[fault]}" for fault, count in kinds.most_common(40))
