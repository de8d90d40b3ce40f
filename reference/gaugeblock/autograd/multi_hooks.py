"""Hooks on several tensors together, and edges as values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..tensor.tensor import Tensor
from .autograd_meta import edge_of
from .engine import pass_number
from .hooks import register_hook
from .node import Node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor is: a node and which of its results."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of the tensor flows along. RuntimeError when it does not require one."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


class MultiHandle:
    """Removes the hooks that belong together."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take them all away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> MultiHandle:
    """Call `fn` once in a pass: with the gradients of all tensors when the last has come (None for tensors that get
    none), or with ``mode="any"`` with the first. ValueError for another mode."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    state: dict[int, list[Any]] = {}
    counts: dict[int, int] = {}
    edges = [edge_of(one) for one in tensors]

    def hook_of(place: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            number, reached = pass_number()
            with lock:
                found = state.setdefault(number, [None] * len(tensors))
                found[place] = grad
                counts[number] = counts.get(number, 0) + 1
                if mode == "any":
                    ready = counts[number] == 1
                else:
                    ready = counts[number] == sum(edge is not None and edge[0] in reached for edge in edges)
                    if ready:
                        del state[number], counts[number]
            if ready:
                fn(grad if mode == "any" else found)

        return hook

    return MultiHandle([register_hook(one, hook_of(place)) for place, one in enumerate(tensors)])
