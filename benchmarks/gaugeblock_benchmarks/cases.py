"""The table of benchmark cases: one row is a statement over tensors that any torch-style module can run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """``statement`` is timed with the names that ``setup`` makes in scope; both see the module as ``xp``.

    ``limit`` is the greatest ratio to torch's time that the project asks of its own engine.
    """

    area: str
    name: str
    setup: str
    statement: str
    limit: float


_SMALL = "a = xp.arange(16, dtype=xp.float32) / 8; b = a + 1; m = a.reshape(4, 4); r = m[:1]"
_LARGE = "a = xp.arange(1000000, dtype=xp.float32); b = a + 1"

CASES = (
    Case("iteration", "a + b, 16 float32", _SMALL, "a + b", 1.0),
    Case("iteration", "exp(a), 16 float32", _SMALL, "a.exp()", 1.0),
    Case("iteration", "a.sum(), 16 float32", _SMALL, "a.sum()", 1.0),
    Case("iteration", "a + 1.0, 16 float32", _SMALL, "a + 1.0", 1.0),
    Case("views", "m.t(), 4 x 4", _SMALL, "m.t()", 1.0),
    Case("views", "a[2:10]", _SMALL, "a[2:10]", 1.0),
    Case("views", "r.expand(8, 4)", _SMALL, "r.expand(8, 4)", 1.0),
    Case("iteration", "a + b, 1e6 float32", _LARGE, "a + b", 1.05),
)
