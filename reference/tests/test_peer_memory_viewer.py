"""PyTorch's own tools read the snapshots of the caching allocator."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock_testing.cuda_simulator import SimulatedDriver

MIB = 1 << 20


@pytest.fixture(scope="module")
def viewer() -> Any:
    pytest.importorskip("torch")
    return importlib.import_module("torch.cuda._memory_viz")


@pytest.mark.parametrize("config", ["", "expandable_segments:True"])
def test_the_memory_viewer_reads_our_snapshots(viewer: Any, config: str) -> None:
    driver = SimulatedDriver(total_memory=128 * MIB, backed=False)
    memory = CachingAllocator(driver, 0, config)
    memory.record_memory_history()
    stream = driver.stream_create(0)
    small, large = memory.malloc(1000), memory.malloc(3 * MIB, stream)
    memory.free(small)
    memory.record_stream(large, 0)
    driver.enqueue(0, 0, lambda: None, 1000)
    memory.free(large)
    with pytest.raises(RuntimeError, match="out of memory"):
        memory.malloc(500 * MIB)
    memory.malloc(5 * MIB)
    snapshot = memory.snapshot()
    trace = viewer.trace(snapshot)
    assert "raise OutOfMemoryError # 500.0MiB requested" in trace
    assert "# 3.0MiB" in trace
    assert "total_allocated: 5.0MiB" in viewer.segsum(snapshot)
    for picture in (viewer.trace_plot(snapshot), viewer.segment_plot(snapshot)):
        assert "<script" in picture


def test_figures_are_those_that_the_documentation_of_pytorch_names(viewer: Any) -> None:
    documented = importlib.import_module("torch.cuda.memory").memory_stats.__doc__
    for name in CachingAllocator(SimulatedDriver(backed=False)).memory_stats():
        family = name.split(".")[0]
        assert family in documented or family in ("allocation",)
