"""The sizes of the chapter, as a table of limits and functions of a few lines."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
UNIT = 512
SMALL_LIMIT = MIB
SMALL_SEGMENT = 2 * MIB
LARGE_SEGMENT = 20 * MIB
HUGE_FROM = 10 * MIB
HUGE_STEP = 2 * MIB
_LAST_INTERVAL = 15


def up(size: int, step: int) -> int:
    """``size`` rounded up to a multiple of ``step``."""
    return -(-size // step) * step


@dataclass(frozen=True)
class Rules:
    """What a configuration chooses; sizes in bytes, ``divisions`` a number or pairs of (MiB or '>', number)."""

    max_split: int | None = None
    rounding_limit: int = 20 * MIB
    divisions: int | tuple[tuple[int | str, int], ...] = 0
    threshold: float = 0.0
    large_segment: int = LARGE_SEGMENT

    @property
    def config(self) -> str:
        """The configuration that says so."""
        pairs = []
        if self.max_split is not None:
            pairs.append(f"max_split_size_mb:{self.max_split // MIB}")
        if self.rounding_limit != 20 * MIB:
            pairs.append(f"max_non_split_rounding_mb:{self.rounding_limit // MIB}")
        if isinstance(self.divisions, tuple):
            entries = ",".join(f"{limit}:{number}" for limit, number in self.divisions)
            pairs.append(f"roundup_power2_divisions:[{entries}]")
        elif self.divisions:
            pairs.append(f"roundup_power2_divisions:{self.divisions}")
        if self.threshold:
            pairs.append(f"garbage_collection_threshold:{self.threshold}")
        if self.large_segment != LARGE_SEGMENT:
            pairs.append(f"large_segment_size_mb:{self.large_segment // MIB}")
        return ",".join(pairs)

    def divisions_for(self, size: int) -> int:
        """The number of steps between two powers of two at ``size``; 0 for none."""
        if not isinstance(self.divisions, tuple):
            return self.divisions
        listed = {limit.bit_length() - 1: number for limit, number in self.divisions if isinstance(limit, int)}
        rest = dict(self.divisions).get(">", 0)
        interval = min(max(size.bit_length() - 21, 0), _LAST_INTERVAL)
        if interval < min(listed):
            return listed[min(listed)]
        return listed.get(interval, rest if interval > max(listed) else 0)

    def rounded(self, size: int) -> int:
        """The size of a block for a request of ``size`` bytes, at least one."""
        steps = self.divisions_for(size)
        if steps > 1 and size > UNIT * steps:
            return up(size, 2 ** (size.bit_length() - 1) // steps)
        return up(size, UNIT)

    def is_small(self, rounded: int) -> bool:
        return rounded <= SMALL_LIMIT

    def segment_size(self, rounded: int) -> int:
        """The size of a new segment for a block of ``rounded`` bytes."""
        if self.is_small(rounded):
            return SMALL_SEGMENT
        return self.large_segment if rounded < HUGE_FROM else up(rounded, HUGE_STEP)

    def splits(self, found: int, rounded: int) -> bool:
        """Return whether a free block of ``found`` bytes is split for one of ``rounded`` bytes."""
        rest = found - rounded
        if self.is_small(rounded):
            return rest >= UNIT
        return rest > SMALL_LIMIT and (self.max_split is None or rounded < self.max_split)

    def serves(self, found: int, rounded: int) -> bool:
        """Return whether the best fitting free block, of ``found`` bytes, may be handed out for one of ``rounded``
        bytes."""
        if self.max_split is None:
            return True
        if rounded < self.max_split:
            return found < self.max_split
        return found < rounded + self.rounding_limit
