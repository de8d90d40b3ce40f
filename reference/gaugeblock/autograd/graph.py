"""``gaugeblock.autograd.graph``: a module of what belongs to graphs, and itself a function that shows one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from ..tensor.tensor import Tensor
from .hooks import get_gradient_edge, register_multi_grad_hook
from .node import GradientEdge, Node
from .saved_tensor import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .view_history import edge_of

__all__ = [
    "GradientEdge", "Graph", "Node", "Vertex", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class Vertex(NamedTuple):
    """A node, what it is called in the picture, and how many edges it is away from the root at least."""

    node: Node
    label: str
    detail: str
    depth: int


class Graph:
    """Nodes (`vertices`) and edges (pairs of places among them, with the input and output they join) of a graph.

    It prints as an indented tree in which a node that was shown before is only named; `gaugeblock_tools.graph_picture`
    draws it.
    """

    def __init__(self, roots: Sequence[Node]) -> None:
        depths = _depths(roots)
        order = sorted(depths, key=lambda node: (depths[node], -node.sequence))
        self.places = {node: place for place, node in enumerate(order)}
        sizes = [" ".join(f"{list(meta.sizes)}" for meta in node.metas if meta is not None) for node in order]
        self.vertices = [Vertex(one, one.name(), text, depths[one]) for one, text in zip(order, sizes, strict=True)]
        self.edges = [
            (self.places[node], self.places[edge[0]], slot, edge[1])
            for node in order
            for slot, edge in enumerate(node.edges)
            if edge is not None
        ]
        self.roots = [self.places[node] for node in dict.fromkeys(roots)]

    def __len__(self) -> int:
        return len(self.vertices)

    def __str__(self) -> str:
        lines: list[str] = []
        shown: set[int] = set()
        stack = [(root, 0) for root in reversed(self.roots)]
        onward: dict[int, list[int]] = {}
        for start, end, _, _ in self.edges:
            onward.setdefault(start, []).append(end)
        while stack:
            place, level = stack.pop()
            vertex = self.vertices[place]
            again = place in shown
            detail = " (above)" if again and onward.get(place) else f" {vertex.detail}" if vertex.detail else ""
            lines.append(f"{'  ' * level}{vertex.label} #{place}{detail}")
            if not again:
                shown.add(place)
                stack += [(end, level + 1) for end in reversed(onward.get(place, []))]
        return "\n".join(lines)

    __repr__ = __str__


def _depths(roots: Sequence[Node]) -> dict[Node, int]:
    """The longest way from a root to each node, so that every edge leads downwards."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in roots]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(edge[0], False) for edge in node.edges if edge is not None and edge[0] not in seen]
    depths = dict.fromkeys(roots, 0)
    for node in reversed(order):
        depth = depths.setdefault(node, 0)
        for edge in node.edges:
            if edge is not None and depths.get(edge[0], -1) <= depth:
                depths[edge[0]] = depth + 1
    return depths


def graph(*tensors: Tensor) -> Graph:
    """Return the graph that computed these tensors. Raises TypeError for anything else, RuntimeError for a tensor
    without a graph."""
    roots = []
    for place, one in enumerate(tensors):
        if not isinstance(one, Tensor):
            raise TypeError(f"graph(): argument {place} must be Tensor, not {type(one).__name__}")
        edge = edge_of(one)
        if edge is None:
            raise RuntimeError(f"graph(): argument {place} does not require grad and has no graph")
        roots.append(edge[0])
    if not roots:
        raise TypeError("graph(): expected at least one tensor")
    return Graph(roots)


class _Module(ModuleType):
    """The module's class: calling it shows the graph of tensors."""

    def __call__(self, *tensors: Tensor) -> Graph:
        """See `graph`."""
        return graph(*tensors)


sys.modules[__name__].__class__ = _Module
