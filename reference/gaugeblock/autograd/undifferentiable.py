"""Operators that cannot be differentiated: the call succeeds, running its node backwards is an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.dispatcher import Operator
from ..dispatch.state import STATE
from ..tensor.tensor import Tensor
from .autograd_meta import Edge, plain_of, requires_grad, result_of
from .below import below
from .formulas import camel
from .forward_mode import DUAL, PAUSED, tangent_of
from .node import Node
from .view_history import recorded_edge
from .wrapping import differentiable

MISSING = "derivative for aten::{name} is not implemented"


class NotImplementedNode(Node):
    """Raises when a gradient reaches it."""

    __slots__ = ("label", "message")

    def __init__(self, label: str, message: str, edges: tuple[Edge | None, ...], results: Sequence[Tensor]) -> None:
        super().__init__(edges, tuple(one.meta for one in results))
        self.label = label
        self.message = message

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """RuntimeError that names the operator."""
        raise RuntimeError(self.message)


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def refusing(operator: Operator, kind: str, message: str | None = None) -> Callable[..., Any]:
    """A recorder whose node refuses to run backwards."""
    name = operator.name.partition(".")[0]
    text = message or MISSING.format(name=name)
    label = f"{camel(name.rpartition('::')[2])}Backward0" if message else "NotImplemented"

    def record(*args: Any, **kwargs: Any) -> Any:
        tensors = _tensors((*args, *kwargs.values()))
        if DUAL.level and not PAUSED.value and any(tangent_of(one) is not None for one in tensors):
            raise NotImplementedError(
                f"Trying to use forward AD with {name} that does not support it because it has not been implemented "
                "yet."
            )
        given = [one for one in tensors if one.meta.watched and requires_grad(one)]
        result = below(operator, args, kwargs)
        if not STATE.grad or not given:
            return result
        edges = tuple(recorded_edge(one) for one in given)
        made = _tensors(result if isinstance(result, (list, tuple)) else (result,))
        fresh = [one for one in made if differentiable(one) and not any(one is other for other in args)]
        if not fresh:
            return result
        node = NotImplementedNode(label, text, edges, [plain_of(one) for one in made])
        if isinstance(result, Tensor):
            return result_of(plain_of(result), node, 0)
        kept = {id(one) for one in fresh}
        parts = [result_of(plain_of(one), node, nr) if id(one) in kept else one for nr, one in enumerate(result)]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)

    return record
