"""``python -m gaugeblock_conformance.mutants``: exit status 0 if every mutant is caught by what it breaks, 1 if not."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gaugeblock_spec import requirements as spec
from tabulate import tabulate

from .. import discovery
from ..journal import NAME, Journal, write_atomically
from ..problem import UsageProblem, unknown
from ..runner.environment import cores, machine, spec_version, suite_version
from . import generated, narrow
from .generated import KIND as GENERATED
from .mutant import CLASSES, Mutant
from .record import FILE, RecordOfMutants, build, merged, must, read, rows_of, unproven
from .run import Children, Trials
from .table import named, table
from .text import classes, markdown, uncaught
from .text import unproven as told_unproven
from .trial import CAUGHT

OUT = Path("runs") / "mutants"
PAGE = "mutants.md"


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        if options.classes == [GENERATED]:
            return _generated(options)
        if options.merge:
            record = merged([read(path) for path in options.merge], table())
        else:
            chosen = _chosen(options)
            if options.list:
                for one in chosen:
                    print(f"{one.name} ({one.kind}): {' '.join(one.operators)} breaks {' '.join(one.breaks)}")
                return 0
            record = _run(chosen, options)
        options.out.mkdir(parents=True, exist_ok=True)
        write_atomically(options.out / FILE, json.dumps(record, indent=1) + "\n")
        write_atomically(options.out / PAGE, markdown(record))
    except UsageProblem as problem:
        print(f"mutants: {problem}", file=sys.stderr)
        return problem.exit_status
    except KeyboardInterrupt:
        print(f"mutants: interrupted; --resume --out {options.out} continues", file=sys.stderr)
        return 1
    return _told(record, options.out)


def _generated(options: argparse.Namespace) -> int:
    """Try the generated mutants, and tell those that no budget caught."""
    known = {rule.name: rule for rule in generated.rules()}
    for name in options.only:
        if name not in known:
            raise unknown("mutant", name, known, "see --list")
    place, count = options.shard
    chosen = [known[name] for name in options.only or known][place - 1 :: count]
    if options.list:
        for rule in chosen:
            print(f"{rule.name}: {rule.operator} breaks {rule.requirement}")
        return 0
    record = narrow.run(options.base, options.budget, options.seed, chosen, lambda text: _note("", "", text))
    narrow.write(record, options.out)
    for name in record["budgets"]:
        print(f"{narrow.share(record, name):.1%} of {len(record['mutants'])} mutants caught at {name}")
    missed = narrow.missed(record)
    for row in missed:
        print(f"{row['caught']}: {row['name']} ({row['requirement']}) {row['text']}".rstrip())
    print(f"written: {options.out / narrow.FILE}, {options.out / narrow.PAGE}", file=sys.stderr)
    return 1 if missed else 0


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    for kind in options.classes:
        if kind not in CLASSES:
            raise unknown("class", kind, (*CLASSES, GENERATED), f"{GENERATED} stands alone")
    found = [named(name) for name in options.only] if options.only else list(table().values())
    found = [m for m in found if not options.classes or m.kind in options.classes]
    place, count = options.shard
    return found[place - 1 :: count]


def _run(chosen: list[Mutant], options: argparse.Namespace) -> RecordOfMutants:
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    right = discovery.load(discovery.resolve(options.base))
    facts = {
        "base": options.base, "version": str(right.version), "budget": options.budget, "seed": options.seed,
        "suite_version": suite_version(), "selection": _selection(options),
    }  # fmt: skip
    trials = Trials(options.base, options.budget, options.seed, elsewhere=not options.own_tests)
    children = Children(trials, options.jobs or cores(), lambda text: _note("", "", text))
    with _journal(options, facts, started) as journal:
        done = {row["name"] for row in journal.rows if row.get("status") == CAUGHT}
        left = [mutant for mutant in chosen if mutant.name not in done]
        for count, result in enumerate(children.run(left), 1):
            journal.append(result.to_json())
            _note(f"{count}/{len(left)}", result.status, f"{result.name} ({result.seconds:.1f} s)")
        if options.proof:
            alone = unproven(must(), [row for row in journal.rows if row.get("name", "") in {"", *table()}])
            for count, proof in enumerate(children.prove(alone), 1):
                journal.append(asdict(proof))
                _note(f"{count}/{len(alone)}", "proven" if proof.named else "unproven", proof.requirement)
    _note("", "", f"{time.perf_counter() - clock:.0f} s")
    facts["spec_version"] = spec_version(spec.load().values())
    return build({**facts, **machine(), "started": journal.started}, table(), journal.rows)


def _journal(options: argparse.Namespace, facts: dict[str, Any], started: str) -> Journal:
    """A new journal; to go on, the one of the folder, or one of the rows of the folder's record, of which for a proof
    requirements that caught none of theirs are asked again."""
    out = options.out
    if not options.resume:
        return Journal.create(out, facts, started)
    if (out / NAME).exists() or not (out / FILE).exists():
        return Journal.resume(out, facts)
    record = read(out / FILE)
    for name, value in facts.items():
        if record["environment"][name] != value:
            before = record["environment"][name]
            raise UsageProblem(f"cannot resume {out / FILE}: it was run with {name} {before}, this is {value}")
    journal = Journal.create(out, facts, record["environment"]["started"])
    for row in rows_of(record):
        if row.get("named", True) or not options.proof:
            journal.append(row)
    return journal


def _selection(options: argparse.Namespace) -> str:
    words = [*options.classes, *options.only]
    place, count = options.shard
    return ", ".join(words or ["all"]) + (f"; shard {place} of {count}" if count > 1 else "")


def _note(count: str, status: str, text: str) -> None:
    print(f"{count:>8} {status:8} {text}", file=sys.stderr, flush=True)


def _told(record: RecordOfMutants, out: Path) -> int:
    print(f"Mutants of {record['environment']['base']}\n")
    rows = [(r["name"], r["class"], _by(r), r["examples"], r["seconds"]) for r in record["mutants"]]
    print(tabulate(rows, ("mutant", "class", "caught by", "examples", "seconds")))
    print(f"\n{classes(record, 'simple')}")
    missed = uncaught(record)
    caught = len(record["mutants"]) - len(missed)
    print(f"\n{caught} of {len(record['mutants'])} mutants caught by what they break")
    bare = told_unproven(record)
    if bare:
        print(f"{len(bare)} requirements caught none that breaks them: {', '.join(bare)}")
    for line in missed:
        print(line)
    print(f"written: {out / FILE}, {out / PAGE}", file=sys.stderr)
    return 1 if missed else 0


def _by(row: dict[str, Any]) -> str:
    return str(row["target"]) if row["status"] == CAUGHT else str(row["status"]).upper()


def _shard(text: str) -> tuple[int, int]:
    place, _, count = text.partition("/")
    if not (place.isdecimal() and count.isdecimal() and 1 <= int(place) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N")
    return int(place), int(count)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gaugeblock_conformance.mutants",
        description="Run the suite against deliberately broken backends; every one must be caught.",
    )
    add = parser.add_argument
    add("--class", dest="classes", action="append", default=[], help="only mutants of this class")
    add("--only", action="append", default=[], metavar="NAME", help="only this mutant")
    add("--shard", type=_shard, default=(1, 1), metavar="I/N", help="only the I-th of N parts")
    add("--base", default="reference", help="the right backend that is broken (default: reference)")
    add("--budget", default="standard", help="quick, standard (default) or thorough")
    add("--seed", type=int, default=0)
    add("--jobs", type=int, default=0, help="processes (default: one per core)")
    add("--out", type=Path, default=OUT, metavar="DIR", help=f"where journal, record and page go ({OUT})")
    add("--resume", action="store_true", help="continue the run in DIR: mutants not yet caught are tried")
    add("--own-tests", action="store_true", help="run the tests of what a mutant breaks, no others if these miss it")
    add("--proof", action="store_true", help="then look for a mutant, its own first, that each other MUST catches")
    add("--merge", nargs="+", type=Path, metavar="RECORD", help="make one record of those of shards; run nothing")
    add("--list", action="store_true", help="print the mutants and run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
