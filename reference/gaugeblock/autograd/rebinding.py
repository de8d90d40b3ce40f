"""Tensors that `set_` puts on another storage: what was recorded of them ends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import Operator
from ..dispatch.state import STATE
from ..tensor.changing import change_meta
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import unwatched
from .autograd_meta import plain_of, refresh_plain, requires_grad, watch
from .below import below
from .undifferentiable import NotImplementedNode
from .view_history import check_inplace, recorded_edge

MESSAGE = "derivative for set_ is not implemented"


def rebound(self: Tensor, source: Tensor | None, change: Callable[[], Any]) -> Tensor:
    """`self` after `change`, which puts it on another storage; no gradient flows on from it then.

    Raises RuntimeError, where calls are recorded, for a leaf that requires grad.
    """
    taking_part = [one for one in (self, source) if STATE.grad and one is not None and requires_grad(one)]
    if taking_part:
        check_inplace(self)
    edges = tuple([recorded_edge(one) for one in taking_part])
    change_meta(self, unwatched)
    try:
        change()
    finally:
        if self.autograd is not None:
            self.autograd.view = None
            refresh_plain(self)
    if taking_part:
        meta = watch(self)
        meta.grad_fn = NotImplementedNode("NotImplemented", MESSAGE, edges, [plain_of(self)])
        meta.output_nr = 0
    return self


def rebinding(operator: Operator) -> Callable[..., Any]:
    """The recorder of `set_` with a tensor."""

    def record(self: Tensor, source: Tensor) -> Tensor:
        plain = plain_of(source)
        return rebound(self, source, lambda: below(operator, (self, plain), {}))

    return record
