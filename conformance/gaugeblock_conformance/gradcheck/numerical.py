"""Jacobians by central finite differences: (f(x + eps d) - f(x - eps d)) / 2 eps along directions d."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..backend import Array
from .subject import Input, Subject


def along(subject: Subject, one: Input, direction: Array, outputs: Sequence[int], eps: float) -> list[Array]:
    """The derivative of the results numbered ``outputs`` as ``one`` moves along ``direction`` (of its own sizes).

    Flat arrays; complex for complex results.
    """
    wide = one.array.astype(np.complex128 if one.is_complex else np.float64)
    high, low = (
        subject.evaluate(subject.with_input(one, wide + sign * eps * direction), outputs) for sign in (1, -1)
    )
    return [(h - low_end).reshape(-1) / (2 * eps) for h, low_end in zip(high, low, strict=True)]


def jacobian(subject: Subject, one: Input, outputs: Sequence[int], eps: float) -> list[Array]:
    """Per result the derivatives by every element of ``one``: [steps, elements of the input, elements of the result].

    ``steps`` is 1 for a real input and 2 (by the real, by the imaginary part) for a complex one.
    """
    columns: list[list[list[Array]]] = []
    for step in one.steps:
        rows = []
        for place in range(one.array.size):
            direction = np.zeros(one.array.size, np.complex128 if one.is_complex else np.float64)
            direction[place] = step
            rows.append(along(subject, one, direction.reshape(one.array.shape), outputs, eps))
        columns.append(rows)
    if not one.array.size:
        return [np.zeros((len(one.steps), 0, 0)) for _ in outputs]
    return [np.array([[row[k] for row in rows] for rows in columns]) for k in range(len(outputs))]
