"""Pinned host memory: rounding, reuse, waiting for streams, figures, refusals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from threading import Thread

import pytest
from gaugeblock.cuda.allocator.statistics import flattened
from gaugeblock.cuda.devices import install_driver
from gaugeblock.cuda.driver.protocol import DriverError
from gaugeblock.cuda.pinned_memory import (
    PinnedMemory,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    pinned_memory,
    reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats,
)
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver


@pytest.fixture
def memory() -> Iterator[PinnedMemory]:
    driver = SimulatedDriver(devices=2, total_memory=1 << 20, backed=False)
    memory = PinnedMemory(driver)
    yield memory
    memory.check_invariants()


def figures(memory: PinnedMemory, kind: str = "current") -> list[float]:
    flat = flattened(memory.figures.nested())
    return [flat[f"{name}.{kind}"] for name in ("allocations", "allocated_bytes", "active_requests", "active_bytes")]


def test_blocks_are_powers_of_two_and_used_again(memory: PinnedMemory) -> None:
    first = memory.allocate(600)
    assert memory.owns(first) and not memory.owns(first + 1)
    memory.free(first)
    assert not memory.owns(first)
    assert memory.allocate(1024) == first
    assert memory.allocate(513) != first
    assert figures(memory) == [2, 2048, 2, 2048]
    assert memory.allocate(0) == 0
    memory.free(0)
    assert memory.driver.calls["host_malloc"] == 2  # type: ignore[attr-defined]


def test_sizes_above_the_limits_are_not_rounded_or_not_kept() -> None:
    driver = SimulatedDriver(backed=False)
    memory = PinnedMemory(driver, round_limit=1000, cache_limit=5000)
    assert [memory.block_size(size) for size in (1, 3, 1000, 1001, 5000, 5001)] == [1, 4, 1024, 1001, 5000, 5001]
    memory.free(memory.allocate(5001))
    assert driver.live(0).pinned == 0 and figures(memory) == [0, 0, 0, 0]
    memory.free(memory.allocate(1001))
    assert driver.live(0).pinned == 1
    memory.check_invariants()


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = "pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:4"
    monkeypatch.setenv("GAUGEBLOCK_CUDA_ALLOC_CONF", setting)
    mib = 1 << 20
    before = install_driver(SimulatedDriver(backed=False))
    try:
        memory = pinned_memory()
        sizes = [memory.block_size(size) for size in (3, mib, mib + 1, 4 * mib, 4 * mib + 1)]
        assert sizes == [4, mib, mib + 1, 4 * mib, 4 * mib + 1]
        assert (memory.round_limit, memory.cache_limit) == (mib, 4 * mib)
        monkeypatch.setenv("GAUGEBLOCK_CUDA_ALLOC_CONF", "pinned_max_cached_size_mb:-1")
        install_driver(SimulatedDriver(backed=False))
        with pytest.raises(ValueError, match="pinned_max_cached_size_mb"):
            pinned_memory()
    finally:
        install_driver(before)


def test_a_block_waits_for_the_streams_that_used_it(memory: PinnedMemory) -> None:
    driver = memory.driver
    assert isinstance(driver, SimulatedDriver)
    one, other = driver.stream_create(0), driver.stream_create(1)
    block = memory.allocate(64)
    driver.enqueue(0, one, lambda: None, 1000)
    driver.enqueue(1, other, lambda: None, 3000)
    memory.record_stream(block, 0, one)
    memory.record_stream(block, 1, other)
    memory.record_stream(block, 1, other)
    memory.free(block)
    memory.check_invariants()
    assert figures(memory) == [1, 64, 1, 64]
    driver.enqueue(0, one, lambda: None, 99_000)
    driver.advance(1000)
    assert memory.allocate(64) != block
    driver.advance(2000)
    assert memory.allocate(64) == block
    assert driver.live(0).events + driver.live(1).events == 2
    memory.empty_cache()
    assert driver.live(0).events + driver.live(1).events == 0


def test_empty_cache_gives_back_what_is_free(memory: PinnedMemory) -> None:
    driver = memory.driver
    assert isinstance(driver, SimulatedDriver)
    kept, free, waiting = (memory.allocate(32) for _ in range(3))
    driver.enqueue(0, 0, lambda: None, 1000)
    memory.record_stream(waiting, 0, 0)
    memory.free(waiting)
    memory.free(free)
    memory.empty_cache()
    assert figures(memory) == [2, 64, 2, 64]
    driver.synchronize(0)
    memory.empty_cache()
    assert figures(memory) == [1, 32, 1, 32] and memory.owns(kept)
    memory.free(kept)
    memory.empty_cache()
    assert driver.live(0).pinned == 0 and driver.live(0).events == 0


@pytest.mark.parametrize("method", ["free", "record_stream"])
def test_what_is_no_block_in_use_is_refused(memory: PinnedMemory, method: str) -> None:
    block = memory.allocate(64)
    for address in (block + 8, 12345):
        with pytest.raises(DriverError, match=rf"{method}\(\): argument 'address' must be .* in use, got {address:#x}"):
            getattr(memory, method)(address, *((0, 0) if method == "record_stream" else ()))
    memory.free(block)
    with pytest.raises(DriverError, match="in use"):
        memory.free(block)
    with pytest.raises(TypeError, match="'address' must be int, not str"):
        memory.free("a")  # type: ignore[arg-type]
    with pytest.raises(DriverError, match="must not be negative, got -5"):
        memory.allocate(-5)


def test_without_an_event_the_device_is_waited_for(memory: PinnedMemory) -> None:
    driver = memory.driver
    assert isinstance(driver, SimulatedDriver)
    block, gone = memory.allocate(64), driver.stream_create(0)
    driver.enqueue(0, gone, lambda: None, 700)
    for stream in (0, gone):
        memory.record_stream(block, 0, stream)
    driver.stream_destroy(0, gone)
    driver.faults = Faults(failing_event_calls=[1])
    memory.free(block)
    assert driver.now == 700 and memory.allocate(64) == block
    memory.free(block)
    memory.empty_cache()
    assert driver.live(0).pinned == 0 and driver.live(0).events == 0


def test_a_block_waits_until_its_device_can_be_asked(memory: PinnedMemory) -> None:
    driver = memory.driver
    assert isinstance(driver, SimulatedDriver)
    blocks = [memory.allocate(64) for _ in range(3)]
    driver.enqueue(0, 0, lambda: 1 // 0, 10)
    for block in blocks:
        memory.record_stream(block, 0, 0)
    memory.record_stream(blocks[1], 1, 0)
    memory.free(blocks[0])
    driver.advance(10)
    memory.free(blocks[1])
    memory.check_invariants()
    assert not memory.owns(blocks[1]) and figures(memory) == [3, 192, 3, 192]
    with pytest.raises(DriverError, match="device 0 has failed"):
        memory.allocate(64)
    memory.check_invariants()
    driver.reset(0)
    memory.free(blocks[2])
    assert {memory.allocate(64) for _ in range(3)} == set(blocks)
    assert figures(memory) == [3, 192, 3, 192]


def test_figures_are_named_as_torch_names_them() -> None:
    before = install_driver(SimulatedDriver(backed=False))
    try:
        memory = pinned_memory()
        assert pinned_memory() is memory
        blocks = [memory.allocate(100) for _ in range(3)]
        for block in blocks[:2]:
            memory.free(block)
        stats = host_memory_stats()
        assert stats["active_requests.peak"] == 3 and stats["active_bytes.current"] == 128
        assert (
            stats["allocated_bytes.allocated"] == 384 and stats["num_host_alloc"] == 3 and stats["num_host_free"] == 0
        )
        assert stats["host_alloc_time.count"] == 3
        assert stats["host_alloc_time.total"] == pytest.approx(3 * stats["host_alloc_time.avg"])
        assert list(stats) == sorted(stats)
        nested = host_memory_stats_as_nested_dict()
        assert nested["active_requests"] == {"current": 1, "peak": 3, "allocated": 3, "freed": 2}
        reset_peak_host_memory_stats()
        assert host_memory_stats()["active_requests.peak"] == 1
        reset_accumulated_host_memory_stats()
        assert host_memory_stats()["active_requests.allocated"] == host_memory_stats()["host_alloc_time.count"] == 0
        install_driver(SimulatedDriver(backed=False))
        assert pinned_memory() is not memory
        memory.free(blocks[2])
    finally:
        install_driver(before)


def test_torch_has_the_same_names() -> None:
    text = pytest.importorskip("torch").cuda.host_memory_stats.__doc__
    for name in PinnedMemory(SimulatedDriver(backed=False)).figures.nested():
        assert name in text


def test_random_use_keeps_the_figures_and_the_lists_together(memory: PinnedMemory) -> None:
    driver, pick = memory.driver, random.Random(5)
    assert isinstance(driver, SimulatedDriver)
    streams = [(device, driver.stream_create(device)) for device in (0, 0, 1)]
    live: list[int] = []
    for _ in range(1500):
        action = pick.random()
        if action < 0.4:
            block = memory.allocate(pick.choice([1, 7, 64, 100, 4096]))
            assert block not in live
            live.append(block)
        elif action < 0.7 and live:
            memory.free(live.pop(pick.randrange(len(live))))
        elif action < 0.85 and live:
            device, stream = pick.choice(streams)
            driver.enqueue(device, stream, lambda: None, pick.randrange(500))
            memory.record_stream(pick.choice(live), device, stream)
        elif action < 0.97:
            driver.advance(pick.randrange(600))
        else:
            memory.empty_cache()
        memory.check_invariants()


def test_threads_never_share_a_block(memory: PinnedMemory) -> None:
    taken: set[int] = set()
    errors: list[str] = []

    def run() -> None:
        for number in range(300):
            block = memory.allocate(64)
            if block in taken:
                errors.append(f"{block} twice")
            taken.add(block)
            memory.record_stream(block, number % 2, 0)
            taken.discard(block)
            memory.free(block)

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
