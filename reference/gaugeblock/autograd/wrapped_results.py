"""The watched tensors over the results of a recorded call."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .autograd_meta import result_of
from .node import Node
from .view_history import DEFAULT, creation_by, view_of


def differentiable(tensor: Tensor) -> bool:
    """Whether a result of this dtype has a gradient."""
    dtype = tensor.geometry.dtype
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
