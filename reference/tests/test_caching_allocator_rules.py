"""The rules of the caching allocator, one by one, with literal sizes."""

from __future__ import annotations

from typing import Any, cast

import pytest
from gaugeblock.cuda.caching_allocator import CachingAllocator
from gaugeblock.cuda.driver import Driver
from gaugeblock.cuda.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.round_size import division_interval, round_size, segment_size

from .table_device import Device

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def allocator(config: str = "", total: int = GIB, mode: Any = "fixed") -> tuple[CachingAllocator, Device]:
    device = Device(total)
    return CachingAllocator(cast(Driver, device), 0, config, mode=mode), device


def sizes(memory: CachingAllocator) -> list[list[tuple[int, str]]]:
    """Sizes and states of the blocks of each segment."""
    return [[(b["size"], b["state"]) for b in segment["blocks"]] for segment in memory.memory_snapshot()]


USED, FREE = "active_allocated", "inactive"


@pytest.mark.parametrize(
    ("size", "rounded"),
    [(1, 512), (511, 512), (512, 512), (513, 1024), (1024, 1024), (4_000_000, 4_000_256), (MIB + 1, MIB + 512)],
)
def test_sizes_are_rounded_up_to_512(size: int, rounded: int) -> None:
    assert round_size(size) == rounded


@pytest.mark.parametrize(
    ("size", "divisions", "rounded"),
    [
        (2048, 4, 2048),
        (2049, 4, 2560),
        (2560, 4, 2560),
        (3500, 4, 3584),
        (3585, 4, 4096),
        (1200, 4, 1536),
        (5 * MIB, 2, 6 * MIB),
        (5 * MIB, 8, 5 * MIB),
        (5 * MIB + 1, 8, 5 * MIB + 512 * KIB),
        (5 * MIB + 1, 1, 5 * MIB + 512),
        (5 * MIB + 1, 0, 5 * MIB + 512),
        (511, 4, 512),
    ],
)
def test_sizes_are_rounded_up_to_divisions_of_powers_of_two(size: int, divisions: int, rounded: int) -> None:
    assert round_size(size, (divisions,) * 16) == rounded


@pytest.mark.parametrize(
    ("size", "place"),
    [(1, 0), (MIB, 0), (2 * MIB - 1, 0), (2 * MIB, 1), (GIB, 10), (32 * GIB - 1, 14), (32 * GIB, 15), (900 * GIB, 15)],
)
def test_intervals_of_divisions_begin_at_a_mebibyte(size: int, place: int) -> None:
    assert division_interval(size) == place


@pytest.mark.parametrize(
    ("rounded", "segment"),
    [
        (512, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 512, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 512, 12 * MIB),
        (21 * MIB, 22 * MIB),
    ],
)
def test_segments_by_size(rounded: int, segment: int) -> None:
    assert segment_size(rounded) == segment


def test_large_segments_as_configured() -> None:
    memory, device = allocator("large_segment_size_mb:36")
    memory.malloc(3 * MIB)
    assert device.log == [("malloc", 1 << 40, 36 * MIB)]


def test_nothing_is_allocated_for_nothing() -> None:
    memory, device = allocator()
    assert memory.malloc(0) == 0
    memory.free(0)
    assert device.log == []
    assert memory.memory_stats()["allocation.all.allocated"] == 0


def test_the_low_end_is_handed_out_and_the_rest_split_off() -> None:
    memory, _ = allocator()
    first = memory.malloc(100)
    second = memory.malloc(1000)
    assert second == first + 512
    assert sizes(memory) == [[(512, USED), (1024, USED), (2 * MIB - 1536, FREE)]]


@pytest.mark.parametrize(
    ("size", "blocks"),
    [
        (19 * MIB, [(20 * MIB, USED)]),
        (19 * MIB - 512, [(19 * MIB - 512, USED), (MIB + 512, FREE)]),
        (12 * MIB, [(12 * MIB, USED), (8 * MIB, FREE)]),
    ],
)
def test_large_blocks_are_split_only_if_more_than_a_mebibyte_is_left(size: int, blocks: list[Any]) -> None:
    memory, _ = allocator()
    memory.free(memory.malloc(5 * MIB))
    memory.malloc(size)
    assert sizes(memory) == [blocks]


def test_small_blocks_are_split_to_the_last_512() -> None:
    memory, _ = allocator()
    memory.malloc(MIB)
    memory.malloc(MIB - 1024)
    memory.malloc(1)
    assert sizes(memory) == [[(MIB, USED), (MIB - 1024, USED), (512, USED), (512, FREE)]]


def test_the_best_fit_is_the_smallest_then_the_lowest() -> None:
    memory, _ = allocator()
    held = [memory.malloc(size) for size in (4096, 512, 2048, 512, 4096, 512, 2048, 512)]
    for place in (0, 2, 4, 6):
        memory.free(held[place])
    assert memory.malloc(2000) == held[2]
    assert memory.malloc(2048) == held[6]
    assert memory.malloc(1537) == held[0]
    assert memory.malloc(2049) == held[4]


def test_neighbours_are_merged_in_any_order_of_frees() -> None:
    memory, _ = allocator()
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        held = [memory.malloc(512) for _ in range(3)]
        for place in order:
            memory.free(held[place])
        assert sizes(memory) == [[(2 * MIB, FREE)]]
    assert memory.memory_stats()["num_device_alloc"] == 1


def test_segments_side_by_side_are_not_merged() -> None:
    memory, _ = allocator()
    held = [memory.malloc(MIB) for _ in range(4)]
    assert held == [held[0] + number * MIB for number in range(4)]
    for pointer in held:
        memory.free(pointer)
    assert sizes(memory) == [[(2 * MIB, FREE)], [(2 * MIB, FREE)]]


def test_pools_and_streams_do_not_serve_each_other() -> None:
    memory, device = allocator()
    memory.free(memory.malloc(3 * MIB))
    memory.malloc(512)
    memory.malloc(3 * MIB, 7)
    assert [entry[2] for entry in device.log] == [20 * MIB, 2 * MIB, 20 * MIB]
    assert [segment["stream"] for segment in memory.memory_snapshot()] == [0, 0, 7]


def test_empty_cache_returns_whole_segments_alone() -> None:
    memory, device = allocator()
    kept, gone, large = memory.malloc(512), memory.malloc(512), memory.malloc(20 * MIB)
    memory.free(gone)
    memory.free(large)
    memory.empty_cache()
    assert sizes(memory) == [[(512, USED), (2 * MIB - 512, FREE)]]
    stats = memory.memory_stats()
    assert stats["inactive_split_bytes.all.current"] == 2 * MIB - 512
    memory.empty_cache()
    memory.free(kept)
    memory.empty_cache()
    memory.empty_cache()
    assert [entry[0] for entry in device.log] == ["malloc", "malloc", "free", "free"]


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


def test_out_of_memory_empties_the_cache_tries_again_and_leaves_all_valid() -> None:
    memory, device = allocator(total=64 * MIB)
    memory.free(memory.malloc(30 * MIB))
    held = memory.malloc(20 * MIB, 1)
    device.log.clear()
    assert memory.malloc(40 * MIB)
    assert [entry[0] for entry in device.log] == ["refused", "free", "malloc"]
    with pytest.raises(OutOfMemoryError):
        memory.malloc(40 * MIB)
    stats = memory.memory_stats()
    assert (stats["num_alloc_retries"], stats["num_ooms"], stats["num_sync_all_streams"]) == (2, 1, 2)
    memory.free(held)
    assert memory.malloc(10 * MIB, 1)
    memory.check_invariants()


def test_beyond_an_exbibyte_no_device_is_asked() -> None:
    memory, device = allocator()
    with pytest.raises(OutOfMemoryError, match="1 EiB"):
        memory.malloc(1 << 60)
    assert device.log == []


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


def test_callbacks_free_memory_before_the_device_is_asked() -> None:
    memory, device = allocator()
    held = [memory.malloc(2 * MIB)]

    def callback() -> bool:
        while held:
            memory.free(held.pop())
        return True

    memory.add_free_memory_callback(callback)
    assert memory.malloc(19 * MIB) == 1 << 40
    assert len(device.log) == 1


def test_observers_hear_of_failures() -> None:
    memory, _ = allocator(total=30 * MIB)
    heard: list[tuple[int, int, int, int]] = []
    memory.attach_out_of_memory_observer(lambda *told: heard.append(told))
    memory.malloc(12 * MIB)
    with pytest.raises(OutOfMemoryError):
        memory.malloc(20 * MIB + 1)
    assert heard == [(0, 22 * MIB, 30 * MIB, 18 * MIB)]


def test_base_allocation_is_the_segment() -> None:
    memory, _ = allocator()
    memory.malloc(1000)
    assert memory.base_allocation(memory.malloc(512)) == (1 << 40, 2 * MIB)
