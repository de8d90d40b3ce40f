"""The build of an iterator as a table: what each step did to shape and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tensor_iterator import TensorIterator


def explain(iterator: TensorIterator) -> str:
    """Operands, then one line per step: shape, byte strides by operand, note; dims innermost first once ordered."""
    lines = [f"operand {number}: {operand.describe()}" for number, operand in enumerate(iterator.operands)]
    rows = [("step", "shape", "strides in bytes, operand by operand", "note")]
    for snapshot in iterator.snapshots:
        strides = "  ".join("-" if steps is None else _show(steps) for steps in snapshot.strides)
        rows.append((snapshot.step, _show(snapshot.shape), strides, snapshot.note))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines.extend("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def _show(values: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"
