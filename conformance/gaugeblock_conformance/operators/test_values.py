"""Every row of the operator table: what its functional form gives, for operands of any layout, sizes and dtype."""

from __future__ import annotations

import numpy as np

from ..budget import STANDARD
from ..oracles.moves import Undefined
from ..requirement import requirement
from ..session import Session
from .calls import OperatorCall
from .coverage import shaped, swept
from .drawing import draw
from .judging import expected, judge
from .sweep import sweep


def make(operator: str, code: bytes) -> OperatorCall | None:
    """A call whose result can be judged."""
    call = draw(operator, code)
    try:
        expected(call)
    except Undefined:
        return None
    return call


def _given(s: Session, call: OperatorCall) -> None:
    positional, keywords = call.bind(s.build)
    judge(s, call, s.call(call.operator, *positional, **keywords))


@requirement("operators/every-operator-gives-what-its-row-says", slow=True)
def test_every_row(s: Session) -> None:
    sweep(s, swept(), make, _given, weight=0.05, whole=True)
    sweep(s, shaped(), make, _given, weight=0.03, whole=s.budget.examples >= STANDARD.examples)


@requirement("operators/histograms-count-all")
def test_many_elements_in_one_bin(s: Session) -> None:
    for dtype in ("bfloat16", "float16", "float32"):
        x = s.tensor(np.ones(1024), dtype)
        s.expect_values(s.call("histc", x, 1, 0, 2), np.full(1, 1024), dtype=dtype)
        counts, _ = s.parts(s.call("histogram.bins_tensor", x, s.tensor([0.0, 2.0], dtype)), 2)
        s.expect_values(counts, np.full(1, 1024), dtype=dtype)
