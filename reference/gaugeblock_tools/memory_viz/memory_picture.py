"""Pictures of memory, as one page that needs nothing else: over time, and segment by segment."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..trace_replay.fragmentation import Fragmentation, fragmentation_of
from ..trace_replay.replay import replayed
from ..trace_replay.snapshot import Segment, Snapshot, line
from ..trace_replay.trace import Trace
from ..trace_replay.units import size_text
from . import memory_map_svg, memory_over_time_svg
from .memory_map import memory_map
from .memory_over_time import MemoryOverTime, memory_over_time
from .page import page, table

LINES = 3
"""Of a stack in the table of the largest blocks."""


def picture_of_snapshot(snapshot: Snapshot, trace: Trace, name: str) -> str:
    """Return what was recorded: memory over the entries, and the segments at the time of the snapshot."""
    made = memory_over_time(trace, trace.reserved)
    at = fragmentation_of(snapshot.segments)
    settings = snapshot.settings.get("PYTORCH_CUDA_ALLOC_CONF")
    facts = [*_facts(at), ("configuration", str(settings)[:200] if settings else "defaults")]
    return _page(f"Memory: {name}", facts, trace, made, snapshot.segments, "Segments and blocks, at the snapshot")


def picture_of_replay(
    trace: Trace, config: str = "", device_memory: int | None = None, mode: str = "fixed", name: str = "trace"
) -> str:
    """Return what a replay came to: memory over the events, and the segments when most was reserved.

    Raises:
        ConfigProblem: the configuration is not one.
    """
    result, reserved, segments = replayed(trace, config, device_memory, mode)
    made = memory_over_time(trace, reserved)
    facts = [
        ("configuration", config or "defaults"),
        ("device", size_text(device_memory) if device_memory else "without limit"),
        ("peak reserved", f"{size_text(result.peak_reserved)} at event {result.peak_event}"),
        ("device mallocs", f"{result.device_mallocs}"),
        ("retries, failures", f"{result.retries}, {result.out_of_memory}"),
        *_facts(result.at_peak)[1:],
    ]
    heading = f"Segments and blocks, after event {result.peak_event}, when most was reserved"
    return _page(f"Memory of a replay: {name}", facts, trace, made, segments, heading)


def _facts(at: Fragmentation) -> list[tuple[str, str]]:
    return [
        ("reserved", size_text(at.reserved)),
        ("in use", f"{size_text(at.allocated)} ({1 - at.idle:.1%} of it)"),
        ("free", f"{size_text(at.free)} in {at.free_blocks} blocks, the largest of {size_text(at.largest_free)}"),
        ("scattered", f"{at.scattered:.1%} of the free bytes lie outside the largest free block"),
        ("stuck", f"{size_text(at.stuck)} free in segments that are partly in use"),
        ("rounding", f"{at.rounded:.1%} of the bytes in use"),
    ]


def _page(
    title: str,
    facts: list[tuple[str, str]],
    trace: Trace,
    made: MemoryOverTime,
    segments: Sequence[Segment],
    heading: str,
) -> str:
    parts = [f"<h1>{escape(title)}</h1>", table(["", ""], [[name, value] for name, value in facts], 0)]
    parts += [f'<p class="note">{escape(note)}.</p>' for note in trace.notes]
    if len(trace):
        parts += [
            "<h2>Memory over time</h2>",
            '<p class="note">Bytes as asked for, stacked by the place that allocated them; of each run of events, the '
            "moment at which most was in use.</p>",
            memory_over_time_svg.svg(made),
            _line_legend(made),
            memory_over_time_svg.legend(made),
            f"<h3>The largest blocks at event {made.peak_event}, when most was in use</h3>",
            table(["size", "allocated at event", "stack"], [
                [size_text(one.size), str(one.event),
                 " ← ".join(line(frame) for frame in one.stack[:LINES])]
                for one in made.largest
            ], 2),
        ]  # fmt: skip
    parts.append(f"<h2>{escape(heading)}</h2>")
    if segments:
        parts += [memory_map_svg.legend(), memory_map_svg.drawings(memory_map(segments))]
    else:
        parts.append('<p class="note">There are no segments.</p>')
    return page(title, "".join(parts))


def _line_legend(made: MemoryOverTime) -> str:
    items = []
    if any(one.reserved is not None for one in made.columns):
        items.append('<li><span class="key line"></span>reserved</li>')
    if any(one.waiting for one in made.columns):
        items.append('<li><span class="key hatched"></span>freed, another stream still uses it</li>')
    if made.failed:
        items.append('<li><span class="key dashed"></span>a request failed here, when recorded</li>')
    return f'<ul class="legend flat">{"".join(items)}</ul>' if items else ""
