"""How the values of an example came about: tensors that were made, calls on them, and the variables between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..trace import Call, Create, Line, Step, names_in
from .drawing import INK, SOFT, box, document, line, shortened, text

WIDTH, HEIGHT, GAP, LIFT = 172, 38, 20, 34
MOST = 40
MADE, CALLED = "#dfeee6", "#e6ecf5"


def svg(steps: Sequence[Step]) -> str | None:
    """A box for each step, under those whose results it uses; None where there are none, or more than one can read."""
    if not 1 < len(steps) <= MOST:
        return None
    parents = _parents(steps)
    depths: list[int] = []
    for place in range(len(steps)):
        depths.append(max((depths[parent] + 1 for parent, _ in parents[place]), default=0))
    for place, step in enumerate(steps):
        users = [depths[user] for user, found in enumerate(parents) if any(parent == place for parent, _ in found)]
        if isinstance(step, Create) and users:
            depths[place] = min(users) - 1
    rows: dict[int, list[int]] = {}
    for place, depth in enumerate(depths):
        rows.setdefault(depth, []).append(place)
    total = GAP + max(map(len, rows.values())) * (WIDTH + GAP)
    spots: dict[int, tuple[float, float]] = {}
    for depth, row in sorted(rows.items()):
        row.sort(key=lambda place: _middle([spots[parent][0] for parent, _ in parents[place]], total))
        left = (total - len(row) * (WIDTH + GAP) + GAP) / 2
        for index, place in enumerate(row):
            spots[place] = (left + index * (WIDTH + GAP), GAP + depth * (HEIGHT + LIFT))
    parts = []
    for place, found in enumerate(parents):
        x, y = spots[place]
        for parent, name in found:
            u, v = spots[parent]
            start, end = (u + WIDTH / 2, v + HEIGHT), (x + WIDTH / 2, y)
            parts.append(line(*start, *end, "#9aa3ab"))
            near = (start[0] + (end[0] - start[0]) / 4 + 4, start[1] + (end[1] - start[1]) / 4 + 4)
            parts.append(text(*near, name, colour=SOFT, size=10))
    for place, step in enumerate(steps):
        parts += _box(step, *spots[place])
    return document(total, 2 * GAP + max(rows) * (HEIGHT + LIFT) + HEIGHT, parts)


def _parents(steps: Sequence[Step]) -> list[list[tuple[int, str]]]:
    """For each step, the steps that made or last wrote to what it uses, with the variable's name."""
    last: dict[str, int] = {}
    found: list[list[tuple[int, str]]] = []
    for place, step in enumerate(steps):
        if isinstance(step, Create):
            found.append([])
            last[step.target] = place
            continue
        if isinstance(step, Line):
            used, given = dict.fromkeys(sorted(step.uses)), [step.target]
        else:
            used, given = dict.fromkeys([*names_in(step.args), *names_in(step.kwargs)]), list(step.targets)
        found.append([(last[name], name) for name in used if name in last])
        last.update(dict.fromkeys([*given, *step.mutates], place))
    return found


def _middle(places: Sequence[float], total: float) -> float:
    """Where a box stands best under those that it depends on."""
    return sum(places) / len(places) if places else total / 2


def _box(step: Step, x: float, y: float) -> list[str]:
    if isinstance(step, Call):
        head, detail, fill = step.operator, ", ".join(step.targets), CALLED
        if step.refused:
            detail = "raised"
    elif isinstance(step, Line):
        head, detail, fill = step.target or "Python", step.text, MADE
    else:
        sizes = step.source.shape if isinstance(step.source, np.ndarray) else step.source.sizes
        head, detail, fill = step.target, f"sizes {sizes}", MADE
    return [
        box(x, y, WIDTH, HEIGHT, fill, f'rx="6" stroke="{SOFT}"'),
        text(x + WIDTH / 2, y + 16, shortened(head, 24), "middle", INK),
        text(x + WIDTH / 2, y + 31, shortened(detail, 30), "middle", SOFT, 10),
    ]
