"""Warnings that are given once per process and point at the caller's line."""

from __future__ import annotations

import os
import sys
import warnings

from .away import caller
from .errors import type_error

PACKAGE = os.path.dirname(os.path.dirname(__file__))
"""The folder of the engine; a warning skips the frames below it and those of the packages beside it,
`gaugeblock_testing` and the like, whose folders begin with its name."""


class _Mode:
    """`given` holds the warnings already given; with `always` each is given every time."""

    always = False
    given: set[str] = set()  # noqa: RUF012


def set_warn_always(b: bool, /) -> None:
    """Set whether each warning is given every time. Raise TypeError unless `b` is a bool. See torch.set_warn_always."""
    if not isinstance(b, bool):
        type_error("set_warn_always", "b", b, "bool")
    _Mode.always = b


def is_warn_always_enabled() -> bool:
    """Return whether each warning is given every time. See torch.is_warn_always_enabled."""
    return _Mode.always


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning that points at the innermost frame outside the engine."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith((PACKAGE, "<gaugeblock")):
        before = caller(frame)
        if before is None:
            break
        frame = before
    known = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, known)


def warn_once(message: str) -> None:
    """Give a warning once per process, or every time after set_warn_always(True)."""
    if _Mode.always or message not in _Mode.given:
        _Mode.given.add(message)
        warn(message)


def warn_deprecated(name: str, instead: str) -> None:
    """Warn once that a function is deprecated, and name the one to call instead."""
    warn_once(f"{name} is deprecated and will be removed in a future release; call {instead} instead")
