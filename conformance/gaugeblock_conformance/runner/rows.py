"""One requirement's row of a run record (schema ``gaugeblock-run/2``)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from gaugeblock_spec.requirements import Requirement

from ..pictures import Picture
from ..problem import cut

Verdict = Literal["passed", "partial", "failed", "skipped", "crashed", "timeout"]
Status = Literal["passed", "partial", "failed", "skipped", "crashed", "timeout", "xfailed", "xpassed"]
"""``partial`` is a requirement that held as far as it was judged: some of its tests or operators were skipped."""

BROKEN: tuple[Status, ...] = ("failed", "crashed", "timeout")
HELD: tuple[Status, ...] = ("passed", "partial")
TEXT = 4000
"""Largest number of characters of a text that may come from the backend."""
CODE = 1 << 20
"""Largest number of characters of a snippet."""
ITEMS = 10_000
"""Largest number of entries of a list or a table."""


class Failure(TypedDict):
    """What went wrong: ``verdict`` says how, ``cause`` groups failures that have one reason.

    ``operator`` is the one whose subresult it is, if the requirement is judged operator by operator, and ``known`` the
    reason that the file of expected failures gives for it.
    """

    verdict: Verdict
    message: str
    cause: str
    test: str | None
    operator: str | None
    known: str | None
    example: dict[str, str]
    expected: str | None
    got: str | None
    snippet: str | None
    adapter_snippet: str | None
    snippet_checked: bool | None
    snippet_result: str | None
    output: str | None


class Row(TypedDict):
    """A decided requirement; ``subresults`` has the status of each operator that it was judged for.

    ``own_rules`` has how often each rule of the library's own made a difference.
    """

    id: str
    area: str
    level: str
    status: Status
    reason: str | None
    upstream: str | None
    support: str | None
    sentence: str
    source: str
    origin: list[str]
    capabilities: list[str]
    tests: list[str]
    examples: int
    repeated: int
    seconds: float
    calls: int
    operators: int
    tensors: int
    noncontiguous: int
    unsupported: dict[str, str]
    failure: Failure | None
    further_failures: list[Failure]
    subresults: dict[str, Status]
    figures: dict[str, float]
    own_rules: dict[str, int]
    pictures: NotRequired[list[Picture]]


def new_row(requirement: Requirement, status: Status = "passed", reason: str | None = None) -> Row:
    """A row of ``requirement`` with nothing run yet."""
    return Row(
        id=requirement.id,
        area=requirement.area,
        level=requirement.level,
        status=status,
        reason=reason,
        upstream=None,
        support=None,
        sentence=requirement.sentence,
        source=requirement.source,
        origin=list(requirement.origin),
        capabilities=list(requirement.capabilities),
        tests=[],
        examples=0,
        repeated=0,
        seconds=0.0,
        calls=0,
        operators=0,
        tensors=0,
        noncontiguous=0,
        unsupported={},
        failure=None,
        further_failures=[],
        subresults={},
        figures={},
        own_rules={},
    )


def new_failure(verdict: Verdict, message: str, **facts: Any) -> Failure:
    """A failure that so far has a message only; ``facts`` fills further fields."""
    failure = Failure(
        verdict=verdict,
        message=message,
        cause=message,
        test=None,
        operator=None,
        known=None,
        example={},
        expected=None,
        got=None,
        snippet=None,
        adapter_snippet=None,
        snippet_checked=None,
        snippet_result=None,
        output=None,
    )
    failure.update(facts)  # type: ignore[typeddict-item]
    return failure


def trimmed(row: Row) -> Row:
    """Return the row with overlong texts, lists and tables from the backend cut; a cut text ends in a mark."""
    kept = row.copy()
    kept["reason"] = _text(row["reason"])
    kept["unsupported"] = _texts(row["unsupported"])
    kept["own_rules"] = {cut(name, TEXT): count for name, count in row["own_rules"].items()}
    kept["figures"] = dict(list(row["figures"].items())[:ITEMS])
    kept["failure"] = row["failure"] and _trimmed(row["failure"])
    kept["further_failures"] = [_trimmed(failure) for failure in row["further_failures"][:ITEMS]]
    return kept


def _trimmed(failure: Failure) -> Failure:
    kept = failure.copy()
    kept["message"], kept["cause"] = cut(failure["message"], TEXT), cut(failure["cause"], TEXT)
    kept["example"] = _texts(failure["example"])
    for field in ("operator", "expected", "got", "output", "snippet_result"):
        kept[field] = _text(failure[field])
    for code in ("snippet", "adapter_snippet"):
        text = failure[code]
        kept[code] = text if text is None or len(text) <= CODE else _too_long(text)
    return kept


def _too_long(code: str) -> str:
    """Return what stands for a snippet of which a part would be no program."""
    return f"# no stand-alone reproducer: its {len(code):,} characters are more than the {CODE:,} that are kept\n"


def _text(text: str | None) -> str | None:
    return None if text is None else cut(text, TEXT)


def _texts(table: dict[str, str]) -> dict[str, str]:
    return {cut(name, TEXT): cut(text, TEXT) for name, text in list(table.items())[:ITEMS]}
