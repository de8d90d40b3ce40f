"""Numerical and analytical entries beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..backend import Array
from .error import Entry, GradcheckError
from .subject import Input


@dataclass
class Tally:
    """What a check saw: entries compared, and the largest |analytical - numerical| as a share of what is allowed."""

    entries: int = 0
    worst: float = 0.0

    def add(self, other: Tally) -> None:
        self.entries += other.entries
        self.worst = max(self.worst, other.worst)


@dataclass(frozen=True)
class Place:
    """Which Jacobian is compared: ``mode`` is "backward" or "forward"; sizes are those of output and input."""

    mode: str
    output: int
    input: int
    part: str
    output_sizes: tuple[int, ...]
    input_sizes: tuple[int, ...]


def compare(numerical: Array, analytical: Array, place: Place, atol: float, rtol: float, tally: Tally) -> None:
    """Expect |analytical - numerical| <= atol + rtol |numerical| of all entries, [input elements, output elements].

    Raises:
        GradcheckError: tells the worst entry and how many are wrong.
    """
    if not numerical.size:
        return
    allowed = atol + rtol * np.abs(numerical)
    with np.errstate(all="ignore"):
        share = np.abs(analytical - numerical) / allowed
    equal = analytical == numerical
    share = np.where(equal, 0.0, np.where(np.isnan(share), np.inf, share))
    tally.entries += share.size
    tally.worst = max(tally.worst, float(share.max()))
    wrong = int((share > 1).sum())
    if not wrong:
        return
    row, column = np.unravel_index(int(share.argmax()), share.shape)
    entry = Entry(
        place.output, place.input, _index(int(column), place.output_sizes), _index(int(row), place.input_sizes),
        place.part, numerical[row, column].item(), analytical[row, column].item(),
        place.output_sizes,
    )  # fmt: skip
    count = f"; {wrong} of {share.size} entries differ" if share.size > 1 else ""
    raise GradcheckError(
        f"{place.mode} derivative of {entry}, allowed are {atol:g} + {rtol:g} |numerical|{count}", entry
    )


def expect_same(
    found: Sequence[Array], again: Sequence[Array], output: int, inputs: Sequence[Input], allowed: float
) -> None:
    """Expect the gradients of two backwards of the same, one array per input, to differ by ``allowed`` at most.

    Raises:
        GradcheckError: tells the largest difference.
    """
    for input, one, other in zip(inputs, found, again, strict=True):
        equal = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(all="ignore"):
            difference = float(np.where(equal, 0.0, np.abs(one - other)).max(initial=0.0))
        if not difference <= allowed:
            raise GradcheckError(
                f"backward is not deterministic: two gradients of output {output} by input {input.place} differ by "
                f"{difference:g}; allowed are {allowed:g}"
            )


def _index(flat: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(flat, sizes)) if sizes else ()
