"""The caching allocator under wrong calls, failing devices, many threads, finalizers and many events."""

from __future__ import annotations

import gc
import random
import threading
from typing import Any, cast

import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.driver.protocol import Driver, DriverError
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver

from .table_device import Device

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def simulated(total: int = GIB, faults: Faults | None = None) -> tuple[CachingAllocator, SimulatedDriver]:
    driver = SimulatedDriver(total_memory=total, backed=False, faults=faults)
    return CachingAllocator(driver), driver


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda memory, held: memory.free(held + 512), RuntimeError, "invalid device pointer"),
        (lambda memory, held: memory.free(12345), RuntimeError, "invalid device pointer: 0x3039"),
        (lambda memory, held: memory.free("x"), TypeError, "'pointer' must be int"),
        (lambda memory, held: memory.record_stream(12345, 1), RuntimeError, "invalid device pointer"),
        (lambda memory, held: memory.record_stream(held, None), TypeError, "'stream' must be int"),
        (lambda memory, held: memory.malloc(-1), RuntimeError, "'size' must not be negative, got -1"),
        (lambda memory, held: memory.malloc(1.5), TypeError, "'size' must be int"),
        (lambda memory, held: memory.malloc(512, "s"), TypeError, "'stream' must be int"),
    ],
)
def test_wrong_calls_are_refused_and_change_nothing(call: Any, error: type[Exception], message: str) -> None:
    memory, _ = simulated()
    held = memory.malloc(512)
    before = memory.memory_stats(), memory.memory_snapshot()
    with pytest.raises(error, match=message):
        call(memory, held)
    assert (memory.memory_stats(), memory.memory_snapshot()) == before
    memory.check_invariants()


def test_a_block_is_freed_once() -> None:
    memory, driver = simulated()
    held, shared = memory.malloc(512), memory.malloc(512)
    stream = driver.stream_create(0)
    driver.enqueue(0, stream, lambda: None, 1000)
    memory.record_stream(shared, stream)
    for pointer in (held, shared):
        memory.free(pointer)
        with pytest.raises(RuntimeError, match="invalid device pointer"):
            memory.free(pointer)
        with pytest.raises(RuntimeError, match="invalid device pointer"):
            memory.record_stream(pointer, stream)
    memory.check_invariants()


def test_devices_have_allocators_of_their_own() -> None:
    driver = SimulatedDriver(devices=2, total_memory=GIB, backed=False)
    first, second = CachingAllocator(driver, 0), CachingAllocator(driver, 1)
    held = first.malloc(512)
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        second.free(held)
    second.malloc(5 * MIB)
    assert (first.memory_reserved(), second.memory_reserved()) == (2 * MIB, 20 * MIB)
    assert len(second.snapshot()["device_traces"]) == 2


def test_a_block_waits_for_the_work_of_a_simulated_stream() -> None:
    memory, driver = simulated()
    held = memory.malloc(512)
    stream = driver.stream_create(0)
    driver.enqueue(0, stream, lambda: None, 1000)
    memory.record_stream(held, stream)
    memory.free(held)
    assert memory.malloc(512) != held
    driver.advance(2000)
    assert memory.malloc(512) == held


def test_hits_ask_nothing_of_the_device() -> None:
    memory, driver = simulated()
    held = [memory.malloc(size) for size in (512, 3 * MIB, 100 * KIB)]
    before = dict(driver.calls)
    for _ in range(3):
        for pointer in held:
            memory.free(pointer)
        held = [memory.malloc(size) for size in (512, 3 * MIB, 100 * KIB)]
    assert dict(driver.calls) == before


def test_the_work_of_a_destroyed_stream_is_waited_for() -> None:
    memory, driver = simulated()
    held = memory.malloc(512)
    stream = driver.stream_create(0)
    done: list[int] = []
    driver.enqueue(0, stream, lambda: done.append(1), 1000)
    memory.record_stream(held, stream)
    driver.stream_destroy(0, stream)
    memory.free(held)
    assert done == [1]
    assert memory.malloc(512) == held
    memory.check_invariants()


def test_a_failing_event_leaves_the_block_allocated() -> None:
    memory, driver = simulated(faults=Faults(failing_event_calls=1))
    held = memory.malloc(512)
    stream = driver.stream_create(0)
    memory.record_stream(held, stream)
    before = memory.memory_stats()
    with pytest.raises(DriverError):
        memory.free(held)
    assert memory.memory_stats() == before
    memory.check_invariants()
    memory.free(held)
    memory.process_events()
    memory.check_invariants()
    assert memory.memory_stats()["active.all.current"] == 0


def test_a_failing_query_changes_nothing() -> None:
    memory, driver = simulated(faults=Faults(failing_event_calls=3))
    held = memory.malloc(512)
    stream = driver.stream_create(0)
    memory.record_stream(held, stream)
    memory.free(held)
    with pytest.raises(DriverError):
        memory.process_events()
    memory.check_invariants()
    memory.process_events()
    assert memory.memory_stats()["active.all.current"] == 0


@pytest.mark.parametrize("failing", range(1, 8))
def test_no_failure_of_malloc_breaks_anything(failing: int) -> None:
    for config in ("", "expandable_segments:True"):
        driver = SimulatedDriver(total_memory=GIB, backed=False, faults=Faults(out_of_memory_at=failing))
        memory = CachingAllocator(driver, 0, config)
        held = []
        for size in (512, 30 * MIB, 3 * MIB, 50 * MIB, MIB, 70 * MIB):
            held.append(memory.malloc(size))
            memory.check_invariants()
        assert memory.memory_stats()["num_ooms"] == 0, "the second attempt had memory"
        for pointer in held:
            memory.free(pointer)
        memory.empty_cache()
        assert driver.mem_info(0) == (GIB, GIB)


def test_threads_never_share_a_block() -> None:
    memory, _ = simulated(total=4 * GIB)
    owned: dict[int, int] = {}
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        held: list[int] = []
        try:
            for _ in range(1500):
                if held and chance.random() < 0.5:
                    pointer = held.pop(chance.randrange(len(held)))
                    assert owned.pop(pointer) == seed
                    memory.free(pointer)
                else:
                    pointer = memory.malloc(chance.choice([300, 5000, 70_000, 2 * MIB]), chance.randrange(2))
                    assert owned.setdefault(pointer, seed) == seed
                    assert pointer not in held
                    held.append(pointer)
                if chance.random() < 0.01:
                    memory.empty_cache()
            for pointer in held:
                del owned[pointer]
                memory.free(pointer)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    memory.check_invariants()
    memory.empty_cache()
    assert memory.memory_reserved() == 0


class Interrupting(Device):
    """A device whose malloc lets a finalizer run, as any Python code may."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self.finalizers: list[Any] = []

    def malloc(self, device: int, size: int) -> int:
        while self.finalizers:
            self.finalizers.pop()()
        return super().malloc(device, size)


def test_a_free_inside_of_another_call_is_done_by_the_next() -> None:
    device = Interrupting(GIB)
    memory = CachingAllocator(cast(Driver, device))
    held = memory.malloc(512)
    device.finalizers.append(lambda: memory.free(held))
    memory.malloc(5 * MIB)
    assert memory.malloc(512) == held
    memory.check_invariants()
    device.finalizers.append(lambda: memory.malloc(512))
    with pytest.raises(RuntimeError, match="malloc came from inside of another call"):
        memory.malloc(500 * MIB)
    memory.check_invariants()
    device.finalizers += [lambda: memory.free(held)] * 2
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        memory.malloc(500 * MIB)
    memory.check_invariants()
    assert memory.malloc(512) == held


def test_garbage_collection_of_python_may_free_at_any_time() -> None:
    memory, _ = simulated()

    class Owner:
        def __init__(self) -> None:
            self.pointer = memory.malloc(700)
            self.itself = self

        def __del__(self) -> None:
            memory.free(self.pointer)

    before = gc.get_threshold()
    gc.set_threshold(7, 2, 2)
    try:
        for _ in range(3000):
            Owner()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    memory.check_invariants()
    assert memory.memory_stats()["allocation.all.current"] == 0


def test_many_random_events_break_nothing() -> None:
    memory, driver = simulated(total=2 * GIB)
    chance = random.Random(2)
    streams = [0, driver.stream_create(0), driver.stream_create(0)]
    held: list[int] = []
    sizes = [*range(100, 4000, 391), 50_000, 300_000, MIB, 2 * MIB, 7 * MIB, 30 * MIB]
    for step in range(20_000):
        kind = chance.random()
        if kind < 0.5 or not held:
            try:
                held.append(memory.malloc(chance.choice(sizes), chance.choice(streams)))
            except OutOfMemoryError:
                for _ in range(min(50, len(held))):
                    memory.free(held.pop(chance.randrange(len(held))))
        elif kind < 0.95:
            memory.free(held.pop(chance.randrange(len(held))))
        elif kind < 0.97:
            memory.record_stream(held[-1], chance.choice(streams))
        elif kind < 0.98:
            driver.enqueue(0, chance.choice(streams), lambda: None, 100)
        elif kind < 0.999:
            driver.advance(100)
        else:
            memory.empty_cache()
        if step % 1000 == 0:
            memory.check_invariants()
    memory.check_invariants()


@pytest.mark.parametrize("config", ["", "expandable_segments:True", "max_split_size_mb:24"])
@pytest.mark.parametrize("seed", range(3))
def test_a_failing_device_breaks_nothing(config: str, seed: int) -> None:
    chance = random.Random(seed)
    faults = Faults(
        out_of_memory_at=[chance.randrange(1, 60) for _ in range(8)],
        failing_event_calls=[chance.randrange(1, 120) for _ in range(20)],
    )
    driver = SimulatedDriver(total_memory=200 * MIB, backed=False, faults=faults)
    memory = CachingAllocator(driver, 0, config)
    streams = [0, driver.stream_create(0), driver.stream_create(0)]
    held: list[int] = []
    for _ in range(250):
        kind = chance.random()
        try:
            if kind < 0.5 or not held:
                size = chance.choice([300, 5000, 70_000, MIB, 3 * MIB, 11 * MIB, 26 * MIB])
                held.append(memory.malloc(size, chance.choice(streams)))
            elif kind < 0.8:
                place = chance.randrange(len(held))
                memory.free(held[place])
                del held[place]
            elif kind < 0.9:
                memory.record_stream(chance.choice(held), chance.choice(streams))
                driver.enqueue(0, chance.choice(streams), lambda: None, 100)
            elif kind < 0.97:
                driver.advance(100)
            else:
                memory.empty_cache()
        except (OutOfMemoryError, DriverError):
            memory.check_invariants()
        blocks = [block for segment in memory.memory_snapshot() for block in segment["blocks"]]
        assert {block["address"] for block in blocks if block["state"] == "active_allocated"} == set(held)
    memory.check_invariants()


def test_what_is_kept_for_searches_does_not_grow_with_time() -> None:
    memory, _ = simulated()
    fixed = memory.malloc(512)
    for size in range(512, 400_000, 512):
        for _ in range(30):
            memory.free(memory.malloc(size))
    store = memory._store
    assert sum(home.entries() for pool in store.pools() for home in pool.streams.values()) < 5000
    assert len(store.statistics.journal) < 30_000
    assert len(store.spares) < 10
    memory.free(fixed)


def test_expandable_segments_of_a_destroyed_stream_are_given_back() -> None:
    driver = SimulatedDriver(total_memory=64 * MIB, backed=False)
    memory, stream = CachingAllocator(driver, 0, "expandable_segments:True"), driver.stream_create(0)
    memory.free(memory.malloc(30 * MIB, stream))
    driver.enqueue(0, stream, lambda: None, 1000)
    driver.stream_destroy(0, stream)
    memory.empty_cache()
    memory.check_invariants()
    assert memory.memory_reserved() == 0 and driver.mem_info(0)[0] == 64 * MIB
