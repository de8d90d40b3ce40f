"""Shows how a run goes on: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, TextIO

from ..problem import visible
from .rows import Row
from .run import Reporter

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINE = 160
"""Largest number of characters of a message in a progress line."""
QUIET = ("passed", "partial", "skipped", "xfailed")


def reporter(stream: TextIO | None = None) -> Reporter:
    """The reporter that fits ``stream`` (default: standard error)."""
    stream = sys.stderr if stream is None else stream
    return BarReporter(stream) if stream.isatty() else PlainReporter(stream)


class PlainReporter:
    """One line for each requirement that broke, and one every tenth of the way."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._counts: Counter[str] = Counter()
        self._total = self._done = 0
        self._started = time.monotonic()

    def note(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def start(self, total: int, done: int) -> None:
        self._total, self._done, self._started = total, done, time.monotonic()
        again = f", {done} of them decided before" if done else ""
        self.note(f"{total} requirements{again}")

    def decided(self, row: Row) -> None:
        tenth = self._done * 10 // self._total
        self._done += 1
        self._counts[row["status"]] += 1
        if row["status"] not in QUIET:
            self.note(_line(row))
        if self._done * 10 // self._total > tenth:
            spent = time.monotonic() - self._started
            self.note(f"{self._done:>4} of {self._total} decided in {spent:.0f} s: {counts(self._counts)}")

    def finish(self) -> None:
        self._stream.flush()


class BarReporter:
    """A bar with the counts of verdicts; requirements that broke scroll by above it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._counts: Counter[str] = Counter()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def note(self, text: str) -> None:
        if self._bar is None:
            print(text, file=self._stream, flush=True)
        else:
            self._bar.console.print(text, highlight=False, markup=False)

    def start(self, total: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=self._stream),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=total, completed=done)
        self._bar.start()

    def decided(self, row: Row) -> None:
        self._counts[row["status"]] += 1
        if row["status"] not in QUIET:
            self.note(_line(row))
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, description=counts(self._counts))

    def finish(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def counts(found: Counter[str]) -> str:
    """``"12 passed, 1 failed"``."""
    order = ("passed", "partial", "failed", "crashed", "timeout", "xpassed", "xfailed", "skipped")
    return ", ".join(f"{found[status]} {status}" for status in order if found[status])


def _line(row: Row) -> str:
    failure = row["failure"]
    message = failure["message"] if failure else row["reason"] or ""
    return f"{row['status']:<8}{row['level']:<7}{row['id']}: {visible(message, LINE)}"
