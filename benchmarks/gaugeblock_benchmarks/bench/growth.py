"""How a cost grows: ``seconds = overhead + work / rate``, fitted robustly on the log scale.

The work is bytes that must be moved, or operations of a product; what is fitted are the logarithms of both parameters,
so that a point of a nanosecond counts as much as one of a second, and points far from the line weigh less (Huber).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HUBER = 1.345
STEPS = 100
SEEN = 0.5
"""A parameter is known only where it makes up this share of the time at the smallest or the largest size."""


@dataclass(frozen=True)
class Fit:
    """Overhead in seconds and rate in units of work a second, None where the points do not show it; `residual` is the
    typical factor by which points miss the line, less 1."""

    overhead: float | None
    rate: float | None
    residual: float


def fit(work: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """The fit of points; None for fewer than three of them."""
    if len(work) < 3 or (len(set(work)) < 2 and max(work) > 0):
        return None
    amount, times = np.asarray(work, float), np.asarray(seconds, float)
    logs = np.log(times)
    if amount.max() <= 0:
        middle = float(np.median(logs))
        return Fit(math.exp(middle), None, _factor(logs - middle))
    largest = int(np.argmax(amount))
    parameters = np.array([logs.min(), math.log(times[largest] / amount[largest])])
    damping, current = 1e-2, math.inf
    for _ in range(STEPS):
        overhead, slope = np.exp(parameters)
        model = overhead + slope * amount
        miss = logs - np.log(model)
        weights = _weights(miss)
        loss = _loss(miss)
        current = min(current, loss)
        jacobian = np.stack([overhead / model, slope * amount / model], axis=1)
        normal = jacobian.T @ (weights[:, None] * jacobian)
        gradient = jacobian.T @ (weights * miss)
        step = np.linalg.solve(normal + damping * (np.diag(np.diag(normal)) + 1e-12 * np.eye(2)), gradient)
        trial = parameters + np.clip(step, -2, 2)
        tried = _loss(logs - np.log(np.exp(trial[0]) + np.exp(trial[1]) * amount))
        if tried <= loss:
            parameters, damping = trial, damping / 3
            if loss - tried < 1e-12 * max(loss, 1e-12):
                break
        else:
            damping *= 4
    overhead, slope = (float(value) for value in np.exp(parameters))
    model = overhead + slope * amount
    return Fit(
        overhead if overhead / model.min() >= SEEN else None,
        1 / slope if slope * amount.max() / model.max() >= SEEN else None,
        _factor(logs - np.log(model)),
    )


def rate_beyond(work: Sequence[float], seconds: Sequence[float], overhead: float, least: float) -> float | None:
    """The middle rate of points with more work than `least`, where caches do not help; None where there are none."""
    rates = [
        amount / (time - overhead)
        for amount, time in zip(work, seconds, strict=True)
        if amount > least and time > overhead
    ]
    return float(np.median(rates)) if rates else None


_SCALE = 0.1
"""Misses of this size are as many as they are: a tenth of the value."""


def _weights(miss: Array) -> Array:
    weights: Array = np.minimum(1.0, HUBER * _SCALE / np.maximum(np.abs(miss), 1e-300))
    return weights


def _loss(miss: Array) -> float:
    limit, size = HUBER * _SCALE, np.abs(miss)
    return float(np.sum(np.where(size <= limit, size**2 / 2, limit * (size - limit / 2))))


def _factor(miss: Array) -> float:
    return math.exp(1.4826 * float(np.median(np.abs(miss)))) - 1
