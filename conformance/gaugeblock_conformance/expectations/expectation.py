"""One row of an expectation file, and what is wrong with one that is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gaugeblock_spec import operators

from ..problem import UsageProblem, shown, unknown, unknown_requirement

FIELDS: dict[str, type] = {
    "requirement": str,
    "operator": str,
    "operators": list,
    "also": list,
    "reason": str,
    "evidence": str,
    "upstream": str,
    "devices": list,
    "match": str,
    "snippet": str,
    "expected": str,
    "got": str,
    "source": str,
    "tried": list,
    "see": list,
    "kind": str,
    "sometimes": bool,
}
REQUIRED = ("requirement", "reason", "evidence")
SHOWING = ("snippet", "expected", "got", "tried")
KINDS = ("deviation", "missing", "difference")


@dataclass(frozen=True)
class Expectation:
    """One requirement, or its verdict on one operator, that is expected to break.

    README.md of this folder says what each field means.
    """

    requirement: str
    reason: str
    evidence: str
    operator: str | None = None
    operators: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    upstream: str | None = None
    devices: tuple[str, ...] = ()
    match: str | None = None
    snippet: str | None = None
    expected: str | None = None
    got: str | None = None
    source: str | None = None
    tried: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    kind: str = KINDS[0]
    sometimes: bool = False

    @property
    def name(self) -> str:
        """The requirement's id, with the operator in brackets if there is one."""
        return self.requirement if self.operator is None else f"{self.requirement}[{self.operator}]"

    @property
    def slug(self) -> str:
        """The name of the page that shows it: the requirement's id and the operator as one word."""
        words = self.requirement if self.operator is None else f"{self.requirement}-{self.operator.replace('.', '-')}"
        return words.replace("/", "-").replace("_", "-")

    def others(self) -> Iterator[Expectation]:
        """Yield a row for each requirement of ``also``: some examples of it may show the same."""
        shown = self.see or ((self.name,) if self.snippet else ())
        for requirement in self.also:
            yield replace(
                self, requirement=requirement, also=(), see=shown, sometimes=True,
                snippet=None, expected=None, got=None, tried=(),
            )  # fmt: skip

    def covers(self, message: str, operator: str | None = None) -> bool:
        """Return whether a failure with this message, of this operator, is one that is expected."""
        if self.operators and operator is not None and operator not in self.operators:
            return False
        return self.match is None or re.search(self.match, message) is not None


def parse(entry: Any, where: str, known: Collection[str]) -> Expectation:
    """The row in a TOML table.

    Raises:
        UsageProblem: ``where`` and the field that is unknown, missing, mistyped, or has no place beside another.
    """
    if not isinstance(entry, dict):
        raise UsageProblem(f"{where}: an expectation must be a table headed [[expected]]")
    for name, value in entry.items():
        if name not in FIELDS:
            raise UsageProblem(f"{where}: unknown field {shown(name)}; allowed: {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[name]) or not value:
            kind = FIELDS[name].__name__
            raise UsageProblem(f"{where}: field {name!r} must be a non-empty {kind}, not {shown(value)}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise UsageProblem(f"{where}: field {name!r} must be a list of strings, not {shown(value)}")
    for name in REQUIRED:
        if name not in entry:
            raise UsageProblem(f"{where}: field {name!r} is missing; required: {', '.join(REQUIRED)}")
    for name in (entry["requirement"], *entry.get("also", ())):
        if name not in known:
            raise UsageProblem(f"{where}: {unknown_requirement(name, known)}")
    for name in (*([entry["operator"]] if "operator" in entry else []), *entry.get("operators", ())):
        if name not in operators.load():
            raise UsageProblem(f"{where}: {unknown('operator', name, operators.load())}")
    if "operator" in entry and "operators" in entry:
        raise UsageProblem(f"{where}: field 'operators' has no place beside 'operator'")
    given = [name for name in SHOWING if name in entry]
    if given and len(given) < len(SHOWING):
        absent = next(name for name in SHOWING if name not in entry)
        raise UsageProblem(f"{where}: field {given[0]!r} needs {absent!r} too; together: {', '.join(SHOWING)}")
    if given and "see" in entry:
        raise UsageProblem(f"{where}: field 'see' points to another row's snippet, so that 'snippet' has no place")
    if entry.get("kind", KINDS[0]) not in KINDS:
        raise UsageProblem(f"{where}: field 'kind' must be one of {', '.join(KINDS)}, not {shown(entry['kind'])}")
    try:
        re.compile(entry.get("match", ""))
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageProblem(f"{where}: field 'match' is not a regular expression: {shown(str(error))}") from error
    lists = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return Expectation(**{**entry, **lists})
