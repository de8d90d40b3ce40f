"""Current, peak, allocated and freed figures, kept by comparing the state after each event with the one before."""

from __future__ import annotations

from collections.abc import Mapping

from ..backend_allocator import FAMILIES, PLAIN_COUNTS, POOLS, SINGLE_FAMILIES

Currents = Mapping[str, int]

KEYS = (*(f"{family}.{pool}" for family in FAMILIES for pool in POOLS), *SINGLE_FAMILIES)
FAMILY = {key: key.partition(".")[0] for key in KEYS}
"""Key of a figure -> its family."""
NAMES = {kind: {key: f"{key}.{kind}" for key in KEYS} for kind in ("current", "peak", "allocated", "freed")}
"""Kind of figure, and key -> name in the chapter."""
ORDERLESS = frozenset(f"{family}.{pool}" for family in ("inactive_split", "inactive_split_bytes") for pool in POOLS)
"""Families whose other figures depend on the order in which several waiting blocks become inactive."""


class Figures:
    """All figures of one allocator; ``loose`` once blocks became inactive in an order that no rule names."""

    def __init__(self) -> None:
        self.current = dict.fromkeys(KEYS, 0)
        self.peak = dict.fromkeys(KEYS, 0)
        self.allocated = dict.fromkeys(KEYS, 0)
        self.freed = dict.fromkeys(KEYS, 0)
        self.counts = dict.fromkeys(PLAIN_COUNTS, 0)
        self.loose = False

    def see(self, state: Currents) -> None:
        """Take over the state after an event."""
        current = self.current
        for key in KEYS:
            now, before = state.get(key, 0), current[key]
            if now == before:
                continue
            if now > before:
                self.allocated[key] += now - before
            else:
                self.freed[key] += before - now
            current[key] = now
            self.peak[key] = max(self.peak[key], now)

    def reset_peaks(self) -> None:
        self.peak = dict(self.current)

    def reset_accumulated(self) -> None:
        self.allocated = dict.fromkeys(KEYS, 0)
        self.freed = dict.fromkeys(KEYS, 0)
        self.counts = dict.fromkeys(PLAIN_COUNTS, 0)

    def of(self, kind: str) -> Mapping[str, int]:
        """The figures of a kind ("current", "peak", "allocated" or "freed") that are determined."""
        figures: dict[str, int] = getattr(self, kind)
        if self.loose and kind != "current":
            return {key: figure for key, figure in figures.items() if key not in ORDERLESS}
        return figures

    def by_name(self) -> dict[str, int]:
        """The figures that are determined, by the names of the chapter."""
        named = dict(self.counts)
        for kind, names in NAMES.items():
            named.update({names[key]: figure for key, figure in self.of(kind).items()})
        return named
