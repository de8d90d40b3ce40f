"""Hooks on several tensors together, and edges as values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..core.errors import type_error
from ..core.fork_safety import fork_safe
from ..tensor.tensor import Tensor
from .engine import Pass, current_pass
from .hooks import register_hook
from .node import GradientEdge
from .view_history import edge_of


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of the tensor flows along. RuntimeError when it does not require one."""
    if not isinstance(tensor, Tensor):
        type_error("get_gradient_edge", "tensor", tensor, "Tensor")
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
    """Call `fn` once per pass, and return the handle that removes the hook.

    In mode "all" it is called with the gradients of all tensors when the last is computed, None for tensors that the
    pass does not need; in mode "any" with the first gradient. Raises ValueError for another mode, RuntimeError for a
    tensor that no gradient flows to. Source: torch.autograd.graph.register_multi_grad_hook.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if not isinstance(tensors, (list, tuple)):
        type_error("register_multi_grad_hook", "tensors", tensors, "a sequence of Tensors")
    for place, one in enumerate(tensors):
        if not isinstance(one, Tensor):
            type_error("register_multi_grad_hook", f"tensors[{place}]", one, "Tensor")
    lock = fork_safe(threading.RLock())
    state: WeakKeyDictionary[Pass, list[tuple[int, Tensor | None]]] = WeakKeyDictionary()
    edges = [get_gradient_edge(one) for one in tensors]

    def hook_of(place: int) -> Callable[[Tensor | None], None]:
        def hook(grad: Tensor | None) -> None:
            running = current_pass()
            with lock:
                found = state.setdefault(running, [])
                found.append((place, grad))
                expected = 1 if mode == "any" else sum(edge.node in running for edge in edges)
                ready = len(found) == expected
            if ready and mode == "any":
                fn(grad)
            elif ready:
                fn([dict(found).get(nr) for nr in range(len(tensors))])

        return hook

    return MultiHandle([register_hook(one, hook_of(place)) for place, one in enumerate(tensors)])
