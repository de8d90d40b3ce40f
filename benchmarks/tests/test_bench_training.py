"""The steps of the training suite: they learn, and their updates are the known ones."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock_benchmarks.bench.training import (
    TRAININGS,
    Model,
    Update,
    adam,
    descent,
    momentum,
    no_update,
    training_task,
    training_tasks,
)
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend

CLASSIFYING = [name for name in TRAININGS if name.startswith(("perceptron", "GPT", "conv", "Res", "embedding"))]
LARGE = {"perceptron 256x1024", "convolutions 64x3x32x32"}


@pytest.mark.parametrize("name", [name for name in CLASSIFYING if name not in LARGE])
def test_losses_fall(name: str) -> None:
    backend = ReferenceBackend()
    ready = training_task(name).prepare(backend)
    assert ready.sample is not None
    ready.timed.seconds(20)
    [(step,)] = ready.timed.turns
    assert backend.to_numpy(step()).item() < ready.sample.item()


def updated(update: Update, steps: int) -> list[float]:
    """A parameter of 1, 2 after steps of the loss (parameter ** 2).sum()."""
    backend = ReferenceBackend()
    model = Model(backend)
    leaf = model.constant(1.0, 2)
    backend.module.no_grad()(leaf.copy_)(backend.module.tensor([1.0, 2.0]))
    make = update(model)
    for _ in range(steps):
        model.backward(model.sum(model.mul(leaf, leaf)))
        with backend.module.no_grad():
            make()
    found: list[float] = leaf.tolist()
    return found


@pytest.mark.parametrize(
    ("update", "steps", "expected"),
    [
        (no_update, 2, [1.0, 2.0]),
        (descent, 1, [0.998, 1.996]),
        (descent, 2, [0.996004, 1.992008]),
        (momentum, 1, [0.998, 1.996]),
        (momentum, 2, [0.994204, 1.988408]),
        (adam, 1, [0.999, 1.999]),
        (adam, 2, [0.998, 1.998]),
    ],
)
def test_updates(update: Any, steps: int, expected: list[float]) -> None:
    assert updated(update, steps) == pytest.approx(expected, abs=2e-6)


def test_a_backend_without_autograd_has_no_step() -> None:
    with pytest.raises(Unsupported, match="autograd"):
        training_tasks()[0].prepare(NumpyBackend())
    assert len({task.id for task in training_tasks()}) == len(TRAININGS)
