"""A model of tensors that are written to: NumPy arrays with slopes, so that a view is a view of both.

A write changes values and slopes in place, as if the program had made a new tensor of each: what a backward pass has to
give is read off the slopes. Beside them the model keeps the little that decides about errors: who is a leaf, which view
may not be written to, which saved tensor was written to since. Where the spec leaves an outcome open, it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..backend import Array
from ..backend_autograd import NoGrad, Value
from .actions import LEAVES, PLAIN, Action
from .histories import Base, Memory, Node, Open, Refused, Tensor

WIDTH = sum(array.size for array in LEAVES)
_HUGE = 1e60


def _square(a: Array) -> Array:
    n = min(a.shape[-2:])
    return a[..., :n, :n]


def _spread(slope: Array, factor: Array) -> Array:
    """Slopes times a factor that broadcasts with their values."""
    missing = max(0, factor.ndim - (slope.ndim - 1))
    return np.asarray(slope.reshape(WIDTH, *(1,) * missing, *slope.shape[1:]) * factor)


def _sum(x: Tensor, y: Tensor, sign: float) -> tuple[Array, Array]:
    ones = np.ones(np.broadcast_shapes(x.value.shape, y.value.shape))
    return x.value + sign * y.value, _spread(x.slope, ones) + sign * _spread(y.slope, ones)


def _product(x: Tensor, y: Any) -> tuple[Array, Array]:
    if not isinstance(y, Tensor):
        return x.value * y, x.slope * y
    return x.value * y.value, _spread(x.slope, y.value) + _spread(y.slope, x.value)


def _added(x: Tensor, y: Any) -> tuple[Array, Array]:
    return _sum(x, y, 1.0) if isinstance(y, Tensor) else (x.value + y, x.slope)


def _filled(x: Tensor, number: float = 0.0) -> tuple[Array, Array]:
    return np.full_like(x.value, number), np.zeros_like(x.slope)


def _copied(x: Tensor, y: Tensor) -> tuple[Array, Array]:
    return np.array(np.broadcast_to(y.value, x.value.shape)), _spread(y.slope, np.ones(x.value.shape))


FUNCTIONS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "mul": _product,
    "add": _added,
    "sub": lambda x, y: _sum(x, y, -1.0),
    "neg": lambda x: (-x.value, -x.slope),
    "tanh": lambda x: (np.tanh(x.value), x.slope * (1 - np.tanh(x.value) ** 2)),
    "sin": lambda x: (np.sin(x.value), x.slope * np.cos(x.value)),
    "sum": lambda x: (np.asarray(x.value.sum()), x.slope.reshape(WIDTH, -1).sum(axis=1)),
    "clone": lambda x: (x.value, x.slope),
    "zero": _filled,
    "fill": _filled,
    "copy": _copied,
}
"""Operator -> the values and slopes of its result."""

Move = Callable[..., Array]
MOVES: dict[str, Move] = {
    "select": lambda a, lead, dim, k: a[(slice(None),) * (dim + lead) + (k, ...)],
    "slice": lambda a, lead, dim, start, end, step: a[(slice(None),) * (dim + lead) + (slice(start, end, step),)],
    "narrow": lambda a, lead, dim, start, n: a[(slice(None),) * (dim + lead) + (slice(start, start + n),)],
    "transpose": lambda a, lead, one, other: np.swapaxes(a, one + lead, other + lead),
    "unsqueeze": lambda a, lead, dim: np.expand_dims(a, dim + lead),
    "squeeze": lambda a, lead: a.reshape(a.shape[:lead] + tuple(n for n in a.shape[lead:] if n != 1)),
    "diagonal": lambda a, lead: np.einsum("...ii->...i", _square(a)),
    "view": lambda a, lead, sizes: a.reshape(*a.shape[:lead], -1),
    "expand": lambda a, lead, sizes: as_strided(
        a, (*a.shape[:lead], *sizes), (*a.strides[:lead], 0, *a.strides[lead:])
    ),
}
"""View operator -> the same of an array with ``lead`` further dims in front."""


class WriteModel:
    """The values of a program so far, and what its next action has to do."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []
        self.grads: list[Array | None] = [None] * len(LEAVES)
        self.found: list[Array] = []
        self.recording = [True]
        start = 0
        for array in LEAVES:
            x = self._fresh(array, None, Node())
            x.slope.reshape(WIDTH, -1)[start + np.arange(array.size), np.arange(array.size)] = 1.0
            x.base.leaf = True
            start += array.size
            self.values.append(x)
        self.values.append(self._fresh(PLAIN))

    def run(self, action: Action) -> None:
        """Do the action: new values are added to ``values``, gradients that it gives are put into ``found``.

        Raises:
            Refused: it has to raise.
            Open: the spec does not say what happens; nothing was done.
        """
        args: list[Any] = [self.values[a.number] if isinstance(a, Value) else a for a in action.args]
        name = action.operator.partition(".")[0]
        with np.errstate(all="ignore"):
            if name in ("push", "pop"):
                self._switch(*args)
            elif name in ("backward", "gradients"):
                self._walk(name == "backward", *args)
            elif name.endswith("_"):
                self._write(name[:-1], *args)
            elif name in FUNCTIONS:
                self.values.append(self._call(name, *args))
            else:
                self.values += self._views(name, *args)

    def _switch(self, context: Any = None) -> None:
        if context is not None:
            self.recording.append(not isinstance(context, NoGrad))
        elif len(self.recording) == 1:
            raise Open
        else:
            self.recording.pop()

    def _fresh(self, value: Array, slope: Array | None = None, node: Node | None = None) -> Tensor:
        held = np.zeros((WIDTH, *value.shape)) if slope is None or node is None else np.array(slope, order="C")
        return Tensor(np.array(value, order="C"), held, Base(node), Memory())

    def _check_use(self, *tensors: Tensor) -> bool:
        """Return whether a call on these is recorded. Raises Refused for a view that could not follow its base."""
        if not self.recording[-1]:
            return False
        for x in tensors:
            if x.needs and x.stale:
                raise Refused if x.made_at[1] != x.base.writes and not x.early else Open
            if x.needs and x.way == "unrecorded":
                raise Open
        return any(x.needs for x in tensors)

    def _views(self, name: str, x: Tensor, *args: Any) -> list[Tensor]:
        if name == "detach":
            if x.stale:
                raise Open
            return [Tensor(x.value, np.zeros_like(x.slope), Base(), x.memory, unordered=x.unordered)]
        self._check_use(x)
        if name in ("unbind", "split"):
            dim = args[-1]
            count = x.value.shape[dim]
            if name == "unbind":
                return [self._view(x, "select", (dim, k), "several") for k in range(count)]
            return [self._view(x, "narrow", (dim, k, 1), "several") for k in range(count)]
        return [self._view(x, name, args)]

    def _view(self, x: Tensor, name: str, args: tuple[Any, ...], way: str = "free") -> Tensor:
        if name == "view" and x.unordered and x.value.ndim > 1:
            raise Open
        value, slope = MOVES[name](x.value, 0, *args), MOVES[name](x.slope, 1, *args)
        if not (np.shares_memory(value, x.value) and np.shares_memory(slope, x.slope)):
            raise Open
        way = "unrecorded" if not self.recording[-1] else way if x.way == "free" else x.way
        if way == "unrecorded":
            slope = np.zeros_like(slope)
        made_at = (x.memory.version, x.base.writes)
        return Tensor(value, slope, x.base, x.memory, True, way, made_at, not x.needs, x.unordered)

    def _call(self, name: str, x: Tensor, *args: Any) -> Tensor:
        tensors = [x, *(a for a in args if isinstance(a, Tensor))]
        recorded = self._check_use(*tensors)
        value, slope = FUNCTIONS[name](x, *args)
        if not np.all(np.abs(slope) < _HUGE):
            raise Open
        unordered = any(t.unordered or not t.value.flags.c_contiguous for t in tensors)
        if not recorded:
            return replace(self._fresh(value), unordered=unordered)
        saved = []
        if name == "sin":
            saved = [x]
        elif name == "mul" and len(tensors) == 2:
            saved = [one for one, other in (tensors, tensors[::-1]) if other.needs]
        node = Node([t.base.node for t in tensors if t.base.node is not None], keeps=name == "mul" and not saved)
        node.saved = [(t.memory, t.memory.version) for t in saved]
        result = replace(self._fresh(value, slope, node), unordered=unordered)
        if name == "tanh":
            node.saved = [(result.memory, 0)]
        return result

    def _write(self, name: str, x: Tensor, *args: Any) -> None:
        others = [a for a in args if isinstance(a, Tensor)]
        twice = any(step == 0 and n > 1 for step, n in zip(x.value.strides, x.value.shape, strict=True))
        if twice or any(np.shares_memory(x.value, other.value) for other in others):
            raise Open
        recorded = self.recording[-1] and (self._check_use(*others) or x.needs)
        if recorded:
            if x.base.leaf or (x.needs and x.way != "free"):
                raise Refused
            if x.way != "free" or (x.early and x.needs):
                raise Open
        value, slope = FUNCTIONS[name](x, *args)
        if not np.all(np.abs(slope) < _HUGE):
            raise Open
        node = self._history(name, x, others)
        x.value[...] = value
        x.memory.version += 1
        if recorded:
            x.slope[...] = slope
            x.base.node = node
            x.base.writes += 1
            if name == "tanh":
                node.saved = [(x.memory, x.memory.version)]

    def _history(self, name: str, x: Tensor, others: list[Tensor]) -> Node:
        """The node of a write: behind it the old value, whose gradient is zero where it was overwritten."""
        parents = [other.base.node for other in others if other.base.node is not None]
        before = [] if x.base.node is None else [x.base.node]
        node = Node(parents, before) if name in ("zero", "fill", "copy") and not x.view else Node([*before, *parents])
        node.keeps = x.view or (name == "mul" and not others)
        if name == "mul" and others:
            node.saved = [(o.memory, o.memory.version) for o in others if x.needs]
            node.saved += [(Memory(), 0) for o in others if o.needs]
        elif name == "sin":
            node.saved = [(Memory(), 0)]
        return node

    def _walk(self, accumulate: bool, x: Tensor, retain: bool) -> None:
        if not self._check_use(x):
            raise Refused
        assert x.base.node is not None
        strong, all_of_them = list(x.base.node.behind(False)), list(x.base.node.behind(True))
        if any(node.broken for node in strong):
            raise Refused(last=True)
        if any(node.broken or (node.keeps and node.freed) for node in all_of_them):
            raise Open
        if not retain:
            for node in all_of_them:
                node.freed = True
        total, start = x.slope.reshape(WIDTH, -1).sum(axis=1), 0
        self.found = []
        for k, leaf in enumerate(self.values[: len(LEAVES)]):
            part = total[start : start + leaf.value.size].reshape(leaf.value.shape)
            before = self.grads[k]
            if accumulate:
                self.grads[k] = part if before is None else before + part
            self.found.append(part)
            start += leaf.value.size
