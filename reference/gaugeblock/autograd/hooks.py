"""Hooks on tensors, and retain_grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .accumulate_grad import accumulator_of
from .autograd_meta import more_of, requires_grad
from .removable_handle import RemovableHandle
from .view_history import edge_of, grad_fn_of


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever a gradient of the tensor is computed; a tensor that it returns replaces it.

    RuntimeError when the tensor does not require a gradient.
    """
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
