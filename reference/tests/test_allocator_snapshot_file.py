"""Files of snapshots: what is read, and that nothing else than data is ever made of a file."""

from __future__ import annotations

import collections
import contextlib
import datetime
import json
import os
import pickle
import pickletools
import runpy
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_tools.problem import SnapshotProblem
from gaugeblock_tools.trace_replay.pickle_reader import loads
from gaugeblock_tools.trace_replay.snapshot import Block, Entry, Frame
from gaugeblock_tools.trace_replay.snapshot_file import read_snapshot, read_value
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data" / "allocator"
MADE = runpy.run_path(str(DATA / "make.py"))
BASE = 0x7F0000000000
MIB = 1 << 20

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(plain, st.integers(3, 5))
def test_plain_data_comes_back(value: Any, protocol: int) -> None:
    assert repr(loads(pickle.dumps(value, protocol))) == repr(value)


@given(plain.filter(lambda value: "b'" not in repr(value) and 'b"' not in repr(value)), st.integers(0, 2))
def test_old_protocols_too(value: Any, protocol: int) -> None:
    assert repr(loads(pickle.dumps(value, protocol))) == repr(value)


def test_shared_parts_stay_shared() -> None:
    frames = [{"filename": "a.py"}]
    first, second = loads(pickle.dumps([frames, frames]))
    assert first is second


def test_strings_of_python_2() -> None:
    assert loads(b"(dp0\nS'it\\'s'\np1\nI01\nsS\"n\"\nL12L\ns.") == {"it's": True, "n": 12}


class _Hostile:
    def __reduce__(self) -> Any:
        return (os.system, ("echo executed > executed",))


HOSTILE = {
    "reduce": pickle.dumps(_Hostile()),
    "reduce_0": pickle.dumps(_Hostile(), 0),
    "inside": pickle.dumps({"segments": [], "device_traces": [[_Hostile()]]}),
    "global": b"cos\nsystem\n(S'echo executed > executed'\ntR.",
    "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04echo\x85R.",
    "inst": b"(S'echo executed > executed'\nios\nsystem\n.",
    "object": pickle.dumps(datetime.date(2026, 1, 1)),
    "ordered": pickle.dumps(collections.OrderedDict(a=1)),
    "set": pickle.dumps({"segments": {1, 2}}),
    "persistent": b"Pfile\n.",
    "extension": b"\x80\x02\x82\x01.",
    "buffer": b"\x80\x05\x97.",
    "build": b"}}b.",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_pickles_execute_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.pickle"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(SnapshotProblem, match=r"hostile\.pickle: the pickle is refused at byte \d+: ") as caught:
        read_value(path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "executed").exists()


DEEP = 200_000
MALFORMED = {
    "cut": (pickle.dumps({"segments": [1, 2, 3]})[:-5], "is cut off at byte"),
    "huge text": (b"\x80\x04\x8d" + b"\xff" * 8 + b"x.", "is cut off at byte"),
    "huge frame": (b"\x80\x04\x95" + b"\xff" * 8 + b"N.", "is cut off at byte"),
    "huge bytes": (b"\x80\x04B" + b"\xff" * 4 + b"x.", "is cut off at byte"),
    "huge integer": (b"\x80\x04\x8b" + b"\xff\xff\xff\x7f" + b"x.", "an integer of 2147483647 bytes; 32 are allowed"),
    "huge memo": (b"\x80\x04Nr\xff\xff\xff\xff0j\xfe\xff\xff\xff.", "is malformed"),
    "new protocol": (b"\x80\x09N.", "protocol 9; 0 to 5"),
    "no opcode": (b"\x80\x04\xffN.", "is malformed at byte 3"),
    "empty stack": (b"\x80\x04.", "is malformed"),
    "left over": (b"\x80\x04NN.", "is malformed"),
    "no mark": (b"\x80\x04]e.", "is malformed"),
    "append to a dict": (b"\x80\x04}Na.", "is malformed"),
    "odd items": (b"\x80\x04}(K\x01u.", "is malformed"),
    "deep key": (b"\x80\x04}" + b")" + b"\x85" * DEEP + b"Ns.", "a tuple as a key; only strings are allowed"),
    "digits": (b"I" + b"9" * 10_000 + b"\n.", "is malformed"),
    "unquoted": (b"S(1)\n.", "is malformed"),
    "surrogate": (b"\x80\x04\x8c\x01\xff.", "is malformed"),
}


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_malformed_pickles(name: str) -> None:
    data, message = MALFORMED[name]
    with pytest.raises(SnapshotProblem, match=message):
        loads(data)


def test_every_cut_of_a_snapshot_is_refused() -> None:
    data = (DATA / "torch_ring_buffer.pickle").read_bytes()
    for end in range(0, len(data), 7):
        with pytest.raises(SnapshotProblem, match=r"is cut off|is malformed"):
            loads(data[:end])


@given(st.data())
def test_changed_bytes_never_do_more_than_raise(data: st.DataObject) -> None:
    raw = bytearray((DATA / "torch_ring_buffer.pickle").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(SnapshotProblem):
        loads(bytes(raw))


def test_the_pickle_is_what_it_says() -> None:
    raw = (DATA / "torch_ring_buffer.pickle").read_bytes()
    assert pickle.loads(raw) == MADE["snapshot"]() == loads(raw)
    assert max(opcode.proto for opcode, _, _ in pickletools.genops(raw)) == 4


def test_a_snapshot_of_pytorch() -> None:
    snapshot = read_snapshot(DATA / "torch_ring_buffer.pickle")
    assert [(one.address - BASE, one.size, one.kind, len(one.blocks)) for one in snapshot.segments] == [
        (0, 2 * MIB, "small", 4),
        (2 * MIB, 20 * MIB, "large", 5),
        (128 * MIB, 60 * MIB, "large", 1),
    ]
    assert snapshot.segments[1].blocks[0] == Block(
        BASE + 2 * MIB,
        3 * MIB,
        3 * MIB,
        "active_pending_free",
        (Frame("/home/u/model.py", 40, "forward"), Frame("/home/u/train.py", 61, "step")),
    )
    assert [len(trace) for trace in snapshot.traces] == [16, 0]
    assert snapshot.traces[0][13] == Entry(
        "oom", 1 << 30, 80 << 30, 0, 1_760_000_000_000_350, (0, 0), (Frame("/home/u/train.py", 61, "step"),)
    )
    assert snapshot.settings["max_split_size"] == 128 * MIB


def test_the_same_as_json(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(MADE["snapshot"]()))
    assert read_snapshot(path) == read_snapshot(DATA / "torch_ring_buffer.pickle")


def test_segments_alone(tmp_path: Path) -> None:
    path = tmp_path / "segments.json"
    path.write_text(json.dumps(MADE["snapshot"]()["segments"]))
    snapshot = read_snapshot(path)
    assert len(snapshot.segments) == 3 and snapshot.traces == []


def _changed(*path: str | int, value: Any) -> Any:
    made = MADE["snapshot"]()
    target = made
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return made


SHAPES = {
    "number": (5, "a snapshot is a dict with 'segments' and 'device_traces', not 5"),
    "nothing": ({"a": 1}, "a snapshot has 'segments' or 'device_traces'; neither is there"),
    "segments": (_changed("segments", value="x"), "segments is 'x'; a list is allowed"),
    "segment": (_changed("segments", 0, value=None), "segments[0] is None; a dict is allowed"),
    "address": (
        _changed("segments", 0, "address", value=-1),
        "segments[0].address is -1; an int from 0 and below 2**64 is allowed",
    ),
    "huge size": (
        _changed("segments", 0, "total_size", value=1 << 200),
        "segments[0].total_size is an int of 201 bits; an int from 0 and below 2**63 is allowed",
    ),
    "boolean": (
        _changed("segments", 0, "stream", value=True),
        "segments[0].stream is True; an int above -2**64 and below 2**64 is allowed",
    ),
    "type": (
        _changed("segments", 0, "segment_type", value="tiny"),
        "segments[0].segment_type is 'tiny'; 'small' or 'large' is allowed",
    ),
    "sum": (
        _changed("segments", 2, "total_size", value=5),
        "segments[2].blocks sum to 62914560 bytes; total_size is 5",
    ),
    "state": (
        _changed("segments", 0, "blocks", 0, "state", value="gone"),
        "segments[0].blocks[0].state is 'gone'; one of active_allocated, active_pending_free, active_awaiting_free, "
        "inactive is allowed",
    ),
    "block size": (
        _changed("segments", 0, "blocks", 0, "size", value=0),
        "segments[0].blocks[0].size is 0; an int from 1 and below 2**63 is allowed",
    ),
    "gap": (
        _changed("segments", 0, "blocks", 1, "address", value=BASE),
        "segments[0].blocks[1] begins at 0x7f0000000000; the one before it ends at 0x7f0000000400",
    ),
    "overlap": (
        _changed("segments", 2, value=MADE["snapshot"]()["segments"][1]),
        "segments at 0x7f0000200000 and 0x7f0000200000 overlap",
    ),
    "action": (
        _changed("device_traces", 0, 3, "action", value=7),
        "device_traces[0][3].action is 7; one of alloc, free_requested, free_completed, segment_alloc, segment_free, "
        "segment_map, segment_unmap, snapshot, oom is allowed",
    ),
    "no size": (
        _changed("device_traces", 0, 3, "size", value=None),
        "device_traces[0][3].size is None; an int from 0 and below 2**63 is allowed",
    ),
    "no address": (
        _changed("device_traces", 0, 3, "addr", value=None),
        "device_traces[0][3].addr is None; an int from 0 and below 2**64 is allowed",
    ),
    "frames": (
        _changed("device_traces", 0, 3, "frames", value=[3]),
        "device_traces[0][3].frames[0] is 3; a dict is allowed",
    ),
    "frame": (
        _changed("device_traces", 0, 3, "frames", value=[{"filename": 1, "name": "f"}]),
        "device_traces[0][3].frames[0] has no 'filename' and 'name' that are strings",
    ),
    "pool": (
        _changed("device_traces", 0, 3, "pool_id", value="(0, 1)"),
        "device_traces[0][3] has '(0, 1)' as the id of its pool; a pair of ints is allowed",
    ),
    "settings": (_changed("allocator_settings", value=[]), "allocator_settings is a list; a dict is allowed"),
    "one list twice": (
        _changed("device_traces", value=[MADE["snapshot"]()["segments"]] * 2),
        "device_traces has one list for two devices; each device has its own",
    ),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_wrong_shapes(name: str, tmp_path: Path) -> None:
    value, message = SHAPES[name]
    path = tmp_path / "wrong.pickle"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(SnapshotProblem) as caught:
        read_snapshot(path)
    assert str(caught.value) == f"{path}: {message}"


FILES = {
    "empty": (b"", "is empty; a snapshot or trace is allowed"),
    "blank": (b" \n\t", "is empty; a snapshot or trace is allowed"),
    "zip": (b"PK\x03\x04rest", "is a zip archive, as torch.save writes; take the file that "),
    "gzip": (b"\x1f\x8brest", "is compressed by gzip; unpack it first"),
    "html": (b"<!DOCTYPE html>", "is HTML; take the snapshot that the page was made of"),
    "json": (b'{"segments": [', "not JSON: Expecting value at line 1 column 15"),
    "bytes": (b'{"segments": "\xff"}', "not JSON: byte 14 is not UTF-8"),
    "deep": (b"[" * 100_000, "not a snapshot: nested too deeply"),
    "digits": (b"[" + b"9" * 5000 + b"]", "not JSON: "),
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_other_files(name: str, tmp_path: Path) -> None:
    data, message = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(SnapshotProblem) as caught:
        read_snapshot(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SnapshotProblem, match="absent: cannot be read: No such file or directory"):
        read_snapshot(tmp_path / "absent")
    with pytest.raises(SnapshotProblem, match="cannot be read: Is a directory"):
        read_snapshot(tmp_path)


def test_newer_actions_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "newer.pickle"
    path.write_bytes(pickle.dumps(_changed("device_traces", 0, 15, "action", value="compacted")))
    snapshot = read_snapshot(path)
    assert len(snapshot.traces[0]) == 15 and snapshot.unknown_actions == 1


def test_long_names_and_lone_surrogates_are_shortened(tmp_path: Path) -> None:
    path = tmp_path / "names.pickle"
    frames = [{"filename": "x" * 100_000 + ".py", "line": 1, "name": "a\ud800b"}]
    path.write_bytes(pickle.dumps(_changed("device_traces", 0, 3, "frames", value=frames)))
    (frame,) = read_snapshot(path).traces[0][3].stack
    assert frame == Frame("..." + "x" * 394 + ".py", 1, "a?b")
