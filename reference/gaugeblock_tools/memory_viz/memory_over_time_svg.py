"""The drawing of memory over time: bands stacked, lines for what waits and what is reserved."""

from __future__ import annotations

from html import escape

from ..trace_replay.snapshot import line
from ..trace_replay.units import UNITS, counted, size_text
from .memory_over_time import Band, Column, MemoryOverTime

WIDTH, HEIGHT = 1000, 360
LEFT, RIGHT, TOP, BOTTOM = 78, 12, 12, 34
LINES = 8
"""Of a stack that are told."""


def svg(made: MemoryOverTime) -> str:
    """The picture as one element. Its columns are kept in `data-columns` for the reader's cursor: first and last event,
    bytes in use, waiting and reserved (empty where unknown)."""
    plot = _Plot(made)
    data = ";".join(
        f"{one.first},{one.last},{one.used},{one.waiting},{'' if one.reserved is None else one.reserved}"
        for one in made.columns
    )
    parts = [
        f'<svg id="time" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" tabindex="0" role="img" '
        f'aria-label="Memory over {made.columns[-1].last + 1 if made.columns else 0} events: at most '
        f'{size_text(made.peak)} in use, at event {made.peak_event}. Arrow keys move through the events." '
        f'data-left="{LEFT}" data-right="{WIDTH - RIGHT}" data-columns="{data}">',
        *plot.grid(),
        *plot.bands(),
        *plot.lines(),
        *plot.failures(),
        f'<line id="cursor" class="cursor" x1="0" x2="0" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/>',
        "</svg>",
    ]
    return "".join(parts)


def legend(made: MemoryOverTime) -> str:
    """The bands as a list, the topmost first, each with its stack."""
    items = []
    for place in reversed(range(len(made.bands))):
        band = made.bands[place]
        stack = "".join(f"<li>{escape(text)}</li>" for text in _stack_lines(band))
        detail = f"<details><summary>stack</summary><ol>{stack}</ol></details>" if stack else ""
        items.append(
            f'<li><span class="key b{place}"></span><span>{escape(band.label)}<br>'
            f"<small>{size_text(band.peak)} at most, {counted(band.count, 'allocation')}</small>{detail}</span></li>"
        )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _stack_lines(band: Band) -> list[str]:
    return [line(frame) for frame in band.stack[:LINES]]


class _Plot:
    """Bytes and columns as pixels."""

    def __init__(self, made: MemoryOverTime) -> None:
        self.made = made
        self.step, self.top = _scale(made.top)
        self.width = (WIDTH - LEFT - RIGHT) / max(len(made.columns), 1)

    def x(self, column: int) -> str:
        return f"{LEFT + column * self.width:.1f}"

    def y(self, size: int) -> str:
        return f"{HEIGHT - BOTTOM - size / self.top * (HEIGHT - TOP - BOTTOM):.1f}"

    def grid(self) -> list[str]:
        """Horizontal lines with sizes, and the events below."""
        parts = []
        for place in range(int(self.top / self.step) + 1):
            y = self.y(int(place * self.step))
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
                f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">{size_text(place * self.step)}</text>'
            )
        count = self.made.columns[-1].last + 1 if self.made.columns else 0
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            x = LEFT + share * (WIDTH - LEFT - RIGHT)
            parts.append(
                f'<text x="{x:.0f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="{anchor}">{int(share * count)}</text>'
            )
        parts.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">event</text>')
        return parts

    def bands(self) -> list[str]:
        """The bands from the bottom up, the largest at the bottom."""
        columns = self.made.columns
        below = [0] * len(columns)
        parts = []
        for place, band in enumerate(self.made.bands):
            above = [low + one.parts[place] for low, one in zip(below, columns, strict=True)]
            path = self._area(below, above)
            text = "\n".join([band.label, f"{size_text(band.peak)} at most", *_stack_lines(band)[1:]])
            parts.append(f'<path class="band b{place}" d="{path}"><title>{escape(text)}</title></path>')
            below = above
        waiting = [low + one.waiting for low, one in zip(below, columns, strict=True)]
        if waiting != below:
            parts.append(
                '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
                'patternTransform="rotate(45)"><path class="hatch" d="M1.5 0v6"/></pattern></defs>'
                f'<path class="waiting" d="{self._area(below, waiting)}">'
                "<title>freed, but another stream still uses it</title></path>"
            )
        return parts

    def lines(self) -> list[str]:
        """Return what is reserved, where it is known."""
        known = [(place, one) for place, one in enumerate(self.made.columns) if one.reserved is not None]
        if not known:
            return []
        return [f'<path class="reserved" d="M{" ".join(self._step(place, one) for place, one in known)}"/>']

    def failures(self) -> list[str]:
        """A mark for each request that failed when recorded."""
        count = self.made.columns[-1].last + 1 if self.made.columns else 1
        parts = []
        for event in self.made.failed:
            x = LEFT + (event + 0.5) / count * (WIDTH - LEFT - RIGHT)
            parts.append(
                f'<path class="failed" d="M{x:.1f} {TOP}v{HEIGHT - TOP - BOTTOM}m-5 0l5 -9 5 9z">'
                f"<title>a request failed here, when recorded: out of memory at event {event}</title></path>"
            )
        return parts

    def _step(self, place: int, column: Column) -> str:
        y = self.y(column.reserved or 0)
        return f"{self.x(place)} {y} {self.x(place + 1)} {y}"

    def _area(self, below: list[int], above: list[int]) -> str:
        """A closed outline in steps; columns in which nothing changes share one."""
        up: list[str] = []
        down: list[str] = []
        start = 0
        for place in range(len(above)):
            last = place + 1 == len(above)
            if last or above[place + 1] != above[place] or below[place + 1] != below[place]:
                left, right = self.x(start), self.x(place + 1)
                up.append(f"{left} {self.y(above[place])} {right} {self.y(above[place])}")
                down.append(f"{right} {self.y(below[place])} {left} {self.y(below[place])}")
                start = place + 1
        return f"M{' '.join(up)} {' '.join(reversed(down))}z" if up else ""


def _scale(top: int) -> tuple[float, float]:
    """The distance of grid lines, a round number of the unit of `top`, and the highest of them."""
    unit = 1
    while top / unit >= 1024 and unit < 1024 ** (len(UNITS) - 1):
        unit *= 1024
    value = max(top / unit, 1)
    step = next(
        size for power in range(64) for size in (1 * 10**power / 10, 2.5 * 10**power / 10, 5 * 10**power / 10)
        if value / size <= 6
    )  # fmt: skip
    return step * unit, -(-value // step) * step * unit
