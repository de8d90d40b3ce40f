"""Deterministic mode: whether memory that would stay uninitialised is filled, so that every run gives the same bits.

The engine's own operators repeat exactly in either mode; the mode decides what fresh memory holds.
"""

from __future__ import annotations

from .errors import type_error


class _Mode:
    __slots__ = ("enabled", "warn_only")

    def __init__(self) -> None:
        self.enabled = self.warn_only = False


MODE = _Mode()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Turn deterministic mode on or off; with `warn_only` an operator that cannot repeat warns instead of raising.
    Raises TypeError unless both are bools."""
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            type_error("use_deterministic_algorithms", name, value, "bool")
    MODE.enabled = mode
    MODE.warn_only = mode and warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether deterministic mode is on."""
    return MODE.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether deterministic mode is on and only warns."""
    return MODE.warn_only
