"""Special functions whose exact values take long to compute: at points through their domain."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators

from ..backend import numpy_dtype
from ..oracles.bessel import COSTLY
from ..requirement import requirement
from ..session import Session
from .coverage import costly

_POINTS = (-20.0, -3.75, -1.0, -0.125, 0.0, 2.0**-10, 0.125, 0.5, 0.75, 1.0, 1.75, 3.0, 8.5, 25.0, 75.0)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_points(s: Session) -> None:
    def body(s: Session, name: str, dtype: str) -> None:
        row = operators.load()[name]
        domain = next(iter(row.domain.values()))
        low, high = domain.low or 0.0, domain.high or 0.0
        x = np.array([point for point in _POINTS if low <= point <= high], numpy_dtype(dtype))
        with np.errstate(over="ignore"):
            want = np.array([COSTLY[row.base_name](float(v)) for v in x]).astype(x.dtype)
        s.expect_values(s.call(name, s.tensor(x)), want, ulp=row.ulp[dtype])

    s.table([(name, dtype) for name in costly() for dtype in ("float32", "float64")], body)


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
