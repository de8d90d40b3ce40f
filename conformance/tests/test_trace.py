"""A recorded example tells which call gave a tensor its value."""

from __future__ import annotations

from typing import Any

import numpy as np
from gaugeblock_conformance.trace import Call, Create, Name, Step, made_by


def _call(target: str, operator: str, *args: str, writes: str = "", **more: Any) -> Call:
    targets = (target,) if target else ()
    return Call(targets, operator, tuple(map(Name, args)), {}, frozenset(writes.split()), **more)


STEPS: list[Step] = [
    Create("x1", np.ones(2, np.float32)),
    _call("y2", "empty.memory_format"),
    _call("y3", "linalg_svdvals.out", "x1", writes="y2"),
    _call("y4", "neg", "x1"),
    _call("y5", "requires_grad_", "y4", writes="y4"),
    _call("", "add_.Tensor", "y4", "x1", writes="y4", refused=True),
    _call("y6", "add_.Tensor", "x1", "x1", writes="x1"),
]


def _operator(name: str) -> str | None:
    step = made_by(STEPS, name)
    return None if step is None else step.operator


def test_the_last_writer_gave_a_result_its_value() -> None:
    assert _operator("y2") == "linalg_svdvals.out"
    assert _operator("y3") == "linalg_svdvals.out"


def test_neither_metadata_nor_a_refused_call_gives_a_value() -> None:
    assert _operator("y4") == "neg"


def test_what_the_suite_made_is_its_own() -> None:
    assert _operator("x1") is None
    assert _operator("y7") is None
