"""Replays, sweeps and snapshots as text and as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .fragmentation import Fragmentation, fragmentation_of
from .replay import Replay
from .replay_device import UNLIMITED
from .shortage import Pieces
from .snapshot import ACTIVE, INACTIVE, PENDING, Snapshot, line, program_part
from .sweep import Sweep, recommendation
from .units import counted, size_text

SCHEMA = "gaugeblock-allocator-report/1"
MOST = 12
"""Lines of a list in text."""


def table(rows: list[list[str]]) -> list[str]:
    """Rows of words in columns, the first one at the left, numbers at the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            word.ljust(width) if place == 0 else word.rjust(width)
            for place, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def replay_text(one: Replay, smallest: int | None = None) -> str:
    """Return the result of a replay as lines of name and value, with the smallest device that serves it if known."""
    at = one.at_peak
    rows = [
        ["configuration", one.config or "defaults"],
        ["device memory", size_text(one.device_memory) if one.device_memory else "without limit (--device-memory)"],
        ["events", f"{one.events}"],
        ["peak requested", size_text(one.peak_requested)],
        ["peak allocated", size_text(one.peak_allocated)],
        ["peak reserved", f"{size_text(one.peak_reserved)} at event {one.peak_event}"],
        ["  idle then", f"{at.idle:.1%} of it was not in use"],
        ["  scattered then", f"{at.scattered:.1%} of the free bytes lay outside the largest free block"],
        ["  rounded then", f"{at.rounded:.1%} of the bytes in use were added by rounding"],
        ["  largest free block", f"{size_text(at.largest_free)} of {size_text(at.free)} in {at.free_blocks} blocks"],
        ["device mallocs, frees", f"{one.device_mallocs}, {one.device_frees}"],
        ["retries", f"{one.retries}"],
        ["out of memory", f"{one.out_of_memory}"],
    ]
    if smallest is not None:
        rows.append(["smallest device", f"{_device(smallest)}, to 1%"])
    if one.attempts:
        rows.append(["failed when recorded", f"{one.attempts}, of which {one.attempts_fit} are served here"])
    if one.first is not None:
        rows.append(["first failure", f"event {one.first.event}, {size_text(one.first.size)} asked for"])
        rows += [["", line] for line in one.first.lines()]
    width = max(len(row[0]) for row in rows)
    lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
    return "\n".join([*lines, *(f"note: {note}" for note in one.notes)]) + "\n"


def sweep_text(result: Sweep) -> str:
    """The ranking as a table, and what to try."""
    head = ["configuration", "peak reserved", "idle", "scattered", "mallocs", "retries", "failed"]
    rows = [[*head, *(["fits in"] if result.smallest else [])]]
    for one in result.ranked:
        rows.append([
            one.config or "defaults",
            size_text(one.peak_reserved),
            f"{one.at_peak.idle:.1%}",
            f"{one.at_peak.scattered:.1%}",
            f"{one.device_mallocs}",
            f"{one.retries}",
            f"{one.out_of_memory}",
            *([_device(result.smallest[one.config])] if result.smallest else []),
        ])  # fmt: skip
    lines = [*table(rows), "", *recommendation(result)]
    if result.left_out:
        left = counted(len(result.left_out), "configuration")
        lines.append(f"left out: {left} that act only where the device's size is stated (--device-memory)")
    return "\n".join([*lines, *(f"note: {note}" for note in result.default.notes)]) + "\n"


def replay_value(one: Replay, smallest: int | None = None) -> dict[str, Any]:
    """A replay as a JSON value, sizes in bytes; the time it took is not part of it, so that equal runs are equal."""
    value = asdict(one)
    del value["seconds"]
    value["at_peak"] |= _shares(one.at_peak)
    if one.first is not None:
        value["first"]["at"] |= _shares(one.first.at)
        for name, part in value["first"].items():
            if isinstance(part, Pieces):
                value["first"][name] = part._asdict()
    return {"schema": SCHEMA, **value, "fits": one.fits} | ({"smallest_device": smallest} if smallest else {})


def sweep_value(result: Sweep) -> dict[str, Any]:
    """A sweep as a JSON value: the replays from best to worst, and the recommendation."""
    return {
        "schema": SCHEMA,
        "ranked": [_sweep_row(result, one) for one in result.ranked],
        "recommendation": recommendation(result),
        "left_out": result.left_out,
    }


def _device(size: int) -> str:
    return "none" if size >= UNLIMITED else size_text(size)


def _sweep_row(result: Sweep, one: Replay) -> dict[str, Any]:
    fits_in = {"smallest_device": result.smallest[one.config]} if result.smallest else {}
    return replay_value(one) | {"effect": result.effects[one.config]} | fits_in


def show_value(snapshot: Snapshot) -> dict[str, Any]:
    """Return what a snapshot holds: sums per device, pool and stream, and the largest sites of blocks in use."""
    groups: dict[tuple[int, tuple[int, int], int, str], list[int]] = {}
    sites: dict[str, list[int]] = {}
    for segment in snapshot.segments:
        sums = groups.setdefault((segment.device, segment.pool, segment.stream, segment.kind), [0] * 7)
        sums[0] += 1
        sums[1] += segment.size
        for block in segment.blocks:
            place = {ACTIVE: 2, PENDING: 3, INACTIVE: 4}[block.state]
            sums[place] += block.size
            if block.state == INACTIVE:
                sums[5] += 1
                sums[6] = max(sums[6], block.size)
            else:
                stack = program_part(block.stack)
                found = sites.setdefault(line(stack[0]) if stack else "no stack", [0, 0])
                found[0] += block.size
                found[1] += 1
    names = ("segments", "reserved", "allocated", "waiting", "free", "free_blocks", "largest_free")
    return {
        "schema": SCHEMA,
        "groups": [
            {"device": device, "pool": list(pool), "stream": stream, "kind": kind} | dict(zip(names, sums, strict=True))
            for (device, pool, stream, kind), sums in sorted(groups.items())
        ],
        "sites": [
            {"site": name, "bytes": size, "blocks": count}
            for name, (size, count) in sorted(sites.items(), key=lambda item: (-item[1][0], item[0]))
        ],
        "entries": [len(trace) for trace in snapshot.traces],
        "settings": snapshot.settings,
    }


def show_text(snapshot: Snapshot) -> str:
    """`show_value` as text, the longest lists cut."""
    value = show_value(snapshot)
    head = ["device, pool, stream, kind", "segments", "reserved", "allocated", "waiting", "free", "largest free"]
    rows = [head]
    for one in value["groups"]:
        pool = "" if one["pool"] == [0, 0] else f" pool {one['pool'][0]},{one['pool'][1]}"
        rows.append([
            f"{one['device']}{pool} stream {one['stream']} {one['kind']}",
            f"{one['segments']}",
            *(size_text(one[name]) for name in ("reserved", "allocated", "waiting", "free", "largest_free")),
        ])  # fmt: skip
    total = fragmentation_of(snapshot.segments)
    lines = table(rows[: MOST + 1])
    if len(rows) > MOST + 1:
        lines.append(f"... and {len(rows) - MOST - 1} more (--format json)")
    lines += [
        "",
        f"{size_text(total.reserved)} reserved, {total.idle:.1%} of it idle; {size_text(total.free)} free in "
        f"{total.free_blocks} blocks, {total.scattered:.1%} outside the largest",
        f"entries recorded: {', '.join(map(str, value['entries'])) or 'none'} (per device)",
    ]
    if value["sites"]:
        lines += ["", "in use, by the innermost line of the program:"]
        lines += table([[f"  {one['site']}", size_text(one["bytes"]), f"{one['blocks']} blocks"]
                        for one in value["sites"][:MOST]])  # fmt: skip
    return "\n".join(lines) + "\n"


def _shares(at: Fragmentation) -> dict[str, float]:
    return {"idle": at.idle, "scattered": at.scattered, "rounded": at.rounded}
