"""The report table of a run: one line for each operator."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tabulate import tabulate

from ..problem import visible
from .operators import ORDERS
from .suite import operator_of

Record = dict[str, Any]
_HEADS = ("operator", "first order", "second order", "forward mode", "worst error", "inputs", "verdict")
_BAD = ("failed", "crashed", "timeout", "xpassed")
_RANK = (*_BAD, "xfailed", "passed", "skipped")


@dataclass
class Line:
    """One operator: status of each order, worst error as a share of what is allowed, calls tried, what was wrong.

    ``failures`` are those that were not expected.
    """

    operator: str
    status: dict[str, str] = field(default_factory=dict)
    worst: float | None = None
    inputs: int = 0
    remarks: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The worst status of its orders."""
        return min(self.status.values(), key=_RANK.index)

    def cells(self) -> list[str]:
        worst = "" if self.worst is None else f"{self.worst:.1e}"
        return [self.operator, *(self.status.get(o, "") for o in ORDERS), worst, str(self.inputs), self.verdict]


def lines(record: Record) -> list[Line]:
    """The lines of a run record, in the order of the operator table."""
    found: dict[str, Line] = {}
    operators = operator_of()
    for row in record["requirements"]:
        line = found.setdefault(operators[row["id"]], Line(operators[row["id"]]))
        line.status[row["area"]] = row["status"]
        line.inputs += row["examples"]
        worst = row.get("figures", {}).get("worst")
        if worst is not None:
            line.worst = max(worst, line.worst or 0.0)
        if row["status"] in _BAD and row["failure"]:
            line.failures.append(row["failure"])
        remark = row["failure"]["message"] if row["failure"] else row["reason"]
        if remark and remark not in line.remarks:
            line.remarks.append(remark)
    return list(found.values())


def markdown(record: Record) -> str:
    """The whole table, and under it what failed and what could not be checked."""
    table = lines(record)
    environment = record["environment"]
    parts = [
        f"# Derivatives of {environment['name']} {environment['version']} on {environment['device']}",
        f"{summary(table)}. Worst error: the largest |analytical - numerical| as a share of what is allowed.",
        tabulate([line.cells() for line in table], _HEADS, "github", disable_numparse=True),
    ]
    for title, wanted in (("Failures", _BAD), ("Expected failures", ("xfailed",)), ("Not checked", ("skipped",))):
        chosen = [line for line in table if line.verdict in wanted]
        remarks = [f"- `{line.operator}`: {remark}" for line in chosen for remark in line.remarks]
        if remarks:
            parts += [f"## {title}", "\n".join(remarks)]
    return "\n\n".join(parts) + "\n"


def terminal(record: Record) -> str:
    """The lines of operators that did not pass, the first failure of each in full, then the totals."""
    table = lines(record)
    odd = [line for line in table if line.verdict != "passed"]
    text = f"{tabulate([line.cells() for line in odd], _HEADS, 'simple', disable_numparse=True)}\n\n" if odd else ""
    return text + "".join(f"{told(line)}\n\n" for line in odd if line.verdict in _BAD) + summary(table) + "\n"


def told(line: Line) -> str:
    """The first failure of an operator: message, call, both slopes, and the snippet."""
    parts = [f"{line.operator}: {visible(line.remarks[0], 300)}"]
    if not line.failures:
        return parts[0]
    failure = line.failures[0]
    facts = {"call": failure["example"].get("call"), "numerical": failure["expected"], "analytical": failure["got"]}
    parts += [f"    {name:<12}{visible(text, 600)}" for name, text in facts.items() if text]
    if failure["snippet"]:
        parts += ["    snippet", textwrap.indent(failure["snippet"].rstrip(), " " * 8)]
    return "\n".join(parts)


def summary(table: Sequence[Line]) -> str:
    """``"512 operators: 500 passed, 12 failed; 4,000 calls"``."""
    counts = Counter(line.verdict for line in table)
    verdicts = ", ".join(f"{counts[status]} {status}" for status in _in_order(counts))
    return f"{len(table)} operators: {verdicts}; {sum(line.inputs for line in table):,} calls differentiated"


def _in_order(statuses: Iterable[str]) -> list[str]:
    return sorted(statuses, key=("passed", *_BAD, "xfailed", "skipped").index)
