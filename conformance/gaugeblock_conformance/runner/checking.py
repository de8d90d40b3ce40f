"""Validation of workers' replies and of journal lines, before they are accepted as verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast, get_args

from gaugeblock_spec.requirements import Requirement

from ..problem import shown
from .rows import BROKEN, CODE, HELD, ITEMS, TEXT, Failure, Row, Verdict, new_failure, new_row

LONGEST_MARK = 200
"""Extra characters allowed for the mark at the end of a cut text and for a remark after it."""
VERDICTS: tuple[str, ...] = get_args(Verdict)

Check = Callable[[Any], bool]


class Malformed(ValueError):
    """Raised for an invalid value; the message names the field, its value and what is allowed."""


def check_row(value: Any, requirements: Mapping[str, Requirement]) -> Row:
    """Return ``value``, parsed from JSON, as a worker's row for one of ``requirements``.

    Raises:
        Malformed: the requirement is unknown; a field is missing, unknown, invalid or different from the spec; or the
            status contradicts the failure.
    """
    if not isinstance(value, dict):
        raise Malformed(f"a row must be an object, not {shown(value)}")
    identifier = value.get("id")
    if not isinstance(identifier, str) or identifier not in requirements:
        raise Malformed(f"id is {shown(identifier)}, which is not one of the requirements of this run")
    plain = new_row(requirements[identifier])
    _check_fields(value, _ROW, list(plain), identifier)
    for field in _STATED:
        if value[field] != plain[field]:  # type: ignore[literal-required]
            stated = shown(plain[field])  # type: ignore[literal-required]
            raise Malformed(f"{identifier}: {field} is {shown(value[field])}; the spec says {stated}")
    row = cast("Row", value)
    _check_status(row)
    return row


def check_ready(value: Any) -> dict[str, Any]:
    """Return ``value`` as a worker's facts about its backend. Raises Malformed if it is invalid."""
    if not isinstance(value, dict):
        raise Malformed(f"ready must be an object, not {shown(value)}")
    _check_fields(value, _READY, list(_READY), "ready")
    return value


def _check_fields(value: dict[str, Any], known: Mapping[str, Check], required: Collection[str], what: str) -> None:
    for field in required:
        if field not in value:
            raise Malformed(f"{what}: field {field!r} is missing")
    for field, item in value.items():
        check = known.get(field)
        if check is None:
            raise Malformed(f"{what}: unknown field {shown(field)}")
        if not check(item):
            raise Malformed(f"{what}: field {field!r} is {shown(item)}; allowed: {_ALLOWED.get(check, 'another form')}")


def _check_status(row: Row) -> None:
    status, failure = row["status"], row["failure"]
    broken = status in BROKEN
    if broken != (failure is not None) or (failure is not None and failure["verdict"] != status):
        stated = "no failure" if failure is None else f"a failure of verdict {failure['verdict']!r}"
        raise Malformed(f"{row['id']}: status {status!r} with {stated}")
    if row["further_failures"] and not broken:
        raise Malformed(f"{row['id']}: status {status!r} with further failures")
    if status == "skipped" and not row["reason"]:
        raise Malformed(f"{row['id']}: status 'skipped' without a reason")
    if status in HELD and not row["examples"]:
        raise Malformed(f"{row['id']}: status {status!r} without an example")
    _check_subresults(row)


def _check_subresults(row: Row) -> None:
    failures = [failure for failure in (row["failure"], *row["further_failures"]) if failure is not None]
    blamed = {failure["operator"] for failure in failures} - {None}
    broken = {name for name, status in row["subresults"].items() if status in BROKEN}
    if blamed != broken:
        name = shown(next(iter(blamed ^ broken)))
        raise Malformed(f"{row['id']}: the failures and the subresults disagree on {name}")


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT + LONGEST_MARK


def _code(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= CODE + LONGEST_MARK)


def _stated_text(value: Any) -> bool:
    return isinstance(value, str)


def _text_or_none(value: Any) -> bool:
    return value is None or _text(value)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _nothing(value: Any) -> bool:
    return value is None


def _seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _table(check: Check, most: int | None = ITEMS) -> Check:
    def checked(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and (most is None or len(value) <= most)
            and all(_text(name) and check(item) for name, item in value.items())
        )

    return checked


def _verdict(value: Any) -> bool:
    return value in VERDICTS


def _support(value: Any) -> bool:
    return value in ("native", "fallback", None)


def _checked(value: Any) -> bool:
    return value in (True, False, None)


def _failure(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == _EMPTY.keys() and all(_FAILURE[k](v) for k, v in value.items())


def _failure_or_none(value: Any) -> bool:
    return value is None or _failure(value)


def _failures(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= ITEMS and all(map(_failure, value))


def _pictures(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and item.keys() == {"title", "svg"} and all(isinstance(v, str) for v in item.values())
        for item in value
    )


def _own_rules(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(rule, dict)
        and rule.keys() == {"kind", "rule", "operators", "sentence", "source"}
        and all(_texts(item) if name == "operators" else _text(item) for name, item in rule.items())
        for rule in value
    )


_TEXT_TABLE = _table(_text)
_VERDICT_TABLE = _table(_verdict)
_NUMBER_TABLE = _table(_number)
_COUNT_TABLE = _table(_count)
_EMPTY: Failure = new_failure("failed", "")
_FAILURE: dict[str, Check] = {
    "verdict": _verdict,
    "message": _text,
    "cause": _text,
    "test": _text_or_none,
    "operator": _text_or_none,
    "known": _nothing,
    "example": _TEXT_TABLE,
    "expected": _text_or_none,
    "got": _text_or_none,
    "snippet": _code,
    "adapter_snippet": _code,
    "snippet_checked": _checked,
    "snippet_result": _text_or_none,
    "output": _text_or_none,
}
_STATED = ("area", "level", "sentence", "source", "origin", "capabilities")
_ROW: dict[str, Check] = {
    "id": _stated_text,
    "area": _stated_text,
    "level": _stated_text,
    "status": _verdict,
    "reason": _text_or_none,
    "upstream": _text_or_none,
    "support": _support,
    "sentence": _stated_text,
    "source": _stated_text,
    "origin": _texts,
    "capabilities": _texts,
    "tests": _texts,
    "examples": _count,
    "repeated": _count,
    "seconds": _seconds,
    "calls": _count,
    "operators": _count,
    "tensors": _count,
    "noncontiguous": _count,
    "unsupported": _TEXT_TABLE,
    "failure": _failure_or_none,
    "further_failures": _failures,
    "subresults": _VERDICT_TABLE,
    "figures": _NUMBER_TABLE,
    "own_rules": _COUNT_TABLE,
    "pictures": _pictures,
}
_READY: dict[str, Check] = {
    "name": _text,
    "version": _text,
    "device": _text,
    "capabilities": _texts,
    "withdrawn": _TEXT_TABLE,
    "own_rules": _own_rules,
    "packages": _table(_text, None),
    "families": _table(_text, None),
    "efforts": _table(_seconds, None),
}
_ALLOWED: dict[Check, str] = {
    _text: f"a string of at most {TEXT} characters",
    _text_or_none: f"a string of at most {TEXT} characters, or null",
    _stated_text: "a text",
    _texts: "a list of strings",
    _count: "a non-negative integer",
    _seconds: "a non-negative number of seconds",
    _verdict: ", ".join(VERDICTS),
    _support: "native, fallback, null",
    _failure_or_none: "null or a failure with all its fields",
    _failures: "a list of failures with all their fields",
    _pictures: "a list of pictures",
    _TEXT_TABLE: "an object of strings",
    _NUMBER_TABLE: "an object of numbers",
    _COUNT_TABLE: "an object of non-negative integers",
    _own_rules: "a list of rules with kind, rule, operators, sentence and source",
    _VERDICT_TABLE: f"an object of {', '.join(VERDICTS)}",
}
