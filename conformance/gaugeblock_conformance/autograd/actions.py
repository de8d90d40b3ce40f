"""Programs of views, writes and backward passes: drawn as bytes, decoded step by step into calls of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend import Array
from ..backend_autograd import EnableGrad, Hook, NoGrad, Rule, SavedTensorsHooks, Value

Sizes = tuple[int, ...]

STEP = 5
"""Bytes of one step: which action, its first and second value, and two small numbers."""

LEAVES: tuple[Array, ...] = (np.array([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]), np.array([2.0, -0.5, 1.0]))
PLAIN: Array = np.array([[0.5, 1.0, -1.5], [2.0, -0.25, 1.0]])
_MOST_ELEMENTS = 64


@dataclass(frozen=True)
class Action:
    """A call of ``operator`` on values given by their numbers.

    ``push`` and ``pop`` enter and leave a context; the passes (``backward``, ``gradients``) take the sum of their
    value's elements; ``apply`` calls a function with a rule; ``fresh`` is a detached copy.
    """

    operator: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Choice:
    """The numbers of one step, and the sizes of the values that there are."""

    first: int
    second: int
    p: int
    q: int
    sizes: Sequence[Sizes]

    @property
    def x(self) -> Value:
        return Value(self.first)

    @property
    def y(self) -> Value:
        return Value(self.second)

    @property
    def dims(self) -> Sizes:
        return self.sizes[self.first]

    def partner(self, into: bool) -> Value | None:
        """A value that broadcasts with the first one (``into``: to its sizes), the first found from ``second`` on."""
        for k in range(len(self.sizes)):
            number = (self.second + k) % len(self.sizes)
            try:
                whole = np.broadcast_shapes(self.dims, self.sizes[number])
            except ValueError:
                continue
            if whole == self.dims or (not into and np.prod(whole, dtype=int) <= _MOST_ELEMENTS):
                return Value(number)
        return None


Make = Callable[[Choice], Action | None]


def _on_dim(operator: str, arguments: Callable[[Choice, int], tuple[Any, ...]]) -> Make:
    """An action along one dim, for values that have elements along it."""

    def make(c: Choice) -> Action | None:
        if not c.dims or 0 in c.dims:
            return None
        dim = c.p % len(c.dims)
        return Action(operator, (c.x, *arguments(c, dim)))

    return make


def _plain(operator: str, *arguments: Any) -> Make:
    return lambda c: Action(operator, (c.x, *arguments))


def _pair(operator: str, into: bool = False) -> Make:
    def make(c: Choice) -> Action | None:
        partner = c.partner(into)
        return None if partner is None else Action(operator, (c.x, partner))

    return make


def _expanded(c: Choice) -> Action | None:
    return Action("expand", (c.x, (2, *c.dims))) if np.prod(c.dims, dtype=int) <= _MOST_ELEMENTS // 2 else None


def _transposed(c: Choice) -> Action | None:
    return Action("transpose.int", (c.x, c.p % len(c.dims), c.q % len(c.dims))) if c.dims else None


def _diagonal(c: Choice) -> Action | None:
    return Action("diagonal", (c.x,)) if len(c.dims) == 2 else None


def _hook(c: Choice) -> Hook:
    """A hook that logs its argument, or changes it."""
    return Hook(f"v{c.first}", "value") if c.p % 2 else Hook(None, "scale", (2.0, -1.0)[c.q % 2])


def _assigned(c: Choice) -> Action | None:
    return Action("__setitem__", (c.x, c.p % c.dims[0], 3.0)) if c.dims and c.dims[0] else None


VIEWS: tuple[tuple[str, Make], ...] = (
    ("select.int", _on_dim("select.int", lambda c, d: (d, c.q % c.dims[d]))),
    ("slice.Tensor", _on_dim("slice.Tensor", lambda c, d: (d, c.q % c.dims[d], c.dims[d], 1 + c.q % 2))),
    ("narrow", _on_dim("narrow", lambda c, d: (d, c.q % c.dims[d], 1))),
    ("transpose.int", _transposed),
    ("unsqueeze", lambda c: Action("unsqueeze", (c.x, c.p % (len(c.dims) + 1))) if len(c.dims) < 4 else None),
    ("view", _plain("view", (-1,))),
    ("diagonal", _diagonal),
    ("expand", _expanded),
    ("squeeze", _plain("squeeze")),
    ("detach", _plain("detach")),
    ("unbind.int", _on_dim("unbind.int", lambda c, d: (d,))),
    ("split.Tensor", _on_dim("split.Tensor", lambda c, d: (1, d))),
)
FUNCTIONS: tuple[tuple[str, Make], ...] = (
    ("mul.Tensor", _pair("mul.Tensor")),
    ("add.Tensor", _pair("add.Tensor")),
    ("sub.Tensor", _pair("sub.Tensor")),
    ("mul.Scalar", lambda c: Action("mul.Scalar", (c.x, (2.0, -1.0, 0.5)[c.p % 3]))),
    ("neg", _plain("neg")),
    ("tanh", _plain("tanh")),
    ("sin", _plain("sin")),
    ("sum", _plain("sum")),
    ("clone", _plain("clone")),
)
WRITES: tuple[tuple[str, Make], ...] = (
    ("mul_.Tensor", _pair("mul_.Tensor", into=True)),
    ("add_.Tensor", _pair("add_.Tensor", into=True)),
    ("copy_", _pair("copy_", into=True)),
    ("sub_.Tensor", _pair("sub_.Tensor", into=True)),
    ("mul_.Scalar", lambda c: Action("mul_.Scalar", (c.x, (2.0, -1.0, 0.5)[c.p % 3]))),
    ("add_.Scalar", lambda c: Action("add_.Scalar", (c.x, (1.0, -0.5)[c.p % 2]))),
    ("zero_", _plain("zero_")),
    ("neg_", _plain("neg_")),
    ("tanh_", _plain("tanh_")),
    ("sin_", _plain("sin_")),
    ("fill_.Scalar", lambda c: Action("fill_.Scalar", (c.x, (1.5, -0.5)[c.p % 2]))),
)
PASSES: tuple[tuple[str, Make], ...] = (
    ("backward", lambda c: Action("backward", (c.x, c.p % 3 > 0))),
    ("gradients", lambda c: Action("gradients", (c.x, c.p % 3 > 0))),
)
CONTEXTS: tuple[tuple[str, Make], ...] = (
    ("push", lambda c: Action("push", (NoGrad() if c.p % 3 else EnableGrad(),))),
    ("pop", lambda c: Action("pop")),
)
ASSIGNMENTS: tuple[tuple[str, Make], ...] = (("__setitem__", _assigned), ("retain_grad", _plain("retain_grad")))
HOOKS: tuple[tuple[str, Make], ...] = (
    ("register_hook", lambda c: Action("register_hook", (c.x, _hook(c)))),
    ("register_node_prehook", lambda c: Action("register_node_prehook", (c.x, _hook(c)))),
    ("register_node_hook", lambda c: Action("register_node_hook", (c.x, Hook(None, "scale", 2.0)))),
    ("register_multi_grad_hook", lambda c: Action("register_multi_grad_hook", (c.x, c.y, Hook("m", "value")))),
    ("register_hook", lambda c: Action("register_hook", (c.x, _hook(c)))),
)
RULES = ("view", "views", "identity", "inplace", "square", "exp", "two")
LATER: tuple[tuple[str, Make], ...] = (
    ("apply", lambda c: Action("apply", (c.x, Rule(RULES[c.p % len(RULES)])))),
    ("fresh", _plain("fresh")),
    ("requires_grad_", _plain("requires_grad_")),
    ("backward", lambda c: Action("backward", (c.x, c.p % 3 > 0, c.y))),
)
PACKING: tuple[tuple[str, Make], ...] = (
    ("push", lambda c: Action("push", (SavedTensorsHooks("h", "scale", (2.0, -1.0)[c.p % 2]),))),
    ("pop", lambda c: Action("pop")),
)
# Which table a byte picks: views and writes most often.
_TABLES = (FUNCTIONS, VIEWS, WRITES, VIEWS, WRITES, WRITES, PASSES, CONTEXTS)
_WIDER = (*_TABLES, ASSIGNMENTS, HOOKS, LATER, LATER, PACKING)


def steps(code: bytes) -> Iterator[bytes]:
    """The pieces of a program's code, one for each step; a piece of zeros says nothing."""
    for start in range(0, len(code) - STEP + 1, STEP):
        piece = code[start : start + STEP]
        if any(piece):
            yield piece


def decode(piece: bytes, sizes: Sequence[Sizes], wider: bool = False) -> Action | None:
    """The action of a piece where there are values of these sizes; None where it has no meaning. ``wider`` adds actions
    for which there is no model."""
    tables = _WIDER if wider else _TABLES
    which, first, second, p, q = piece
    table = tables[which % len(tables)]
    _, make = table[which // len(tables) % len(table)]
    # Later values first: what was made last is used most.
    return make(Choice(len(sizes) - 1 - first % len(sizes), second % len(sizes), p, q, sizes))
