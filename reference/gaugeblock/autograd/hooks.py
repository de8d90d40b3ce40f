"""Hooks on a tensor and on several together, retain_grad, and edges as values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..core.errors import type_error
from ..core.fork_safety import fork_safe
from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .autograd_meta import more_of, requires_grad
from .engine import Pass, current_pass
from .node import GradientEdge, RemovableHandle, accumulator_of
from .view_history import edge_of, grad_fn_of


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever a gradient of the tensor is computed; a tensor that it returns replaces it.
    RuntimeError when the tensor does not require a gradient."""
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    edge = edge_of(self)
    if grad_fn_of(self) is None:
        more = more_of(self)
        if more.hooks is None:
            more.hooks = {} if edge is None else accumulator_of(self).hooked().tensors.setdefault(0, {})
        return RemovableHandle(more.hooks, hook)
    assert edge is not None
    node, nr = edge
    return RemovableHandle(node.hooked().tensors.setdefault(nr, {}), hook)


def retain_grad(self: Tensor) -> None:
    """Let backward fill .grad of this tensor although it is no leaf. RuntimeError unless it requires a gradient."""
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if grad_fn_of(self) is None:
        return
    more = more_of(self)
    if more.retains:
        return
    more.retains = True
    edge = edge_of(self)
    assert edge is not None

    def keep(grad: Tensor) -> None:
        held = more.grad
        more.grad = (grad.clone() if not STATE.grad else grad) if held is None else held + grad  # type: ignore[operator,attr-defined]

    edge[0].hooked().retained[edge[1]] = keep


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to ``tensor.grad``. RuntimeError unless it is a leaf."""
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if grad_fn_of(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    more = more_of(self)
    if more.post_hooks is None:
        more.post_hooks = {}
    return RemovableHandle(more.post_hooks, hook)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that the gradient of the tensor flows along. RuntimeError when it does not require one."""
    if not isinstance(tensor, Tensor):
        type_error("get_gradient_edge", "tensor", tensor, "Tensor")
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


class MultiHandle(RemovableHandle):
    """Removes the hooks that belong together."""

    __slots__ = ("handles",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take them all away."""
        for handle in self.handles:
            handle.remove()


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
