"""The benchmarks of the caching allocator."""

from __future__ import annotations

import gaugeblock
import pytest
from gaugeblock_benchmarks.allocator import new_allocator, trace_of
from gaugeblock_benchmarks.allocator_walk import CONFIGS, walk


def test_a_trace_frees_what_it_allocated_once() -> None:
    trace = trace_of(5000)
    assert len(trace) == 5000
    alive: set[int] = set()
    for block, size in trace:
        if size:
            alive.add(block)
        else:
            alive.remove(block)
    assert trace == trace_of(5000)


def test_a_walk_passes_through_every_configuration() -> None:
    found = walk(gaugeblock, 20_000)
    assert (found.events, found.broken) == (20_000, "")


def test_a_walk_tells_what_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = type(new_allocator(gaugeblock))

    def check(self: object) -> None:
        raise AssertionError("a hole")

    monkeypatch.setattr(allocator, "check_invariants", check)
    found = walk(gaugeblock, len(CONFIGS) * 20_000)
    assert (found.events, found.broken) == (20_000, "default: a hole")
