"""The cost of each layer of a call, as the difference between two calls of which one goes a layer further.

The calls are additions: on no elements, in place, with a new result, and with operands that require gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend, Unsupported

from ..subject import function_of
from ..timing import timed_steps
from .task import NamedTask, Ready

SIZE = 16


def _nothing() -> None:
    return None


def step(backend: Backend, name: str) -> Callable[[], Any]:
    """Return the step called `name`, ready to run. Raises Unsupported."""
    if name == NOTHING:
        return _nothing
    if name == RECORDED and "autograd" not in backend.capabilities:
        raise Unsupported(name, "needs the capability autograd")
    size = 0 if name == EMPTY else SIZE
    values = np.ones(size, np.float32)
    x = backend.from_numpy(values, requires_grad=True) if name == RECORDED else backend.from_numpy(values.copy())
    y = backend.from_numpy(np.zeros(size, np.float32))
    function, _ = function_of(backend, "add_.Tensor" if name in (EMPTY, INTO) else "add.Tensor")
    if name == EMPTY:  # what a backend loads for its first elements is no part of the step
        step(backend, INTO)()
    made = partial(function, x, y)
    finish: Callable[[Any], object] | None = getattr(backend, "finish", None)
    return made if finish is None else lambda: finish(made())


NOTHING, EMPTY, INTO, NEW, RECORDED = (
    "a Python call", "add_ on no elements", f"add_ on {SIZE} elements", f"add on {SIZE} elements",
    f"add on {SIZE} elements, recorded",
)  # fmt: skip
STEPS = (NOTHING, EMPTY, INTO, NEW, RECORDED)
LAYERS = (
    ("Python's call of a function", NOTHING, None),
    ("parse, dispatch, find the plan", EMPTY, NOTHING),
    ("launch the loop", INTO, EMPTY),
    ("allocate the result", NEW, INTO),
    ("record for backward", RECORDED, NEW),
)
"""Layer, the step that goes through it, and the step that stops before it."""


def costs(by_step: Mapping[str, float | None]) -> list[tuple[str, float | None]]:
    """Return the cost of each layer from those of the steps, None where one was not measured."""
    found: list[tuple[str, float | None]] = []
    for layer, name, before in LAYERS:
        whole, less = by_step.get(name), 0.0 if before is None else by_step.get(before)
        found.append((layer, None if whole is None or less is None else whole - less))
    return found


class LayerTask(NamedTask):
    """One of STEPS."""

    @property
    def needed_bytes(self) -> int:
        return 1 << 12

    def prepare(self, backend: Backend) -> Ready:
        return Ready(timed_steps([step(backend, self.name)]))


def layer_task(name: str) -> LayerTask:
    """Return the task of one of STEPS."""
    return LayerTask(name, "layers", "pointwise", 0 if name in (NOTHING, EMPTY) else SIZE)


def layer_tasks() -> list[LayerTask]:
    """All steps."""
    return [layer_task(name) for name in STEPS]
