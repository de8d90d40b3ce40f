"""Mistakes of users that the tools report: one line each, and the exit status that a command ends with."""

from __future__ import annotations

USAGE = 2


class SnapshotProblem(ValueError):
    """A snapshot or trace that cannot be read; the text names the file, the field and what is allowed there."""

    exit_status = USAGE


class ConfigProblem(ValueError):
    """A configuration that the allocator refuses."""

    exit_status = USAGE


class PictureProblem(ValueError):
    """An expression that cannot be drawn; the text names the part, what was given and what is allowed."""

    exit_status = USAGE


def shown(value: object) -> str:
    """A value in a message: its type, and what it is when that is short."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, int):
        return str(value) if -(1 << 70) < value < 1 << 70 else f"an int of {value.bit_length()} bits"
    if isinstance(value, float):
        return repr(value)
    return f"a {type(value).__name__}"
