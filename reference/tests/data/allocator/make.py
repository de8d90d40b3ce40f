"""Writes the files of this folder; run it where they are to go.

`torch_ring_buffer.pickle` has the shape of what PyTorch 2.13's `torch.cuda.memory._dump_snapshot` writes, put together
by hand: a recording that begins in the middle, two streams, a free that waits for another stream, one that still does,
a call of `empty_cache`, a failed request. The traces are short runs of `gaugeblock_tools.trace_replay.workloads`.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from gaugeblock_tools.trace_replay import trace_file, workloads

MIB = 1 << 20
BASE = 0x7F0000000000
SMALL, LARGE, SIDE, LATE = BASE, BASE + 2 * MIB, BASE + 64 * MIB, BASE + 128 * MIB
STREAM = 0x55D0C0
FRAMES = {
    "step": [{"filename": "/home/u/train.py", "line": 61, "name": "step"}],
    "model": [
        {"filename": "/home/u/model.py", "line": 40, "name": "forward"},
        {"filename": "/home/u/train.py", "line": 61, "name": "step"},
    ],
    "copy": [{"filename": "/home/u/<data>.py", "line": 7, "name": "next & copy"}],
}


def entry(action: str, address: int, size: int, stack: str = "", stream: int = 0) -> dict[str, Any]:
    where = "device_free" if action == "oom" else "addr"
    made: dict[str, Any] = {"action": action, where: address, "size": size, "stream": stream}
    entry.time += 25  # type: ignore[attr-defined]
    made |= {"time_us": entry.time, "compile_context": "N/A", "user_metadata": ""}  # type: ignore[attr-defined]
    return made | ({"frames": FRAMES[stack]} if stack else {})


def block(address: int, size: int, requested: int, state: str, stack: str = "") -> dict[str, Any]:
    frames = FRAMES[stack] if stack else []
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames}


def segment(address: int, kind: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    used = [one for one in blocks if one["state"] != "inactive"]
    return {
        "device": 0,
        "address": address,
        "total_size": sum(one["size"] for one in blocks),
        "allocated_size": sum(one["size"] for one in used if one["state"] == "active_allocated"),
        "active_size": sum(one["size"] for one in used),
        "requested_size": sum(one["requested_size"] for one in used),
        "stream": 0,
        "segment_type": kind,
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    }


def snapshot() -> dict[str, Any]:
    entry.time = 1_760_000_000_000_000  # type: ignore[attr-defined]
    trace = [
        entry("free_requested", LARGE, 4 * MIB, "step"),
        entry("free_completed", LARGE, 4 * MIB, "step"),
        entry("alloc", LARGE, 3 * MIB, "model"),
        entry("alloc", SMALL + 1024, 700, "model"),
        entry("segment_alloc", SIDE, 40 * MIB, "copy", STREAM),
        entry("alloc", SIDE, 40 * MIB, "copy", STREAM),
        entry("free_requested", SIDE, 40 * MIB, "step", STREAM),
        entry("alloc", LARGE + 10 * MIB, 2_000_000, "model"),
        entry("free_completed", SIDE, 40 * MIB, "", STREAM),
        entry("segment_free", SIDE, 40 * MIB, "", STREAM),
        entry("alloc", SMALL + 2048, 100, "model"),
        entry("segment_alloc", LATE, 60 * MIB, "model"),
        entry("alloc", LATE, 60 * MIB, "model"),
        entry("oom", 1 << 30, 80 << 30, "step"),
        entry("free_requested", LARGE, 3 * MIB, "step"),
        entry("snapshot", 0, 0),
    ]
    segments = [
        segment(
            SMALL,
            "small",
            [
                block(SMALL, 1024, 1000, "active_allocated"),
                block(SMALL + 1024, 1024, 700, "active_allocated", "model"),
                block(SMALL + 2048, 512, 100, "active_allocated", "model"),
                block(SMALL + 2560, 2 * MIB - 2560, 0, "inactive"),
            ],
        ),
        segment(
            LARGE,
            "large",
            [
                block(LARGE, 3 * MIB, 3 * MIB, "active_pending_free", "model"),
                block(LARGE + 3 * MIB, MIB, 0, "inactive"),
                block(LARGE + 4 * MIB, 6 * MIB, 6 * MIB, "active_allocated", "step"),
                block(LARGE + 10 * MIB, 2_000_384, 2_000_000, "active_allocated", "model"),
                block(LARGE + 10 * MIB + 2_000_384, 10 * MIB - 2_000_384, 0, "inactive"),
            ],
        ),
        segment(LATE, "large", [block(LATE, 60 * MIB, 60 * MIB, "active_allocated", "model")]),
    ]
    settings = {
        "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128",
        "max_split_size": 128 * MIB,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": False,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "roundup_power2_divisions": {str(1 << place): 0 for place in range(16)},
    }
    return {
        "segments": segments,
        "device_traces": [trace, []],
        "allocator_settings": settings,
        "external_annotations": [],
    }


def traces() -> dict[str, Any]:
    return {
        "training_loop.json": workloads.training_loop(steps=6, layers=3, width=256),
        "fragments.json": workloads.fragments(events=300, live=20),
        "several_streams.json": workloads.several_streams(steps=4, buckets=3),
    }


def main(folder: Path) -> None:
    (folder / "torch_ring_buffer.pickle").write_bytes(pickle.dumps(snapshot(), protocol=4))
    for name, trace in traces().items():
        trace_file.write_trace(trace, folder / name)


if __name__ == "__main__":
    main(Path())
