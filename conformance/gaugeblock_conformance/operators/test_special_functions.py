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


@requirement("operators/every-operator-gives-what-its-row-says")
def test_incomplete_gamma_near_its_order(s: Session) -> None:
    """Where the functions are computed by expansions in the distance of x from a."""
    near = [(30.0, 30.5, 0.5602516077752159), (200.0, 200.5, 0.5234817600278905), (200.0, 180.0, 0.07485803498415958),
            (1000.0, 1000.25, 0.5073584700365006), (1000.0, 999.0, 0.491586426067856)]  # fmt: skip
    a, x, lower = (np.array(values) for values in zip(*near, strict=True))
    for dtype, share in (("float64", 1e-8), ("float32", 4e-6)):
        given = s.tensor(a, dtype), s.tensor(x, dtype)
        s.expect_close(s.call("special_gammainc", *given), lower, share * lower)
        s.expect_close(s.call("special_gammaincc", *given), 1 - lower, share * (1 - lower))
