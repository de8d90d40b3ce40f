"""The drawing of segments and blocks: one picture per group, rows of blocks in the colours of their states."""

from __future__ import annotations

from html import escape

from ..trace_replay.snapshot import ACTIVE, INACTIVE, PENDING
from ..trace_replay.units import size_text
from .memory_map import STATE_WORDS, WIDTH, Group, MemoryMap

ROW, GAP = 18, 4
CLASSES = {ACTIVE: "used", PENDING: "pending", INACTIVE: "free"}
LABELLED = 70
"""Pixels from which on a block bears its size."""


def drawings(made: MemoryMap) -> str:
    """Headings and pictures of all groups, and a line on those that were left out."""
    parts = [
        f'<p class="note">A row stands for {size_text(made.row_bytes)}. Tab moves from group to group, '
        "the arrow keys from block to block.</p>"
    ]
    for group in made.groups:
        parts.append(f"<h3>{escape(group.title)}</h3>{_svg(group)}")
    if made.left_out:
        parts.append(f'<p class="note">{made.left_out} smaller groups are left out.</p>')
    return "".join(parts)


def legend() -> str:
    """Return what the colours mean."""
    words = [*((CLASSES[state], text) for state, text in STATE_WORDS.items()), ("mixed", "several blocks, too small")]
    items = "".join(f'<li><span class="key {name}"></span>{escape(text)}</li>' for name, text in words)
    return f'<ul class="legend flat">{items}</ul>'


def _svg(group: Group) -> str:
    height = group.rows * (ROW + GAP)
    parts = [
        f'<svg class="map" viewBox="0 0 {WIDTH} {height}" tabindex="0" role="img" '
        f'aria-label="{escape(group.title)}, {len(group.runs)} blocks or runs of blocks">'
    ]
    labelled: set[str] = set()
    for run in group.runs:
        top = run.row * (ROW + GAP)
        width = max(run.right - run.left, 0.3)
        name = CLASSES.get(run.state, "mixed")
        parts.append(
            f'<rect class="{name}" x="{run.left:.1f}" y="{top}" width="{width:.1f}" height="{ROW}">'
            f"<title>{escape(run.text)}</title></rect>"
        )
        if width >= LABELLED and run.state in CLASSES and run.text not in labelled:
            labelled.add(run.text)
            label = escape(run.text.partition(" in use")[0].partition(" free")[0].partition(",")[0])
            parts.append(f'<text class="on {name}" x="{run.left + width / 2:.1f}" y="{top + 13}">{label}</text>')
    for row, left, right in group.bars:
        if right - left >= 1:
            parts.append(
                f'<rect class="bar" x="{left:.1f}" y="{row * (ROW + GAP)}" width="{right - left:.1f}" height="{ROW}"/>'
            )
    return "".join([*parts, "</svg>"])
