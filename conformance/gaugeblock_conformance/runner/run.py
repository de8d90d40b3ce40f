"""One run of the suite against one backend, from options to a run record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from gaugeblock_spec.atomic_file import PART, remove_part
from gaugeblock_spec.requirements import Requirement

from .. import budget as budgets
from .. import discovery, expectations
from ..expectations.manifest import NOTHING, Manifest
from ..journal import LIMIT, Journal, unwritable, write_atomically
from ..problem import NOTHING_JUDGED, PARTIAL, UsageProblem, visible
from ..text_file import read_bytes
from . import suite as suites
from .checking import Malformed, check_row
from .environment import cores, machine, spec_version, suite_version, total_memory
from .execute import ELSEWHERE
from .pool import NAME, Limits, Pool
from .rows import BROKEN, Row, new_row
from .selection import Selection, longest_first
from .snippets import check_rows, set_aside
from .sources import sources

SCHEMA = "gaugeblock-run/2"
RECORD = "record.json"
SNIPPET_SECONDS = 30.0
"""Seconds after which a run begins no further snippet."""
SNIPPETS = "snippets"
"""Folder beside the record for what is too long to stand in it."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What to run and how. ``expect`` is a file, ``"none"``, or None for the shipped one of the backend's version,
    whose name begins with ``shipped``; ``memory`` is in bytes for one worker, 0 for no limit, None for an even share
    of most of the machine's memory. ``fail_fast`` ends the run with the first row that makes its exit status 1,
    ``total`` after so many seconds (None: as the budget says). What is left out then is skipped, and says so.
    A backend that lists none of the capabilities ``needs`` is not run.
    """

    backend: str
    out: Path
    selection: Selection = field(default_factory=Selection)
    budget: str = "standard"
    seed: int = 0
    jobs: int | None = None
    expect: str | None = None
    resume: bool = False
    timeout: float | None = None
    memory: int | None = None
    check_snippets: bool = True
    suite: str = suites.STANDARD
    shipped: str = ""
    fail_fast: bool = False
    total: float | None = None
    needs: tuple[str, ...] = ()


class Reporter(Protocol):
    """Is told how a run goes on."""

    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def decided(self, row: Row) -> None: ...

    def finish(self) -> None: ...


class NothingToJudge(UsageProblem):
    """A backend without what the run is about."""

    exit_status = NOTHING_JUDGED


class Interrupted(Exception):
    """Ctrl-C: everything decided so far is in the journal."""

    exit_status = 1


def validate(options: Options, reporter: Reporter) -> Record:
    """Run the suite and return the run record, which has also been written to ``options.out``.

    Raises:
        UsageProblem: bad input, with the exit status that it means.
        Interrupted: Ctrl-C.
    """
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    name = discovery.resolve(options.backend)
    budget = budgets.named(options.budget)
    suite = suites.load(options.suite)
    ids = options.selection.apply(suite.requirements)
    jobs = options.jobs or cores()
    total = budget.total if options.total is None else options.total
    limits = Limits(options.timeout or budget.timeout, _memory(options.memory, jobs))
    # A backend may remove the current folder.
    here = Path.cwd()
    setup = {"backend": name.text, "suite": options.suite, "budget": budget.name, "seed": options.seed}
    setup["operators"] = options.selection.operators
    with _folder(options.out), Pool(suite.requirements, jobs, limits, **setup) as pool:
        backend = pool.backend(reporter.note, len(ids))
        if options.needs and not set(options.needs) & set(backend["capabilities"]):
            listed = " nor ".join(map(repr, options.needs))
            raise NothingToJudge(f"{backend['name']} has no derivatives to check: it lists neither capability {listed}")
        withdrawn = backend["withdrawn"]
        for item, why in withdrawn.items():
            reporter.note(f"withdrawn: {item}, which the adapter does not carry: {visible(why, NAME)}")
        manifest = _manifest(options, backend, set(suite.requirements))
        if options.selection.operators:
            manifest = manifest.of_some_operators()
        reporter.note(f"expected failures: {len(manifest.expected)} ({_source(options, manifest, backend)})")
        configuration = {
            "backend": name.text,
            "backend version": backend["version"],
            "device": backend["device"],
            "seed": options.seed,
            "budget": budget.name,
            "spec version": spec_version(suite.requirements.values()),
            "suite version": suite_version(),
            "selection": options.selection.to_json(),
            **({"withdrawn": sorted(withdrawn)} if withdrawn else {}),
        }
        if options.resume:
            journal = Journal.resume(options.out, configuration, once({i: suite.requirements[i] for i in ids}))
        else:
            journal = Journal.create(options.out, configuration, started)
        with journal:
            decided = {row["id"] for row in journal.rows}
            before = len(journal.rows)
            order = longest_first([i for i in ids if i not in decided], _timings(options.out / RECORD, backend))
            reporter.start(len(ids), before)
            left_out = f"left out: the time of the run, {total:g} s, was over"
            try:
                for row in pool.decide(order, clock + total):
                    journal.append(row)
                    judged_row = manifest.judge(row)
                    reporter.decided(judged_row)
                    if options.fail_fast and _fails(judged_row):
                        left_out = f"left out: the run ended with the first failure, {row['id']}"
                        break
            except KeyboardInterrupt as interrupt:
                done = f"{len(journal.rows)} of {len(ids)} requirements are decided"
                raise Interrupted(f"interrupted: {done}; --resume continues") from interrupt
            finally:
                reporter.finish()
    elapsed = time.monotonic() - clock
    by_id = {row["id"]: manifest.judge(row) for row in journal.rows}
    rows = [by_id.get(i) or new_row(suite.requirements[i], "skipped", left_out) for i in ids]
    rows = [row for row in rows if row["reason"] != ELSEWHERE]
    if options.check_snippets:
        check_rows(rows, jobs, limits.memory, here, min(clock + total, time.monotonic() + SNIPPET_SECONDS))
    out = here / options.out
    _usable(out)
    set_aside(rows, out / SNIPPETS)
    unfinished = len(by_id) < len(ids)
    if unfinished:
        reporter.note(f"{len(by_id)} of {len(ids)} requirements decided, the others {left_out}; --resume continues")
    environment = {
        "backend": name.text,
        **{key: backend[key] for key in ("name", "version", "device", "capabilities", "packages")},
        **({"withdrawn": withdrawn} if withdrawn else {}),
        **({"own_rules": _used(backend["own_rules"], rows)} if backend["own_rules"] else {}),
        **machine(),
        "seed": options.seed,
        "budget": budget.name,
        "jobs": jobs,
        "timeout": limits.timeout,
        "memory_limit": limits.memory,
        "selection": options.selection.to_json(),
        "expectations": None if manifest is NOTHING else manifest.source,
        "spec_version": configuration["spec version"],
        "suite_version": configuration["suite version"],
        "started": journal.started,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "resumed": options.resume,
        **({"unfinished": True} if unfinished else {}),
        "seconds": round(elapsed, 3),
        **_totals(rows, journal.rows[before:], elapsed),
    }
    record: Record = {"schema": SCHEMA, "environment": environment, "requirements": rows, "tests": sources(rows)}
    write_atomically(out / RECORD, json.dumps(record, indent=1) + "\n")
    return record


def exit_status(record: Record) -> int:
    """Return 0 if every MUST held, was skipped by name or failed as expected, and nothing held unexpectedly; else 1.

    5 if nothing broke in a run that was cut short, 4 if nothing broke and nothing was judged.
    """
    if any(map(_fails, record["requirements"])):
        return 1
    if record["environment"].get("unfinished"):
        return PARTIAL
    return 0 if judged(record) else NOTHING_JUDGED


def _fails(row: Row) -> bool:
    return row["status"] == "xpassed" or (row["level"] == "MUST" and row["status"] in BROKEN)


def judged(record: Record) -> bool:
    """Return whether the record judges the backend at all.

    At least one requirement was not skipped and, if operators were called, the backend offered at least one of them.
    """
    rows = record["requirements"]
    if all(row["status"] == "skipped" for row in rows):
        return False
    if any(row["status"] in BROKEN for row in rows):
        return True
    refused = any(row["unsupported"] or "unsupported operator" in (row["reason"] or "") for row in rows)
    return not refused or any(row.get("operators", row["calls"]) for row in rows)


def once(requirements: Mapping[str, Requirement]) -> Callable[[Any], None]:
    """Return a check that each row of a journal belongs to one of ``requirements`` and that none occurs twice."""
    seen: set[str] = set()

    def check(value: Any) -> None:
        identifier = check_row(value, requirements)["id"]
        if identifier in seen:
            raise Malformed(f"{identifier} is decided twice")
        seen.add(identifier)

    return check


def _manifest(options: Options, backend: dict[str, Any], known: set[str]) -> Manifest:
    expect = options.expect
    if expect == "none":
        return NOTHING
    if expect is not None:
        return expectations.read(Path(expect), known, backend["device"])
    found = expectations.shipped(options.shipped + backend["name"], backend["version"])
    if found is None:
        return NOTHING
    return replace(expectations.read(found, known, backend["device"]), source=f"{found.name}, shipped with the suite")


def _source(options: Options, manifest: Manifest, backend: dict[str, Any]) -> str:
    """Where the expectations come from; if there are none for this version, which file is left out."""
    left_out = expectations.nearest(options.shipped + backend["name"], backend["version"])
    if manifest is not NOTHING or options.expect is not None or left_out is None:
        return manifest.source
    return f"no file for version {backend['version']}; {left_out} is shipped and left out"


def _used(rules: Sequence[dict[str, Any]], rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The library's own rules, with how often each made a difference and for which requirements."""
    return [
        {
            **rule,
            "used": sum(row["own_rules"].get(rule["rule"], 0) for row in rows),
            "requirements": [row["id"] for row in rows if rule["rule"] in row["own_rules"]],
        }
        for rule in rules
    ]


def _memory(asked: int | None, jobs: int) -> int:
    if asked is not None:
        return asked
    total = total_memory()
    return 0 if total is None else int(total * 0.8) // jobs


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder that can be written, and take it away again if the run ends before it has anything to keep."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    _usable(path)
    for part in path.glob(f".*{PART}"):
        remove_part(str(part))
    # A backend may remove the current folder.
    here = Path.cwd()
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for folder in made:
                (here / folder).rmdir()
        raise


def _usable(folder: Path) -> None:
    probe = folder / ".gaugeblock-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from error


def _timings(path: Path, backend: dict[str, Any]) -> dict[str, float]:
    """Seconds of each requirement in an earlier run, or else what its tests are likely to take."""
    try:
        rows = json.loads(read_bytes(path, LIMIT))["requirements"]
        return {row["id"]: float(row["seconds"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return dict(backend["efforts"])


def _totals(rows: list[Row], new: list[Row], seconds: float) -> dict[str, Any]:
    tensors = sum(row["tensors"] for row in rows)
    noncontiguous = sum(row["noncontiguous"] for row in rows)
    return {
        "examples": _examples(rows),
        "examples_per_second": round(_examples(new) / seconds, 1) if seconds else 0.0,
        "calls": sum(row["calls"] for row in rows),
        "tensors": tensors,
        "noncontiguous_share": round(noncontiguous / tensors, 4) if tensors else 0.0,
    }


def _examples(rows: Sequence[Row]) -> int:
    """Examples tried, each once, although it may count for several requirements."""
    return sum(row["examples"] - row.get("repeated", 0) for row in rows)
