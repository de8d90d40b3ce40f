"""SVG elements as text, in colours that are read on white paper."""

from __future__ import annotations

from html import escape

INK, SOFT, RULE = "#1c2126", "#59626b", "#d5d9d3"
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
    'font-family="system-ui,sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>{body}</svg>'
)


def document(width: float, height: float, parts: list[str]) -> str:
    """The picture of ``parts``."""
    return HEAD.format(width=width, height=height, body="".join(parts))


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK, size: int = 12) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(words)}</text>'
    )


def line(x: float, y: float, u: float, v: float, colour: str = RULE, extra: str = "") -> str:
    return f'<line x1="{x:g}" y1="{y:g}" x2="{u:g}" y2="{v:g}" stroke="{colour}" {extra}/>'


def box(x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" {extra}/>'


def shortened(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
