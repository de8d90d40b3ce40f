"""Snapshots and traces with any field changed: refused in one line, or read, replayed and drawn."""

from __future__ import annotations

import json
import pickle
import runpy
import tempfile
import time
from pathlib import Path
from typing import Any

from gaugeblock_tools.memory_viz.memory_picture import picture_of_replay, picture_of_snapshot
from gaugeblock_tools.problem import SnapshotProblem
from gaugeblock_tools.trace_replay import report
from gaugeblock_tools.trace_replay.snapshot import Snapshot
from gaugeblock_tools.trace_replay.snapshot_shape import checked
from gaugeblock_tools.trace_replay.trace import Trace
from gaugeblock_tools.trace_replay.trace_file import read
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data" / "allocator"
MADE = runpy.run_path(str(DATA / "make.py"))
odd_value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 2**63, 2**63 - 1, 2**62, 2**64 - 1, 512, 1]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["alloc", "oom", "free_completed", "inactive", "segment_map", "\u202e\x1b[2J<script>"]),
    st.lists(st.integers(), max_size=2),
    st.just({}),
)


def _changed(data: st.DataObject, value: Any) -> None:
    """Replace, remove or double something in a value, at a drawn place."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 5)):
            value = value[key]
            continue
        change = data.draw(st.sampled_from(["replace", "replace", "remove", "double"]))
        if change == "remove":
            del value[key]
        elif change == "double" and isinstance(value, list):
            value.append(value[key])
        else:
            value[key] = data.draw(odd_value)
        return


def _use(snapshot: Snapshot | None, trace: Trace) -> None:
    if snapshot is not None:
        assert "\x1b" not in report.show_text(snapshot)
        json.dumps(report.show_value(snapshot))
        page = picture_of_snapshot(snapshot, trace, "changed")
        assert page.count("<script>") == 1
        page.encode()
    page = picture_of_replay(trace, device_memory=8 << 30, name="changed")
    assert page.count("<script>") == 1
    page.encode()


@settings(max_examples=150)
@given(st.data(), st.integers(1, 3), st.booleans())
def test_snapshots_with_changed_fields(data: st.DataObject, changes: int, as_json: bool) -> None:
    value = json.loads(json.dumps(MADE["snapshot"]()))
    for _ in range(changes):
        _changed(data, value)
    _read_and_use(json.dumps(value).encode() if as_json else pickle.dumps(value))


@settings(max_examples=150)
@given(st.data(), st.integers(1, 3))
def test_traces_with_changed_fields(data: st.DataObject, changes: int) -> None:
    value = json.loads((DATA / "several_streams.json").read_text())
    for _ in range(changes):
        _changed(data, value)
    _read_and_use(json.dumps(value).encode())


def _read_and_use(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed"
        path.write_bytes(content)
        try:
            snapshot, trace = read(path)
        except SnapshotProblem as problem:
            message = str(problem)
        else:
            message = ""
            _use(snapshot, trace)
    assert "\n" not in message
    assert len(message) < 600


def test_settings_of_any_kind_can_be_shown() -> None:
    value = MADE["snapshot"]()
    value["allocator_settings"] = {"a": b"x", "b": float("nan"), "c": {"d": [1], "e": 2}, "\x1b": (1, 2), "f": "\n"}
    snapshot = checked(value)
    assert json.loads(json.dumps(report.show_value(snapshot), allow_nan=False))["settings"] == {
        "a": "a bytes",
        "b": "nan",
        "c": {"d": "a list", "e": 2},
        "?": "a tuple",
        "f": "?",
    }


def test_large_sums_and_many_segments_are_drawn_in_time(tmp_path: Path) -> None:
    blocks = [{"size": 2 << 20, "state": "active_allocated", "address": place * (2 << 20)} for place in range(30_000)]
    segments = [
        {"address": one["address"], "total_size": 2 << 20, "stream": place % 300, "blocks": [one]}
        for place, one in enumerate(blocks)
    ]
    entries = [
        {"action": "alloc", "addr": place * 512, "size": 2**62, "stream": place % 50, "time_us": 0}
        for place in range(30_000)
    ]
    path = tmp_path / "large.pickle"
    path.write_bytes(pickle.dumps({"segments": segments, "device_traces": [entries]}))
    started = time.perf_counter()
    snapshot, trace = read(path)
    assert snapshot is not None
    assert len(picture_of_snapshot(snapshot, trace, "large")) < 8_000_000
    assert time.perf_counter() - started < 20
