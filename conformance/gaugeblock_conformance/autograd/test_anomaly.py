"""Anomaly mode."""

from __future__ import annotations

import warnings
from typing import Any

from hypothesis import strategies as hs

from ..backend_autograd import Anomaly, Rule, entered
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import leaf

_UNTOLD = NoReproducer("warnings are no results of calls")

NANS: list[tuple[str, float, str]] = [
    ("sqrt", -1.0, "SqrtBackward0"), ("log", float("nan"), "LogBackward0"), ("rsqrt", -2.0, "RsqrtBackward0"),
    ("asin", 3.0, "AsinBackward0"), ("log2", float("nan"), "Log2Backward0"),
]  # fmt: skip


@requirement("autograd/anomaly-mode-finds-nan")
@forall(weight=0.3, which=hs.integers(0, len(NANS) - 1), before=hs.integers(0, 3), after=hs.integers(0, 3))
def test_nan_gradients(s: Session, which: int, before: int, after: int) -> None:
    operator, value, node = NANS[which]

    def program() -> Any:
        x = leaf(s, [value], "float64")
        y = x
        for _ in range(before):
            y = s.call("add.Scalar", y, 0)
        y = s.call(operator, y)
        for _ in range(after):
            y = s.call("mul.Scalar", y, 2)
        return y

    s.call("backward", program())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with entered(s.call, Anomaly()):
            y = program()
            s.expect_raises(RuntimeError, "backward", y, match=node)
        with entered(s.call, Anomaly(check_nan=False)):
            s.call("backward", program())
    s.call("backward", program())


@requirement("autograd/anomaly-mode-finds-nan")
def test_functions_of_the_user(s: Session) -> None:
    function = s.call("define_function", Rule("scale", "nan"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with entered(s.call, Anomaly()):
            x = leaf(s, [1.0, 2.0])
            y = s.call("sum", s.call("apply_function", function, x))
            s.expect_raises(RuntimeError, "backward", y, match="nan")
            s.call("backward", s.call("sum", s.call("exp", x)))


@requirement("autograd/anomaly-mode-shows-the-call")
def test_warning_of_anomaly_mode(s: Session) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with entered(s.call, Anomaly()):
            y = s.call("sqrt", leaf(s, [-1.0]))
            s.expect_raises(RuntimeError, "backward", y)
    shown = " ".join(str(w.message) for w in seen)
    s.expect("SqrtBackward0" in shown, True, "a warning that names the node", _UNTOLD)
    s.expect(".py" in shown, True, "a warning that shows where the call was made", _UNTOLD)
