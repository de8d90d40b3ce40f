"""The timer itself: a module that does more work per call must come out slower, and the ratio near its known value."""

from __future__ import annotations

from types import ModuleType

from gaugeblock_benchmarks.bench.rounds import take_turns
from gaugeblock_benchmarks.bench.seat import LocalSeat
from gaugeblock_benchmarks.subject import statement_loop
from gaugeblock_benchmarks.timing import Measurement, Timed, measure
from gaugeblock_conformance.backends.reference import ReferenceBackend


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


def test_calls_before_a_round_settle_the_threads_of_others_and_are_not_timed() -> None:
    class Counting(LocalSeat):
        def calibrate(self) -> int:
            self.rounds = 0
            return 1

        def round(self, count: int) -> float:
            self.rounds += 1
            return 1.0

    for settling, more in ((0.0, False), (0.002, True)):
        seat = Counting("reference", ReferenceBackend(), 1, "wall")
        (samples,), _ = take_turns([seat], 3.0, settling=settling)
        assert isinstance(samples, list)
        assert (seat.rounds > len(samples)) is more
