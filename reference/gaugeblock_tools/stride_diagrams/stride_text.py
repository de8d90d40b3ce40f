"""The picture of strides as text: a table of the steps, then each tensor's elements and the cells it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .expression import Step
from .placement import Placement, bracketed, count, letters, value_text
from .window import Block, axes, blocks, left_out, shown_cells

WIDTH = 79
CELLS, ROWS, COLUMNS, BLOCKS, STACKED = 36, 8, 10, 4, 4
"""At most so many cells of a storage, elements of a block, blocks of a tensor, and readers of a cell are written."""


def render(steps: Sequence[Step], last: bool = False) -> str:
    """The text of all steps, or of the last one alone."""
    names = storage_names(steps)
    lines = [*_table(steps, names)] if not last else []
    for number, step in enumerate(steps):
        if last and number < len(steps) - 1:
            continue
        lines += ["", step.text, *(f"  {line}" if line else "" for line in _panel(step.placement, names[number]))]
    return "\n".join(lines).strip("\n") + "\n"


def storage_names(steps: Sequence[Step]) -> list[str]:
    """A letter for the storage of each step: A for the first one, B for the next one that is another."""
    seen: list[object] = []
    for step in steps:
        if not any(step.tensor.storage_impl is one for one in seen):
            seen.append(step.tensor.storage_impl)
    places = [next(place for place, one in enumerate(seen) if step.tensor.storage_impl is one) for step in steps]
    return [chr(ord("A") + place) if place < 26 else f"S{place}" for place in places]


def _table(steps: Sequence[Step], names: Sequence[str]) -> Iterator[str]:
    rows = [("step", "sizes", "strides", "offset", "contiguous", "storage")]
    for number, (step, name) in enumerate(zip(steps, names, strict=True)):
        one = step.placement
        new = name not in names[:number]
        storage = f"{name}, new: {count(one.cells, 'cell')} of {one.dtype}" if new else name
        rows.append((
            step.text, str(one.sizes), str(one.strides), str(one.offset), "yes" if one.contiguous else "no", storage,
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    widths[0] = min(widths[0], 30)
    for row in rows:
        first = [row[0]] if len(row[0]) > widths[0] else []
        cells = ("" if first else row[0], *row[1:])
        yield from first
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _panel(one: Placement, name: str) -> Iterator[str]:
    yield f"sizes {one.sizes}, strides {one.strides}, offset {one.offset}, {one.dtype}"
    yield from one.facts()
    if one.numel:
        index = ", ".join(letters(len(one.sizes)))
        yield f"element [{index}] is cell {one.formula}" if one.sizes else f"the element is cell {one.formula}"
        yield from _elements(one)
    yield ""
    yield from _strip(one, name)


def _elements(one: Placement) -> Iterator[str]:
    if len(one.sizes) < 2:
        return
    found, word = blocks(one, ROWS, COLUMNS, BLOCKS)
    for block in found:
        yield ""
        yield from _block(one, block)
    if word:
        yield f"({word})"


def _block(one: Placement, block: Block) -> Iterator[str]:
    row_axis, column_axis = axes(one)
    heads = [f"{row_axis}={number}" if row_axis else "" for number in range(len(block.rows))]
    columns = [f"{column_axis}={number}" for number in range(len(block.rows[0]))]
    texts = [[str(cell) for cell in row] for row in block.rows]
    wide = max(map(len, [*columns, *(text for row in texts for text in row)])) + 1
    left = max(map(len, [*heads, block.label])) + 1
    dots = " ..." if block.more_columns else ""
    yield block.label.ljust(left) + "".join(text.rjust(wide) for text in columns) + dots
    for head, row in zip(heads, texts, strict=True):
        yield head.ljust(left) + "".join(text.rjust(wide) for text in row) + dots
    if block.more_rows:
        yield "..."


def _strip(one: Placement, name: str) -> Iterator[str]:
    shown = shown_cells(one, CELLS)
    title = f"storage {name}: {count(one.cells, 'cell')} of {count(one.itemsize, 'byte')}"
    word = left_out(one, shown)
    yield title
    if word:
        yield f"({word})"
    if not shown:
        return
    stacks = {cell: _stack(one, cell) for cell in shown}
    wide = max(3, len(str(shown.stop - 1)), *(len(text) for stack in stacks.values() for text, _ in stack))
    if one.tells_more and one.values is not None:
        wide = max(wide, *(len(value_text(one.values[cell])) for cell in shown))
    per_line = max(1, (WIDTH - 10) // (wide + 1))
    for start in range(shown.start, shown.stop, per_line):
        yield from _run(one, range(start, min(start + per_line, shown.stop)), stacks, wide)


def _run(one: Placement, cells: range, stacks: dict[int, list[tuple[str, str]]], wide: int) -> Iterator[str]:
    rule = "+".join(["-" * wide] * len(cells))
    lead = " " * 6
    yield _line("cell", [str(cell) for cell in cells], wide)
    yield f"{lead}+{rule}+"
    for level in range(max(1, max(len(stacks[cell]) for cell in cells))):
        texts = [stacks[cell][level][0] if level < len(stacks[cell]) else "" for cell in cells]
        texts = ["." if not stacks[cell] and not level else text for cell, text in zip(cells, texts, strict=True)]
        body = "|".join(text.center(wide) for text in texts)
        yield f"{'index' if not level else '':<6}|{body}|"
    yield f"{lead}+{rule}+"
    if one.tells_more and one.values is not None:
        yield _line("value", [value_text(one.values[cell]) for cell in cells], wide)
    orders = [stacks[cell][0][1] if stacks[cell] else "" for cell in cells]
    if not one.straight and any(orders):
        yield _line("order", orders, wide)


def _line(name: str, texts: Sequence[str], wide: int) -> str:
    return (f"{name:<7}" + " ".join(text.center(wide) for text in texts)).rstrip()


def _stack(one: Placement, cell: int) -> list[tuple[str, str]]:
    """Indices of the elements that read `cell`, each with its place in the order of the elements, from 1."""
    ordinals = one.readers.get(cell, [])
    kept = ordinals if len(ordinals) <= STACKED else ordinals[: STACKED - 1]
    stack = [(bracketed(one.index(ordinal))[1:-1].replace(" ", "") or "()", str(ordinal + 1)) for ordinal in kept]
    if len(kept) < len(ordinals):
        stack.append((f"+{len(ordinals) - len(kept)}", ""))
    if len(ordinals) > 1:
        stack[0] = (stack[0][0], f"{ordinals[0] + 1}..")
    return stack
