"""Watched tensors taken apart and made: the plain tensor for kernels, the edge that its gradient takes, and the watched
tensors over the results of a recorded call.
"""

from __future__ import annotations

from typing import Any

from ..bindings.functions import ops
from ..operators.composites import result_type
from ..tensor.tensor import Tensor
from .autograd_meta import result_of, unpack, version
from .node import Node, accumulator_of
from .view_history import DEFAULT, creation_by, recorded_edge, view_of


def unwrap(tensor: Any) -> tuple[Any, Any]:
    """The plain tensor of a watched one, and where its gradient goes."""
    meta = tensor.autograd
    if meta is None:
        return unpack(tensor), None
    node = meta.grad_fn
    state = meta.view
    if node is not None and (state is None or state.version == version(tensor)):
        return meta.plain, (node, meta.output_nr)
    if node is None and tensor.base is None:
        return meta.plain, (accumulator_of(tensor), 0) if tensor.requires_grad_flag else None
    return meta.plain, recorded_edge(tensor)


def unwrap_list(tensors: Any) -> tuple[Any, Any]:
    """Return plain tensors and edges of a list, which may hold None; None for the edges if there are none."""
    pairs = [(one, None) if one is None or not one.meta.watched else unwrap(one) for one in tensors]
    edges = tuple([edge for _, edge in pairs])
    plain = type(tensors)([one for one, _ in pairs]) if type(tensors) in (list, tuple) else [one for one, _ in pairs]
    return plain, None if all(edge is None for edge in edges) else edges


def plain_list(tensors: Any) -> Any:
    """A list with what kernels get for its watched tensors."""
    return [one if one is None else unpack(one) for one in tensors]


def number_operand(number: Any, *others: Any) -> Tensor:
    """A number that stands where a tensor may: a tensor without dims, of the dtype that the call computes in."""
    tensor = next(one for one in others if isinstance(one, Tensor))
    made: Tensor = ops.scalar_tensor(number, dtype=result_type(tensor, number), device=tensor.device)
    return made


def differentiable(tensor: Tensor) -> bool:
    """Return whether a result of this dtype has a gradient."""
    dtype = tensor.meta.dtype
    return dtype.is_floating_point or dtype.is_complex


def results_of(results: Any, node: Node, constant: tuple[int, ...] = ()) -> Any:
    """Several results: those of numbers are watched, the others, and those at the places `constant`, are not."""
    made = [
        result_of(one, node, nr) if isinstance(one, Tensor) and differentiable(one) and nr not in constant else one
        for nr, one in enumerate(results)
    ]
    kind = type(results)
    return kind(*made) if hasattr(results, "_fields") else kind(made)


def view_results(base: Tensor, results: Any, node: Any) -> Any:
    """One or several results that may be views of `base`; those that share nothing with it are ordinary results."""
    maker = maker_of(node)
    if isinstance(results, Tensor):
        return _view(base, results, node, 0, DEFAULT, maker)
    creation = creation_by(maker)
    return type(results)([_view(base, one, node, nr, creation, maker) for nr, one in enumerate(results)])


def maker_of(node: Any) -> str:
    """The operator's name in what is said of a view that this node (or class of nodes) made."""
    return str(node.label).removesuffix("0").removesuffix("Backward")


def _view(base: Tensor, plain: Tensor, node: Any, nr: int, creation: str, maker: str) -> Tensor:
    if plain.storage_impl is not base.storage_impl:
        return result_of(plain, node, nr)
    return view_of(base, plain, node, nr, creation, maker)
