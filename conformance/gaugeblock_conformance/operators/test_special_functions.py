"""Special functions whose exact values take long to compute: at points through their domain."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators

from ..requirement import requirement
from ..session import Session
from .coverage import costly
from .points import POINTED, judge_points


@requirement("operators/every-operator-gives-what-its-row-says")
def test_points(s: Session) -> None:
    s.table([(name, dtype) for name in costly() for dtype in POINTED], judge_points)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_golden(s: Session) -> None:
    def body(s: Session, name: str, x: float, want: float) -> None:
        result = s.call(name, s.tensor([x], "float64"))
        s.expect_values(result, [want], ulp=operators.load()[name].ulp["float64"], dtype="float64")

    s.table(
        [
            ("i0", 1.0, 1.2660658777520084),
            ("special_erfcx", 1.0, 0.427583576155807),
            ("special_ndtri", 0.5, 0.0),
            ("special_ndtri", 0.0, -np.inf),
            ("special_ndtri", 1.0, np.inf),
        ],
        body,
    )
