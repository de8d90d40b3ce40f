"""The suite's own derivatives: arrays that carry their slopes along every input, forward and without a graph.

Small integers in float64 stay exact, so that gradients of a backend can be asked for bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..backend_autograd import Program, Value
from ..strategies.code import Digits, coded

# Beyond this products of float64 integers are no longer exact.
EXACT = 2.0**45


@dataclass(frozen=True)
class Dual:
    """``value`` and its slopes: one array of the value's shape for each element of the inputs."""

    value: Array
    slope: Array


def inputs(*arrays: Array) -> list[Dual]:
    """The arrays as independent variables."""
    counts = [a.size for a in arrays]
    total, start, made = sum(counts), 0, []
    for array, count in zip(arrays, counts, strict=True):
        slope = np.zeros((total, count))
        slope[start + np.arange(count), np.arange(count)] = 1.0
        made.append(Dual(np.array(array, dtype=np.float64), slope.reshape(total, *array.shape)))
        start += count
    return made


def _product(a: Dual, b: Dual) -> Dual:
    return Dual(a.value * b.value, a.slope * b.value + a.value * b.slope)


RULES: dict[str, Callable[..., Dual]] = {
    "add.Tensor": lambda a, b: Dual(a.value + b.value, a.slope + b.slope),
    "sub.Tensor": lambda a, b: Dual(a.value - b.value, a.slope - b.slope),
    "mul.Tensor": _product,
    "mul.Scalar": lambda a, n: Dual(a.value * n, a.slope * n),
    "add.Scalar": lambda a, n: Dual(a.value + n, a.slope),
    "neg": lambda a: Dual(-a.value, -a.slope),
    "square": lambda a: _product(a, a),
    "flip": lambda a, dims: Dual(np.flip(a.value, tuple(dims)), np.flip(a.slope, tuple(d + 1 for d in dims))),
    "cumsum": lambda a, dim: Dual(np.cumsum(a.value, dim), np.cumsum(a.slope, dim + 1)),
}


def call(operator: str, *args: Any) -> Dual:
    """The operator on duals."""
    return RULES[operator](*args)


def gradients(y: Dual, variables: Sequence[Dual], seed: Array | None = None) -> list[Array]:
    """The gradient of the sum of ``seed`` times ``y`` by each input that ``y`` was computed from."""
    weight = np.ones_like(y.value) if seed is None else seed
    flat = (y.slope * weight).reshape(len(y.slope), -1).sum(axis=1)
    found, start = [], 0
    for x in variables:
        found.append(flat[start : start + x.value.size].reshape(x.value.shape))
        start += x.value.size
    return found


_BINARY = ("mul.Tensor", "add.Tensor", "sub.Tensor")
_DRAWN = ("add.Tensor", "mul.Tensor", "sub.Tensor", "neg", "flip", "cumsum", "square")
_DIMS: dict[str, Any] = {"flip": [0], "cumsum": 0}


def programs(count: int = 2, steps: int = 8, binary: Sequence[str] = _BINARY) -> hs.SearchStrategy[Program]:
    """Programs of up to ``steps`` operators of :data:`RULES` over ``count`` inputs of one vector shape."""

    def read(digits: Digits) -> Program:
        made: list[tuple[Any, ...]] = []
        for _ in range(1 + digits.below(steps)):
            known = count + len(made)
            operator, first, second = digits.pick(_DRAWN), Value(digits.below(known)), Value(digits.below(known))
            if operator in binary:
                made.append((operator, first, second))
            elif operator in _DIMS:
                made.append((operator, first, _DIMS[operator]))
            else:
                made.append((operator if operator not in _BINARY else "neg", first))
        return Program(tuple(made))

    return coded(read, 2)


def reached(program: Program) -> set[int]:
    """The numbers of the values that the last one depends on, itself included."""
    last = len(program.steps) + 1
    reached = {last}
    for k in range(last, 1, -1):
        if k in reached:
            reached |= {a.number for a in program.steps[k - 2][1:] if hasattr(a, "number")}
    return reached
