"""Memory over the events of a trace, summed up in columns, with the call sites that hold most of it.

A column stands for a run of events. It shows the moment in it at which most was in use, so that no peak is lost however
many events there are; the most reserved in it is shown beside that.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

from ..trace_replay.snapshot import Stack, program_part, site
from ..trace_replay.trace import ALLOC, ATTEMPT, COMPLETED, FREE, RECORD_STREAM, Trace
from ..trace_replay.units import counted, size_text

COLUMNS = 600
BANDS = 8
"""Sites with a band of their own; the others share one."""
LARGEST = 15
FAILURES = 50


@dataclass
class Band:
    """Allocations of one call site of the program (or, where no stacks were recorded, of one range of sizes); bytes as
    asked for. `stack` begins at that site."""

    label: str
    stack: Stack
    peak: int = 0
    count: int = 0
    area: int = 0
    """Bytes times events for which they were in use: what decides over a band of its own."""


class Column(NamedTuple):
    """Events `first` to `last`. At the event `at`, `parts` bytes were in use per band, and `waiting` more had been
    freed while another stream still used them. `reserved` is None where it was not recorded."""

    first: int
    last: int
    at: int
    parts: tuple[int, ...]
    waiting: int
    reserved: int | None

    @property
    def used(self) -> int:
        return sum(self.parts)


class Held(NamedTuple):
    """A block that was in use when most was: its size, its band's stack, the event of its allocation."""

    size: int
    stack: Stack
    event: int


@dataclass
class MemoryOverTime:
    """Bands from the largest to "other", columns by time, the event at which most was in use, the largest blocks then,
    and the first events at which requests failed when recorded."""

    bands: list[Band]
    columns: list[Column]
    peak_event: int
    peak: int
    largest: list[Held] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    @property
    def top(self) -> int:
        """The highest value of any column."""
        return max((max(one.used + one.waiting, one.reserved or 0) for one in self.columns), default=0)


def memory_over_time(trace: Trace, reserved: list[tuple[int, int]], columns: int = COLUMNS) -> MemoryOverTime:
    """Sum up a trace; `reserved` lists bytes from an event on, in order, or nothing where that is not known."""
    site_of, sites = _sites(trace)
    ranks = sorted(range(len(sites)), key=lambda number: (-sites[number].area, number))
    chosen = ranks[:BANDS]
    band_of = [BANDS] * len(sites)
    for place, number in enumerate(chosen):
        band_of[number] = place
    rest = [sites[number] for number in ranks[BANDS:]]
    bands = [sites[number] for number in chosen]
    if rest:
        bands.append(Band(counted(len(rest), "other site"), (), 0, sum(one.count for one in rest)))
    walk = _Walk(trace, [min(band_of[number], len(bands) - 1) for number in site_of], len(bands))
    made = walk.columns(reserved, columns)
    for band, peak in zip(bands, walk.peaks, strict=True):
        band.peak = peak
    largest = [Held(size, sites[site_of[block]].stack, event) for size, block, event in walk.largest_at_peak()]
    failed = [at for at, kind in enumerate(trace.kinds) if kind == ATTEMPT][:FAILURES]
    return MemoryOverTime(bands, made, walk.peak_event, walk.peak, largest, failed)


def _sites(trace: Trace) -> tuple[list[int], list[Band]]:
    """The site of each block, and the sites by their first allocation."""
    stacked = any(trace.stack)
    stacks = [program_part(stack) for stack in trace.stacks]
    keys = {stack: place for place, stack in enumerate(stacks)}
    key_of = [keys[stack] for stack in stacks]
    places: dict[int, int] = {}
    sites: list[Band] = []
    site_of = [0] * trace.block_count
    sizes = [0] * trace.block_count
    end = len(trace)
    for at, (kind, block, size, _, stack) in enumerate(trace):
        if kind == ALLOC:
            key = key_of[stack] if stacked else size.bit_length()
            number = places.get(key)
            if number is None:
                number = places[key] = len(sites)
                sites.append(Band(_label(stacks[stack], size, stacked), stacks[stack]))
            site_of[block] = number
            sizes[block] = size
            band = sites[number]
            band.count += 1
            band.area += size * (end - at)
        elif kind == FREE:
            sites[site_of[block]].area -= sizes[block] * (end - at)
    return site_of, sites


def _label(stack: Stack, size: int, stacked: bool) -> str:
    if stack:
        return site(stack[0])
    if stacked:
        return "no stack"
    low = 1 << max(size.bit_length() - 1, 0)
    return f"{size_text(low)} to {size_text(2 * low)}"


class _Walk:
    """Goes through a trace once, and again as far as its peak."""

    def __init__(self, trace: Trace, band_of: list[int], bands: int) -> None:
        self.trace = trace
        self.band_of = band_of
        self.bands = bands
        self.peaks = [0] * bands
        self.peak = 0
        self.peak_event = 0

    def columns(self, reserved: list[tuple[int, int]], wanted: int) -> list[Column]:
        trace, band_of = self.trace, self.band_of
        count = len(trace)
        parts, peaks = [0] * self.bands, self.peaks
        sizes = [0] * trace.block_count
        recorded: set[int] = set()
        made: list[Column] = []
        used = waiting = 0
        held, step = (0 if reserved else None), 0
        for number in range(min(wanted, count)):
            first, last = number * count // min(wanted, count), (number + 1) * count // min(wanted, count) - 1
            most, best = -1, Column(first, last, first, tuple(parts), waiting, None)
            highest = held
            for at in range(first, last + 1):
                kind, block = trace.kinds[at], trace.block[at]
                if kind == ALLOC:
                    size = sizes[block] = trace.size[at]
                    used += size
                    band = band_of[block]
                    parts[band] += size
                    if parts[band] > peaks[band]:
                        peaks[band] = parts[band]
                elif kind == FREE:
                    used -= sizes[block]
                    parts[band_of[block]] -= sizes[block]
                    waiting += sizes[block] if block in recorded else 0
                elif kind == RECORD_STREAM:
                    recorded.add(block)
                elif kind == COMPLETED and block in recorded:
                    waiting -= sizes[block]
                while step < len(reserved) and reserved[step][0] <= at:
                    held = reserved[step][1]
                    highest = max(highest or 0, held)
                    step += 1
                if used > most:
                    most = used
                    best = Column(first, last, at, tuple(parts), waiting, None)
                if used > self.peak:
                    self.peak, self.peak_event = used, at
            made.append(best._replace(reserved=highest))
        return made

    def largest_at_peak(self) -> list[tuple[int, int, int]]:
        """Size, block and event of the largest blocks in use at the peak."""
        trace = self.trace
        live: dict[int, tuple[int, int]] = {}
        for at in range(min(self.peak_event + 1, len(trace))):
            if trace.kinds[at] == ALLOC:
                live[trace.block[at]] = (trace.size[at], at)
            elif trace.kinds[at] == FREE:
                live.pop(trace.block[at], None)
        found = ((size, block, event) for block, (size, event) in live.items())
        return heapq.nlargest(LARGEST, found, key=lambda one: (one[0], -one[1]))
