"""What every report shows: counts per area and level, failures by cause, skips by reason, totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .record import Record, Row, level_rank

STATUSES = ("passed", "partial", "failed", "crashed", "timeout", "xpassed", "xfailed", "skipped")
BROKEN = ("failed", "crashed", "timeout")
HELD = ("passed", "partial")
FEW = 3
"""Number of operators that are named beside a requirement."""
ACCEPTS = " accepts bad input"
"""The end of the cause of a call that should have raised and did not."""
_FORM = re.compile(r"\b([a-zA-Z]\w*?)(?:\.out|_)(?='s result)")
"""The name of a form with out= or in place in the cause of a wrong result."""
ALWAYS_SHOWN = ("passed", "failed", "skipped")

Failure = dict[str, Any]


@dataclass
class CauseGroup:
    """Failures with one cause: ``shown`` is the one to read, ``rows`` are the requirements that it breaks.

    ``operators`` has the operators at fault for each requirement that is judged operator by operator.
    """

    cause: str
    verdict: str
    shown: Failure
    row: Row
    rows: list[Row] = field(default_factory=list)
    operators: dict[str, list[str]] = field(default_factory=dict)

    def name_of(self, row: Row) -> str:
        """The requirement's id with the operators at fault in brackets."""
        return _bracketed(row, self.operators.get(row["id"], []))


@dataclass(frozen=True)
class Line:
    """Counts of one area and level (both None: of the whole run)."""

    area: str | None
    level: str | None
    counts: Counter[str]
    examples: int
    seconds: float


def lines(record: Record) -> list[Line]:
    """One line per area and level in the record's order, then the total."""
    groups: dict[tuple[str, str], list[Row]] = {}
    areas = {row["area"]: None for row in record["requirements"]}
    for row in sorted(record["requirements"], key=lambda row: level_rank(row["level"])):
        groups.setdefault((row["area"], row["level"]), []).append(row)
    found = [_line(area, level, rows) for wanted in areas for (area, level), rows in groups.items() if area == wanted]
    return [*found, _line(None, None, record["requirements"])]


def shown_statuses(record: Record) -> list[str]:
    """The statuses that deserve a column."""
    present = {row["status"] for row in record["requirements"]}
    return [status for status in STATUSES if status in present or status in ALWAYS_SHOWN]


def failures(record: Record) -> list[CauseGroup]:
    """Failures that were not expected, grouped by cause: MUST first, then by how many requirements they break.

    A group shows its shortest snippet among those that were executed. It is headed by the requirement named after the
    operator at fault, else by one of the highest level, and of these by the one that the snippet is of.
    """
    found = [
        (row, failure)
        for row in record["requirements"] if row["status"] in BROKEN
        for failure in failures_of(row) if failure["known"] is None
    ]  # fmt: skip
    first = _first_causes(found)
    groups: dict[tuple[str, str], CauseGroup] = {}
    for row, failure in found:
        key = first[failure["verdict"], failure["cause"]]
        group = groups.setdefault(key, CauseGroup(key[1], key[0], failure, row))
        if row not in group.rows:
            group.rows.append(row)
        if failure["operator"] is not None:
            group.operators.setdefault(row["id"], []).append(failure["operator"])
        if _better(failure, group.shown):
            group.shown, group.row = failure, row
    for group in groups.values():
        group.row = max(
            group.rows, key=lambda row: (_speaks_of(row, group.shown), -level_rank(row["level"]), row is group.row)
        )
    return sorted(
        groups.values(), key=lambda group: (min(level_rank(row["level"]) for row in group.rows), -len(group.rows))
    )


def _first_causes(found: list[tuple[Row, Failure]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each verdict and cause the first with which it is one.

    Wrong results of an operator's forms are those of the operator, if these are wrong too. Operators that one test
    finds to accept what it says must be refused lack one check; in the area of operators each row has its own refusals.
    """
    first = {(failure["verdict"], failure["cause"]): (failure["verdict"], failure["cause"]) for _, failure in found}
    for verdict, cause in first:
        plain = verdict, _FORM.sub(r"\1", cause)
        if plain in first:
            first[verdict, cause] = plain
    of_test: dict[tuple[str, str], tuple[str, str]] = {}
    for row, failure in found:
        if failure["cause"].endswith(ACCEPTS) and row["area"] != "operators":
            mine = first[failure["verdict"], failure["cause"]]
            other = first[of_test.setdefault((row["id"], failure["test"]), mine)]
            if other != mine:
                first.update({key: other for key, value in first.items() if value == mine})
    return first


def known_name(row: Row) -> str:
    """The requirement's id with the operators that fail as expected, or hold against expectation, in brackets."""
    return _bracketed(row, [name for name, status in row["subresults"].items() if status in ("xfailed", "xpassed")])


def _bracketed(row: Row, operators: list[str]) -> str:
    if not operators:
        return str(row["id"])
    shown = ", ".join(operators[:FEW])
    return f"{row['id']}[{shown}{f' and {len(operators) - FEW} more' if len(operators) > FEW else ''}]"


def with_status(record: Record, status: str) -> list[Row]:
    """The rows of one status, in the record's order."""
    return [row for row in record["requirements"] if row["status"] == status]


def skips(record: Record) -> list[tuple[str, list[Row]]]:
    """What is missing -> requirements skipped for want of it, the most frequent first; a row may want several."""
    groups: dict[str, list[Row]] = {}
    for row in with_status(record, "skipped"):
        for want in _wants(row["reason"] or "no reason stated"):
            groups.setdefault(want, []).append(row)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def unsupported(record: Record) -> dict[str, str]:
    """Operators that the backend said it does not offer, with its reasons."""
    return {name: why for row in record["requirements"] for name, why in sorted(row["unsupported"].items())}


def by_reason(absent: dict[str, str], most: int = 4) -> list[tuple[str, list[str]]]:
    """Operators of ``unsupported`` by their reason, in which NAME stands for the operator's: the most frequent first,
    and those beyond ``most`` together."""
    groups: dict[str, list[str]] = {}
    for name, why in absent.items():
        base = re.escape(name.rpartition(":")[2].partition(".")[0])
        groups.setdefault(re.sub(rf"\b{base}\b", "NAME", why), []).append(name)
    found = sorted(groups.items(), key=lambda item: -len(item[1]))
    if len(found) <= most:
        return found
    rest = [name for _, names in found[most - 1 :] for name in names]
    return [*found[: most - 1], ("for other reasons, each its own", rest)]


def verdict(record: Record) -> str:
    """The run in one sentence."""
    return f"{'unfinished; so far ' if record['environment'].get('unfinished') else ''}{_verdict(record)}"


def _verdict(record: Record) -> str:
    rows = record["requirements"]
    broken = [row for row in rows if row["status"] in BROKEN]
    must = sum(row["level"] == "MUST" for row in broken)
    xpassed = len(with_status(record, "xpassed"))
    if must or xpassed:
        parts = [f"{must} MUST broken"] if must else []
        parts += [f"{xpassed} unexpectedly held"] if xpassed else []
        return f"not conforming: {', '.join(parts)}"
    if rows and all(row["status"] == "skipped" for row in rows):
        return f"not conforming: nothing was checked, all {len(rows)} skipped"
    if not rows or (not broken and _refused_all(rows)):
        return "not conforming: nothing was judged, none of the operators asked for is offered"
    held = sum(row["status"] in HELD and row["level"] == "MUST" for row in rows)
    partly = sum(row["status"] == "partial" and row["level"] == "MUST" for row in rows)
    own = sum(row["status"] in HELD and row["level"] == "MUST" and bool(row.get("own_rules")) for row in rows)
    listed = sum(row["status"] == "xfailed" and row["level"] == "MUST" for row in rows)
    skipped = sum(row["status"] == "skipped" and row["level"] == "MUST" for row in rows)
    parts = [f"{held} MUST held"]
    parts += [f"{partly} of them in part"] if partly else []
    parts += [f"{own} of them by its own rules"] if own else []
    parts += [f"{listed} broken as expected"] if listed else []
    parts += [f"{skipped} skipped"] if skipped else []
    parts += [f"{len(broken)} SHOULD or MAY not met"] if broken else []
    known = sum(row["status"] == "xfailed" for row in rows)
    return f"{f'no unexpected failures, {known} known' if known else 'conforming'}: {', '.join(parts)}"


def _refused_all(rows: list[Row]) -> bool:
    refused = any(row["unsupported"] or "unsupported operator" in (row["reason"] or "") for row in rows)
    return refused and not any(row.get("operators", row["calls"]) for row in rows)


def totals(record: Record) -> str:
    """Examples, their rate, and the share of non-contiguous tensors, in one line."""
    environment = record["environment"]
    return (
        f"{environment['examples']:,} examples in {environment['seconds']:.1f} s "
        f"({environment['examples_per_second']:,.0f} a second), {environment['calls']:,} operator calls; "
        f"of {environment['tensors']:,} drawn tensors {environment['noncontiguous_share']:.0%} "
        "not contiguous or with an offset"
    )


def support(record: Record) -> str | None:
    """How the backend says that it ran the operators of the requirements that held, if it says."""
    counts = Counter(row["support"] for row in record["requirements"] if row["status"] in HELD)
    if not counts["native"] and not counts["fallback"]:
        return None
    return f"of the requirements that held, {counts['native']} ran natively and {counts['fallback']} by fallback"


def heading(record: Record) -> str:
    """Backend, version and device."""
    environment = record["environment"]
    return f"{environment['name']} {environment['version']} on {environment['device']}"


def circumstances(record: Record) -> list[str]:
    """How and where it was run, as a few lines of text."""
    environment = record["environment"]
    listed = environment["expectations"]
    return [
        f"backend {environment['backend']}, budget {environment['budget']}, seed {environment['seed']}, "
        f"spec {environment['spec_version']}, suite {environment['suite_version']}",
        f"{environment['cpu']}, {environment['cores']} cores, {environment['platform']}, "
        f"Python {environment['python']}",
        f"started {environment['started']}, expected failures: {listed or 'none'}",
        *(f"withdrawn: {name}, which the adapter does not carry: {why}" for name, why in withdrawn(record).items()),
    ]


def withdrawn(record: Record) -> dict[str, str]:
    """Capability or dtype that the adapter does not carry -> what its check found."""
    found: dict[str, str] = record["environment"].get("withdrawn", {})
    return found


@dataclass(frozen=True)
class OwnRule:
    """What the library's own documentation says, and was asked instead of the spec."""

    rule: str
    used: str
    requirements: list[str]
    told: str


def own_rules(record: Record) -> list[OwnRule]:
    """The library's own rules, those that made a difference first."""
    found = sorted(record["environment"].get("own_rules", []), key=lambda rule: not rule["used"])
    return [
        OwnRule(rule["rule"], _times(rule), rule["requirements"], f"\u201c{rule['sentence']}\u201d {rule['source']}")
        for rule in found
    ]


def _times(rule: dict[str, Any]) -> str:
    count, needed = rule["used"], len(rule["requirements"])
    if not count:
        return "not needed"
    return f"{count:,} {'time' if count == 1 else 'times'}, for {needed} requirement{'' if needed == 1 else 's'}"


def printed(failure: Failure, most: int = 4) -> list[str]:
    """The lines of what a dying process printed that tell most: around Python's own last words, else the last ones."""
    dull = ("Extension modules", "Current thread", "<no Python frame>")
    found = [line for line in (failure["output"] or "").splitlines() if line.strip() and not line.startswith(dull)]
    fatal = next((n for n, line in enumerate(found) if line.startswith("Fatal Python error")), None)
    return found[-most:] if fatal is None else found[max(0, fatal - most + 2) : fatal + 2]


def failures_of(row: Row) -> Iterator[Failure]:
    """Every failure of a requirement."""
    if row["failure"] is not None:
        yield row["failure"]
    yield from row["further_failures"]


def _wants(reason: str) -> list[str]:
    """The reasons of a requirement's tests, taken apart: capabilities one by one, operators all together."""
    found: dict[str, None] = {}
    for part in reason.split("; "):
        kind, _, names = part.partition(" ")[2].partition(" ")
        if part.startswith("missing capability "):
            found.update(dict.fromkeys(f"{kind} {name}" for name in names.split(", ")))
        else:
            found["operators not offered" if part.startswith("unsupported operator ") else part] = None
    return list(found)


def _speaks_of(row: Row, failure: Failure) -> bool:
    """Return whether the requirement is named after the operator that the failure is about."""
    about = re.search(r"^(?:wrong .* of )?([a-z]+)[a-z_]*(?:\.\w+)?(?:'s result| )", failure["message"])
    return about is not None and about.group(1) in row["id"].partition("/")[2].split("-")


def _better(new: Failure, old: Failure) -> bool:
    return _worth(new) > _worth(old)


def _worth(failure: Failure) -> tuple[bool, bool, bool, int]:
    """Return a key that is largest for a snippet that failed the same way, then for one that ran, then a short one."""
    snippet, same = failure["snippet"] or "", failure["snippet_checked"]
    return bool(same), same is not None, bool(snippet), -snippet.count("\n")


def _line(area: str | None, level: str | None, rows: list[Row]) -> Line:
    return Line(
        area,
        level,
        Counter(row["status"] for row in rows),
        sum(row["examples"] for row in rows),
        sum(row["seconds"] for row in rows),
    )
