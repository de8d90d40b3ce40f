"""A right allocator whose figures, snapshots and summaries are wrong: single calls of it, changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..backend_allocator import PLAIN_COUNTS, POOLS
from .mutant import Intercepted, Patch, rows

Changed = Callable[[dict[str, int], Intercepted], None]
Segments = list[dict[str, Any]]


def figures(change: Changed) -> Patch:
    """The right figures, changed in place."""

    def patch(c: Intercepted) -> Any:
        stats = dict(c.right())
        change(stats, c)
        return stats

    return patch


def segments(change: Callable[[Segments], Any]) -> Patch:
    """The right snapshot, changed in place; or what ``change`` gives instead."""

    def patch(c: Intercepted) -> Any:
        found = [{**g, "blocks": [dict(b) for b in g["blocks"]]} for g in c.right()]
        changed = change(found)
        return found if changed is None else changed

    return patch


def _copied(source: str, to: str, figure: str = "current") -> Changed:
    def change(stats: dict[str, int], c: Intercepted) -> None:
        for pool in POOLS:
            stats[f"{to}.{pool}.{figure}"] = stats[f"{source}.{pool}.{figure}"]

    return change


def _swapped(family: str) -> Changed:
    def change(stats: dict[str, int], c: Intercepted) -> None:
        for figure in ("current", "peak", "allocated", "freed"):
            small, large = (f"{family}.{pool}.{figure}" for pool in ("small_pool", "large_pool"))
            stats[small], stats[large] = stats[large], stats[small]

    return change


def _dropped(stats: dict[str, int], c: Intercepted) -> None:
    del stats["requested_bytes.large_pool.freed"]


def _floats(stats: dict[str, int], c: Intercepted) -> None:
    stats["allocated_bytes.all.current"] = float(stats["allocated_bytes.all.current"])  # type: ignore[assignment]


def _all_is_large(stats: dict[str, int], c: Intercepted) -> None:
    for name in [n for n in stats if ".all." in n and not n.endswith(".peak")]:
        stats[name] = stats[name.replace(".all.", ".large_pool.")]


def _peak_is_current(stats: dict[str, int], c: Intercepted) -> None:
    for name in [n for n in stats if n.endswith(".peak")]:
        stats[name] = stats[name.replace(".peak", ".current")]


def _peak_is_accumulated(stats: dict[str, int], c: Intercepted) -> None:
    for pool in POOLS:
        stats[f"allocation.{pool}.peak"] = stats[f"allocation.{pool}.allocated"]


def _freed_is_allocated(stats: dict[str, int], c: Intercepted) -> None:
    for pool in POOLS:
        stats[f"allocation.{pool}.freed"] = stats[f"allocation.{pool}.allocated"]


def _frees_of_segments_uncounted(stats: dict[str, int], c: Intercepted) -> None:
    stats["num_device_free"] = 0


def _whole_blocks_are_split(stats: dict[str, int], c: Intercepted) -> None:
    for pool in POOLS:
        inactive = stats[f"reserved_bytes.{pool}.current"] - stats[f"active_bytes.{pool}.current"]
        stats[f"inactive_split_bytes.{pool}.current"] = inactive


def _holes_are_not_told(stats: dict[str, int], c: Intercepted) -> None:
    """One inactive block a segment is told, and no more."""
    count = min(stats["inactive_split.all.current"], stats["segment.all.current"])
    stats["inactive_split.all.current"] = count


def _waiting_is_allocated(stats: dict[str, int], c: Intercepted) -> None:
    _copied("active", "allocation")(stats, c)
    _copied("active_bytes", "allocated_bytes")(stats, c)


def _waiting_is_not_active(stats: dict[str, int], c: Intercepted) -> None:
    _copied("allocation", "active")(stats, c)
    _copied("allocated_bytes", "active_bytes")(stats, c)


def _waits_count_as_misses(stats: dict[str, int], c: Intercepted) -> None:
    stats["num_device_alloc"] += stats["num_sync_all_streams"]


def _both_resets(c: Intercepted) -> Any:
    c.do("reset_peak_memory_stats", *c.args)
    return c.do("reset_accumulated_memory_stats", *c.args)


def _counts_survive(c: Intercepted) -> Any:
    """Resets leave the plain counts; the figures are asked for through this mutant as well."""
    kept: dict[int, Mapping[str, int]] = c.memory.setdefault("kept", {})
    number = id(c.args[0])
    if c.operator == "reset_accumulated_memory_stats":
        stats, before = c.do("memory_stats", *c.args), kept.get(number, {})
        kept[number] = {name: stats[name] + before.get(name, 0) for name in PLAIN_COUNTS}
        return c.right()
    if c.operator == "allocator":
        made = c.right()
        kept.pop(id(made), None)
        return made
    stats = dict(c.right())
    for name, count in kept.get(number, {}).items():
        stats[name] += count
    return stats


def _reversed(found: Segments) -> Any:
    return found[::-1]


def _kinds_swapped(found: Segments) -> None:
    for segment in found:
        segment["segment_type"] = {"small": "large", "large": "small"}[segment["segment_type"]]


def _all_small(found: Segments) -> None:
    for segment in found:
        segment["segment_type"] = "small"


def _requests_rounded(found: Segments) -> None:
    for segment in found:
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                block["requested_size"] = block["size"]


def _waiting_shown_inactive(found: Segments) -> None:
    for segment in found:
        for block in segment["blocks"]:
            block["state"] = "inactive" if block["state"] != "active_allocated" else "active_allocated"


def _states_renamed(found: Segments) -> None:
    for segment in found:
        for block in segment["blocks"]:
            block["state"] = {"inactive": "free"}.get(block["state"], block["state"])


def _active_is_total(found: Segments) -> None:
    for segment in found:
        segment["active_size"] = segment["total_size"]


def _streams_are_default(found: Segments) -> None:
    for segment in found:
        segment["stream"] = 0


def _free_segments_hidden(found: Segments) -> Any:
    return [segment for segment in found if segment["active_size"]]


def _free_blocks_hidden(found: Segments) -> None:
    for segment in found:
        segment["blocks"] = [b for b in segment["blocks"] if b["state"] != "inactive"] or segment["blocks"]


def _looking_empties(c: Intercepted) -> Any:
    c.do("empty_cache", c.args[0])
    return c.right()


def _runs_are_segments(stats: dict[str, int], c: Intercepted) -> None:
    found = c.do("memory_snapshot", *c.args)
    stats["segment.all.current"] = len(found)


def nothing(c: Intercepted) -> Any:
    return None


def _silent_when_empty(c: Intercepted) -> Any:
    stats = c.do("memory_stats", *c.args)
    if not stats["allocation.all.current"]:
        c.refuse(ZeroDivisionError, "nothing is allocated")
    return c.right()


def _tells_rounded(c: Intercepted) -> Any:
    return f"allocated {c.do('memory_stats', *c.args)['allocated_bytes.all.current']} B"


MUTANTS = rows(
    "allocator",
    ("allocated-counts-requests", "allocator/allocated-counts-rounded-sizes", ("memory_stats",),
     figures(_copied("requested_bytes", "allocated_bytes"))),
    ("requested-counts-rounded-sizes", "allocator/requested-counts-what-was-asked-for", ("memory_stats",),
     figures(_copied("active_bytes", "requested_bytes"))),
    ("reserved-counts-active-bytes", "allocator/reserved-counts-whole-segments allocator/figures-are-ordered",
     ("memory_stats",), figures(_copied("active_bytes", "reserved_bytes"))),
    ("waiting-blocks-are-allocated", "allocator/waiting-blocks-are-active-not-allocated", ("memory_stats",),
     figures(_waiting_is_allocated)),
    ("waiting-blocks-are-not-active", "allocator/waiting-blocks-are-active-not-allocated allocator/figures-are-ordered",
     ("memory_stats",), figures(_waiting_is_not_active)),
    ("pools-of-active-are-swapped", "allocator/snapshot-agrees-with-the-figures", ("memory_stats",),
     figures(_swapped("active"))),
    ("all-leaves-the-small-pool-out", "allocator/pools-add-up", ("memory_stats",), figures(_all_is_large)),
    ("a-figure-is-missing", "allocator/figures-have-fixed-names", ("memory_stats",), figures(_dropped)),
    ("figures-are-floats", "allocator/figures-have-fixed-names", ("memory_stats",), figures(_floats)),
    ("peaks-follow-current", "allocator/peak-is-the-highest-current", ("memory_stats",), figures(_peak_is_current)),
    ("peaks-count-all-requests", "allocator/peak-is-the-highest-current", ("memory_stats",),
     figures(_peak_is_accumulated)),
    ("freed-is-allocated", "allocator/current-is-allocated-minus-freed", ("memory_stats",),
     figures(_freed_is_allocated)),
    ("device-frees-are-not-counted",
     "allocator/empty-cache-releases-free-segments allocator/cache-is-released-before-giving-up", ("memory_stats",),
     figures(_frees_of_segments_uncounted)),
    ("waits-count-as-misses", "allocator/empty-cache-frees-nothing-for-its-own-users", ("memory_stats",),
     figures(_waits_count_as_misses)),
    ("growing-segments-are-counted", "allocator/expandable-segments-are-never-split-for-good", ("memory_stats",),
     figures(_runs_are_segments)),
    ("holes-are-not-told", "allocator/fragmentation-shows allocator/inactive-split-cannot-be-released",
     ("memory_stats",), figures(_holes_are_not_told)),
    ("whole-free-segments-are-split", "allocator/inactive-split-cannot-be-released", ("memory_stats",),
     figures(_whole_blocks_are_split)),
    ("peaks-cannot-be-reset", "allocator/reset-peak-starts-from-current", ("reset_peak_memory_stats",), nothing),
    ("accumulated-cannot-be-reset", "allocator/reset-accumulated-starts-from-zero", ("reset_accumulated_memory_stats",),
     nothing),
    ("either-reset-does-both", "allocator/reset-peak-starts-from-current", ("reset_peak_memory_stats",), _both_resets),
    ("resetting-accumulated-resets-peaks", "allocator/reset-accumulated-starts-from-zero",
     ("reset_accumulated_memory_stats",), _both_resets),
    ("plain-counts-survive-resets", "allocator/reset-accumulated-starts-from-zero",
     ("memory_stats", "reset_accumulated_memory_stats", "allocator"), _counts_survive),
    ("segments-come-in-reverse", "allocator/snapshot-lists-segments-by-address", ("memory_snapshot",),
     segments(_reversed)),
    ("kinds-of-segments-are-swapped",
     "allocator/snapshot-agrees-with-the-figures allocator/small-and-large-requests-have-own-pools",
     ("memory_snapshot",), segments(_kinds_swapped)),
    ("all-segments-are-small",
     "allocator/snapshot-agrees-with-the-figures allocator/small-and-large-requests-have-own-pools",
     ("memory_snapshot",), segments(_all_small)),
    ("snapshots-round-requests", "allocator/block-states-have-three-names", ("memory_snapshot",),
     segments(_requests_rounded)),
    ("snapshots-show-waiting-as-inactive",
     "allocator/block-states-have-three-names allocator/snapshot-agrees-with-the-figures", ("memory_snapshot",),
     segments(_waiting_shown_inactive)),
    ("inactive-blocks-are-called-free", "allocator/block-states-have-three-names", ("memory_snapshot",),
     segments(_states_renamed)),
    ("active-size-is-the-whole-segment", "allocator/segment-figures-are-sums-over-blocks", ("memory_snapshot",),
     segments(_active_is_total)),
    ("segments-name-no-stream", "allocator/snapshot-lists-segments-by-address", ("memory_snapshot",),
     segments(_streams_are_default)),
    ("free-segments-are-hidden",
     "allocator/snapshot-lists-segments-by-address allocator/snapshot-agrees-with-the-figures", ("memory_snapshot",),
     segments(_free_segments_hidden)),
    ("free-blocks-are-hidden", "allocator/blocks-tile-their-segment allocator/segment-figures-are-sums-over-blocks",
     ("memory_snapshot",), segments(_free_blocks_hidden)),
    ("snapshots-empty-the-cache", "allocator/looking-changes-nothing", ("memory_snapshot",), _looking_empties),
    ("summaries-empty-the-cache", "allocator/looking-changes-nothing", ("memory_summary",), _looking_empties),
    ("no-summary-of-nothing", "allocator/summary-never-fails", ("memory_summary",), _silent_when_empty),
    ("summary-leaves-reserved-out", "allocator/summary-never-fails", ("memory_summary",), _tells_rounded),
)
