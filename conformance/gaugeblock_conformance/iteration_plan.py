"""Capability ``iter.introspect``: what a backend shows of the plan that its iterator makes.

A backend with the capability offers
``iteration_plan(inputs: list of tensors, promote: bool) -> IterationPlan`` for one allocated output; it raises
RuntimeError where the operator's own call would.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IterationPlan:
    """Loops innermost first. ``strides`` are in bytes, one row per operand, the output first.

    ``dtype`` is what the computation is in; ``runs`` counts the calls of the innermost loop, ``visits`` the elements
    that they go through.
    """

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    dtype: str
    runs: int
    visits: int
