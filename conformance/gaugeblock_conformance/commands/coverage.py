"""``gaugeblock requirements ID --coverage``: which conditions the calls that a requirement draws meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from .. import requirement as registry
from ..budget import BUDGETS
from ..operators.tally import Tally, tally
from ..problem import UsageProblem

SCHEMA = "gaugeblock-coverage/1"
# Missing conditions that a line names at most.
_NAMED = 12


def measured(identifier: str, budgets: Sequence[str], seed: int) -> dict[str, Any]:
    """Return the coverage of a requirement as JSON.

    Raises:
        UsageProblem: its tests draw no calls of operators.
    """
    cases = registry.tests().get(identifier, [])
    found = {name: {one.operator: one for one in tally(cases, BUDGETS[name], seed)} for name in budgets}
    if not any(found.values()):
        raise UsageProblem(f"{identifier}: its tests draw no calls of operators, so that there is no coverage to count")
    names = sorted({name for tallies in found.values() for name in tallies})
    return {
        "id": identifier,
        "seed": seed,
        "operators": [_operator(name, {b: found[b][name] for b in budgets if name in found[b]}) for name in names],
    }


def _operator(name: str, tallies: dict[str, Tally]) -> dict[str, Any]:
    some = next(iter(tallies.values()))
    return {
        "operator": name,
        "possible": len(some.wanted),
        "ruled_out": some.ruled_out,
        "budgets": {
            budget: {"calls": one.calls, "met": len(one.wanted & one.met), "missing": list(map(str, one.missing))}
            for budget, one in tallies.items()
        },
    }


def told(coverage: dict[str, Any], budgets: Sequence[str]) -> str:
    """The coverage as text: totals, then a line for each operator, and the conditions that no call met."""
    rows = []
    for entry in coverage["operators"]:
        met = [_share(entry, budget) for budget in budgets]
        calls = [entry["budgets"][budget]["calls"] if budget in entry["budgets"] else 0 for budget in budgets]
        rows.append((entry["operator"], *(cell for pair in zip(calls, met, strict=True) for cell in pair)))
    head = ("operator", *(word for budget in budgets for word in ("calls", f"met at {budget}")))
    parts = [coverage["id"], _totals(coverage, budgets), tabulate(rows, head, "simple", disable_numparse=True)]
    for budget in budgets:
        entries = [(one["operator"], one["budgets"].get(budget, {}).get("missing")) for one in coverage["operators"]]
        lines = [_line(operator, missing) for operator, missing in entries if missing]
        parts.append("\n".join([f"Not met at {budget}:", *(lines or ["  nothing"])]))
    reasons = Counter(reason for entry in coverage["operators"] for reason in entry["ruled_out"].values())
    if reasons:
        lines = [f"  {count:>5}  {reason}" for reason, count in reasons.most_common()]
        parts.append("\n".join(["Conditions that no judged call meets, by reason:", *lines]))
    return "\n\n".join(parts)


def _share(entry: dict[str, Any], budget: str) -> str:
    return f"{entry['budgets'][budget]['met'] if budget in entry['budgets'] else 0}/{entry['possible']}"


def _totals(coverage: dict[str, Any], budgets: Sequence[str]) -> str:
    """How many of all conditions of each kind are met."""
    possible = sum(entry["possible"] for entry in coverage["operators"])
    rows = []
    for budget in budgets:
        entries = [entry["budgets"][budget] for entry in coverage["operators"] if budget in entry["budgets"]]
        missing = Counter(text.split()[0] for entry in entries for text in entry["missing"])
        by_kind = ", ".join(f"{kind} {count}" for kind, count in sorted(missing.items())) or "none"
        met = sum(entry["met"] for entry in entries)
        rows.append((budget, sum(entry["calls"] for entry in entries), f"{met}/{possible}", by_kind))
    return tabulate(rows, ("budget", "calls", "conditions met", "missing, by kind"), "simple", disable_numparse=True)


def _line(operator: str, missing: Sequence[str]) -> str:
    more = f", and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"  {operator}: {', '.join(missing[:_NAMED])}{more}"
