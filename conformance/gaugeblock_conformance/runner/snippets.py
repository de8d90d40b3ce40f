"""Executes the snippet of a failure in a process of its own and tells whether it fails the same way.

Most snippets run in processes forked from one that has imported what they import. One that did not fail the same way
there is run once more in a new interpreter, which decides.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..failure import executable
from ..problem import cut
from .environment import resident_memory
from .forked import Prepared, common_modules
from .rows import TEXT, Failure, Row
from .same_value import agrees
from .supervised import ABANDONED, SCRIPT, Supervised, death, output_file, tail

HANG = 20.0
LINES, BYTES = 15, 4096
"""Lines and bytes of a snippet that still stands in the record."""
LIMIT = 120.0
TICK = 0.02
TELLING = 20
"""Number of characters of an exception's text that, if a failure has them, tell that it is the same."""
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


def check_snippet(
    failure: Failure, memory: int = 0, here: Path | None = None, prepared: Prepared | None = None
) -> SnippetResult:
    """Run ``failure``'s snippet with this Python, in an empty folder, with at most ``memory`` bytes (0: no limit).

    The snippet may import from the folder ``here`` (default: the current one).
    """
    snippet = failure["snippet"]
    if snippet is None or not executable(snippet):
        return SnippetResult(False, "there is no snippet")
    if prepared is not None and prepared.usable(snippet):
        with suppress(OSError):
            forked = _judged(failure, lambda errors: prepared.start(snippet, errors), memory)
            if forked.same:
                return forked
    command, environment = [sys.executable, SCRIPT], _environment(here or Path.cwd())
    # Read from a file: the length of a command line is limited.
    return _judged(
        failure, lambda errors: Supervised(command, errors, script=snippet, environment=environment), memory
    )


def _judged(failure: Failure, start: Callable[[IO[bytes]], Supervised], memory: int) -> SnippetResult:
    """Run a snippet in the process that ``start`` makes, and compare."""
    hangs = failure["verdict"] == "timeout"
    status, seen = _execute(start, HANG if hangs else LIMIT, memory)
    if hangs:
        return SnippetResult(seen == ENDLESS, seen)
    if failure["verdict"] == "crashed":
        return SnippetResult(_same_death(failure["message"], status, seen), seen)
    return SnippetResult(status == 1 and _same_exception(failure, seen), seen)


def check_rows(
    rows: Iterable[Row], jobs: int, memory: int = 0, here: Path | None = None, until: float = float("inf")
) -> None:
    """Run the snippets and store the result in their failures; snippets may import from the folder ``here``.

    First comes the shortest for each cause, and of these crashes, then the others; in each group failures that were
    not expected come before the others. A snippet that showed its failure is not run again for the same failure of
    another requirement. None is begun after the time ``until`` of the monotonic clock: those are left
    as not executed.
    """
    failures = [one for row in rows for one in (row["failure"], *row["further_failures"]) if one is not None]
    failures = [failure for failure in failures if executable(failure["snippet"])]
    failures.sort(key=lambda one: (one["known"] is not None, one["verdict"] != "crashed", _lines(one)))
    leading: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        leading.setdefault((failure["verdict"], failure["cause"]), failure)
    first = list(leading.values())
    others = [failure for failure in failures if not any(failure is one for one in first)]
    shown: dict[tuple[str | None, ...], SnippetResult] = {}

    def check(failure: Failure) -> None:
        if time.monotonic() > until:
            return
        told = (failure["snippet"], failure["verdict"], failure["message"], failure["got"])
        result = shown.get(told) or check_snippet(failure, memory, here, prepared)
        if result.same:
            shown[told] = result
        failure["snippet_checked"], failure["snippet_result"] = result.same, result.seen
        if result.same or not executable(failure["adapter_snippet"]) or time.monotonic() > until:
            return
        result = check_snippet({**failure, "snippet": failure["adapter_snippet"]}, memory, here, prepared)
        if result.same:
            failure["snippet"], failure["snippet_checked"] = failure["adapter_snippet"], True
            failure["snippet_result"] = f"{result.seen}; only by way of the adapter"

    modules = common_modules(failure["snippet"] or "" for failure in failures)
    prepared = Prepared(modules, _environment(here or Path.cwd())) if modules and len(failures) > 1 else None
    try:
        with ThreadPoolExecutor(max(1, jobs)) as executor:
            list(executor.map(check, [*first, *others]))
    finally:
        if prepared is not None:
            prepared.close()


def _lines(failure: Failure) -> int:
    return (failure["snippet"] or "").count("\n")


def set_aside(rows: Iterable[Row], folder: Path) -> None:
    """Write snippets of more than ``LINES`` lines or ``BYTES`` bytes into files of ``folder``; where they were stands a
    line that names the file."""
    for row in rows:
        for place, failure in enumerate(f for f in (row["failure"], *row["further_failures"]) if f is not None):
            for field in ("snippet", "adapter_snippet"):
                text = failure[field]
                if text is not None and _is_long(text):
                    folder.mkdir(parents=True, exist_ok=True)
                    name = f"{row['id'].replace('/', '-')}-{place}-{field}.py"
                    (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
                    size = f"{text.count(chr(10)):,} lines, {len(text):,} characters"
                    failure[field] = f"# {size}, in {folder.name}/{name} beside the record\n"


def _is_long(text: str) -> bool:
    return text.count("\n") > LINES or len(text.encode(errors="backslashreplace")) > BYTES


def _environment(here: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(here), os.getenv("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def _execute(start: Callable[[IO[bytes]], Supervised], limit: float, memory: int) -> tuple[int, str]:
    """Exit status (negative: signal) and what was seen, in one line."""
    with output_file() as errors:
        process = start(errors)
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
    text = seen.partition(": ")[2]
    if len(text) >= TELLING and text in failure["message"]:
        return True
    name = found.group(1)
    got = _NAMED.match(failure["got"] or "")
    if name == "AssertionError":
        return agrees(seen.partition(":")[2].strip(), failure["got"], failure["message"])
    return (got is not None and got.group(1) == name) or name in failure["message"]
