"""Taking watched tensors apart: the plain tensor for kernels, and the edge that its gradient takes."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .accumulate_grad import accumulator_of
from .autograd_meta import plain_of, version
from .public import gb
from .view_history import recorded_edge


def unwrap(tensor: Any) -> tuple[Any, Any]:
    """The plain tensor of a watched one, and where its gradient goes."""
    meta = tensor.autograd
    if meta is None:
        return plain_of(tensor), None
    node = meta.grad_fn
    state = meta.view
    if node is not None and (state is None or state.version == version(tensor)):
        return meta.plain, (node, meta.output_nr)
    if node is None and tensor.base is None:
        return meta.plain, (accumulator_of(tensor), 0) if tensor.requires_grad_flag else None
    return meta.plain, recorded_edge(tensor)


def unwrap_list(tensors: Any) -> tuple[Any, Any]:
    """The same for a list, which may have None in it; no edges at all when none of them leads anywhere."""
    pairs = [(one, None) if one is None or not one.geometry.watched else unwrap(one) for one in tensors]
    edges = tuple([edge for _, edge in pairs])
    plain = type(tensors)([one for one, _ in pairs]) if type(tensors) in (list, tuple) else [one for one, _ in pairs]
    return plain, None if all(edge is None for edge in edges) else edges


def plain_list(tensors: Any) -> Any:
    """A list with what kernels get for its watched tensors."""
    return [one if one is None else plain_of(one) for one in tensors]


def number_operand(number: Any, *others: Any) -> Tensor:
    """A number that stands where a tensor may: a tensor without dims, of the dtype that the call computes in."""
    tensor = next(one for one in others if isinstance(one, Tensor))
    made: Tensor = gb.scalar_tensor(number, dtype=gb.result_type(tensor, number), device=tensor.device)
    return made
