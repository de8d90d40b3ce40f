"""Recorders of operators that need no node of their own: composites, metadata in place, out=, nothing to record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import REGISTRY, Operator, call
from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .autograd_meta import plain_of, requires_grad, version
from .below import below
from .forward_mode import DUAL, PAUSED, has_tangent, set_tangent, tangent_of
from .view_history import check_inplace


def metadata_inplace(operator: Operator, view: Operator) -> Callable[..., Any]:
    """An operator such as t_, which makes of the tensor the view that `view` returns."""

    def record(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        held = tangent_of(self) if DUAL.level else None
        if STATE.grad and requires_grad(self):
            check_inplace(self)
            seen = call(view, self, *args, **kwargs)
            below(operator, (self, *args), kwargs)
            meta = self.autograd
            meta.grad_fn, meta.output_nr = seen.autograd.grad_fn, 0
            if meta.view is not None:
                meta.view.version = version(self)
        else:
            below(operator, (self, *args), kwargs)
        if held is not None:
            set_tangent(self, call(view, held, *args, **kwargs))
        return self

    return record


VIEW_OF_INPLACE = {
    "t_": "t", "transpose_": "transpose.int", "swapaxes_": "swapaxes", "swapdims_": "swapdims", "squeeze_": "squeeze",
    "squeeze_.dim": "squeeze.dim", "squeeze_.dims": "squeeze.dims", "unsqueeze_": "unsqueeze",
    "as_strided_": "as_strided",
}  # fmt: skip
"""Operator that changes a tensor's own sizes and strides -> the view that it becomes."""


def passing(operator: Operator) -> Callable[..., Any]:
    """Nothing is recorded."""

    def record(*args: Any, **kwargs: Any) -> Any:
        return below(operator, args, kwargs)

    return record


def unstripped(operator: Operator) -> Callable[..., Any]:
    """The operator's kernel on the watched tensors themselves: it is made of operators that are recorded."""

    def record(*args: Any, **kwargs: Any) -> Any:
        device = next((one for one in args if isinstance(one, Tensor)), None)
        name = "CPU" if device is None or device.meta.device.type == "cpu" else "Meta"
        entry = REGISTRY.lookup(operator, name)
        if entry.function is None:
            return below(operator, args, kwargs)
        return entry.function(*args, **kwargs)

    return record


def composite_inplace(operator: Operator, row_name: str) -> Callable[..., Any]:
    """The in-place form of a composite: the result of the functional form, written as copy_ does."""
    functional = REGISTRY.find(row_name)
    copy = REGISTRY.find("copy_")

    def record(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not STATE.grad:
            return below(operator, (self, *args), kwargs)
        call(copy, self, call(functional, self, *args, **kwargs))
        return self

    return record


def values_alone(record: Callable[..., Any]) -> Callable[..., Any]:
    """The recorder of svd: zeros that stand for vectors nobody asked for have no gradient."""

    def recorded(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
        result = record(self, some, compute_uv)
        return result if compute_uv else type(result)(plain_of(result.U), result.S, plain_of(result.V))

    return recorded


REFINED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {"svd": values_alone}
"""Operators whose recorder is made of the generated one."""


def refusing_out(operator: Operator) -> Callable[..., Any]:
    """Return the out= form of an operator that is not differentiated.

    It raises RuntimeError if an argument requires a gradient while calls are recorded, NotImplementedError for a dual
    tensor.
    """
    name = operator.name.partition(".")[0]

    def record(*args: Any, **kwargs: Any) -> Any:
        if STATE.grad and _any_requires_grad((*args, *kwargs.values())):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        if DUAL.level and not PAUSED.value and has_tangent((*args, *kwargs.values())):
            raise NotImplementedError(
                f"{name}(): forward mode AD does not support it because it is an out= function, but one of the "
                "arguments is a dual tensor"
            )
        return below(operator, args, kwargs)

    return record


def _any_requires_grad(values: Any) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if value.meta.watched and requires_grad(value):
                return True
        elif isinstance(value, (list, tuple)) and _any_requires_grad(value):
            return True
    return False
