"""Executes the snippet of a failure in a fresh process and tells whether it fails the same way."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .rows import Failure, Row

HANG = 20.0
LIMIT = 120.0
_EXCEPTION = re.compile(r"^(?:\w+\.)*(\w+)(?::|$)")
_NAMED = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|Iteration))\b")
_DEATH = re.compile(r"the process ended with (signal \w+|exit status \d+)")


@dataclass(frozen=True)
class SnippetResult:
    """``same`` is True when the snippet fails as the failure did; ``seen`` is what it did, in one line."""

    same: bool
    seen: str


def check_snippet(failure: Failure) -> SnippetResult:
    """Run ``failure``'s snippet with this Python, in an empty folder of its own."""
    if not failure["snippet"]:
        return SnippetResult(False, "there is no snippet")
    hangs = failure["verdict"] == "timeout"
    with tempfile.TemporaryDirectory(prefix="gaugeblock-snippet-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", failure["snippet"]],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=HANG if hangs else LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return SnippetResult(hangs, "it did not end")
    seen = _seen(done.returncode, done.stderr)
    if hangs:
        return SnippetResult(False, seen)
    if failure["verdict"] == "crashed":
        return SnippetResult(_same_death(failure["message"], done.returncode, seen), seen)
    return SnippetResult(done.returncode == 1 and _same_exception(failure, seen), seen)


def check_rows(rows: Iterable[Row], jobs: int) -> None:
    """Check one snippet of each cause and note the result in every failure of that cause."""
    by_cause: dict[tuple[str, str], list[Failure]] = {}
    for row in rows:
        for failure in [row["failure"], *row["further_failures"]]:
            if failure is not None and failure["snippet"]:
                by_cause.setdefault((failure["verdict"], failure["cause"]), []).append(failure)
    groups = list(by_cause.values())
    with ThreadPoolExecutor(max(1, jobs)) as executor:
        for failures, result in zip(groups, executor.map(lambda group: check_snippet(group[0]), groups), strict=True):
            failures[0]["snippet_checked"] = result.same
            failures[0]["snippet_result"] = result.seen


def _seen(status: int, stderr: str) -> str:
    if status < 0:
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"
    if status == 1:
        lines = [line for line in stderr.splitlines() if _EXCEPTION.match(line) and not line.startswith("Traceback")]
        if lines:
            return lines[-1]
    return f"exit status {status}"


def _same_death(message: str, status: int, seen: str) -> bool:
    named = _DEATH.search(message)
    if named:
        return seen == named.group(1)
    if "MemoryError" in message or "of memory; the limit is" in message:
        return status != 0
    return status != 0 or "SystemExit" in message


def _same_exception(failure: Failure, seen: str) -> bool:
    found = _EXCEPTION.match(seen)
    if found is None:
        return False
    name = found.group(1)
    got = _NAMED.match(failure["got"] or "")
    return name == "AssertionError" or (got is not None and got.group(1) == name) or name in failure["message"]
