"""Executes the snippet of a failure in a fresh process and tells whether it fails the same way."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..failure import executable
from ..problem import cut
from .environment import resident_memory
from .rows import TEXT, Failure, Row
from .same_value import agrees
from .supervised import ABANDONED, SCRIPT, Supervised, death, output_file, tail

HANG = 20.0
LONGEST = 20_000
"""Characters of a snippet that still stands in the record."""
LIMIT = 120.0
TICK = 0.02
ENDLESS = "it did not end"
_EXCEPTION = re.compile(r"^(?:\w+\.)*(\w+)(?::|$)")
_NAMED = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|Iteration))\b")
_DEATH = re.compile(r"the process ended with (signal \w+|exit status \d+)")


@dataclass(frozen=True)
class SnippetResult:
    """``same`` is True when the snippet fails as the failure did: by the same exception, or an assertion that shows the
    same wrong value. ``seen`` is what it did, in one line."""

    same: bool
    seen: str


def check_snippet(failure: Failure, memory: int = 0, here: Path | None = None) -> SnippetResult:
    """Run ``failure``'s snippet with this Python, in an empty folder, with at most ``memory`` bytes (0: no limit).

    The snippet may import from the folder ``here`` (default: the current one).
    """
    if not executable(failure["snippet"]):
        return SnippetResult(False, "there is no snippet")
    assert failure["snippet"] is not None
    hangs = failure["verdict"] == "timeout"
    status, seen = _execute(failure["snippet"], HANG if hangs else LIMIT, memory, here or Path.cwd())
    if hangs:
        return SnippetResult(seen == ENDLESS, seen)
    if failure["verdict"] == "crashed":
        return SnippetResult(_same_death(failure["message"], status, seen), seen)
    return SnippetResult(status == 1 and _same_exception(failure, seen), seen)


def check_rows(
    rows: Iterable[Row], jobs: int, memory: int = 0, here: Path | None = None, until: float = float("inf")
) -> None:
    """Run one snippet per cause and store the result in its failure; snippets may import from the folder ``here``.

    Failures that were not expected come first. None is begun after the time ``until`` of the monotonic clock; those
    are left as not executed.
    """
    by_cause: dict[tuple[str, str], Failure] = {}
    failures = [one for row in rows for one in (row["failure"], *row["further_failures"]) if one is not None]
    for failure in sorted(failures, key=lambda failure: failure["known"] is not None):
        if executable(failure["snippet"]):
            by_cause.setdefault((failure["verdict"], failure["cause"]), failure)

    def check(failure: Failure) -> None:
        if time.monotonic() > until:
            return
        result = check_snippet(failure, memory, here)
        failure["snippet_checked"], failure["snippet_result"] = result.same, result.seen
        if result.same or not executable(failure["adapter_snippet"]) or time.monotonic() > until:
            return
        result = check_snippet({**failure, "snippet": failure["adapter_snippet"]}, memory, here)
        if result.same:
            failure["snippet"], failure["snippet_checked"] = failure["adapter_snippet"], True
            failure["snippet_result"] = f"{result.seen}; only by way of the adapter"

    with ThreadPoolExecutor(max(1, jobs)) as executor:
        list(executor.map(check, by_cause.values()))


def set_aside(rows: Iterable[Row], folder: Path) -> None:
    """Write snippets that are too long to read, for the elements of large tensors, into files of ``folder``; where they
    were stands a line that names the file."""
    for row in rows:
        for place, failure in enumerate(f for f in (row["failure"], *row["further_failures"]) if f is not None):
            for field in ("snippet", "adapter_snippet"):
                text = failure[field]
                if text is not None and len(text) > LONGEST:
                    folder.mkdir(parents=True, exist_ok=True)
                    name = f"{row['id'].replace('/', '-')}-{place}-{field}.py"
                    (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
                    note = f"# {len(text):,} characters, in {folder.name}/{name} beside the record\n"
                    failure[field] = note


def _execute(snippet: str, limit: float, memory: int, here: Path) -> tuple[int, str]:
    """Exit status (negative: signal) and what was seen, in one line."""
    path = os.pathsep.join(filter(None, [str(here), os.getenv("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    with output_file() as errors:
        # Read from a file: the length of a command line is limited.
        process = Supervised([sys.executable, SCRIPT], errors, script=snippet, environment=environment)
        end = time.monotonic() + limit
        stopped = None
        while stopped is None and not process.wait(TICK):
            process.shorten_output()
            if time.monotonic() > end:
                stopped = ENDLESS
            elif memory and resident_memory(process.pid or 0) > memory:
                stopped = f"it used more than {memory >> 20} MiB of memory"
        process.end()
        status = process.returncode()
        if stopped is not None or status is None:
            return -signal.SIGKILL, stopped or ABANDONED
        return status, _seen(status, tail(errors).decode(errors="replace"))


def _seen(status: int, stderr: str) -> str:
    if status == 1:
        traced = stderr.rpartition("Traceback (most recent call last)")
        lines = [line for line in traced[2].splitlines() if _EXCEPTION.match(line)]
        if lines:
            # What follows the first line of the exception is more of its text.
            return cut(lines[0 if traced[1] else -1], TEXT)
    return death(status)


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
    if name == "AssertionError":
        return agrees(seen.partition(":")[2].strip(), failure["got"], failure["message"])
    return (got is not None and got.group(1) == name) or name in failure["message"]
