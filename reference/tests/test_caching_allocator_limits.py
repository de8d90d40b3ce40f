"""Limits of the caching allocator: blocks that are not split, fractions, garbage collection, with literal sizes."""

from __future__ import annotations

from typing import Any, cast

import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.driver.protocol import Driver

from .table_device import Device

MIB, GIB = 1 << 20, 1 << 30


def allocator(config: str = "", total: int = GIB, mode: Any = "fixed") -> tuple[CachingAllocator, Device]:
    device = Device(total)
    return CachingAllocator(cast(Driver, device), 0, config, mode=mode), device


def sizes(memory: CachingAllocator) -> list[list[tuple[int, str]]]:
    """Sizes and states of the blocks of each segment."""
    return [[(b["size"], b["state"]) for b in segment["blocks"]] for segment in memory.memory_snapshot()]


USED = "active_allocated"


def test_oversize_blocks_are_kept_whole() -> None:
    memory, device = allocator("max_split_size_mb:32")
    big = memory.malloc(40 * MIB)
    memory.free(big)
    assert memory.malloc(20 * MIB) != big, "a small request takes no oversize block"
    assert memory.malloc(33 * MIB) == big, "less than 20 MiB above the request"
    assert sizes(memory)[0] == [(40 * MIB, USED)]
    memory.free(big)
    memory.malloc(60 * MIB)
    assert [entry[2] for entry in device.log] == [40 * MIB, 20 * MIB, 60 * MIB]
    stats = memory.memory_stats()
    assert (stats["oversize_allocations.current"], stats["oversize_allocations.allocated"]) == (1, 3)
    assert (stats["oversize_segments.current"], stats["max_split_size"]) == (2, 32 * MIB)


def test_an_oversize_block_beyond_the_rounding_is_not_taken() -> None:
    memory, _ = allocator("max_split_size_mb:32,max_non_split_rounding_mb:24")
    big = memory.malloc(60 * MIB)
    memory.free(big)
    assert memory.malloc(36 * MIB) != big, "60 MiB is 24 MiB more"
    assert memory.malloc(36 * MIB + 1) == big


def test_one_oversize_block_that_is_enough_goes_before_all_others() -> None:
    memory, device = allocator("max_split_size_mb:32", total=200 * MIB)
    held = [memory.malloc(size * MIB) for size in (80, 60, 40, 20)]
    for pointer in held:
        memory.free(pointer)
    memory.malloc(58 * MIB, 1)
    assert [entry[:1] + entry[2:] for entry in device.log[4:]] == [("refused", 58 * MIB)] + [
        ("free", size * MIB) for size in (20, 40, 60, 80)
    ] + [("malloc", 58 * MIB)], "another stream's blocks are not looked at"
    memory, device = allocator("max_split_size_mb:32", total=200 * MIB)
    held = [memory.malloc(size * MIB) for size in (80, 60, 40, 20)]
    for pointer in held:
        memory.free(pointer)
    memory.malloc(36 * MIB)
    memory.malloc(38 * MIB)
    assert [entry[2] for entry in device.log[4:]] == [38 * MIB, 60 * MIB, 38 * MIB]
    assert memory.memory_stats()["num_alloc_retries"] == 0


def test_the_largest_oversize_blocks_go_first_when_none_is_enough() -> None:
    memory, device = allocator("max_split_size_mb:20", total=120 * MIB)
    for pointer in [memory.malloc(size * MIB) for size in (50, 40, 30)]:
        memory.free(pointer)
    memory.malloc(80 * MIB)
    assert device.log[3:] == [
        ("refused", 0, 80 * MIB),
        ("free", 1 << 40, 50 * MIB),
        ("free", (1 << 40) + 50 * MIB, 40 * MIB),
        ("malloc", (1 << 40) + 120 * MIB, 80 * MIB),
    ]


def test_no_more_oversize_blocks_go_than_are_needed() -> None:
    memory, device = allocator("max_split_size_mb:20", total=120 * MIB)
    for pointer in [memory.malloc(size * MIB) for size in (50, 40, 30)]:
        memory.free(pointer)
    memory.malloc(90 * MIB)
    assert [(entry[0], entry[2]) for entry in device.log[3:]] == [
        ("refused", 90 * MIB),
        ("free", 50 * MIB),
        ("free", 40 * MIB),
        ("malloc", 90 * MIB),
    ]


@pytest.mark.parametrize("waiting", [False, True])
def test_the_limit_itself_is_oversize(waiting: bool) -> None:
    memory, device = allocator("max_split_size_mb:32")
    if waiting:
        memory.record_memory_history()
    memory.free(memory.malloc(32 * MIB))
    memory.malloc(20 * MIB)
    assert [entry[2] for entry in device.log] == [32 * MIB, 20 * MIB]
    memory.malloc(32 * MIB)
    assert len(device.log) == 2


def test_a_fraction_limits_what_is_reserved() -> None:
    memory, device = allocator(total=100 * MIB)
    memory.set_memory_fraction(0.5)
    assert memory.memory_fraction == 0.5
    held = memory.malloc(40 * MIB)
    with pytest.raises(OutOfMemoryError, match=r"50\.00 MiB allowed"):
        memory.malloc(20 * MIB)
    assert [entry[0] for entry in device.log] == ["malloc"], "the device was not asked"
    memory.free(held)
    assert memory.malloc(50 * MIB)
    memory.set_memory_fraction(1.0)
    assert memory.malloc(50 * MIB)


def test_a_policy_rejects_before_anything_is_released() -> None:
    memory, device = allocator("per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True", total=100 * MIB)
    memory.free(memory.malloc(40 * MIB))
    with pytest.raises(OutOfMemoryError):
        memory.malloc(45 * MIB)
    stats = memory.memory_stats()
    assert (stats["num_oom_rejections"], stats["num_alloc_retries"], stats["num_sync_all_streams"]) == (1, 0, 0)
    assert len(device.log) == 1


@pytest.mark.parametrize(
    ("fraction", "error"), [(1, TypeError), (True, TypeError), (-0.1, ValueError), (1.5, ValueError)]
)
def test_a_fraction_is_a_float_from_0_to_1(fraction: Any, error: type[Exception]) -> None:
    memory, _ = allocator()
    with pytest.raises(error, match="fraction"):
        memory.set_memory_fraction(fraction)


def test_garbage_collection_gives_back_what_is_old() -> None:
    memory, device = allocator("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5", total=200 * MIB)
    old, young = memory.malloc(20 * MIB), memory.malloc(22 * MIB)
    memory.free(old)
    for _ in range(5):
        memory.free(memory.malloc(512))
    memory.free(young)
    device.log.clear()
    memory.malloc(30 * MIB)
    assert [entry[0] for entry in device.log] == ["malloc"], "42 of 100 MiB and the small pool: below the threshold"
    memory.malloc(12 * MIB, 1)
    assert device.log[1:] == [
        ("free", old, 20 * MIB),
        ("free", young, 22 * MIB),
        ("malloc", (1 << 40) + 74 * MIB, 12 * MIB),
    ], "24 MiB above the threshold: the older one is not enough"


def test_garbage_collection_needs_a_fraction() -> None:
    memory, device = allocator("garbage_collection_threshold:0.1", total=100 * MIB)
    memory.free(memory.malloc(20 * MIB))
    memory.malloc(30 * MIB)
    assert [entry[0] for entry in device.log] == ["malloc", "malloc"]


def test_garbage_collection_leaves_what_is_younger_than_the_mean() -> None:
    memory, device = allocator("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5", total=400 * MIB)
    other, old, young = memory.malloc(12 * MIB, 1), memory.malloc(60 * MIB), memory.malloc(44 * MIB)
    memory.free(old)
    for _ in range(5):
        memory.free(other)
        assert memory.malloc(12 * MIB, 1) == other, "each look for a free block makes the old one older"
    memory.free(young)
    device.log.clear()
    memory.malloc(70 * MIB)
    assert [(entry[0], entry[2]) for entry in device.log] == [("free", 60 * MIB), ("malloc", 70 * MIB)]
