"""Memory, streams, graphs and exchange on a GPU. `nox -s gpu` runs it; skipped where there is no GPU."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

import gaugeblock as gb
import pytest

from .real_gpu import NEEDS_GPU, real_gpu

pytestmark = [NEEDS_GPU, pytest.mark.usefixtures("real_gpu")]
__all__ = ["real_gpu"]
MIB = 1 << 20


def test_what_is_freed_is_kept_and_given_back() -> None:
    gc.collect()
    gb.cuda.empty_cache()
    used, reserved = gb.cuda.memory_allocated(), gb.cuda.memory_reserved()
    x = gb.empty(64 * MIB, dtype=gb.uint8, device="cuda")
    address = x.data_ptr()
    assert gb.cuda.memory_allocated() - used == 64 * MIB == gb.cuda.memory_reserved() - reserved
    del x
    assert gb.cuda.memory_allocated() == used and gb.cuda.memory_reserved() - reserved == 64 * MIB
    assert gb.empty(64 * MIB, dtype=gb.uint8, device="cuda").data_ptr() == address
    gb.cuda.empty_cache()
    assert gb.cuda.memory_reserved() == reserved


def test_a_request_larger_than_the_device_is_refused_and_harms_nothing() -> None:
    total = gb.cuda.get_device_properties(0).total_memory
    with pytest.raises(gb.cuda.OutOfMemoryError, match="Tried to allocate"):
        gb.empty(2 * total, dtype=gb.uint8, device="cuda")
    assert (gb.ones(3, device="cuda") + 1).tolist() == [2, 2, 2]


def test_a_stream_waits_for_another_and_a_block_for_its_reader() -> None:
    first, second = gb.cuda.Stream(), gb.cuda.Stream()
    start = gb.arange(float(1 << 20))
    x = start.cuda()
    gb.cuda.synchronize()
    found = []
    for factor in range(50):
        with gb.cuda.stream(first):
            scaled = x * factor
        with gb.cuda.stream(second):
            second.wait_stream(first)
            found.append(scaled + 1)
        scaled.record_stream(second)
    gb.cuda.synchronize()
    assert all(one.cpu().equal(start * factor + 1) for factor, one in enumerate(found))


def test_events_tell_the_time_between_them() -> None:
    stream = gb.cuda.Stream()
    start, end = gb.cuda.Event(enable_timing=True), gb.cuda.Event(enable_timing=True)
    with gb.cuda.stream(stream):
        x = gb.ones(1 << 22, device="cuda")
        start.record()
        for _ in range(20):
            x = x * 2
        end.record()
    end.synchronize()
    assert stream.query() and 0 < start.elapsed_time(end) < 10_000
    assert float(x[-1]) == 2**20


def test_a_graph_runs_again_over_new_values() -> None:
    x = gb.ones(1000, device="cuda")
    gb.cuda.synchronize()
    graph = gb.cuda.CUDAGraph()
    with gb.cuda.graph(graph):
        y = (x * 2 + 1).square()
    for value in (3.0, -4.0, 0.5):
        x.fill_(value)
        graph.replay()
        assert y.cpu().unique().tolist() == [(value * 2 + 1) ** 2]


def test_pinned_memory_is_copied_behind_the_caller() -> None:
    x = gb.arange(1 << 20).pin_memory()
    assert x.is_pinned()
    y = x.to("cuda", non_blocking=True)
    back = gb.empty(1 << 20, dtype=gb.int64).pin_memory()
    back.copy_(y + 1, non_blocking=True)
    gb.cuda.synchronize()
    assert back.equal(x + 1)


EXPANDING = """
import gaugeblock as gb
parts = [gb.empty(3 << 20, device="cuda") for _ in range(40)]
del parts[::2]
whole = gb.empty(1 << 26, device="cuda").fill_(1.0)
assert float(whole.sum()) == 1 << 26
assert len({segment["address"] for segment in gb.cuda.memory_snapshot()}) <= 2
del parts, whole
gb.cuda.empty_cache()
print(gb.cuda.memory_reserved())
"""


def test_expandable_segments_map_memory_of_the_device() -> None:
    options = {"GAUGEBLOCK_CUDA_ALLOC_CONF": "expandable_segments:True", "GAUGEBLOCK_CUDA_DRIVER": "cupy"}
    ran = subprocess.run([sys.executable, "-c", EXPANDING], env=os.environ | options, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.split()) == (0, ["0"]), ran.stderr


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_dlpack_shares_memory_with_other_libraries(library: str) -> None:
    other: Any = pytest.importorskip(library)
    if library == "torch" and not other.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    x = gb.arange(6.0, device="cuda")
    y = other.from_dlpack(x)
    y *= 2
    other.cuda.Device(0).synchronize() if library == "cupy" else other.cuda.synchronize()
    assert x.tolist() == [0, 2, 4, 6, 8, 10]
    made = other.arange(4.0) if library == "cupy" else other.arange(4.0, device="cuda")
    z = gb.from_dlpack(made)
    assert z.is_cuda and (z + 1).tolist() == [1, 2, 3, 4]
