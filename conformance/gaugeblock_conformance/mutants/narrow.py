"""Trials of the generated mutants: the tests of the requirement that each breaks, over its operator alone."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from .. import discovery
from .. import requirement as registry
from ..backend import Backend, MissingCapability, Unsupported
from ..budget import BUDGETS, Budget
from ..journal import write_atomically
from ..requirement import TestCase
from ..session import ConformanceError, Session
from .generated import KIND, Rule, mutant
from .mutant import MutantBackend, MutantBroken

SCHEMA = "gaugeblock-generated-mutants/1"
FILE, PAGE = "generated.json", "generated.md"
TRIED = ("quick", "standard")
MISSED, BROKEN = "missed", "broken"


@dataclass(frozen=True)
class Outcome:
    """The outcome of the trials of one mutant: ``caught`` names the budget whose examples caught it, the
    smallest there is, or says ``missed`` or ``broken``; ``text`` is the failure."""

    name: str
    operator: str
    conditions: tuple[str, ...]
    fault: str
    requirement: str
    caught: str
    examples: int
    text: str


def tried(right: Backend, rule: Rule, budgets: Sequence[str], seed: int) -> Outcome:
    """Return what the tests of the rule's requirement say of its mutant under each budget, until one of them fails."""
    backend = MutantBackend(right, mutant(rule))
    cases = [case for case in registry.tests()[rule.requirement] if set(case.needs) <= set(right.capabilities)]
    examples = 0
    for name in budgets:
        for case in cases:
            try:
                failure, count = _verdict(backend, case, rule.operator, BUDGETS[name], seed)
            except MutantBroken as broken:
                return _outcome(rule, BROKEN, examples, str(broken))
            examples += count
            if failure is not None:
                return _outcome(rule, name, examples, failure.message)
    return _outcome(rule, MISSED, examples, "")


def _outcome(rule: Rule, caught: str, examples: int, text: str) -> Outcome:
    conditions = tuple(map(str, rule.conditions))
    return Outcome(rule.name, rule.operator, conditions, rule.fault, rule.requirement, caught, examples, text)


def _verdict(
    backend: Any, case: TestCase, operator: str, budget: Budget, seed: int
) -> tuple[ConformanceError | None, int]:
    """The failure of one test that judges the operator alone, if there is one, and how many examples it tried."""
    session = Session(backend, budget, seed)
    session.shrink = False
    session.only = (operator,)
    failure: ConformanceError | None = None
    try:
        case.function(session)
    except (MissingCapability, Unsupported):
        pass
    except ConformanceError as error:
        failure = error
    return failure, session.outcome.examples + (failure is not None)


def run(base: str, budget: str, seed: int, chosen: Sequence[Rule], note: Callable[[str], None]) -> dict[str, Any]:
    """Return the record of the trials of all ``chosen``, at the quick budget and at ``budget``."""
    right = discovery.load(discovery.resolve(base))
    registry.load_tests()
    budgets = list(dict.fromkeys((TRIED[0], budget)))
    started, outcomes = time.perf_counter(), []
    for count, rule in enumerate(chosen, 1):
        outcomes.append(tried(right, rule, budgets, seed))
        note(f"{count:>4}/{len(chosen)} {outcomes[-1].caught:8} {rule.name}")
    return {
        "schema": SCHEMA,
        "base": base,
        "version": str(right.version),
        "seed": seed,
        "budgets": budgets,
        "seconds": round(time.perf_counter() - started, 1),
        "mutants": [asdict(outcome) for outcome in outcomes],
    }


def write(record: dict[str, Any], folder: Path) -> None:
    """Write the record and its page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, json.dumps(record, indent=1) + "\n")
    write_atomically(folder / PAGE, page(record))


def missed(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The mutants that no budget caught."""
    return [row for row in record["mutants"] if row["caught"] not in BUDGETS]


def share(record: dict[str, Any], budget: str) -> float:
    """The share of the mutants that the examples of ``budget`` caught."""
    reached = record["budgets"][: record["budgets"].index(budget) + 1]
    return sum(row["caught"] in reached for row in record["mutants"]) / max(1, len(record["mutants"]))


def page(record: dict[str, Any]) -> str:
    """The record in Markdown: how many of each kind were caught, those that a larger budget caught, and all."""
    kinds = Counter(_kind(row) for row in record["mutants"])
    rows = []
    for kind in sorted(kinds):
        of_kind = [row for row in record["mutants"] if _kind(row) == kind]
        rows.append([kind, kinds[kind], *(sum(row["caught"] == name for row in of_kind) for name in record["budgets"])])
    head = ["condition", "mutants", *(f"caught at {name}" for name in record["budgets"])]
    shares = ", ".join(f"{share(record, name):.1%} at {name}" for name in record["budgets"])
    late = [row for row in record["mutants"] if row["caught"] != record["budgets"][0]]
    listed = "\n".join(f"- `{row['name']}`: {row['caught']}" for row in late) or "None."
    return "\n\n".join((
        f"# Generated mutants of {record['base']} {record['version']}",
        f"{len(record['mutants'])} mutants of class {KIND}, seed {record['seed']}, each tried on the tests of the "
        f"requirement that it breaks, over its operator alone. Caught: {shares}. A mutant counts at the smallest "
        "budget whose examples caught it.",
        tabulate(rows, head, "github"),
        f"## Not caught at {record['budgets'][0]}",
        listed,
        "## All",
        tabulate(
            [(f"`{row['name']}`", row["requirement"], row["caught"], row["examples"]) for row in record["mutants"]],
            ("mutant", "requirement", "caught at", "examples"), "github",
        ),
    )) + "\n"  # fmt: skip


def _kind(row: dict[str, Any]) -> str:
    return " and ".join(text.split()[0] for text in row["conditions"])
