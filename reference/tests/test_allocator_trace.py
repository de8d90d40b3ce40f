"""Traces: made of a snapshot that begins in the middle, written to files and read from them."""

from __future__ import annotations

import json
import pickle
import runpy
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_tools.problem import SnapshotProblem
from gaugeblock_tools.trace_replay.snapshot_shape import checked
from gaugeblock_tools.trace_replay.trace import KINDS, Trace
from gaugeblock_tools.trace_replay.trace_file import SCHEMA, read_trace, trace_from, write_trace
from gaugeblock_tools.trace_replay.trace_of_snapshot import trace_of
from gaugeblock_tools.trace_replay.workloads import WORKLOADS, training_loop

DATA = Path(__file__).parent / "data" / "allocator"
MADE = runpy.run_path(str(DATA / "make.py"))
MIB = 1 << 20
STREAM = 0x55D0C0


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    return [(KINDS[kind], block, size, stream) for kind, block, size, stream, _ in trace]


def snapshot_of(*entries: tuple[str, int, int], segments: list[dict[str, Any]] | None = None) -> Any:
    trace = [{"action": action, "addr": address, "size": size, "stream": 0} for action, address, size in entries]
    return checked({"segments": segments or [], "device_traces": [trace]})


def test_a_recording_that_begins_in_the_middle() -> None:
    trace = read_trace(DATA / "torch_ring_buffer.pickle")
    assert rows(trace) == [
        ("alloc", 0, 1000, 0),
        ("alloc", 1, 4 * MIB, 0),
        ("alloc", 2, 6 * MIB, 0),
        ("free", 1, 0, 0),
        ("alloc", 3, 3 * MIB, 0),
        ("alloc", 4, 700, 0),
        ("alloc", 5, 40 * MIB, STREAM),
        ("record_stream", 5, 0, -1),
        ("free", 5, 0, 0),
        ("alloc", 6, 2_000_000, 0),
        ("completed", 5, 0, 0),
        ("empty_cache", -1, 0, 0),
        ("alloc", 7, 100, 0),
        ("alloc", 8, 60 * MIB, 0),
        ("attempt", -1, 80 << 30, 0),
        ("record_stream", 3, 0, -1),
        ("free", 3, 0, 0),
    ]
    assert trace.initial == 3
    assert trace.reserved == [(0, 22 * MIB), (6, 62 * MIB), (11, 22 * MIB), (13, 82 * MIB)]
    assert [frame.name for frame in trace.stacks[trace.stack[4]]] == ["forward", "step"]
    assert trace.notes == [
        "3 blocks of 10.0 MiB held memory before the recording began; the replay places them first, "
        "in the order of their addresses"
    ]


def test_segments_alone_are_blocks_that_are_there() -> None:
    trace = trace_of(checked(MADE["snapshot"]()["segments"]))
    assert [row[2] for row in rows(trace)] == [1000, 700, 100, 3 * MIB, 0, 0, 6 * MIB, 2_000_000, 60 * MIB]
    assert trace.initial == len(trace) == 9
    assert trace.reserved == [(0, 82 * MIB)]
    assert trace.notes[-1] == "nothing was recorded: the blocks of the segments are all there is"


def test_an_address_is_used_again() -> None:
    trace = trace_of(snapshot_of(
        ("alloc", 512, 1), ("free_requested", 512, 1), ("free_completed", 512, 1), ("alloc", 512, 2)
    ))  # fmt: skip
    assert rows(trace) == [("alloc", 0, 1, 0), ("free", 0, 0, 0), ("alloc", 1, 2, 0)]


def test_frees_that_were_not_recorded() -> None:
    trace = trace_of(snapshot_of(("alloc", 512, 1), ("alloc", 512, 2), ("free_completed", 512, 2)))
    assert rows(trace) == [("alloc", 0, 1, 0), ("free", 0, 0, 0), ("alloc", 1, 2, 0), ("free", 1, 0, 0)]
    assert trace.notes == ["1 block lost the record of a free; it is put in where the address comes again"]


def test_a_block_that_was_already_freed_at_the_start() -> None:
    trace = trace_of(snapshot_of(("alloc", 1024, 5), ("free_completed", 512, 9)))
    assert rows(trace) == [
        ("alloc", 0, 9, 0),
        ("record_stream", 0, 0, -1),
        ("free", 0, 0, 0),
        ("alloc", 1, 5, 0),
        ("completed", 0, 0, 0),
    ]
    assert trace.initial == 3
    assert trace.completions() == {0: 4}


def test_a_segment_given_back_before_another_is_got_is_no_empty_cache() -> None:
    retry = trace_of(snapshot_of(
        ("segment_free", 0, 8), ("segment_free", 64, 8), ("segment_alloc", 0, 16), ("alloc", 0, 16)
    ))  # fmt: skip
    assert rows(retry) == [("alloc", 0, 16, 0)]
    assert retry.reserved == [(0, 16), (0, 8), (0, 0), (0, 16)]
    failed = trace_of(snapshot_of(("segment_free", 0, 8), ("oom", 0, 16)))
    assert rows(failed) == [("attempt", -1, 16, 0)]
    asked = trace_of(snapshot_of(("segment_free", 0, 8), ("segment_unmap", 64, 8), ("alloc", 0, 16)))
    assert rows(asked) == [("empty_cache", -1, 0, 0), ("alloc", 0, 16, 0)]


def test_a_private_pool_that_goes_is_no_empty_cache() -> None:
    entry = {"action": "segment_free", "addr": 0, "size": 8, "stream": 0, "pool_id": (0, 4)}
    assert rows(trace_of(checked({"device_traces": [[entry]]}))) == []
    assert rows(trace_of(checked({"device_traces": [[{**entry, "pool_id": (0, 0)}]]}))) == [("empty_cache", -1, 0, 0)]


def test_the_device_with_the_most_entries_is_taken() -> None:
    value = MADE["snapshot"]()
    value["device_traces"][1] = [{"action": "alloc", "addr": 512, "size": 7, "stream": 0}]
    snapshot = checked(value)
    assert len(trace_of(snapshot)) == 17
    assert rows(trace_of(snapshot, 1)) == [("alloc", 0, 7, 0)]
    with pytest.raises(SnapshotProblem, match=r"^the snapshot has nothing of device 2; it has 0, 1$"):
        trace_of(snapshot, 2)
    with pytest.raises(SnapshotProblem, match="neither segments nor entries: was recording switched on"):
        trace_of(checked({"segments": [], "device_traces": [[], []]}))


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_traces_come_back_from_files(name: str, tmp_path: Path) -> None:
    trace = WORKLOADS[name]()
    trace.device_memory = 24 << 30
    write_trace(trace, tmp_path / "trace.json")
    again = read_trace(tmp_path / "trace.json")
    assert again == trace
    assert again.device_memory == 24 << 30


def test_the_traces_are_what_they_say() -> None:
    for name, trace in MADE["traces"]().items():
        assert read_trace(DATA / name) == trace


def test_a_training_loop_by_its_first_requests() -> None:
    trace = training_loop(steps=1, layers=1, width=256, batch=2)
    assert rows(trace)[:6] == [
        ("alloc", 0, 262_144, 0),
        ("alloc", 1, 1024, 0),
        ("alloc", 2, 270_336, 0),
        ("alloc", 3, 270_336, 0),
        ("alloc", 4, 4224, 0),
        ("alloc", 5, 1_081_344, 0),
    ]
    live = 0
    for kind, _, _, _, _ in trace:
        live += {0: 1, 1: -1}.get(kind, 0)
    assert live == 4


def trace_value(*events: Any, **more: Any) -> dict[str, Any]:
    return {"schema": SCHEMA, "events": list(events), **more}


WRONG = {
    "schema": ({"schema": 3}, "schema is 3; 'gaugeblock-allocator-trace/1' is allowed"),
    "no events": ({"schema": SCHEMA}, "events is None; a list is allowed"),
    "memory": (
        trace_value(device_memory=0),
        "device_memory is 0; null or bytes from 1 and below 2**63 are allowed",
    ),
    "initial": (trace_value(["empty_cache"], initial=2), "initial is 2; an int from 0 to the 1 events is allowed"),
    "event": (
        trace_value(["alloc", 0, 1], "free"),
        "events[1]: 'free' is no event; one of alloc, free, record_stream, completed, empty_cache, attempt is allowed",
    ),
    "list": (trace_value([[]]), "events[0]: a list is no event; one of alloc, free, record_stream, completed, "
                                "empty_cache, attempt is allowed"),
    "values": (trace_value(["free"]), "events[0]: free has 0 values; block are allowed"),
    "size": (
        trace_value(["alloc", 0, -5]),
        "events[0]: size is -5; an int from 0 and below 9223372036854775808 is allowed",
    ),
    "twice": (
        trace_value(["alloc", 0, 5], ["alloc", 0, 5]),
        "events[1]: block 0 is live; a block that is not is allowed",
    ),
    "free twice": (trace_value(["alloc", 0, 5], ["free", 0], ["free", 0]), "events[2]: block 0 is not live"),
    "completed": (
        trace_value(["alloc", 0, 5], ["free", 0], ["completed", 0]),
        "events[2]: block 0 is not one that was freed after record_stream",
    ),
    "stack": (trace_value(["alloc", 0, 5, 0, 9]), "events[0]: stack is 9; there are 1"),
    "stacks": (trace_value(stacks=[[], [[1, 2, 3]]]), "stacks[1] is no list of [file, line, name]"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_traces(name: str, tmp_path: Path) -> None:
    value, message = WRONG[name]
    with pytest.raises(SnapshotProblem) as caught:
        trace_from(value)
    assert str(caught.value) == message
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(value))
    with pytest.raises(SnapshotProblem, match=r"^.*wrong\.json: "):
        read_trace(path)


def test_pytorch_reads_the_sample_too() -> None:
    viz = pytest.importorskip("torch.cuda._memory_viz")
    value = pickle.loads((DATA / "torch_ring_buffer.pickle").read_bytes())
    assert "total_reserved: 82.0MiB" in viz.segsum(value)
    assert "# free completed" in viz.trace(value)
