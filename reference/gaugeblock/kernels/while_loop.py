"""Loops and branches inside a formula: each lane goes round until its condition fails.

    _, total = while_loop(lambda k, total: k < 12.0, lambda k, total: (k + 1.0, total + 1.0 / k), one, zero)

What the functions compute is evaluated inside the loop, lanes that exist before it are evaluated once. Vectors go round
while any of their lanes does; a lane that is done keeps its state, so vectors and single lanes give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .expression import BOOL, Lane, constant

Lanes = tuple[Lane, ...]


class Loop(NamedTuple):
    """A recorded loop: the lanes that stand for its state, the condition to go round, and the state after a round."""

    state: Lanes
    condition: Lane
    following: Lanes

    @property
    def inside(self) -> Lanes:
        """The lanes that are evaluated in each round."""
        return (self.condition, *self.following)


def while_loop(
    condition: Callable[..., Lane], step: Callable[..., Sequence[Lane]], *initial: Lane
) -> tuple[Lane, ...]:
    """Return the state after `step` has been applied to `initial` as long as `condition` of the state holds.

    Both are called once, with lanes that stand for the state. Raises TypeError when a step changes types.
    """
    state = tuple(Lane("argument", lane.type) for lane in initial)
    loop = Loop(state, condition(*state), tuple(step(*state)))
    if [lane.type for lane in loop.following] != [lane.type for lane in initial]:
        raise TypeError(f"while_loop: expected a step from {initial} to lanes of the same types, got {loop.following}")
    outer = _outer(loop.inside, state[0].serial if state else 0)
    node = Lane("while", initial[0].type, (*initial, *outer), loop)
    return tuple(Lane("carried", lane.type, (node,), lane) for lane in state)


def when(condition: Lane, value: Callable[[], Lane], otherwise: Lane) -> Lane:
    """Return `value()` where the condition holds, else `otherwise`; nothing is computed where it holds in no lane."""
    return while_loop(lambda wanted, _: wanted, lambda *_: (constant(False, BOOL), value()), condition, otherwise)[1]


def _outer(inside: Lanes, first: int) -> Iterator[Lane]:
    """Yield the lanes from before the loop, whose first lane has the serial number `first`, that it needs."""
    seen: set[int] = set()
    stack = list(inside)
    while stack:
        lane = stack.pop()
        if lane.serial in seen:
            continue
        seen.add(lane.serial)
        if lane.serial < first:
            yield lane
        else:
            stack += lane.arguments


def all_lanes(results: Sequence[Lane]) -> Iterator[Lane]:
    """Yield every lane that `results` need, those inside of loops too."""
    seen: set[int] = set()
    stack = list(results)
    while stack:
        lane = stack.pop()
        if lane.serial not in seen:
            seen.add(lane.serial)
            yield lane
            stack += lane.arguments
            if lane.opcode == "while":
                stack += lane.attribute.inside
