"""What an allocator was asked, step by step: one bar for each block, from its request to its free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..backend_allocator import STATEFUL
from ..trace import Call, Step, names_in
from .drawing import INK, SOFT, box, document, line, shortened, text

LEFT, TOP, ROW, STEP, FOOT = 160, 34, 22, 34, 62
MOST_BLOCKS, MOST_STEPS = 48, 96
FILLS = ("#3f7fbf", "#c77d2b", "#3d9a6c", "#8a63b0")


@dataclass
class Life:
    """A block: its name and size, the stream that it was asked on, and the steps of its request and free."""

    name: str
    size: int
    stream: str
    begin: int
    end: int | None = None
    refused: bool = False
    records: list[tuple[int, str]] = field(default_factory=list)


def svg(steps: Sequence[Step]) -> str | None:
    """The picture, or None where there are more blocks or steps than one can read."""
    asked = [step for step in steps if isinstance(step, Call) and step.operator in STATEFUL]
    lives = _lives(asked)
    if not lives or len(lives) > MOST_BLOCKS or len(asked) > MOST_STEPS:
        return None
    width, bottom = LEFT + STEP * len(asked) + 16, TOP + ROW * len(lives)
    parts = [text(8, 20, "block", colour=SOFT), text(LEFT - 10, 20, "bytes", "end", SOFT)]
    for place, step in enumerate(asked):
        x = LEFT + STEP * (place + 0.5)
        parts.append(line(x, TOP - 6, x, bottom))
        label = step.operator.replace("_", " ")
        parts.append(f'<g transform="translate({x + 4:g},{bottom + 10:g}) rotate(55)">{text(0, 0, label, size=10)}</g>')
    streams = list(dict.fromkeys(life.stream for life in lives))
    for row, life in enumerate(lives):
        parts += _bar(life, TOP + ROW * row, len(asked), FILLS[streams.index(life.stream) % len(FILLS)])
    if len(streams) > 1:
        for place, stream in enumerate(streams):
            x = LEFT + 150 * place
            parts += [box(x, 8, 10, 10, FILLS[place % len(FILLS)]), text(x + 15, 17, stream or "default stream")]
    longest = max(len(step.operator) for step in asked)
    return document(max(width, LEFT + 150 * len(streams)), bottom + FOOT + 2 * longest, parts)


def _lives(asked: Sequence[Call]) -> list[Life]:
    lives: list[Life] = []
    alive: dict[str, Life] = {}
    for place, step in enumerate(asked):
        names = list(names_in(step.args))
        if step.operator == "malloc":
            name = step.targets[0] if step.targets else "refused"
            size = next((value for value in step.args if isinstance(value, int)), 0)
            stream = names[1] if len(names) > 1 else ""
            life = Life(name, size, stream, place, refused=step.refused or not step.targets)
            lives.append(life)
            alive[name] = life
        elif step.operator == "free":
            for name in names[1:]:
                if name in alive:
                    alive.pop(name).end = place
        elif step.operator == "record_stream" and len(names) > 2 and names[1] in alive:
            alive[names[1]].records.append((place, names[2]))
    return lives


def _bar(life: Life, top: float, count: int, fill: str) -> list[str]:
    begin = LEFT + STEP * (life.begin + 0.5)
    end = LEFT + STEP * (count if life.end is None else life.end + 0.5)
    parts = [text(8, top + 14, shortened(life.name, 10)), text(LEFT - 10, top + 14, f"{life.size:,}", "end", SOFT)]
    if life.refused:
        return [*parts, text(begin, top + 15, "✕", "middle", "#b3261e", 15)]
    parts.append(box(begin, top + 3, end - begin, ROW - 7, fill, 'rx="2"'))
    if life.end is None:
        parts.append(text(end + 3, top + 14, "…", colour=SOFT))
    for place, stream in life.records:
        x = LEFT + STEP * (place + 0.5)
        parts.append(f'<circle cx="{x:g}" cy="{top + 10.5:g}" r="5" fill="#fff" stroke="{INK}"/>')
        parts.append(text(x + 8, top + 14, stream, colour="#fff", size=10))
    return parts
