"""The report for a terminal: as wide as it is, 100 columns at most, colour only when asked for."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from tabulate import tabulate

from . import summary
from .matrix import MEANING, matrix, sentence
from .record import Record, printable
from .summary import CauseGroup

WIDEST = 100
NARROWEST = 60
FEW = 6
"""Number of lines of a list of requirements that were judged in part."""
LINES = 2
"""Number of lines of a list of operators that have one reason."""
VERBOSE = "all: --verbose"
COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def render(records: Sequence[Record], colour: bool = False, verbose: bool = False) -> str:
    """The text of all ``records``: several side by side first, then one after the other.

    Unless it is ``verbose``, long lists of what was not judged are cut.
    """
    records = [printable(record) for record in records]
    parts = [_together(records)] if len(records) > 1 else []
    return "\n".join([*parts, *(Report(record, colour, verbose).text() for record in records)])


def _together(records: Sequence[Record]) -> str:
    found = matrix(records)
    align = ["left", "left", *["right"] * len(records)]
    rows = [["area", "level", *found.labels], *found.text()]
    table = tabulate(rows, tablefmt="plain", colalign=align, disable_numparse=True)
    return "\n".join([*map(sentence, records), "", table, "", MEANING, ""])


class Report:
    """The report of one record."""

    def __init__(self, record: Record, colour: bool, verbose: bool = False) -> None:
        self.record = record
        self.colour = colour
        self.verbose = verbose
        self.width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))

    def text(self) -> str:
        verdicts = (self._failures(), self._xpassed(), self._xfailed(), self._own_rules(), self._skips())
        parts = (self._head(), self._table(), *verdicts)
        lines = [line for part in parts for line in [*part, ""]]
        text = "\n".join([*lines, *self._foot()])
        while "\n\n\n" in text:
            text = text.replace("\n\n\n", "\n\n")
        return text.strip("\n") + "\n"

    def _paint(self, text: str, name: str) -> str:
        return f"\033[{COLOURS[name]}m{text}\033[0m" if self.colour else text

    def _title(self, text: str) -> str:
        return self._paint(text, "bold")

    def _head(self) -> Iterator[str]:
        yield self._title(summary.heading(self.record))
        for line in summary.circumstances(self.record):
            yield from (self._paint(part, "dim") for part in self._wrapped(line, ""))

    def _table(self) -> Iterator[str]:
        statuses = summary.shown_statuses(self.record)
        lines = summary.lines(self.record)
        rows = [
            [
                line.area or "all",
                line.level or "",
                *(line.counts[status] or "·" for status in statuses),
                f"{line.examples:,}",
                f"{line.seconds:.1f}",
            ]
            for line in lines
        ]
        headers = ["area", "level", *statuses, "examples", "s"]
        align = ["left", "left", *["right"] * (len(statuses) + 2)]
        table = tabulate([headers, *rows], tablefmt="plain", colalign=align, disable_numparse=True).splitlines()
        rule = "─" * max(map(len, table))
        yield from (self._title(table[0]), rule, *table[1:-1], rule, table[-1])

    def _failures(self) -> Iterator[str]:
        groups = summary.failures(self.record)
        if not groups:
            return
        broken = sum(row["status"] in summary.BROKEN for row in self.record["requirements"])
        yield self._title(f"Broken: {_count(broken, 'requirement')}, {_count(len(groups), 'cause')}")
        for number, group in enumerate(groups, 1):
            yield ""
            yield from self._group(number, group)

    def _group(self, number: int, group: CauseGroup) -> Iterator[str]:
        failure, row = group.shown, group.row
        mark = self._paint(group.verdict, "red")
        yield f"{number:>2}. {mark} {group.name_of(row)} ({row['level']}; {', '.join(row['origin'])})"
        yield from self._wrapped(row["sentence"], "    ")
        yield ""
        yield from self._wrapped(failure["message"], "    ", keep_lines=True)
        facts = [("expected", failure["expected"]), ("got", failure["got"])]
        facts += [("example", f"{name} = {value}") for name, value in failure["example"].items()]
        previous = ""
        for name, value in facts:
            if value is not None:
                label = "" if name == previous else name
                yield from self._wrapped(value, f"    {label:<10}", keep_lines=True)
            previous = name
        if failure["snippet"]:
            yield f"    {'snippet':<10}{self._paint(_checked(failure), 'dim')}"
            yield from (f"        {line}" for line in failure["snippet"].rstrip().splitlines())
        for index, line in enumerate(summary.printed(failure)):
            yield f"    {'' if index else 'printed':<10}{line.strip()[: self.width - 14]}"
        others = [f"{group.name_of(other)} ({other['level']})" for other in group.rows if other is not row]
        if others:
            yield from self._wrapped("; ".join(others), "    also      ")

    def _xpassed(self) -> Iterator[str]:
        rows = summary.with_status(self.record, "xpassed")
        if rows:
            yield self._title(f"Unexpectedly held: {_count(len(rows), 'requirement')}")
            yield "Take these out of the file of expected failures:"
            for row in rows:
                yield from self._wrapped(f"{row['id']}: {row['reason']}", "    ")

    def _xfailed(self) -> Iterator[str]:
        rows = summary.with_status(self.record, "xfailed")
        if rows:
            yield self._title(f"Broken as expected: {_count(len(rows), 'requirement')}")
            for row in rows:
                verdict = row["failure"]["verdict"] if row["failure"] else "failed"
                link = f" ({row['upstream']})" if row["upstream"] else ""
                yield f"    {summary.known_name(row)} ({row['level']}, {verdict})"
                yield from self._wrapped(f"{row['reason']}{link}", "        ")

    def _own_rules(self) -> Iterator[str]:
        rules = summary.own_rules(self.record)
        if rules:
            yield self._title(f"Asked by its own rules: {_count(len(rules), 'rule')}")
            for rule in rules:
                named = f": {self._cut(', '.join(rule.requirements), self.width)}" if rule.requirements else ""
                yield from self._wrapped(f"{rule.rule} ({rule.used}{named})", "    ")
                yield from self._wrapped(rule.told, "        ")

    def _skips(self) -> Iterator[str]:
        groups = summary.skips(self.record)
        if groups:
            count = len(summary.with_status(self.record, "skipped"))
            yield self._title(f"Skipped: {_count(count, 'requirement')}, for want of")
            for reason, rows in groups:
                yield from self._wrapped(reason, f"    {len(rows):>4}  ")
        partly = [row for row in self.record["requirements"] if row["status"] == "partial"]
        if partly:
            yield self._title("Held in part")
            for row in partly if self.verbose or len(partly) <= FEW else partly[: FEW - 1]:
                yield from self._wrapped(self._cut(f"{row['id']}: {row['reason']}", 2 * self.width), "    ")
            if not self.verbose and len(partly) > FEW:
                yield f"    and {len(partly) - FEW + 1} more ({VERBOSE})"
        absent = summary.unsupported(self.record)
        if absent:
            yield self._title(f"Operators not offered: {len(absent)}")
            for why, names in summary.by_reason(absent):
                listed = self._cut(", ".join(names), LINES * (self.width - 8), len(names))
                yield from self._wrapped(f"{why}: {listed}" if why else listed, "    ")

    def _cut(self, text: str, limit: int, items: int = 0) -> str:
        """``text`` up to the last comma or space before ``limit``, with how many of its ``items`` are left out."""
        if self.verbose or len(text) <= limit:
            return text
        kept = text[:limit].rpartition(", " if items else " ")[0]
        rest = f"{items - kept.count(', ') - 1} more ({VERBOSE})" if items else f"({VERBOSE})"
        return f"{kept}{', and ' if items else ' … '}{rest}"

    def _foot(self) -> Iterator[str]:
        yield from self._wrapped(summary.totals(self.record), "")
        support = summary.support(self.record)
        if support is not None:
            yield from self._wrapped(support, "")
        verdict = summary.verdict(self.record)
        colour = "red" if verdict.startswith(("not conforming", "unfinished")) else "green"
        yield from (self._paint(part, colour) for part in self._wrapped(verdict, ""))

    def _wrapped(self, text: str, prefix: str, keep_lines: bool = False) -> Iterator[str]:
        indent = " " * len(prefix)
        first, width = True, self.width - len(prefix)
        for line in text.splitlines() if keep_lines else [" ".join(text.split())]:
            for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]:
                yield f"{prefix if first else indent}{part}".rstrip()
                first = False


def _checked(failure: summary.Failure) -> str:
    if failure["snippet_checked"] is None:
        return "(not executed)"
    if failure["snippet_checked"]:
        return f"(executed alone: {textwrap.shorten(failure['snippet_result'] or 'the same', 60, placeholder=' …')})"
    return f"(executed alone it did not fail the same way: {failure['snippet_result']})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
