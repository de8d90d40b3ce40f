"""The graph behind a tensor: its nodes and edges, as text and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ..tensor.tensor import Tensor
from .node import AccumulateGrad, Node
from .view_history import edge_of

WIDTH, HEIGHT, GAP, LIFT = 190, 34, 22, 44
"""Of a box in the picture, between boxes of a row, and between rows, in pixels."""


class Vertex(NamedTuple):
    """A node, what it is called in the picture, and how many edges it is away from the root at least."""

    node: Node
    label: str
    detail: str
    depth: int


class GraphPicture:
    """Nodes (`vertices`) and edges (pairs of places among them, with the input and output they join) of a graph.

    It prints as an indented tree in which a node that was shown before is only named; `svg()` draws it.
    """

    def __init__(self, roots: Sequence[Node]) -> None:
        depths = _depths(roots)
        order = sorted(depths, key=lambda node: (depths[node], -node.sequence))
        self.places = {node: place for place, node in enumerate(order)}
        self.vertices = [Vertex(node, node.name(), _detail(node), depths[node]) for node in order]
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

    def _repr_svg_(self) -> str:
        return self.svg()

    def dot(self) -> str:
        """The graph in the language of graphviz."""
        lines = ["digraph autograd {", "  node [shape=box];"]
        for place, vertex in enumerate(self.vertices):
            text = f"{vertex.label}\n{vertex.detail}".strip().replace("\\", "\\\\").replace('"', '\\"')
            lines.append('  n{} [label="{}"];'.format(place, text.replace("\n", "\\n")))
        lines += [f"  n{start} -> n{end};" for start, end, _, _ in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """A picture: the roots on top, every node below those that lead to it."""
        rows: dict[int, list[int]] = {}
        for place, vertex in enumerate(self.vertices):
            rows.setdefault(vertex.depth, []).append(place)
        widest = max(len(row) for row in rows.values())
        total = widest * (WIDTH + GAP) + GAP
        spots: dict[int, tuple[float, float]] = {}
        for depth, row in rows.items():
            left = (total - len(row) * (WIDTH + GAP) + GAP) / 2
            for index, place in enumerate(row):
                spots[place] = (left + index * (WIDTH + GAP), GAP + depth * (HEIGHT + LIFT))
        tall = GAP * 2 + max(rows) * (HEIGHT + LIFT) + HEIGHT
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{tall}" viewBox="0 0 {total} {tall}" '
            'font-family="sans-serif" font-size="12">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="#888"/></marker></defs>',
        ]
        for start, end, _, _ in self.edges:
            (x, y), (u, v) = spots[start], spots[end]
            path = (
                f"M{x + WIDTH / 2} {y + HEIGHT} C{x + WIDTH / 2} {y + HEIGHT + LIFT / 2} {u + WIDTH / 2} {v - LIFT / 2}"
            )
            parts.append(f'<path d="{path} {u + WIDTH / 2} {v}" fill="none" stroke="#888" marker-end="url(#tip)"/>')
        for place, vertex in enumerate(self.vertices):
            x, y = spots[place]
            fill = "#dcefdc" if isinstance(vertex.node, AccumulateGrad) else "#e6ecf5"
            parts.append(
                f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{fill}" stroke="#667"/>'
                f'<text x="{x + WIDTH / 2}" y="{y + 14}" text-anchor="middle" fill="#112">{escape(vertex.label)}</text>'
                f'<text x="{x + WIDTH / 2}" y="{y + 28}" text-anchor="middle" fill="#556" font-size="10">'
                f"{escape(vertex.detail)}</text>"
            )
        return "".join([*parts, "</svg>"])


def _detail(node: Node) -> str:
    sizes = [list(meta.sizes) for meta in node.metas if meta is not None]
    return " ".join(f"{meta}" for meta in sizes)


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


def graph(*tensors: Tensor) -> GraphPicture:
    """The graph that computed these tensors. TypeError for anything else, RuntimeError for one without a graph."""
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
    return GraphPicture(roots)
