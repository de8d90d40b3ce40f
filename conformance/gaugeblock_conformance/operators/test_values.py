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


@requirement("operators/every-operator-gives-what-its-row-says")
def test_many_elements_in_one_bin(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str) -> None:
        x = s.tensor(np.ones(1024), dtype)
        if operator == "histc":
            counts = s.call(operator, x, 1, 0, 2)
        else:
            counts, _ = s.parts(s.call(operator, x, s.tensor([0.0, 2.0], dtype)), 2)
        s.expect_values(counts, np.full(1, 1024), dtype=dtype)

    names = ("histc", "histogram.bins_tensor")
    s.table([(name, dtype) for name in names for dtype in ("bfloat16", "float16", "float32")], body)
