"""What an adapter's ``call`` costs beside the function that it ends in."""

from __future__ import annotations

from typing import Any

from gaugeblock_conformance.backend import Backend

from ..cases import OPERATORS, Case
from ..operands import turns
from ..subject import Clock, call_loop, function_loop, function_of
from ..timing import Timed, measure

_ADD = Case(OPERATORS[0], "contiguous", 16)
SECONDS = 0.1
UNKNOWN: dict[str, Any] = {"timed": "call", "function_seconds": None, "call_seconds": None, "added_seconds": None}


def cost(backend: Backend, clock: Clock) -> dict[str, Any]:
    """Return whether cases are timed through the backend's own functions; seconds of ``add`` on 16 elements by its
    function and by ``call``, and what ``call`` adds. Where there are no functions, or the calls fail, what it adds
    is not known."""
    try:
        given = turns(_ADD, backend)
        called = Timed(call_loop(_ADD, backend), given)
        called.seconds(1, clock)
        function, own = function_of(backend, _ADD.operator.call)
        if not own:
            return {**UNKNOWN, "call_seconds": measure(called, called, SECONDS, clock=clock).subject}
        direct = Timed(function_loop(function, _ADD), given)
        both = measure(called, direct, SECONDS, clock=clock)
    except Exception:  # what is wrong with the backend is said where its cases are
        return UNKNOWN
    added = max(0.0, both.subject - both.peer)
    return {"timed": "function", "function_seconds": both.peer, "call_seconds": both.subject, "added_seconds": added}
