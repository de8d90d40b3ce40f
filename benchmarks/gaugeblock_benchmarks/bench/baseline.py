"""Comparison with an earlier record: what is slower, what is faster, and what the noise does not tell apart.

A case's time in a pass is the median of its rounds, each over the yardstick's in the same milliseconds, as a logarithm:
what slows the whole machine cancels. What changed from one run to the other is judged against a standard deviation that
the two runs show themselves:

- *noise*: how closely a third of the changes of a backend's cases lie together. It holds all that differs from run to
  run, placement in memory and neighbours, and cases that did change hardly widen it, many or few. Where there are fewer
  than FEWEST cases, or where the passes of all cases, or of this one, differ by more than that, the passes count;
- *common error*: by how much all cases together move beside the yardstick from one pass of a run to the next, apart for
  what a core does alone, what it does with arrays in its caches, and what goes to memory;
- the quotient is judged by Student's t with few degrees of freedom, since the spread is estimated and its tails heavy;
- *many cases*: Benjamini and Hochberg's procedure at LEVEL. Where nothing changed, it calls something slower in at most
  that share of runs; where something did, that share of what it calls slower is not.
"""

from __future__ import annotations

import json
import math
import statistics as plain
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaugeblock_conformance.problem import UsageProblem, one_line

from ..machine.controls import VECTOR_BYTES
from .run import SCHEMA, Options
from .statistics import closest_third, discoveries, middles, student_quantile, student_tail

Row = dict[str, Any]
LEVEL = 0.05
FEWEST = 12
"""Cases whose scatter is trusted."""
EFFICIENCY = 0.37
"""Of a median absolute deviation beside a standard deviation, of normal values."""
FREEDOM = 6.0
"""Degrees of freedom at most: the noise of real runs has heavier tails than a normal one."""
IN_CACHE = 1 << 21
"""What moves no more bytes stays in the caches of a core."""
KINDS = ("core", "cache", "memory")


@dataclass(frozen=True)
class Noise:
    """What changes by itself: all cases together (`common`), and each of them beside that (`scatter`)."""

    common: float
    scatter: float
    freedom: float


@dataclass(frozen=True)
class Change:
    """A case that both runs have: the logarithms that its passes gave."""

    id: str
    backend: str
    kind: str
    old: list[float]
    new: list[float]

    @property
    def value(self) -> float:
        """The logarithm of its new time over its old one."""
        return plain.median(self.new) - plain.median(self.old)

    @property
    def variance(self) -> float:
        """Of `value`, by what the passes of a run differ."""
        return sum(plain.variance(part) / len(part) if len(part) > 1 else 0.0 for part in (self.old, self.new))


def read(path: Path) -> Row:
    """An earlier record. Raises UsageProblem for a file that is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageProblem(f"--baseline {path}: cannot be read as JSON: {one_line(error)}") from error
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise UsageProblem(f"--baseline {path}: its schema is {str(schema)!r}, not {SCHEMA!r}")
    try:
        if record["cases"] and not any(result["blocks"] for case in record["cases"] for result in case["results"]):
            raise UsageProblem(f"--baseline {path}: it holds no rounds to compare with; make it without --brief")
        str(record["started"]), record["options"]["threads"], record["options"]["clock"], record["machine"]["cpu"]
        list(_blocks_of(record))
        _machine(record, record)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise UsageProblem(f"--baseline {path}: not a record of {SCHEMA}: {one_line(error)}") from error
    return dict(record)


def check_comparable(earlier: Row, path: Path, options: Options, cpu: str) -> None:
    """Raises UsageProblem for a record of another processor, number of threads or clock."""
    for what, then, now in (
        ("processor", earlier["machine"]["cpu"], cpu),
        ("number of threads", earlier["options"]["threads"], options.threads),
        ("clock", earlier["options"]["clock"], options.clock),
    ):
        if then != now:
            raise UsageProblem(f"--baseline {path}: its {what} was {str(then)!r}, that of this run is {now!r}")


def compare(earlier: Row, later: Row, file: str) -> Row:
    """Verdicts on all cases of both, as the field ``baseline`` of a record."""
    old, new = dict(_blocks_of(earlier)), dict(_blocks_of(later))
    changes = [Change(*key, new[key][0], old[key][1], new[key][1]) for key in new if key in old]
    noises = {
        (backend, kind): _noise(
            [change for change in changes if (change.backend, change.kind) == (backend, kind)],
            _common([change for change in changes if change.kind == kind]),
        )
        for backend in dict.fromkeys(change.backend for change in changes)
        for kind in KINDS
    }
    rows = [_verdict(change, noises[change.backend, change.kind]) for change in changes]
    tails = [row.pop("tails") for row in rows]
    for name in ("slower", "faster"):
        for row, found in zip(rows, discoveries([tail[name] for tail in tails], LEVEL), strict=True):
            if found:
                row["verdict"] = name
    for key in (*new, *old):
        if (key in old) != (key in new):
            verdict = "new" if key in new else "gone"
            rows.append({"id": key[0], "backend": key[1], "verdict": verdict, "ratio": None, "low": None,
                         "high": None, "p": None})  # fmt: skip
    return {
        "file": file,
        "started": earlier["started"],
        "machine": _machine(earlier, later),
        "noise": [
            {"backend": backend, "kind": kind, "scatter": noise.scatter, "common": noise.common}
            for (backend, kind), noise in noises.items()
            if any((change.backend, change.kind) == (backend, kind) for change in changes)
        ],
        "false_alarms": LEVEL,
        **{name: sum(row["verdict"] == name for row in rows) for name in ("slower", "faster", "unchanged")},
        "verdicts": rows,
    }


Passes = tuple[str, list[float]]
"""A kind, and what the passes of a case gave."""


def kind_of(moved: int) -> str:
    """What bounds that which moves so many bytes."""
    return KINDS[(moved >= VECTOR_BYTES) + (moved > IN_CACHE)]


def _blocks_of(record: Row) -> Iterator[tuple[tuple[str, str], Passes]]:
    """(case, backend) -> its passes, of what was measured."""
    for case in record["cases"]:
        kind = kind_of(int(case["moved_bytes"]))
        for result in case["results"]:
            if result["status"] == "measured":
                yield (str(case["id"]), str(result["backend"])), (kind, _passes(result["blocks"], case["yardstick"]))


def _passes(blocks: Any, beside: Any) -> list[float]:
    found, others = ([[float(value) for value in block] for block in part] for part in (blocks, beside))
    if not all(0 < value < math.inf for block in (*found, *others) for value in block):
        raise ValueError("samples are not positive numbers")
    values = middles(found, others)
    if not values:
        raise ValueError("no samples")
    return values


def _machine(earlier: Row, later: Row) -> float | None:
    """How many times as long the controls take as then, in the middle."""
    parts = [
        {str(control["name"]): plain.median(value for block in control["blocks"] for value in block)
         for control in record["controls"]}
        for record in (earlier, later)
    ]  # fmt: skip
    ratios = [parts[1][name] / parts[0][name] for name in parts[1] if name in parts[0]]
    return plain.median(ratios) if ratios else None


def _common(changes: Sequence[Change]) -> float:
    """The standard deviation of what all cases of a kind change together, from how their passes do."""
    total, freedom, share = 0.0, 0, 0.0
    for parts in ([change.old for change in changes], [change.new for change in changes]):
        count = max(map(len, parts), default=0)
        full = [part for part in parts if len(part) == count]
        if count < 2:
            continue
        moves = [plain.median(part[number] - plain.fmean(part) for part in full) for number in range(count)]
        total += sum(move**2 for move in moves)
        freedom += count - 1
        share += 1 / count
    return math.sqrt(total / freedom * share) if freedom else 0.0


def _noise(changes: Sequence[Change], common: float) -> Noise:
    if not changes:
        return Noise(common, 0.0, 1.0)
    passes = math.sqrt(plain.fmean(change.variance for change in changes))
    freedom = max(1.0, min(FREEDOM, EFFICIENCY * (len(changes) - 1)))
    if len(changes) < FEWEST:
        return Noise(common, passes, freedom)
    scatter = closest_third([change.value for change in changes])
    return Noise(common, max(scatter, math.sqrt(plain.median(change.variance for change in changes))), freedom)


def _verdict(change: Change, noise: Noise) -> Row:
    value = change.value
    deviation = math.sqrt(max(noise.scatter**2, change.variance) + noise.common**2)
    row: Row = {"id": change.id, "backend": change.backend, "verdict": "unchanged", "ratio": math.exp(value)}
    if not 0 < deviation < math.inf:
        return {**row, "low": None, "high": None, "p": 1.0, "tails": {"slower": 1.0, "faster": 1.0}}
    quotient = value / deviation
    reach = student_quantile(0.975, noise.freedom) * deviation
    tails = {"slower": student_tail(quotient, noise.freedom), "faster": student_tail(-quotient, noise.freedom)}
    return {**row, "low": math.exp(value - reach), "high": math.exp(value + reach), "p": 2 * min(tails.values()),
            "tails": tails}  # fmt: skip
