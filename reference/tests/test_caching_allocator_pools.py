"""Private pools, captures and expandable segments, with literal sizes."""

from __future__ import annotations

from typing import cast

import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.driver.protocol import Driver

from .table_device import RANGES, Device

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
USED, FREE, WAITS = "active_allocated", "inactive", "active_pending_free"
EXPANDABLE = "expandable_segments:True"


def allocator(config: str = "", total: int = GIB) -> tuple[CachingAllocator, Device]:
    device = Device(total)
    return CachingAllocator(cast(Driver, device), 0, config), device


def sizes(memory: CachingAllocator) -> list[list[tuple[int, str]]]:
    return [[(b["size"], b["state"]) for b in segment["blocks"]] for segment in memory.memory_snapshot()]


def every(stream: int) -> bool:
    return True


def test_a_private_pool_has_its_own_memory() -> None:
    memory, device = allocator()
    memory.free(memory.malloc(512))
    pool = memory.create_pool()
    memory.begin_allocate_to_pool(pool, every)
    held = memory.malloc(512)
    memory.end_allocate_to_pool(pool)
    assert len(device.log) == 2
    assert [segment["segment_pool_id"] for segment in memory.memory_snapshot()] == [(0, 0), pool]
    memory.free(held)
    assert memory.malloc(512) != held, "what is free there serves nobody else"
    stats = memory.memory_stats()
    assert stats[f"reserved_bytes_by_private_pools.{pool[0]}_{pool[1]}.all.current"] == 2 * MIB


def test_only_streams_that_are_wanted_go_to_the_pool_and_the_latest_capture_comes_first() -> None:
    memory, _ = allocator()
    first, second = memory.create_pool(), memory.create_pool()
    memory.begin_allocate_to_pool(first, every)
    memory.begin_allocate_to_pool(second, lambda stream: stream == 5)
    memory.malloc(512, 5)
    memory.malloc(512, 6)
    assert [segment["segment_pool_id"] for segment in memory.memory_snapshot()] == [second, first]


def test_a_pool_gives_its_memory_back_once_released() -> None:
    memory, device = allocator()
    pool = memory.create_pool()
    memory.begin_allocate_to_pool(pool, every)
    held = memory.malloc(512)
    memory.end_allocate_to_pool(pool)
    memory.release_pool(pool)
    memory.free(held)
    memory.empty_cache()
    assert [entry[0] for entry in device.log] == ["malloc"], "its maker still uses it"
    memory.release_pool(pool)
    memory.empty_cache(pool)
    assert [entry[0] for entry in device.log] == ["malloc", "free"]
    with pytest.raises(RuntimeError, match="there is no pool"):
        memory.release_pool(pool)


def test_pools_are_begun_and_ended_in_pairs() -> None:
    memory, _ = allocator()
    pool = memory.create_pool()
    with pytest.raises(RuntimeError, match="no allocations to the pool"):
        memory.end_allocate_to_pool(pool)
    memory.begin_allocate_to_pool(pool, every)
    with pytest.raises(RuntimeError, match="underway already"):
        memory.begin_allocate_to_pool(pool, every)
    memory.begin_allocate_to_pool((9, 0), every)
    with pytest.raises(RuntimeError, match="pair of ints"):
        memory.begin_allocate_to_pool((0, 0), every)
    memory.end_allocate_to_pool(pool)
    memory.release_pool(pool)
    memory.release_pool(pool)
    with pytest.raises(RuntimeError, match="released"):
        memory.release_pool(pool)
    with pytest.raises(RuntimeError, match="released"):
        memory.begin_allocate_to_pool(pool, every)


def test_during_a_capture_frees_wait_for_its_end() -> None:
    memory, device = allocator()
    shared, late = memory.malloc(512), memory.malloc(512)
    memory.record_stream(shared, 3)
    device.work[3] += 1
    pool = memory.create_pool()
    memory.begin_allocate_to_pool(pool, every)
    memory.free(shared)
    memory.record_stream(late, 4)
    device.work[4] += 1
    memory.free(late)
    memory.process_events()
    assert device.events == {}, "no event is recorded while capturing"
    assert sizes(memory)[0][:2] == [(512, WAITS), (512, WAITS)]
    memory.end_allocate_to_pool(pool)
    memory.process_events()
    assert sizes(memory)[0][:2] == [(512, WAITS), (2 * MIB - 512, FREE)], "work captured is over with its capture"
    device.done[3] = 1
    memory.process_events()
    assert sizes(memory) == [[(2 * MIB, FREE)]]


def test_during_a_capture_nothing_is_given_back() -> None:
    memory, device = allocator(total=30 * MIB)
    memory.free(memory.malloc(20 * MIB))
    pool = memory.create_pool()
    memory.begin_allocate_to_pool(pool, every)
    with pytest.raises(OutOfMemoryError):
        memory.malloc(12 * MIB)
    memory.empty_cache()
    assert [entry[0] for entry in device.log] == ["malloc", "refused"]
    memory.end_allocate_to_pool(pool)
    assert memory.malloc(22 * MIB)


def test_a_pool_may_help_out_when_there_is_no_memory() -> None:
    for helps in (False, True):
        memory, _ = allocator(total=30 * MIB)
        pool = memory.create_pool(use_on_oom=helps)
        memory.begin_allocate_to_pool(pool, every)
        held = memory.malloc(20 * MIB)
        memory.end_allocate_to_pool(pool)
        memory.free(held)
        if helps:
            assert memory.malloc(15 * MIB) == held
            memory.check_invariants()
        else:
            with pytest.raises(OutOfMemoryError):
                memory.malloc(15 * MIB)


def test_a_pool_may_hand_out_whole_blocks() -> None:
    memory, _ = allocator()
    pool = memory.create_pool(no_split=True)
    memory.begin_allocate_to_pool(pool, every)
    memory.malloc(512)
    memory.malloc(5 * MIB)
    assert sizes(memory) == [[(2 * MIB, USED)], [(20 * MIB, USED)]]
    assert memory.memory_stats()["requested_bytes.all.current"] == 512 + 5 * MIB


def test_expandable_segments_grow() -> None:
    memory, device = allocator(EXPANDABLE)
    first = memory.malloc(15 * MIB)
    second = memory.malloc(15 * MIB)
    third = memory.malloc(1000)
    assert (first, second, third) == (RANGES, RANGES + 15 * MIB, RANGES + 1160 * MIB)
    assert device.log == [
        ("map", RANGES, 20 * MIB),
        ("map", RANGES + 20 * MIB, 20 * MIB),
        ("map", RANGES + 1160 * MIB, 2 * MIB),
    ]
    large, small = sizes(memory)
    assert large == [(15 * MIB, USED), (15 * MIB, USED), (10 * MIB, FREE)]
    assert small == [(1024, USED), (2 * MIB - 1024, FREE)]
    stats = memory.memory_stats()
    assert stats["reserved_bytes.all.current"] == 42 * MIB
    assert stats["segment.all.current"] == stats["inactive_split.all.allocated"] == 0
    assert stats["num_device_alloc"] == 3
    assert all(segment["is_expandable"] for segment in memory.memory_snapshot())


def test_whole_pages_of_expandable_segments_are_given_back() -> None:
    memory, device = allocator(EXPANDABLE)
    held = [memory.malloc(15 * MIB) for _ in range(5)]
    device.log.clear()
    for place in (1, 2, 3):
        memory.free(held[place])
    memory.empty_cache()
    assert device.log == [("unmap", RANGES + 20 * MIB, 20 * MIB), ("unmap", RANGES + 40 * MIB, 20 * MIB)]
    assert sizes(memory) == [[(15 * MIB, USED), (5 * MIB, FREE)], [(15 * MIB, USED), (5 * MIB, FREE)]]
    memory.check_invariants()
    assert memory.malloc(25 * MIB) == held[0] + 15 * MIB, "the lowest addresses where mapping makes room"
    memory.check_invariants()
    for pointer in (held[0], held[0] + 15 * MIB, held[4]):
        memory.free(pointer)
    memory.empty_cache()
    assert device.log[-1] == ("address_free", RANGES, 1160 * MIB)
    assert sizes(memory) == []
    assert device.used == 0


def test_expandable_segments_serve_only_while_they_are_on() -> None:
    memory, _ = allocator(EXPANDABLE)
    held = memory.malloc(512)
    memory.free(held)
    memory.config = ""
    other = memory.malloc(512)
    assert other < RANGES
    memory.config = EXPANDABLE
    assert memory.malloc(512) == other + 512, "best fit"
    memory.check_invariants()


def test_best_fit_counts_the_address_space_that_a_block_can_grow_into() -> None:
    memory, _ = allocator(EXPANDABLE)
    first, second = memory.malloc(9 * MIB), memory.malloc(6 * MIB)
    memory.malloc(1 * MIB + 512)
    memory.free(first)
    assert memory.malloc(2 * MIB) == first, "the smaller one at the end can grow, so it counts as larger"
    assert second > first


def test_an_expandable_segment_without_memory_leaves_all_valid() -> None:
    memory, device = allocator(EXPANDABLE, total=30 * MIB)
    held = memory.malloc(15 * MIB)
    with pytest.raises(OutOfMemoryError):
        memory.malloc(15 * MIB)
    memory.check_invariants()
    assert device.used == 20 * MIB
    memory.free(held)
    assert memory.malloc(15 * MIB, 1)
    memory.check_invariants()
