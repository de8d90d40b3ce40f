"""Says what a process was doing when it ended, from the words of :mod:`..traced`."""

from __future__ import annotations

import re

from .liveness import GONE

_TOLD = {
    "call": ("in {0}", "{0}"),
    "build": ("in {0}, which built a tensor", "{0}"),
    "read": ("in {0}, which read a tensor", "{0}"),
    "after": ("after {0} had returned, in freeing tensors or in a thread of its own", "freeing tensors"),
}
"""Kind of use -> what is added to how the process ended, and what is said to end it; braces stand for the name."""
_KILLED = "the process ended with signal "
_TARGETS = re.compile(r"^((?:[xy]\d*|_)(?:, (?:[xy]\d*|_))*),? = ", re.MULTILINE)


def in_use(end: str, use: str | None) -> tuple[str, str]:
    """Return how a process ended with what it was doing, and the cause, which is the same whatever was tested."""
    if use is None:
        return end, end
    kind, _, name = use.partition(" ")
    if end == GONE:
        return f"{end} after {name}", f"{end} after {name}"
    if kind == "after" and not end.startswith(_KILLED):
        # Time and memory may be the suite's own.
        return f"{end}; the last use of the backend, {name}, had returned", end
    told, actor = (text.format(name) for text in _TOLD[kind])
    return f"{end} {told}", f"{end} in {actor}"


def is_building(use: str | None) -> bool:
    """Return whether a tensor was being built, before any operator was called."""
    return use is not None and use.startswith("build ")


def ended(snippet: str | None, use: str | None) -> str | None:
    """Return the snippet with a line that frees all its tensors, if that is what the process was doing."""
    if snippet is None or use is None or not use.startswith("after "):
        return snippet
    found = {name: None for line in _TARGETS.findall(snippet) for name in line.split(", ") if name != "_"}
    return f"{snippet}del {', '.join(found)}\n" if found else snippet
