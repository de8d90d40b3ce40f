"""Every row of the operator table: what its functional form gives, for operands of any layout, sizes and dtype."""

from __future__ import annotations

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
    sweep(s, swept(), make, _given, weight=0.05)
    sweep(s, shaped(), make, _given, weight=0.03)
