"""Values of the command line: each says what is allowed where it refuses one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import discovery


def backend_help() -> str:
    """What names a backend, for the help of an argument."""
    return f"NAME[:DEVICE] (installed: {', '.join(discovery.installed()) or 'none'}), {discovery.FORMS}"


def words(given: Sequence[str]) -> list[str]:
    """What options that may be given several times, or with commas, name."""
    return [word for item in given for word in item.split(",") if word]


def positive(text: str) -> int:
    """A number from 1 on."""
    return _number(text, 1, "a whole number from 1")


def megabytes(text: str) -> int:
    """Bytes, of a number of MiB."""
    return _number(text, 0, "a whole number of MiB from 0") << 20


def total(text: str) -> float:
    """A finite time above 0, or ``none`` for no limit."""
    return float("inf") if text == "none" else seconds(text, " or none")


def _number(text: str, least: int, allowed: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
    return value


def seconds(text: str, others: str = "") -> float:
    """A finite time above 0; ``others`` are words that the option takes beside it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0{others}")
    return value
