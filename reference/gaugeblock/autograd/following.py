"""Gradients that are locally constant in an argument: recorded to depend on it, with gradient zero."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor.tensor import Tensor
from .autograd_meta import Edge, more_of, result_of, shallow_copy_and_detach, unpack
from .node import Node, zeros_of
from .view_history import edge_of


class FollowingNode(Node):
    """Passes a gradient on unchanged, and zeros to the arguments that are followed."""

    __slots__ = ("label",)

    def __init__(self, label: str, gradient: Tensor, edges: tuple[Edge | None, ...]) -> None:
        super().__init__((edge_of(gradient), *edges), (unpack(gradient).meta,))
        self.label = label

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Return the incoming gradient, then zeros for each followed argument."""
        zeros = [None if edge is None else zeros_of(edge[0].metas[edge[1]]) for edge in self.edges[1:]]
        return (grads[0] if self.edges[0] is not None else None, *zeros)


def following(
    node: Node, gradients: tuple[Tensor | None, ...], edges: tuple[Edge | None, ...]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `node`, each recorded to depend on the tensors that `edges` lead to."""
    if all(edge is None for edge in edges):
        return gradients
    label = f"{node.label.rstrip('0123456789')}Backward0"
    made: list[Tensor | None] = []
    for one in gradients:
        held = None if one is None or one.autograd is None else one.autograd.more
        if one is not None:
            one = result_of(shallow_copy_and_detach(unpack(one)), FollowingNode(label, one, edges), 0)
        if one is not None and held is not None and held.tangent is not None:
            more = more_of(one)
            more.tangent, more.epoch = held.tangent, held.epoch
        made.append(one)
    return tuple(made)
