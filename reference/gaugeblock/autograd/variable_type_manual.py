"""Autograd kernels that are written by hand.

These are the kernels of composites, of operators that change metadata in place, of out= forms, of operators that cannot
be differentiated, of `set_`, and of operators from outside with a registered derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.keys import tensors_in
from ..dispatch.operator import Operator
from ..dispatch.state import STATE
from ..tensor.changing import change_meta
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import without_autograd
from .autograd_meta import (
    differentiable,
    materialize_autograd_meta,
    refresh_plain,
    requires_grad,
    result_of,
    unpack,
    version,
)
from .below_autograd import below, own_kernel
from .formulas import camel
from .forward_mode import DUAL, PAUSED, has_tangent, set_tangent, tangent_of
from .function import BackwardFunction, meta_of
from .grad_mode import enable_grad
from .node import Node, NotImplementedNode
from .view_history import check_inplace, recorded_edge


def metadata_inplace(operator: Operator, view: Operator) -> Callable[..., Any]:
    """An operator such as t_, which makes of the tensor the view that `view` returns."""

    def record(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        held = tangent_of(self) if DUAL.level else None
        if STATE.grad and requires_grad(self):
            check_inplace(self)
            seen = call(view, self, *args, **kwargs)
            if seen.autograd is None:
                raise RuntimeError(f"{operator.name}(): another thread is changing the metadata of the same tensor")
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


def composite(operator: Operator) -> Callable[..., Any]:
    """Return the operator's kernel on the tensors as they are: it is made of operators that are recorded."""

    def record(*args: Any, **kwargs: Any) -> Any:
        kernel = own_kernel(operator, next((one for one in args if isinstance(one, Tensor)), None))
        return below(operator, args, kwargs) if kernel is None else kernel(*args, **kwargs)

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


def refusing_out(operator: Operator, loses: bool) -> Callable[..., Any]:
    """Return the out= form of an operator. It raises RuntimeError if it `loses` the gradient that an argument requires
    while calls are recorded, NotImplementedError for a dual tensor."""
    name = operator.name.partition(".")[0]

    def record(*args: Any, **kwargs: Any) -> Any:
        given = tensors_in((*args, *kwargs.values()))
        if loses and STATE.grad and any(one.meta.has_autograd and requires_grad(one) for one in given):
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


def results_of(results: Any, node: Node, constant: Sequence[int] = ()) -> Any:
    """Return one or several results, of which the differentiable ones lead to the node, but those at the places
    `constant`."""

    def recorded(one: Any, nr: int) -> Any:
        constant_or_none = not isinstance(one, Tensor) or not differentiable(one) or nr in constant
        return one if constant_or_none else result_of(unpack(one), node, nr)

    if not isinstance(results, (list, tuple)):
        return recorded(results, 0)
    made = [recorded(one, nr) for nr, one in enumerate(results)]
    kind = type(results)
    return kind(*made) if hasattr(results, "_fields") else kind(made)


def refusing(operator: Operator) -> Callable[..., Any]:
    """An autograd kernel whose node refuses to run backwards."""
    name = operator.name.partition(".")[0]
    text = f"derivative for aten::{name} is not implemented"

    def record(*args: Any, **kwargs: Any) -> Any:
        tensors = list(tensors_in((*args, *kwargs.values())))
        if DUAL.level and not PAUSED.value and has_tangent(tensors):
            raise NotImplementedError(
                f"Trying to use forward AD with {name} that does not support it because it has not been implemented "
                "yet."
            )
        given = [one for one in tensors if one.meta.has_autograd and requires_grad(one)]
        result = below(operator, args, kwargs)
        if not STATE.grad or not given:
            return result
        edges = tuple(recorded_edge(one) for one in given)
        made = list(tensors_in((result,)))
        fresh = [one for one in made if differentiable(one) and not any(one is other for other in args)]
        if not fresh:
            return result
        node = NotImplementedNode("NotImplemented", text, edges, [unpack(one) for one in made])
        parts = (result,) if isinstance(result, Tensor) else result
        given_back = [nr for nr, one in enumerate(parts) if any(one is other for other in args)]
        return results_of(result, node, given_back)

    return record


def rebound(self: Tensor, source: Tensor | None, change: Callable[[], Any]) -> Tensor:
    """`self` after `change`, which puts it on another storage; no gradient flows on from it then. Raises RuntimeError,
    where calls are recorded, for a leaf that requires grad."""
    taking_part = [one for one in (self, source) if STATE.grad and one is not None and requires_grad(one)]
    if taking_part:
        check_inplace(self)
    edges = tuple([recorded_edge(one) for one in taking_part])
    change_meta(self, without_autograd)
    try:
        change()
    finally:
        if self.autograd is not None:
            self.autograd.view = None
            refresh_plain(self)
    if taking_part:
        meta = materialize_autograd_meta(self)
        message = "derivative for set_ is not implemented"
        meta.grad_fn = NotImplementedNode("NotImplemented", message, edges, [unpack(self)])
        meta.output_nr = 0
    return self


def rebinding(operator: Operator) -> Callable[..., Any]:
    """The autograd kernel of `set_` with a tensor."""

    def record(self: Tensor, source: Tensor) -> Tensor:
        plain = unpack(source)
        return rebound(self, source, lambda: below(operator, (self, plain), {}))

    return record


class RegisteredNode(BackwardFunction):
    """The node of an operator from outside: its arguments may be lists; `counts` are the lengths of those that are."""

    backward: Callable[..., Any]
    counts: tuple[int | None, ...] = ()

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients that the registered backward returns, lists spread out."""
        results = self.backward(self, *(self.filled(grads) if self.materialize_grads else grads))
        parts = results if isinstance(results, tuple) else (results,)
        if len(parts) != len(self.counts):
            raise RuntimeError(
                f"the backward of {self.label} returned {len(parts)} gradients for {len(self.counts)} arguments"
            )
        found: list[Tensor | None] = []
        for part, count in zip(parts, self.counts, strict=True):
            found += [part] if count is None else [None] * count if part is None else list(part)
        return found


def registered_kernel(operator: Operator, own: Any = None) -> Callable[..., Any]:
    """Records calls of an operator from outside, by the derivative that was registered for it, or by an `own` one."""
    schema = operator.schema
    label = f"{camel(operator.name.replace('::', '_').replace('.', '_'))}Backward"
    node_type = type(label, (RegisteredNode,), {"label": label})

    def record(*args: Any, **kwargs: Any) -> Any:
        derivative = own or operator.derivative
        values = [
            args[place] if place < len(args) else kwargs.get(argument.name, argument.default and argument.default_value)
            for place, argument in enumerate(schema.arguments)
        ]
        inputs = tuple(values[: len(schema.positional)])
        result = below(operator, args, kwargs)
        if not STATE.grad or not any(map(requires_grad, tensors_in(inputs))):
            return result
        members = [value if isinstance(value, (list, tuple)) else (value,) for value in inputs]
        ctx: Any = node_type()
        ctx.backward = derivative.backward
        given = [one if isinstance(one, Tensor) else None for part in members for one in part]
        ctx.edges = tuple([recorded_edge(one) if one is not None and one.meta.has_autograd else None for one in given])
        ctx.counts = tuple([len(value) if isinstance(value, (list, tuple)) else None for value in inputs])
        ctx.needs_input_grad = tuple(_needs(value) for value in inputs)
        if derivative.setup_context is not None:
            options = {}
            if schema.keyword_only:
                names = [argument.name for argument in schema.keyword_only]
                options["keyword_only_inputs"] = dict(zip(names, values[len(inputs) :], strict=True))
            with enable_grad():
                derivative.setup_context(ctx, inputs, result, **options)
        outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        ctx.keep(outputs)
        ctx.metas = tuple(meta_of(one) for one in outputs)
        return results_of(result, ctx)

    return record


def _needs(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_needs(one) for one in value]
    return isinstance(value, Tensor) and requires_grad(value)
