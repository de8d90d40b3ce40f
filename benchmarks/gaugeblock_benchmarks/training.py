"""Forward and backward passes beside a peer's, and how the time of a chain grows with its length."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .subject import statement_loop
from .timing import Measurement, Timed, measure

LIMIT = 1.0
CHAIN = (10_000, 100_000)
LINEAR = 1.5
"""A chain ten times as long takes ten times as long, times at most this."""


@dataclass(frozen=True)
class Training:
    """A statement, what it needs, and the names that it uses."""

    name: str
    setup: str
    statement: str
    names: tuple[str, ...]


PERCEPTRON = """
xp.manual_seed(0)
linear, relu = xp.nn.functional.linear, xp.nn.functional.relu
weights = [(xp.randn(256, 256) * 0.06).requires_grad_() for _ in range(3)]
biases = [xp.zeros(256, requires_grad=True) for _ in range(3)]
inputs = xp.randn(64, 256)
def step():
    values = inputs
    for weight, bias in zip(weights, biases):
        values = relu(linear(values, weight, bias))
    values.sum().backward()
    for leaf in (*weights, *biases):
        leaf.grad = None
"""
SMALL = "x, w, b = (xp.rand(16, requires_grad=True) for _ in range(3))"
CASES = (
    Training("(x*w+b).sum(), 16 elements, forward", SMALL, "(x * w + b).sum()", ("x", "w", "b")),
    Training("(x*w+b).sum(), 16 elements, both passes", SMALL, "(x * w + b).sum().backward()", ("x", "w", "b")),
    Training("3 layers of 256, batch 64, both passes", PERCEPTRON, "step()", ("step",)),
)


def measure_training(subject: Any, peer: Any, seconds: float = 1.0) -> list[tuple[Training, Measurement]]:
    """Every case of two torch-style modules, interleaved."""
    found = []
    for case in CASES:
        timed = []
        for module in (subject, peer):
            scope: dict[str, Any] = {"xp": module}
            exec(case.setup, scope)
            timed.append(Timed(statement_loop(case.statement, list(case.names), module),
                               [tuple(scope[name] for name in case.names)]))  # fmt: skip
        found.append((case, measure(timed[0], timed[1], seconds)))
    return found


def chain_seconds(module: Any) -> list[float]:
    """Seconds of the backward pass of chains of additions, of each length."""
    found = []
    for length in CHAIN:
        leaf = module.ones(3, requires_grad=True)
        value = leaf
        for _ in range(length):
            value = value + 1
        total = value.sum()
        start = perf_counter()
        total.backward()
        found.append(perf_counter() - start)
    return found
