"""Statistics, snapshots, history, summary and the error of the caching allocator."""

from __future__ import annotations

import random
from typing import Any

import gaugeblock.cuda.allocator.statistics as statistics_module
import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError, format_size
from gaugeblock.cuda.allocator.statistics import COMPLETED, FREED, MALLOC, REQUESTED, Statistics
from gaugeblock_testing.cuda_simulator import SimulatedDriver

MIB, GIB = 1 << 20, 1 << 30


def allocator(config: str = "", total: int = GIB) -> CachingAllocator:
    return CachingAllocator(SimulatedDriver(total_memory=total, backed=False), 0, config)


def test_figures_have_the_names_of_pytorch() -> None:
    names = set(allocator().memory_stats())
    families = (
        "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
        "inactive_split_bytes", "requested_bytes",
    )  # fmt: skip
    kinds = ("current", "peak", "allocated", "freed")
    expected = {f"{f}.{p}.{k}" for f in families for p in ("all", "small_pool", "large_pool") for k in kinds}
    expected |= {f"{family}.{kind}" for family in ("oversize_allocations", "oversize_segments") for kind in kinds}
    expected |= {
        "num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
        "num_oom_rejections", "max_split_size",
    }  # fmt: skip
    assert names == expected
    assert list(allocator().memory_stats()) == sorted(expected)


def test_figures_of_a_few_calls() -> None:
    memory = allocator()
    first = memory.malloc(1000)
    second = memory.malloc(3 * MIB)
    memory.free(first)
    memory.malloc(100)
    stats = memory.memory_stats()
    figures = {
        "allocation.all": (2, 2, 3, 1),
        "allocation.small_pool": (1, 1, 2, 1),
        "allocated_bytes.all": (3 * MIB + 512, 3 * MIB + 1024, 3 * MIB + 1536, 1024),
        "requested_bytes.all": (3 * MIB + 100, 3 * MIB + 1000, 3 * MIB + 1100, 1000),
        "active_bytes.large_pool": (3 * MIB, 3 * MIB, 3 * MIB, 0),
        "segment.all": (2, 2, 2, 0),
        "reserved_bytes.all": (22 * MIB, 22 * MIB, 22 * MIB, 0),
        "inactive_split.all": (2, 2, 3, 1),
        "inactive_split_bytes.small_pool": (2 * MIB - 512, 2 * MIB - 512, 4 * MIB - 1536, 2 * MIB - 1024),
    }
    for name, values in figures.items():
        assert tuple(stats[f"{name}.{kind}"] for kind in ("current", "peak", "allocated", "freed")) == values, name
    assert (memory.memory_allocated(), memory.memory_reserved()) == (3 * MIB + 512, 22 * MIB)
    assert memory.memory_stats_nested()["allocation"]["all"]["peak"] == 2
    memory.free(second)
    memory.reset_peak_memory_stats()
    memory.reset_accumulated_memory_stats()
    stats = memory.memory_stats()
    assert stats["allocated_bytes.all.peak"] == stats["allocated_bytes.all.current"] == 512
    assert stats["allocated_bytes.all.allocated"] == stats["num_device_alloc"] == 0
    assert stats["max_split_size"] == -1
    memory.check_invariants()


def test_a_long_journal_and_a_short_one_give_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    entries = [
        (512 * chance.randrange(1, 9999) | chance.choice([MALLOC, FREED, REQUESTED, COMPLETED]) | chance.randrange(2),
         chance.randrange(1, 999), 512 * chance.randrange(-99, 99) + chance.randrange(4))
        for _ in range(500)
    ]  # fmt: skip
    found = []
    for short in (0, 10**9):
        monkeypatch.setattr(statistics_module, "_SHORT", short)
        statistics = Statistics(2 * MIB)
        for entry in entries:
            statistics.journal += entry
        found.append(statistics.nested())
    assert found[0] == found[1]
    assert found[0]["oversize_allocations"]["allocated"] > 0


def test_a_snapshot_lists_segments_and_blocks_by_address() -> None:
    memory = allocator()
    first = memory.malloc(100)
    large = memory.malloc(3 * MIB, 4)
    assert memory.memory_snapshot() == [
        {
            "device": 0, "address": first, "total_size": 2 * MIB, "allocated_size": 512, "active_size": 512,
            "requested_size": 100, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [],
            "blocks": [
                {"address": first, "size": 512, "requested_size": 100, "state": "active_allocated", "frames": []},
                {"address": first + 512, "size": 2 * MIB - 512, "requested_size": 0, "state": "inactive", "frames": []},
            ],
        },
        {
            "device": 0, "address": large, "total_size": 20 * MIB, "allocated_size": 3 * MIB, "active_size": 3 * MIB,
            "requested_size": 3 * MIB, "stream": 4, "segment_type": "large", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [],
            "blocks": [
                {"address": large, "size": 3 * MIB, "requested_size": 3 * MIB, "state": "active_allocated",
                 "frames": []},
                {"address": large + 3 * MIB, "size": 17 * MIB, "requested_size": 0, "state": "inactive", "frames": []},
            ],
        },
    ]  # fmt: skip


def entries(memory: CachingAllocator) -> list[tuple[Any, ...]]:
    return [(e["action"], e.get("addr"), e["size"]) for e in memory.snapshot()["device_traces"][0]]


def test_the_history_says_what_happened_in_order() -> None:
    memory = allocator(total=64 * MIB)
    memory.record_memory_history()
    pointer = memory.malloc(1000)
    memory.free(pointer)
    memory.empty_cache()
    with pytest.raises(OutOfMemoryError):
        memory.malloc(100 * MIB - 5)
    assert entries(memory) == [
        ("segment_alloc", pointer, 2 * MIB),
        ("alloc", pointer, 1000),
        ("free_requested", pointer, 1000),
        ("free_completed", pointer, 1000),
        ("segment_free", pointer, 2 * MIB),
        ("oom", None, 100 * MIB),
    ]
    last = memory.snapshot()["device_traces"][0]
    assert last[5]["device_free"] == 64 * MIB
    assert last[6]["action"] == "snapshot"
    memory.record_memory_history(None)
    assert entries(memory) == []


def test_the_history_of_expandable_segments() -> None:
    memory = allocator("expandable_segments:True")
    memory.record_memory_history()
    pointer = memory.malloc(1000)
    memory.free(pointer)
    memory.empty_cache()
    assert [entry[::2] for entry in entries(memory)] == [
        ("segment_map", 2 * MIB), ("alloc", 1000), ("free_requested", 1000), ("free_completed", 1000),
        ("segment_unmap", 2 * MIB),
    ]  # fmt: skip


def test_the_last_entries_are_kept() -> None:
    memory = allocator()
    memory.record_memory_history(max_entries=3, skip_actions=["free_requested", "segment_alloc"])
    pointers = [memory.malloc(size) for size in (1, 2, 3, 4)]
    memory.free(pointers[0])
    assert [entry[::2] for entry in entries(memory)] == [("alloc", 3), ("alloc", 4), ("free_completed", 1)]
    memory.record_memory_history(max_entries=3, clear_history=True)
    assert entries(memory) == []


@pytest.mark.parametrize(
    ("context", "block", "alloc", "free"),
    [(None, 0, 0, 0), ("state", 1, 0, 0), ("alloc", 1, 1, 1), ("all", 1, 1, 2)],
)
def test_stacks_are_taken_where_they_are_wanted(context: str | None, block: int, alloc: int, free: int) -> None:
    """0 for no stack, 1 for that of the allocation, 2 for that of the free."""
    memory = allocator()
    memory.record_memory_history(context=context)

    def allocate() -> int:
        return memory.malloc(100)

    def release(pointer: int) -> None:
        memory.free(pointer)

    pointer = allocate()
    names = {0: None, 1: "allocate", 2: "release"}
    shown = memory.memory_snapshot()[0]
    assert _innermost(shown["blocks"][0]) == names[block]
    assert _innermost(shown) == names[block]
    traceback = memory.allocation_traceback(pointer)
    assert (traceback and traceback[0]["name"]) == names[block]
    release(pointer)
    trace = {entry["action"]: entry for entry in memory.snapshot()["device_traces"][0]}
    assert _innermost(trace["alloc"]) == names[alloc]
    assert _innermost(trace["free_requested"]) == names[free]
    assert _innermost(trace["free_completed"]) == names[free]
    if block:
        assert shown["blocks"][0]["frames"][0]["filename"] == __file__
        code = allocate.__code__
        assert shown["blocks"][0]["frames"][0]["line"] == code.co_firstlineno + 1


def _innermost(entry: dict[str, Any]) -> str | None:
    frames = entry.get("frames")
    return frames[0]["name"] if frames else None


def test_the_state_alone_may_be_recorded() -> None:
    memory = allocator()
    memory.record_memory_history("state")
    memory.malloc(100)
    assert entries(memory) == []
    assert memory.memory_snapshot()[0]["blocks"][0]["frames"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"enabled": "on"}, "'enabled' must be one of None, 'state', 'all', got 'on'"),
        ({"context": "some"}, "'context' must be one of None, 'state', 'alloc', 'all', got 'some'"),
        ({"stacks": "c"}, "'stacks' must be one of 'python', 'all', got 'c'"),
        ({"skip_actions": ["malloc"]}, "'skip_actions' must be one of 'alloc', .* got 'malloc'"),
    ],
)
def test_the_history_refuses_other_words(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        allocator().record_memory_history(**arguments)


def test_the_summary_shows_current_and_peak() -> None:
    memory = allocator()
    assert "Allocated memory" in memory.memory_summary()
    memory.malloc(3 * MIB)
    full, short = memory.memory_summary(), memory.memory_summary(abbreviated=True)
    assert "| Allocated memory      |   3072 KiB |   3072 KiB |   3072 KiB |      0 B   |" in full
    assert "|       from small pool |      0 KiB |" in full
    assert "pool" not in short
    assert len({len(line) for line in full.splitlines()}) == 1


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (1024, "1024 bytes"), (1536, "1.50 KiB"), (20 * MIB, "20.00 MiB"), (GIB + 1, "1.00 GiB")],
)
def test_sizes_are_shown_in_the_unit_that_fits(size: int, shown: str) -> None:
    assert format_size(size) == shown


def test_out_of_memory_says_all_that_pytorch_says_and_what_to_do() -> None:
    memory = allocator(total=64 * MIB)
    memory.set_memory_fraction(0.75)
    memory.malloc(20 * MIB)
    with pytest.raises(OutOfMemoryError) as caught:
        memory.malloc(30 * MIB - 5)
    message = str(caught.value)
    for part in (
        "Tried to allocate 30.00 MiB",
        "GPU 0 has a total capacity of 64.00 MiB of which 44.00 MiB is free",
        "This process holds 20.00 MiB",
        "48.00 MiB allowed",
        "20.00 MiB is allocated",
        "0 bytes is reserved but unallocated",
        "What to do: The memory fraction is the limit",
        "allocator.md",
    ):
        assert part in message
    figures = caught.value.figures
    assert (figures["requested"], figures["segment_size"], figures["allowed"]) == (30 * MIB - 5, 30 * MIB, 48 * MIB)


def test_out_of_memory_advises_by_what_is_the_matter() -> None:
    memory = allocator(total=44 * MIB)
    held = [memory.malloc(MIB + 512) for _ in range(24)]
    for pointer in held[::2]:
        memory.free(pointer)
    with pytest.raises(OutOfMemoryError, match="in pieces: try GAUGEBLOCK_CUDA_ALLOC_CONF=expandable_segments:True"):
        memory.malloc(25 * MIB)
    with pytest.raises(OutOfMemoryError, match="Free tensors that are not needed"):
        memory.malloc(GIB)
