"""Special functions whose exact values take long to compute, at points through their domain."""

from __future__ import annotations

import numpy as np
from gaugeblock_spec import operators

from ..backend import numpy_dtype
from ..oracles.bessel import COSTLY
from ..session import Session

_POINTS = (-20.0, -3.75, -1.0, -0.125, 0.0, 2.0**-10, 0.125, 0.5, 0.75, 1.0, 1.75, 3.0, 8.5, 25.0, 75.0)
POINTED = ("float32", "float64")


def judge_points(s: Session, name: str, dtype: str) -> None:
    """Expect the values of the operator, in one of the dtypes of ``POINTED``, within the bound of its row."""
    row = operators.load()[name]
    domain = next(iter(row.domain.values()))
    low, high = domain.low or 0.0, domain.high or 0.0
    x = np.array([point for point in _POINTS if low <= point <= high], numpy_dtype(dtype))
    with np.errstate(over="ignore"):
        want = np.array([COSTLY[row.base_name](float(v)) for v in x]).astype(x.dtype)
    s.expect_values(s.call(name, s.tensor(x)), want, ulp=row.ulp[dtype])
