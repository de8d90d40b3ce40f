"""Forward and backward passes as tasks, through the operators of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend, Unsupported
from gaugeblock_conformance.backend_autograd import NoGrad

from ..subject import function_of
from .task import NamedTask, Ready, ready_of

Get = Callable[[str], Callable[..., Any]]
Step = Callable[[], Any]


def _leaf(backend: Backend, *shape: int, scale: float = 1.0) -> Any:
    values = np.random.default_rng(shape).random(shape, np.float32) * np.float32(scale)
    return backend.from_numpy(values, requires_grad=True)


def _small(backend: Backend, get: Get, backwards: bool, size: int = 16) -> Step:
    x, w, b = (_leaf(backend, size) for _ in range(3))
    mul, add, total = get("mul.Tensor"), get("add.Tensor"), get("sum")
    if not backwards:
        return lambda: total(add(mul(x, w), b))
    backward, clear, grad = get("backward"), get("set_grad"), get("grad")

    def step() -> Any:
        backward(total(add(mul(x, w), b)))
        found = grad(x)
        for leaf in (x, w, b):
            clear(leaf, None)
        return found

    return step


def _layers(backend: Backend, get: Get, width: int, batch: int) -> Step:
    weights = [_leaf(backend, width, width, scale=0.06) for _ in range(3)]
    inputs = backend.from_numpy(np.random.default_rng(0).random((batch, width), np.float32))
    matmul, relu, total = get("matmul"), get("relu"), get("sum")
    backward, clear, grad = get("backward"), get("set_grad"), get("grad")

    def step() -> Any:
        values = inputs
        for weight in weights:
            values = relu(matmul(values, weight))
        backward(total(values))
        found = grad(weights[0])
        for weight in weights:
            clear(weight, None)
        return found

    return step


def _chain(backend: Backend, get: Get, length: int) -> Step:
    leaf = _leaf(backend, 3)
    add, total, backward, clear, grad = (get(name) for name in ("add.Tensor", "sum", "backward", "set_grad", "grad"))

    def step() -> Any:
        value = leaf
        for _ in range(length):
            value = add(value, leaf)
        backward(total(value))
        found = grad(leaf)
        clear(leaf, None)
        return found

    return step


def _update(backend: Backend, get: Get, count: int, size: int) -> Step:
    """What an optimizer does; the gradients are zero, so that every call leaves the same."""
    leaves = [_leaf(backend, size) for _ in range(count)]
    zeros = backend.from_numpy(np.zeros(size, np.float32))
    enter, leave, subtract, scale = (get(name) for name in ("enter", "leave", "sub_.Tensor", "mul_.Scalar"))

    def step() -> Any:
        inside = enter(NoGrad())
        for leaf in leaves:
            scale(leaf, 1.0)
            subtract(leaf, zeros, alpha=0.01)
        leave(inside)
        return leaves[0]

    return step


def _views(backend: Backend, get: Get) -> Step:
    leaf = _leaf(backend, 4, 4)
    select, cut, turn = get("select.int"), get("slice.Tensor"), get("t")
    return lambda: select(turn(cut(leaf, 0, 1, 3)), 0, 1)


STEPS: dict[str, tuple[int, Callable[[Backend, Get], Step]]] = {
    "(x*w+b).sum() forward": (16, lambda backend, get: _small(backend, get, False)),
    "(x*w+b).sum() both passes": (16, lambda backend, get: _small(backend, get, True)),
    "(x*w+b).sum() both passes, large": (1_000_000, lambda backend, get: _small(backend, get, True, 1_000_000)),
    "3 layers of 256, batch 64, both passes": (64 * 256, lambda backend, get: _layers(backend, get, 256, 64)),
    "slice, t and select of a leaf": (16, _views),
    "update of 8 parameters under no_grad": (16, lambda backend, get: _update(backend, get, 8, 16)),
    "chain of 1000 additions, both passes": (3, lambda backend, get: _chain(backend, get, 1000)),
}
"""Elements of its input, and how the step is made."""


class StepTask(NamedTask):
    """One of STEPS."""

    @property
    def needed_bytes(self) -> int:
        return 64 * self.size

    def prepare(self, backend: Backend) -> Ready:
        if "autograd" not in backend.capabilities:
            raise Unsupported(self.name, "needs the capability autograd")
        return ready_of(backend, STEPS[self.name][1](backend, lambda operator: function_of(backend, operator)[0]))


def step_tasks() -> list[StepTask]:
    """All steps."""
    return [StepTask(name, "autograd", "autograd", size) for name, (size, _) in STEPS.items()]
