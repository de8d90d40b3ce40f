"""The timer itself: a module that does more work per call must come out slower, and the ratio near its known value."""

from __future__ import annotations

from types import ModuleType

from gaugeblock_benchmarks.subject import statement_loop
from gaugeblock_benchmarks.timing import Measurement, Timed, measure


def busy(loops: int) -> Timed:
    module = ModuleType(f"busy{loops}")
    module.work = lambda: sum(range(loops))  # type: ignore[attr-defined]
    return Timed(statement_loop("xp.work()", (), module), [()])


def test_ratio_tells_a_slower_subject() -> None:
    result = measure(busy(8000), busy(1000), 0.1)
    assert result.low <= result.ratio <= result.high
    assert result.ratio > 3
    assert not result.within(1.0)


def test_within_needs_the_limit_inside_the_interval() -> None:
    assert Measurement(1.0, 1.0, 1.02, 0.99, 1.05, 1.0, 5).within(1.0)
    assert not Measurement(1.0, 1.0, 1.2, 1.1, 1.3, 1.2, 5).within(1.0)
