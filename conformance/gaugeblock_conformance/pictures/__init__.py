"""Drawings of a failing example, made of its recorded steps alone: nothing here asks the backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ..trace import Call, Step
from . import calls, lifetimes

__all__ = ["Picture", "pictures"]


class Picture(TypedDict):
    """A title and a drawing."""

    title: str
    svg: str


def pictures(steps: Sequence[Step], area: str, test: str) -> list[Picture]:
    """The life of every block, where an allocator was asked; how values came about, for autograd; else nothing."""
    if any(isinstance(step, Call) and step.operator == "malloc" for step in steps):
        drawn, title = lifetimes.svg(steps), f"Blocks over the steps of {test}"
    elif area == "autograd":
        drawn, title = calls.svg(steps), f"The calls of {test}"
    else:
        return []
    return [] if drawn is None else [Picture(title=title, svg=drawn)]
