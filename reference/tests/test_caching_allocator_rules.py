"""The rules of the caching allocator, one by one, with literal sizes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest
from gaugeblock.cuda.allocator.allocator_config import division_interval, round_size, segment_size
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.driver.protocol import Driver

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


def test_a_mebibyte_is_small() -> None:
    memory, device = allocator()
    memory.free(memory.malloc(3 * MIB))
    for _ in range(2):
        memory.malloc(MIB)
    assert [entry[2] for entry in device.log] == [20 * MIB, 2 * MIB]


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


def test_observers_hear_of_failures() -> None:
    memory, _ = allocator(total=30 * MIB)
    heard: list[tuple[int, int, int, int]] = []
    memory.attach_out_of_memory_observer(lambda *told: heard.append(told))
    memory.malloc(12 * MIB)
    with pytest.raises(OutOfMemoryError):
        memory.malloc(20 * MIB + 1)
    assert heard == [(0, 22 * MIB, 30 * MIB, 18 * MIB)]


def test_the_example_of_the_page_holds() -> None:
    page = (Path(__file__).parents[1] / "caching_allocator.md").read_text()
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], {})
