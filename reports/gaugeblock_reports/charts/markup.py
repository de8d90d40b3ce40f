"""Elements of SVG as text. What is not ``Markup`` is escaped."""

from __future__ import annotations

from html import escape
from typing import NewType

Markup = NewType("Markup", str)


def escaped(text: str) -> Markup:
    """Plain text as character data; characters that XML cannot hold become question marks."""
    return Markup(escape("".join(char if char.isprintable() else "?" for char in text)))


def element(name: str, *children: Markup, **attributes: str | float) -> Markup:
    """An element. ``class_`` is the attribute class, and other underscores are hyphens."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>")


def text(x: float, y: float, words: str, kinds: str = "") -> Markup:
    """A line of text with its baseline at y."""
    return element("text", escaped(words), x=x, y=y, **({"class_": kinds} if kinds else {}))


def _name(key: str) -> str:
    return key.rstrip("_") if key in ("class_", "in_") else key.replace("_", "-")


def _value(value: str | float) -> str:
    return str(escaped(value)) if isinstance(value, str) else f"{round(value, 2):g}"
