"""Pictures of autograd graphs, as SVG and in the language of graphviz.

    svg(gaugeblock.autograd.graph(loss))
"""

from __future__ import annotations

from html import escape

from gaugeblock.autograd.graph import Graph
from gaugeblock.autograd.node import AccumulateGrad

WIDTH, HEIGHT, GAP, LIFT = 190, 34, 22, 44
"""Of a box in the picture, between boxes of a row, and between rows, in pixels."""


def dot(graph: Graph) -> str:
    """Return the graph in the language of graphviz."""
    lines = ["digraph autograd {", "  node [shape=box];"]
    for place, vertex in enumerate(graph.vertices):
        text = f"{vertex.label}\n{vertex.detail}".strip().replace("\\", "\\\\").replace('"', '\\"')
        lines.append('  n{} [label="{}"];'.format(place, text.replace("\n", "\\n")))
    lines += [f"  n{start} -> n{end};" for start, end, _, _ in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Graph) -> str:
    """Return a picture: the roots on top, every node below those that lead to it."""
    rows: dict[int, list[int]] = {}
    for place, vertex in enumerate(graph.vertices):
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
    for start, end, _, _ in graph.edges:
        (x, y), (u, v) = spots[start], spots[end]
        path = (
            f"M{x + WIDTH / 2} {y + HEIGHT} C{x + WIDTH / 2} {y + HEIGHT + LIFT / 2} {u + WIDTH / 2} {v - LIFT / 2}"
        )
        parts.append(f'<path d="{path} {u + WIDTH / 2} {v}" fill="none" stroke="#888" marker-end="url(#tip)"/>')
    for place, vertex in enumerate(graph.vertices):
        x, y = spots[place]
        fill = "#dcefdc" if isinstance(vertex.node, AccumulateGrad) else "#e6ecf5"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{fill}" stroke="#667"/>'
            f'<text x="{x + WIDTH / 2}" y="{y + 14}" text-anchor="middle" fill="#112">{escape(vertex.label)}</text>'
            f'<text x="{x + WIDTH / 2}" y="{y + 28}" text-anchor="middle" fill="#556" font-size="10">'
            f"{escape(vertex.detail)}</text>"
        )
    return "".join([*parts, "</svg>"])
