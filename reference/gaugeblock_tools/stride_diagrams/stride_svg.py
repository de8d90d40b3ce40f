"""The picture of strides as SVG: for each tensor its elements, the cells that they read, and the path through them.

A row of the tensor has one tint among its elements and its cells. The drawing is 440 units wide, so that it can be read
on a narrow screen, and takes its colours from CSS variables `--gb-...` where the page that holds it sets them.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from html import escape
from importlib import resources

from .expression import Step
from .placement import Placement, bracketed, count, letters, value_text
from .stride_text import storage_names
from .window import Block, axes, blocks, left_out, shown_cells

WIDTH, MARGIN = 440, 16
CELL, BOX, LINE = 34, 24, 15
PER_ROW = (WIDTH - 2 * MARGIN) // CELL
CELLS, ROWS, COLUMNS, BLOCKS, STACKED, HOPS = 3 * PER_ROW, 8, 10, 4, 4, 40
"""At most so many cells, rows and columns of a block, blocks, readers of a cell, and steps of the path are drawn."""
CHARACTERS = 55
ARC = 24


def render(expression: str, steps: Sequence[Step], last: bool = False) -> str:
    """The SVG document of all steps, or of the last one alone."""
    names = storage_names(steps)
    shown = list(zip(steps, names, strict=True))[-1 if last else 0 :]
    drawing = _Drawing()
    for number, (step, name) in enumerate(shown):
        new = name not in names[: len(steps) - len(shown) + number]
        drawing.panel(step, name, new, number > 0)
    height = drawing.y + MARGIN - 6
    described = "; ".join(f"{step.text}: {_summary(step.placement)}" for step, _ in shown)
    style = resources.files(__package__).joinpath("stride_diagram.css").read_text(encoding="utf-8")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gb-strides" role="img" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" aria-label="{_escaped(expression)}">'
    )
    words = f"<title>{_escaped(expression)}</title>\n<desc>{_escaped(described)}</desc>\n<style>\n{style}</style>"
    ground = f'<rect class="ground" width="{WIDTH}" height="{height:g}"/>'
    return "\n".join([head, words, ground, *drawing.parts, "</svg>"]) + "\n"


def _summary(one: Placement) -> str:
    return f"sizes {one.sizes}, strides {one.strides}, offset {one.offset}; {'; '.join(one.facts())}"


class _Drawing:
    """Elements of the drawing so far, and how far down they reach."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y: float = MARGIN - 4

    def text(self, x: float, y: float, words: str, kinds: str = "") -> None:
        kind = f' class="{kinds}"' if kinds else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{kind}>{_escaped(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kinds: str) -> None:
        self.parts.append(f'<rect class="cell {kinds}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>')

    def lines(self, words: str, kinds: str = "") -> None:
        for line in textwrap.wrap(words, CHARACTERS, subsequent_indent="  ", break_on_hyphens=False):
            self.y += LINE
            self.text(MARGIN, self.y, line, kinds)

    def panel(self, step: Step, name: str, new: bool, ruled: bool) -> None:
        """One tensor, below what is drawn already."""
        one = step.placement
        if ruled:
            self.y += 14
            self.parts.append(f'<path class="rule" d="M{MARGIN} {self.y:g}H{WIDTH - MARGIN}"/>')
            self.y += 4
        for line in textwrap.wrap(step.text, 46, break_on_hyphens=False):
            self.y += LINE + 3
            self.text(MARGIN, self.y, line, "head")
        self.y += 3
        self.lines(f"sizes {one.sizes}  strides {one.strides}  offset {one.offset}")
        for fact in one.facts():
            self.lines(fact, "muted")
        if one.numel and one.sizes:
            self.lines(f"element [{', '.join(letters(len(one.sizes)))}] is cell {one.formula}", "muted")
        if len(one.sizes) > 1:
            self._elements(one)
        self._storage(one, name, new)

    def _elements(self, one: Placement) -> None:
        found, word = blocks(one, ROWS, COLUMNS, BLOCKS)
        x, top, lowest = float(MARGIN), self.y + 10, self.y
        for block in found:
            width, height = _extent(block)
            if x > MARGIN and x + width > WIDTH - MARGIN:
                x, top = float(MARGIN), lowest + 8
            self._block(one, block, x, top)
            lowest = max(lowest, top + height)
            x += width + 14
        self.y = lowest
        if word:
            self.lines(word, "muted")

    def _block(self, one: Placement, block: Block, x: float, top: float) -> None:
        row_axis, column_axis = axes(one)
        if block.label:
            self.text(x, top + 11, block.label, "small muted")
            top += LINE
        left, top = x + 28, top + LINE
        for column in range(len(block.rows[0])):
            self.text(left + CELL * (column + 0.5), top - 4, f"{column_axis}={column}", "small muted mid")
        for row, (cells, ordinals) in enumerate(zip(block.rows, block.ordinals, strict=True)):
            y = top + BOX * row
            self.text(left - 4, y + 16, f"{row_axis}={row}", "small muted end")
            for column, (cell, ordinal) in enumerate(zip(cells, ordinals, strict=True)):
                self.box(left + CELL * column, y, CELL, BOX, _tint(one, ordinal))
                self.text(left + CELL * (column + 0.5), y + 16, str(cell), "mid" if cell < 10000 else "mid small")
            if block.more_columns:
                self.text(left + CELL * len(cells) + 4, y + 16, "…", "muted")
        if block.more_rows:
            self.text(left + CELL / 2, top + BOX * len(block.rows) + 12, "⋮", "muted mid")

    def _storage(self, one: Placement, name: str, new: bool) -> None:
        shown = shown_cells(one, CELLS)
        kind = "new storage" if new else "storage"
        self.y += 6
        self.lines(f"{kind} {name}: {count(one.cells, 'cell')} of {one.dtype}, {count(one.itemsize, 'byte')} each", "")
        word = left_out(one, shown)
        if word:
            self.lines(word, "muted")
        stacks = {cell: _stack(one, cell) for cell in shown}
        deep = max([1, *map(len, stacks.values())])
        high = BOX + 13 * (deep - 1)
        hops = _hops(one, shown)
        if hops and one.numel - 1 > HOPS:
            self.lines(f"the first {HOPS} steps of the path are drawn", "muted")
        below = 26 if one.tells_more else 13
        spots: dict[int, tuple[float, float]] = {}
        for start in range(shown.start, shown.stop, PER_ROW):
            cells = range(start, min(start + PER_ROW, shown.stop))
            inside = [hop for hop in hops if hop[0] in cells and hop[1] in cells]
            between = 20 if start > shown.start and len(inside) < len(hops) else 8
            top = self.y + (8 + ARC if any(a < b for a, b in inside) else between)
            for place, cell in enumerate(cells):
                x = MARGIN + CELL * place
                spots[cell] = (x + CELL / 2, top)
                self._cell(one, cell, stacks[cell], x, top, high)
            self.y = top + high + below + (ARC if any(b < a for a, b in inside) else 0)
        for first, second in hops:
            self._hop(spots[first], spots[second], high, below)

    def _cell(self, one: Placement, cell: int, stack: list[str], x: float, top: float, high: float) -> None:
        ordinals = one.readers.get(cell, [])
        kinds = f"{_tint(one, ordinals[0])}{' shared' if len(ordinals) > 1 else ''}" if ordinals else "gap"
        self.box(x, top, CELL, high, kinds)
        first = top + high / 2 + 4 - 6.5 * (len(stack) - 1)
        for level, words in enumerate(stack):
            size = "mid" if len(words) < 5 else "mid small" if len(words) < 6 else "mid tiny"
            self.text(x + CELL / 2, first + 13 * level, words, size)
        self.text(x + CELL / 2, top + high + 11, str(cell), "small muted mid")
        if one.tells_more and one.values is not None:
            self.text(x + CELL / 2, top + high + 24, value_text(one.values[cell]), "small mid")

    def _hop(self, start: tuple[float, float], end: tuple[float, float], high: float, below: float) -> None:
        """An arrow to the next cell read: an arc above a row of cells, back below it, a line between two rows."""
        (x, y), (u, v) = start, end
        side = 3 if u > x else -3
        if y == v:
            x, u = x + side, u - side
            bend = (6 + abs(u - x) / CELL * 2) * (1 if side > 0 else -1)
            bend = max(-ARC, min(ARC, bend * 1.3))
            y = v = y - 1 if side > 0 else y + high + below + 2
            curve = f"M{x:g} {y:g}C{x + side:g} {y - bend:g} {u - side:g} {y - bend:g} {u:g} {v:g}"
            down = side > 0
        else:
            down = v > y
            y, v = (y + high, v - 1) if down else (y, v + high + 1)
            middle = (y + v) / 2
            curve = f"M{x:g} {y:g}C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v:g}"
        self.parts.append(f'<path class="path{"" if down else " back"}" d="{curve}"/>')
        self.parts.append(f'<path class="tip" d="M{u:g} {v:g}l-3 {-6 if down else 6}h6z"/>')


def _extent(block: Block) -> tuple[float, float]:
    wide = 28 + CELL * len(block.rows[0]) + (14 if block.more_columns else 0)
    high = LINE + BOX * len(block.rows) + (LINE if block.label else 0) + (14 if block.more_rows else 0)
    return wide, high


def _tint(one: Placement, ordinal: int) -> str:
    """The class of the tensor's row in which an element stands; one class for all where there are no rows."""
    return f"r{ordinal // one.sizes[-1] % 6}" if len(one.sizes) > 1 else "r0"


def _hops(one: Placement, shown: range) -> list[tuple[int, int]]:
    """Pairs of drawn cells read one after the other, from the first element on; none where the path is straight."""
    if one.straight:
        return []
    cells = one.places.ravel()[: HOPS + 1].tolist()
    return [(a, b) for a, b in itertools.pairwise(cells) if a != b and a in shown and b in shown]


def _stack(one: Placement, cell: int) -> list[str]:
    ordinals = one.readers.get(cell, [])
    kept = ordinals if len(ordinals) <= STACKED else ordinals[: STACKED - 1]
    stack = [bracketed(one.index(ordinal))[1:-1].replace(" ", "") or "()" for ordinal in kept]
    return stack if len(kept) == len(ordinals) else [*stack, f"+{len(ordinals) - len(kept)}"]


def _escaped(words: str) -> str:
    return escape("".join(char if char.isprintable() else "�" for char in words))
