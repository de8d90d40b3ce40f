"""Scalar routines that go round until a condition fails: their parts are formulas of float64 lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...kernels.declarations import Declarations
from ...kernels.expression import F64, Lane
from ...kernels.lower import Emitter

Lanes = tuple[Lane, ...]


class Loop(NamedTuple):
    """`first` gives the state from the arguments, `step` the next one while `more` holds, `result` the value.

    The last three take the arguments and then the state.
    """

    first: Callable[..., Lanes]
    more: Callable[..., Lane]
    step: Callable[..., Lanes]
    result: Callable[..., Lane]


def loop_text(name: str, loop: Loop, arguments: int, declarations: Declarations) -> str:
    """IR text of the function `name` of so many float64 numbers; what it calls is entered in `declarations`."""
    given = [Lane("argument", F64) for _ in range(arguments)]

    def part(prefix: str, function: Callable[..., Lane | Lanes], state: Sequence[Lane]) -> tuple[list[str], list[str]]:
        """Instructions of a part, and where its values are."""
        emitter = Emitter(1, prefix, declarations)
        for place, lane in enumerate(given):
            emitter.bind(lane, f"%a{place}")
        for place, lane in enumerate(state):
            emitter.bind(lane, f"%state{place}")
        found = function(*given, *state)
        values = emitter.emit([found] if isinstance(found, Lane) else list(found))
        return emitter.lines, values

    first, begin = part("first", loop.first, ())
    state = [Lane("argument", F64) for _ in begin]
    more, (going,) = part("more", loop.more, state)
    step, after = part("step", loop.step, state)
    result, (value,) = part("result", loop.result, state)
    heads = [
        f"  %state{place} = phi double [{one}, %before], [{next}, %last]"
        for place, (one, next) in enumerate(zip(begin, after, strict=True))
    ]
    head = ", ".join(f"double %a{place}" for place in range(arguments))
    lines = [
        f"define internal double {name}({head}) #0 {{", "entry:",
        *first, "  br label %before", "before:", "  br label %test", "test:", *heads, *more,
        f"  br i1 {going}, label %body, label %done", "body:", *step, "  br label %last", "last:", "  br label %test",
        "done:", *result, f"  ret double {value}", "}",
    ]  # fmt: skip
    return "\n".join(lines)
