"""Operators from outside whose derivative was registered: their calls are recorded as those of custom functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_spec.schema import Schema

from ..dispatch.dispatcher import Operator
from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .autograd_meta import plain_of, requires_grad, result_of
from .below import below
from .formulas import camel
from .function import BackwardFunction, meta_of
from .grad_mode import enable_grad
from .view_history import recorded_edge
from .wrapping import differentiable


class RegisteredNode(BackwardFunction):
    """The node of an operator from outside: its arguments may be lists of tensors."""

    backward: Callable[..., Any]
    counts: tuple[int | None, ...] = ()

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients that the registered backward returns, lists spread out."""
        results = self.backward(self, *(self.materialized(grads) if self.materialize_grads else grads))
        parts = results if isinstance(results, tuple) else (results,)
        if len(parts) != len(self.counts):
            raise RuntimeError(
                f"the backward of {self.label} returned {len(parts)} gradients for {len(self.counts)} arguments"
            )
        found: list[Tensor | None] = []
        for part, count in zip(parts, self.counts, strict=True):
            if count is None:
                continue
            members = [part] if count < 0 else [None] * count if part is None else list(part)
            found += members
        return found


def _counts(schema: Schema, values: Sequence[Any]) -> tuple[int | None, ...]:
    """For each argument None, -1 for a tensor, else the length of a list of tensors."""
    found: list[int | None] = []
    for argument, value in zip(schema.arguments, values, strict=True):
        if argument.kwarg_only:
            continue
        if argument.base_type != "Tensor":
            found.append(None)
        else:
            found.append(len(value or ()) if argument.is_list else -1)
    return tuple(found)


def registered_recorder(operator: Operator) -> Callable[..., Any]:
    """Records calls of an operator from outside, by the derivative that was registered for it."""
    schema = operator.schema
    label = f"{camel(operator.name.replace('::', '_').replace('.', '_'))}Backward"
    node_type = type(label, (RegisteredNode,), {"label": label})
    only_named = [argument.name for argument in schema.keyword_only]

    def record(*args: Any, **kwargs: Any) -> Any:
        derivative = operator.derivative
        values = [
            args[place] if place < len(args) else kwargs.get(argument.name, argument.default and argument.default_value)
            for place, argument in enumerate(schema.arguments)
        ]
        tensors: list[Any] = []
        for argument, value in zip(schema.arguments, values, strict=True):
            if argument.base_type == "Tensor" and not argument.kwarg_only:
                tensors += list(value or ()) if argument.is_list else [value]
        needed = any(isinstance(one, Tensor) and requires_grad(one) for one in tensors)
        result = below(operator, args, kwargs)
        if not STATE.grad or not needed:
            return result
        ctx: Any = node_type()
        ctx.backward = derivative.backward
        ctx.edges = tuple(
            [recorded_edge(one) if isinstance(one, Tensor) and one.meta.watched else None for one in tensors]
        )
        ctx.counts = _counts(schema, values)
        positional = values[: len(schema.positional)]
        ctx.needs_input_grad = tuple(_needs(value) for value in positional)
        outputs = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        if derivative.setup_context is not None:
            options = {}
            if only_named:
                named = dict(zip((argument.name for argument in schema.arguments), values, strict=True))
                options["keyword_only_inputs"] = {name: named[name] for name in only_named}
            with enable_grad():
                derivative.setup_context(ctx, tuple(positional), result, **options)
        ctx.keep(outputs)
        ctx.metas = tuple(meta_of(one) for one in outputs)
        made = [
            result_of(plain_of(one), ctx, nr) if isinstance(one, Tensor) and differentiable(one) else one
            for nr, one in enumerate(outputs)
        ]
        if isinstance(result, (tuple, list)):
            return type(result)(made)
        return made[0]

    return record


def _needs(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_needs(one) for one in value]
    return isinstance(value, Tensor) and requires_grad(value)
