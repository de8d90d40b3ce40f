"""The timer itself: a module that does more work per call must come out slower, and the ratio near its known value."""

from __future__ import annotations

from types import ModuleType

from gaugeblock_benchmarks.cases import CASES, Case
from gaugeblock_benchmarks.timing import Measurement, measure


def busy(name: str, loops: int) -> ModuleType:
    module = ModuleType(name)
    module.work = lambda: sum(range(loops))  # type: ignore[attr-defined]
    return module


def test_ratio_tells_a_slower_subject() -> None:
    case = Case("iteration", "work", "pass", "xp.work()", 1.0)
    result = measure(case, busy("slow", 8000), busy("fast", 1000), rounds=15)
    assert result.low <= result.ratio <= result.high
    assert result.ratio > 3
    assert not result.within


def test_within_needs_the_limit_inside_the_interval() -> None:
    case = Case("iteration", "x", "pass", "pass", 1.0)
    assert Measurement(case, 1.0, 1.0, 1.02, 0.99, 1.05).within
    assert not Measurement(case, 1.0, 1.0, 1.2, 1.1, 1.3).within


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
