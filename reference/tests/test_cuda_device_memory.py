"""Memory of tensors on the simulated CUDA device: the allocator's figures, what keeps a block, what leaks: nothing."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest

MIB = 1 << 20


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=256 * MIB)
    gc.collect()
    assert [gb.cuda.memory_allocated(index) for index in (0, 1)] == [0, 0]
    gb.cuda.use_driver(None)


def test_figures_follow_tensors() -> None:
    assert gb.cuda.memory_allocated() == gb.cuda.memory_reserved() == 0
    x = gb.empty(1000, device="cuda")
    assert (gb.cuda.memory_allocated(), gb.cuda.memory_reserved()) == (4096, 2 * MIB)
    y = (x + 1) * 2
    assert gb.cuda.memory_allocated() == 8192 and gb.cuda.max_memory_allocated() == 12288
    del x, y
    assert gb.cuda.memory_allocated() == 0 and gb.cuda.memory_reserved() == 2 * MIB
    gb.cuda.reset_peak_memory_stats()
    assert gb.cuda.max_memory_allocated() == 0 and gb.cuda.max_memory_reserved() == 2 * MIB
    gb.cuda.empty_cache()
    assert gb.cuda.memory_reserved() == 0 and gb.cuda.mem_get_info() == (256 * MIB, 256 * MIB)
    stats = gb.cuda.memory_stats()
    assert stats["num_device_alloc"] == stats["num_device_free"] == 1 and stats["allocation.all.allocated"] == 3
    assert gb.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == 0
    assert "CUDA memory summary" in gb.cuda.memory_summary()


def test_a_view_keeps_the_whole_block() -> None:
    huge = gb.empty(1024, 1024, device="cuda")
    view = huge[0, :5]
    before = gb.cuda.memory_allocated()
    assert before == 4 * MIB
    del huge
    gc.collect()
    gb.cuda.empty_cache()
    assert gb.cuda.memory_allocated() == before
    kept = view.clone()
    del view
    assert gb.cuda.memory_allocated() == 512 and kept.shape == (5,)
    gb.cuda.empty_cache()
    assert gb.cuda.memory_reserved() == 2 * MIB


def test_devices_have_memory_of_their_own() -> None:
    x, y = gb.ones(10, device="cuda:0"), gb.ones(10, device="cuda:1")
    assert gb.cuda.memory_allocated(0) == gb.cuda.memory_allocated(1) == 512
    address = y.data_ptr()
    del y
    z = [gb.empty(10, device="cuda:0") for _ in range(5)]
    assert all(one.data_ptr() != address for one in z) and gb.cuda.memory_allocated("cuda:1") == 0
    assert gb.empty(10, device="cuda:1").data_ptr() == address
    assert {segment["device"] for segment in gb.cuda.memory_snapshot()} == {0, 1}
    assert [segment["device"] for segment in gb.cuda.memory_snapshot(1)] == [1]
    del x, z


def test_blocks_belong_to_the_stream_they_were_made_on() -> None:
    side = gb.cuda.Stream()
    with gb.cuda.stream(side):
        x = gb.empty(10, device="cuda")
    address = x.data_ptr()
    del x
    assert gb.empty(10, device="cuda").data_ptr() != address
    with gb.cuda.stream(side):
        assert gb.empty(10, device="cuda").data_ptr() == address


def test_a_recorded_stream_delays_the_reuse() -> None:
    side = gb.cuda.Stream()
    x = gb.ones(10, device="cuda")
    address = x.data_ptr()
    side.wait_stream(gb.cuda.current_stream())
    with gb.cuda.stream(side):
        doubled = x[2:] * 2
    x.record_stream(side)
    del x
    assert gb.cuda.memory_allocated() == 512
    assert gb.cuda.memory_stats()["active_bytes.all.current"] == 1024
    assert gb.empty(10, device="cuda").data_ptr() != address
    side.synchronize()
    again = [gb.empty(10, device="cuda") for _ in range(3)]
    assert address in [one.data_ptr() for one in again] and doubled.tolist() == [2.0] * 8


def test_out_of_memory_leaves_everything_in_order() -> None:
    kept = gb.ones(8 * MIB, device="cuda")
    with pytest.raises(gb.cuda.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 1024.00 MiB"):
        gb.empty(256 * MIB, device="cuda")
    with pytest.raises(gb.cuda.OutOfMemoryError):
        [kept + 1 for _ in range(20)].clear()
    gc.collect()
    assert gb.cuda.memory_allocated() == 32 * MIB and kept.sum().item() == 8 * MIB
    assert gb.cuda.memory_stats()["num_ooms"] == 2
    gb.cuda.set_per_process_memory_fraction(0.25)
    with pytest.raises(gb.cuda.OutOfMemoryError, match="allowed"):
        gb.empty(16 * MIB, device="cuda")
    for bad, error in ((1, TypeError), (1.5, ValueError)):
        with pytest.raises(error, match="set_per_process_memory_fraction"):
            gb.cuda.set_per_process_memory_fraction(bad)


def test_storages_grow_on_the_device() -> None:
    x = gb.arange(4.0, device="cuda")
    view = x[1:3]
    x.resize_(1000)
    assert x[:4].tolist() == [0.0, 1.0, 2.0, 3.0] and view.tolist() == [1.0, 2.0] and gb.cuda.memory_allocated() == 4096
    out = gb.empty(0, device="cuda")
    assert gb.add(x, 1, out=out) is out and out[:2].tolist() == [1.0, 2.0]
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        view + 1
    assert gb.cuda.memory_allocated() == 4096


def test_operators_leave_nothing_behind() -> None:
    x = gb.rand(20, 20, device="cuda", requires_grad=True)
    for _ in range(3):
        y = (x @ x.t()).softmax(0).sort().values[:, 3:].std() + x.nonzero().sum()
        y.backward()
        with pytest.raises(RuntimeError):
            x + gb.ones(3, device="cuda")
        gc.collect()
        assert gb.cuda.memory_allocated() == 512 + 2048 + 2048
    del y, x
    gc.collect()
    assert gb.cuda.memory_allocated() == 0


def test_blocks_without_a_tensor() -> None:
    address = gb.cuda.caching_allocator_alloc(1000, 1)
    assert gb.cuda.memory_allocated(1) == 1024
    gb.cuda.caching_allocator_delete(address)
    assert gb.cuda.memory_allocated(1) == 0 and gb.cuda.caching_allocator_alloc(0) == 0
    gb.cuda.caching_allocator_delete(0)
    for wrong in (address, 12345):
        with pytest.raises(RuntimeError, match="invalid device pointer"):
            gb.cuda.caching_allocator_delete(wrong)


def test_threads_share_the_device() -> None:
    sums: list[float] = []

    def work(seed: int) -> None:
        x = gb.full((100,), float(seed), device="cuda")
        for _ in range(10):
            x = x + 1
        sums.append(x.sum().item() - 100 * seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [1000.0] * 4


def test_pinned_memory() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    pinned = x.t().pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and pinned.pin_memory() is pinned and pinned[1].is_pinned()
    assert pinned.tolist() == x.t().tolist() and pinned.stride() == (1, 3) and pinned.device.type == "cpu"
    assert gb.zeros(3, pin_memory=True).is_pinned() and gb.tensor([1.0], pin_memory=True).is_pinned()
    assert gb.empty(2, 2, pin_memory=True).is_pinned() and not gb.ones(2).is_pinned()
    for make in (gb.rand, gb.arange, gb.eye, gb.randperm, gb.hann_window, gb.ones(1).new_zeros):
        assert make(3, pin_memory=True).is_pinned(), make.__name__
    assert gb.zeros_like(gb.ones(2), pin_memory=True).is_pinned() and gb.full((2,), 1, pin_memory=True).is_pinned()
    assert pinned.numpy().tolist() == x.t().tolist()
    assert gb.cuda.host_memory_stats()["active_requests.current"] == 1
    del pinned
    gc.collect()
    assert gb.cuda.host_memory_stats()["active_requests.current"] == 0


def test_pools_of_ones_own() -> None:
    pool = gb.cuda.MemPool()
    outside = gb.empty(10, device="cuda")
    with gb.cuda.use_mem_pool(pool):
        inside = gb.empty(10, device="cuda")
    assert gb.cuda.memory_reserved() == 4 * MIB and pool.id != (0, 0) and len(pool.snapshot()) == 1
    address = inside.data_ptr()
    del inside
    assert gb.empty(10, device="cuda").data_ptr() != address
    with gb.cuda.use_mem_pool(pool):
        assert gb.empty(10, device="cuda").data_ptr() == address
    del pool
    gc.collect()
    gb.cuda.empty_cache()
    assert gb.cuda.memory_reserved() == 2 * MIB and outside.numel() == 10
    with pytest.raises(TypeError, match="MemPool"), gb.cuda.use_mem_pool(3):
        pass


def test_history_and_snapshots(tmp_path: Any) -> None:
    import pickle

    gb.cuda.memory._record_memory_history()
    x = gb.ones(10, device="cuda:1")
    del x
    gb.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    gb.cuda.memory._record_memory_history(None)
    shot = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert [segment["device"] for segment in shot["segments"]] == [1] and shot["device_traces"][0] == []
    assert [entry["action"] for entry in shot["device_traces"][1]] == [
        "segment_alloc", "alloc", "free_requested", "free_completed"
    ]  # fmt: skip
    frames = shot["device_traces"][1][1]["frames"]
    assert any(frame["name"] == "test_history_and_snapshots" for frame in frames)
