"""Checkpoints of private pools: the same blocks allocated again, whatever happened in between."""

from __future__ import annotations

import random
from typing import cast

import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.driver.protocol import Driver

from .table_device import Device

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = (1, 512, 1000, 3 * KIB, 700 * KIB, MIB, 2 * MIB, 7 * MIB, 30 * MIB)
STREAMS = (0, 4, 5)


def inside(memory: CachingAllocator) -> tuple[int, int]:
    pool = memory.create_pool()
    memory.begin_allocate_to_pool(pool, lambda stream: True)
    return pool


def held(memory: CachingAllocator) -> list[tuple[int, int, int]]:
    blocks = [block for segment in memory.memory_snapshot() for block in segment["blocks"]]
    return [(b["address"], b["size"], b["requested_size"]) for b in blocks if b["state"] == "active_allocated"]


def made(config: str = "") -> CachingAllocator:
    return CachingAllocator(cast(Driver, Device(GIB)), 0, config)


def test_blocks_are_where_they_were() -> None:
    memory = made()
    pool = inside(memory)
    first, second, third = memory.malloc(512), memory.malloc(1000), memory.malloc(512)
    memory.free(second)
    saved = memory.checkpoint_pool(pool)
    assert [(one.pointer, one.size, one.requested) for one in saved.held] == [(first, 512, 512), (third, 512, 512)]
    memory.free(first)
    other = memory.malloc(1536)
    assert other == first, "its block has grown over the second one"
    assert memory.restore_pool(saved) == ((other,), (first,))
    assert held(memory) == [(first, 512, 512), (third, 512, 512)]
    memory.check_invariants()
    assert memory.restore_pool(saved) == ((), ())
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        memory.free(second)
    for pointer in (first, third):
        memory.free(pointer)
    assert [[b["size"] for b in s["blocks"]] for s in memory.memory_snapshot()] == [[2 * MIB]]


@pytest.mark.parametrize("config", ["", "expandable_segments:True"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_are_taken_back(seed: int, config: str) -> None:
    chance, memory = random.Random(seed), made(config)
    beside = memory.malloc(5 * MIB)
    pool = inside(memory)
    live: list[int] = []

    def run(steps: int) -> None:
        for _ in range(steps):
            if live and chance.random() < 0.5:
                memory.free(live.pop(chance.randrange(len(live))))
            else:
                live.append(memory.malloc(chance.choice(SIZES), chance.choice(STREAMS)))

    run(40)
    saved, then, figures = memory.checkpoint_pool(pool), held(memory), memory.memory_stats()
    for _ in range(3):
        run(30)
        before = set(live)
        restored = memory.restore_pool(saved)
        memory.check_invariants()
        assert held(memory) == then
        live[:] = sorted(before - set(restored.freed) | set(restored.allocated))
        assert live == [pointer for pointer, _, _ in then if pointer != beside]
        now = memory.memory_stats()
        for name in ("allocation", "allocated_bytes", "active_bytes", "requested_bytes"):
            assert now[f"{name}.all.current"] == figures[f"{name}.all.current"]
    for pointer in live:
        memory.free(pointer)
    memory.end_allocate_to_pool(pool)
    memory.release_pool(pool)
    memory.release_pool(pool)
    memory.empty_cache()
    memory.check_invariants()
    assert [block[0] for block in held(memory)] == [beside] and memory.memory_stats()["segment.all.current"] <= 1


def test_what_cannot_be_restored_changes_nothing() -> None:
    memory = made()
    pool = inside(memory)
    pointer = memory.malloc(30 * MIB)
    saved = memory.checkpoint_pool(pool)
    memory.record_stream(pointer, 4)
    for call in (lambda: memory.checkpoint_pool(pool), lambda: memory.restore_pool(saved)):
        with pytest.raises(RuntimeError, match="is used by other streams"):
            call()
    with pytest.raises(RuntimeError, match=r"checkpoint_pool\(\): there is no pool \(0, 9\)"):
        memory.checkpoint_pool((0, 9))
    memory.end_allocate_to_pool(pool)
    memory.free(pointer)
    memory.release_pool(pool)
    memory.begin_allocate_to_pool(pool, lambda stream: True)
    kept = memory.malloc(512)
    before = memory.memory_stats()
    memory.end_allocate_to_pool(pool)
    with pytest.raises(RuntimeError, match=r"is used by other streams|given back to the device"):
        memory.restore_pool(saved._replace(held=(saved.held[0]._replace(pointer=1, segment=1),)))
    memory.check_invariants()
    assert held(memory) == [(kept, 512, 512)] and memory.memory_stats() == before
