"""Medians, their spread, and intervals of ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Blocks = Sequence[Sequence[float]]
"""Samples by pass: within a pass they follow one another, between passes other cases were run."""
DRAWS = 1000
_THIRD = 0.4307
"""A normal value lies within so many standard deviations of the mean with a chance of a third."""


def summary(blocks: Blocks) -> dict[str, float]:
    """Median, quartiles and the least of all samples."""
    values = np.asarray([value for block in blocks for value in block])
    low, middle, high = (float(value) for value in np.percentile(values, (25, 50, 75)))
    return {"median": middle, "low": low, "high": high, "best": float(values.min())}


def ratio(ours: Blocks, theirs: Blocks, seed: int = 0) -> dict[str, float]:
    """The median of the rounds' ratios, with a 95 % bootstrap interval that draws passes, then rounds of a pass.

    Rounds of the same number ran one after the other. With one pass the interval covers what changes from round to
    round, not from pass to pass.
    """
    logs = [
        np.log([one / other for one, other in zip(our, their, strict=False)])
        for our, their in zip(ours, theirs, strict=False)
    ]
    logs = [block for block in logs if block.size]
    middle = float(np.median(np.concatenate(logs)))
    random = np.random.default_rng(seed)
    shortest = min(block.size for block in logs)
    table = np.stack([random.permutation(block)[:shortest] for block in logs])
    passes = random.integers(0, len(logs), (DRAWS, len(logs), 1))
    rounds = random.integers(0, shortest, (DRAWS, len(logs), shortest))
    drawn = np.median(table[passes, rounds].reshape(DRAWS, -1), axis=1)
    low, high = np.percentile(drawn, (2.5, 97.5))
    return {"ratio": math.exp(middle), "low": math.exp(min(low, middle)), "high": math.exp(max(high, middle))}


def middles(blocks: Blocks, beside: Blocks) -> list[float]:
    """The median of each pass, of the logarithms of samples over those of the yardstick in the same rounds."""
    return [
        statistics.median(math.log(own / other) for own, other in zip(block, others, strict=False))
        for block, others in zip(blocks, beside, strict=False)
        if block and others
    ]


def spread(values: Sequence[float]) -> float:
    """A standard deviation from the median absolute one, which a few outliers do not move."""
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - middle) for value in values)


def closest_third(values: Sequence[float]) -> float:
    """A standard deviation from the shortest interval that holds a third of the values, which moves little where the
    others lie elsewhere, all together or each for itself."""
    ordered = sorted(values)
    third = len(ordered) // 3 + 1
    shortest = min(high - low for low, high in zip(ordered, ordered[third - 1 :], strict=False))
    return shortest / 2 / _THIRD * (1 + 4 / len(ordered))


def geometric_mean(rows: Sequence[dict[str, Any]]) -> float:
    """Of the ratios of some rows; NaN for none."""
    return math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows)) if rows else math.nan


def student_tail(value: float, freedom: float) -> float:
    """The chance of a Student's t of `freedom` degrees above `value`.

    With t = sqrt(freedom) tan(angle) its density is a power of a cosine, which 200 points of Gauss and Legendre
    integrate to the last digits.
    """
    if value < 0:
        return 1.0 - student_tail(-value, freedom)
    start = math.atan(value / math.sqrt(freedom))
    points, weights = _gauss()
    half = (math.pi / 2 - start) / 2
    angles = start + half * (points + 1)
    total = half * float(np.sum(weights * np.cos(angles) ** (freedom - 1)))
    return total * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)


@cache
def _gauss() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points, weights = np.polynomial.legendre.leggauss(200)
    return points, weights


@cache
def student_quantile(chance: float, freedom: float) -> float:
    """The value that a Student's t stays below with a chance above one half."""
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > 1 - chance:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, freedom) > 1 - chance else (low, middle)
    return (low + high) / 2


def discoveries(chances: Sequence[float], level: float) -> list[bool]:
    """Which of many tests hold by Benjamini and Hochberg's procedure: the share of false ones is `level` at most, and
    so is the chance of any where all are idle."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    found = [False] * len(chances)
    last = max((place for place, which in enumerate(order, 1) if chances[which] <= level * place / len(chances)),
               default=0)  # fmt: skip
    for which in order[:last]:
        found[which] = True
    return found
