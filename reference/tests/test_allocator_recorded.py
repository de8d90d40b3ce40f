"""Programs run on the caching allocator with recording on: their snapshots give the programs back."""

from __future__ import annotations

import contextlib
import json
import pickle
from pathlib import Path
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from gaugeblock_tools.trace_replay.replay import replay
from gaugeblock_tools.trace_replay.replay_device import ReplayDevice
from gaugeblock_tools.trace_replay.snapshot import INACTIVE, program_part
from gaugeblock_tools.trace_replay.snapshot_shape import checked
from gaugeblock_tools.trace_replay.trace import ALLOC, ATTEMPT, COMPLETED, FREE, RECORD_STREAM, Trace
from gaugeblock_tools.trace_replay.trace_file import read_trace
from gaugeblock_tools.trace_replay.trace_of_snapshot import trace_of
from gaugeblock_tools.trace_replay.workloads import fragments, several_streams, training_loop
from hypothesis import given, settings
from hypothesis import strategies as st

TICK = 1000
PROGRAMS = {
    "training_loop": training_loop(steps=5, layers=3),
    "fragments": fragments(events=600, live=40),
    "several_streams": several_streams(steps=8, buckets=3),
}


def record(program: Trace, config: str = "", memory: int = 8 << 30) -> tuple[CachingAllocator, dict[str, Any]]:
    """Run a program on a simulated device whose streams are busy as the program says, leaving out what fails; its
    allocator and snapshot."""
    driver = SimulatedDriver(devices=1, total_memory=memory, backed=False)
    allocator = CachingAllocator(driver, 0, config)
    allocator.record_memory_history("all", context=None)
    pointers: dict[int, int] = {}
    streams = {0: 0}
    done = program.completions()
    recorded: set[int] = set()
    for at, (kind, block, size, stream, _) in enumerate(program):
        if kind == ALLOC:
            if stream not in streams:
                streams[stream] = driver.stream_create(0)
            with contextlib.suppress(OutOfMemoryError):
                pointers[block] = allocator.malloc(size, streams[stream])
        elif kind == RECORD_STREAM:
            recorded.add(block)
        elif kind == FREE and block in pointers:
            if block in recorded:
                other = driver.stream_create(0)
                driver.enqueue(0, other, int, nanoseconds=(done.get(block, 1 << 40) - at) * TICK)
                allocator.record_stream(pointers[block], other)
            allocator.free(pointers[block])
        driver.advance(TICK)
    return allocator, allocator.snapshot()


def requests(trace: Trace) -> list[tuple[int, int, int]]:
    return [(kind, block, size) for kind, block, size, _, _ in trace if kind in (ALLOC, FREE)]


@pytest.mark.parametrize("config", ["", "expandable_segments:True", "max_split_size_mb:64,roundup_power2_divisions:4"])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_recorded_program_is_the_program(name: str, config: str) -> None:
    program = PROGRAMS[name]
    allocator, snapshot = record(program, config)
    trace = trace_of(checked(pickle.loads(pickle.dumps(snapshot))))
    assert requests(trace) == requests(program)
    assert trace.initial == 0 and trace.notes == []
    stats = allocator.memory_stats()
    for one in (replay(program, config), replay(trace, config)):
        assert one.peak_reserved == stats["reserved_bytes.all.peak"]
        assert one.peak_allocated == stats["allocated_bytes.all.peak"]
        assert one.peak_active == stats["active_bytes.all.peak"]
        assert one.device_mallocs == stats["num_device_alloc"]
    assert max(size for _, size in trace.reserved) == stats["reserved_bytes.all.peak"]
    assert checked(json.loads(json.dumps(snapshot))) == checked(snapshot)


@pytest.mark.parametrize("config", ["", "expandable_segments:True", "max_split_size_mb:32"])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_full_device_is_the_same_in_a_replay(name: str, config: str) -> None:
    program = PROGRAMS[name]
    peak = replay(program).peak_allocated
    for memory in (peak * 7 // 8, peak * 9 // 8, peak * 4 // 3):
        allocator, snapshot = record(program, config, memory)
        stats, one = allocator.memory_stats(), replay(program, config, memory)
        assert one.retries == stats["num_alloc_retries"]
        assert one.out_of_memory == stats["num_ooms"]
        assert one.device_mallocs == stats["num_device_alloc"]
        assert one.device_frees == stats["num_device_free"]
        assert one.peak_reserved == stats["reserved_bytes.all.peak"]
        assert trace_of(checked(snapshot)).kinds.count(ATTEMPT) == one.out_of_memory


SNAPSHOTS = {name: record(program)[1] for name, program in PROGRAMS.items()}


@settings(max_examples=40)
@given(st.sampled_from(sorted(PROGRAMS)), st.floats(0, 1))
def test_a_ring_buffer_that_lost_its_beginning(name: str, share: float) -> None:
    snapshot = SNAPSHOTS[name]
    entries = snapshot["device_traces"][0]
    lost = int(share * len(entries))
    whole = trace_of(checked(snapshot))
    trace = trace_of(checked({**snapshot, "device_traces": [entries[lost:]]}))
    later = sum(entry["action"] == "alloc" for entry in entries[lost:])
    sizes = [size for kind, _, size in requests(whole) if kind == ALLOC]
    mine = [size for kind, _, size in requests(trace) if kind == ALLOC]
    assert mine[len(mine) - later :] == sizes[len(sizes) - later :]
    assert _left(trace) == _left(whole) == _in_use(snapshot)
    assert trace.reserved[-1][1] == whole.reserved[-1][1]
    assert all(size >= 0 for _, size in trace.reserved)
    assert replay(trace).fits


def _left(trace: Trace) -> list[int]:
    """Sizes of the blocks that a trace leaves in use or waiting."""
    live: dict[int, int] = {}
    recorded = set()
    for kind, block, size, _, _ in trace:
        if kind == ALLOC:
            live[block] = size
        elif kind == RECORD_STREAM:
            recorded.add(block)
        elif kind == COMPLETED or (kind == FREE and block not in recorded):
            del live[block]
    return sorted(live.values())


def _in_use(snapshot: dict[str, Any]) -> list[int]:
    blocks = [block for segment in checked(snapshot).segments for block in segment.blocks]
    return sorted(block.requested for block in blocks if block.state != INACTIVE)


def test_the_device_of_a_replay_waits_as_streams_do() -> None:
    device = ReplayDevice(1 << 30)
    stream, event = device.stream_create(0), device.event_create(0)
    device.occupy(stream, 10)
    device.event_record(0, event, stream)
    assert not device.event_query(0, event)
    device.at = 9
    assert not device.event_query(0, event)
    device.at = 10
    assert device.event_query(0, event)
    device.at = 20
    device.occupy(stream, 50)
    device.event_record(0, event, stream)
    device.event_synchronize(0, event)
    assert device.event_query(0, event)
    device.occupy(stream, 30)
    device.event_record(0, event, stream)
    device.at = 29
    assert not device.event_query(0, event)
    device.at = 30
    assert device.event_query(0, event)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_pytorch_reads_recorded_programs(name: str) -> None:
    viewer = pytest.importorskip("torch.cuda._memory_viz")
    snapshot = SNAPSHOTS[name]
    assert f"total_reserved: {viewer.Bytes(_reserved(snapshot))}" in viewer.segsum(snapshot)
    told = viewer.trace(snapshot)
    for entry in snapshot["device_traces"][0]:
        if entry["action"] == "segment_alloc":
            assert f"{viewer.Bytes(entry['size'])})" in told
    assert len(viewer.trace_plot(snapshot)) > 1000


def _reserved(snapshot: dict[str, Any]) -> int:
    return sum(segment["total_size"] for segment in snapshot["segments"])


def test_recorded_stacks_lead_to_the_request() -> None:
    allocator = CachingAllocator(SimulatedDriver(devices=1, total_memory=1 << 30, backed=False))
    allocator.record_memory_history("all")
    pointers = [allocator.malloc(1000) for _ in range(2)]
    trace = trace_of(checked(json.loads(json.dumps(allocator.snapshot()))))
    (place,) = {event.stack for event in trace}
    assert trace.stacks[place][0].file == __file__
    assert "test_recorded_stacks_lead_to_the_request" in [frame.name for frame in trace.stacks[place]]
    allocator.free(pointers[0])


def test_tensors_are_recorded(tmp_path: Path) -> None:
    gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    try:
        gb.cuda.memory._record_memory_history()
        kept = gb.empty(1 << 20, device="cuda:1")
        gb.empty(300, device="cuda:1")
        gb.cuda.memory._dump_snapshot(tmp_path / "run.pickle")
        gb.cuda.memory._record_memory_history(None)
        assert gb.cuda.memory._snapshot()["device_traces"] == [[], []]
        with pytest.raises(ValueError, match="'enabled' must be one of"):
            gb.cuda.memory._record_memory_history("some")
        with pytest.raises(RuntimeError):
            gb.cuda.memory._snapshot(7)
        del kept
    finally:
        gb.cuda.use_driver(None)
    trace = read_trace(tmp_path / "run.pickle")
    assert requests(trace) == [(ALLOC, 0, 4 << 20), (ALLOC, 1, 1200), (FREE, 1, 0)]
    assert program_part(trace.stacks[trace.stack[0]])[0].file == __file__
    assert replay(trace).peak_reserved == 22 << 20
