"""A user's mistake: one line that names the thing and what is allowed, with the exit status it leads to."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from gaugeblock_spec import retired

USAGE = 2
NOT_LOADABLE = 3
NOTHING_JUDGED = 4
PARTIAL = 5
_FEW = 20
# Longest name for which similar names are suggested.
_LONGEST = 200
# Likeness from which a name may be meant, and from which a word is another form of one.
_CLOSE = 0.6
_CLOSE_SLUG = 0.65
_SAME = 0.8


class UsageProblem(ValueError):
    """Bad input on the command line or in a file it names."""

    exit_status = USAGE


class BackendProblem(UsageProblem):
    """A backend that exists but cannot be loaded."""

    exit_status = NOT_LOADABLE


def unknown(kind: str, given: str, known: Collection[str], see: str = "") -> UsageProblem:
    """The problem of a name that is not among ``known``: near matches first, all names (or their areas, of names such
    as ``area/name``) when they are few."""
    near = []
    if len(given) <= _LONGEST:
        match = _near_in_area if "/" in given else _near
        near = match(given, known) or [name for name in known if given in name][:3]
    text = f"unknown {kind} {shown(given)}"
    if near:
        text += f"; did you mean {' or '.join(near)}?"
    areas = dict.fromkeys(f"{name.partition('/')[0]}/..." for name in known if "/" in name)
    allowed = known if len(known) <= _FEW else areas if not near and len(areas) <= _FEW else ()
    if allowed or not known:
        text += f"{' Known' if near else '; known'}: {', '.join(allowed) or 'none'}"
    if see:
        text += f" ({see})"
    return UsageProblem(text)


def unknown_requirement(given: str, known: Collection[str], see: str = "") -> UsageProblem:
    """The problem of an id that is no requirement: what asks the same if it was one once, else as :func:`unknown`."""
    once = retired.load().get(given)
    return unknown("requirement", given, known, see) if once is None else UsageProblem(once.note)


def _near(given: str, known: Collection[str]) -> list[str]:
    return difflib.get_close_matches(given, known, n=3, cutoff=_CLOSE)


def _near_in_area(given: str, known: Collection[str]) -> list[str]:
    """Near matches of ``area/name-of-words``: what is before the stroke counts last, and words may stand anywhere."""
    area, _, slug = given.rpartition("/")
    asked = slug.split("-")
    scores: dict[str, tuple[float, bool]] = {}
    for name in known:
        own_area, _, own = name.rpartition("/")
        words = own.split("-")
        alike = difflib.SequenceMatcher(None, own, slug).ratio()
        common = sum(bool(difflib.get_close_matches(word, words, n=1, cutoff=_SAME)) for word in asked)
        score = max(alike, 2 * common / (len(asked) + len(words)))
        if score >= _CLOSE_SLUG:
            scores[name] = (score, own_area == area)
    return sorted(scores, key=lambda name: scores[name], reverse=True)[:3]


def one_line(error: BaseException) -> str:
    """``Type: message`` of an exception, on one line."""
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception as worse:
        message = f"(its str() raises {type(worse).__name__})"
    return f"{kind}: {message}" if message else kind


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text, cut to a readable length."""
    try:
        return str(error)[:10_000].strip().split("\n")[0][:300]
    except Exception as worse:
        return f"(its str() raises {type(worse).__name__})"


def cut(text: str, limit: int) -> str:
    """Return the first ``limit`` characters of ``text``, with the number of characters cut.

    >>> cut("abcdef", 4)
    'abcd… (2 more characters)'
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def visible(text: str, limit: int) -> str:
    """Return ``text`` on one line with unprintable characters escaped, cut to ``limit`` characters.

    >>> visible("red: \\x1b[31m", 40)
    'red: \\\\x1b[31m'
    """
    part = text[: 4 * limit]
    line = " ".join(part.split())
    plain = line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return plain if len(plain) <= limit and len(part) == len(text) else f"{plain[:limit]}…"


def shown(value: object, limit: int = 200) -> str:
    """Return ``repr(value)`` on one line, cut to a readable length.

    >>> shown([1, 2])
    '[1, 2]'
    """
    try:
        return visible(repr(value), limit)
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
