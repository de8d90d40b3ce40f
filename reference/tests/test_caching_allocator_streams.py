"""Blocks of the caching allocator that other streams use, with literal sizes."""

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


FREE, WAITS = "inactive", "active_pending_free"


def test_a_block_that_others_use_comes_back_when_they_are_done() -> None:
    memory, device = allocator()
    held = memory.malloc(512)
    memory.record_stream(held, 3)
    device.work[3] += 1
    memory.free(held)
    assert sizes(memory) == [[(512, WAITS), (2 * MIB - 512, FREE)]]
    stats = memory.memory_stats()
    assert (stats["allocated_bytes.all.current"], stats["active_bytes.all.current"]) == (0, 512)
    assert (stats["allocation.all.current"], stats["active.all.current"], stats["requested_bytes.all.current"]) == (
        0, 1, 512)  # fmt: skip
    assert memory.malloc(512) == held + 512
    device.done[3] = 1
    assert memory.malloc(512) == held
    assert memory.memory_stats()["active.all.current"] == 2


def test_its_own_stream_need_not_be_recorded() -> None:
    memory, device = allocator()
    held = memory.malloc(512, 3)
    memory.record_stream(held, 3)
    memory.record_stream(0, 3)
    device.work[3] += 1
    memory.free(held)
    assert memory.malloc(512, 3) == held


def test_events_are_looked_at_in_the_order_of_each_stream() -> None:
    memory, device = allocator()
    first, second = memory.malloc(512), memory.malloc(512)
    for pointer, stream in ((first, 3), (second, 4)):
        memory.record_stream(pointer, stream)
        device.work[stream] += 1
        memory.free(pointer)
    device.done[4] = 1
    memory.process_events()
    assert sizes(memory) == [[(512, WAITS), (2 * MIB - 512, FREE)]], "stream 4 does not wait for stream 3"


def test_blocks_of_one_stream_come_back_one_after_the_other() -> None:
    memory, device = allocator()
    for pointer in [memory.malloc(512) for _ in range(3)]:
        memory.record_stream(pointer, 3)
        device.work[3] += 1
        memory.free(pointer)
    for done, waiting in ((1, 2), (2, 1), (3, 0)):
        device.done[3] = done
        memory.process_events()
        assert memory.memory_stats()["active.all.current"] == waiting


def test_a_block_waits_for_all_its_streams() -> None:
    memory, device = allocator()
    held = memory.malloc(512)
    for stream in (3, 4, 3):
        memory.record_stream(held, stream)
        device.work[stream] += 1
    memory.free(held)
    device.done[3] = 2
    memory.process_events()
    assert sizes(memory)[0][0] == (512, WAITS)
    device.done[4] = 1
    memory.process_events()
    assert sizes(memory) == [[(2 * MIB, FREE)]]


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_a_block_that_became_free_while_waiting(mode: str) -> None:
    memory, device = allocator(total=20 * MIB, mode=mode)
    held, other = memory.malloc(9 * MIB), memory.malloc(9 * MIB)
    memory.record_stream(held, 3)
    device.work[3] += 1
    memory.free(held)
    if mode == "faithful":
        with pytest.raises(OutOfMemoryError):
            memory.malloc(9 * MIB)
        assert memory.malloc(9 * MIB) == held, "asked once more, it is there"
    else:
        assert memory.malloc(9 * MIB) == held
        assert memory.memory_stats()["num_ooms"] == 0
    memory.free(other)
    memory.check_invariants()
