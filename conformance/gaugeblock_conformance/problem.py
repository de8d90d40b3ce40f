"""A user's mistake: one line that names the thing and what is allowed, with the exit status it leads to."""

from __future__ import annotations

import difflib
from collections.abc import Collection

USAGE = 2
NOT_LOADABLE = 3
_FEW = 20


class UsageProblem(ValueError):
    """Bad input on the command line or in a file it names."""

    exit_status = USAGE


class BackendProblem(UsageProblem):
    """A backend that exists but cannot be loaded."""

    exit_status = NOT_LOADABLE


def unknown(kind: str, given: str, known: Collection[str], see: str = "") -> UsageProblem:
    """The problem of a name that is not among ``known``: near matches first, all names (or their areas, of names such
    as ``area/name``) when they are few."""
    near = difflib.get_close_matches(given, known, n=3, cutoff=0.6) or [name for name in known if given in name][:3]
    text = f"unknown {kind} {given!r}"
    if near:
        text += f"; did you mean {' or '.join(near)}?"
    areas = dict.fromkeys(f"{name.partition('/')[0]}/..." for name in known if "/" in name)
    allowed = known if len(known) <= _FEW else areas if not near and len(areas) <= _FEW else ()
    if allowed or not known:
        text += f"{' Known' if near else '; known'}: {', '.join(allowed) or 'none'}"
    if see:
        text += f" ({see})"
    return UsageProblem(text)


def one_line(error: BaseException) -> str:
    """``Type: message`` of an exception, on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
