"""What every driver does alike: simulated, over a fake of CuPy, and over CuPy where there is a GPU."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from gaugeblock.cuda.driver.cuda_library import CudaLibrary
from gaugeblock.cuda.driver.cupy_driver import CupyDriver
from gaugeblock.cuda.driver.protocol import Driver, DriverError, DriverOutOfMemory
from gaugeblock.memory.elements import read_bytes, write_bytes
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from gaugeblock_testing.ptxas import assemble, find_ptxas

from .fake_cupy import FakeCupy, FakeLibrary

COUNT = 1000
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry triple(.param .u64 triple_values, .param .u32 triple_count)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [triple_values];
    ld.param.u32 %r0, [triple_count];
    cvta.to.global.u64 %d1, %d0;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra done;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3];
    mul.lo.u32 %r5, %r5, 3;
    st.global.u32 [%d3], %r5;
done:
    ret;
}
"""


def triple(grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, values: tuple[int, int]) -> None:
    """What the kernel does, for the simulated device."""
    words = (ctypes.c_uint32 * values[1]).from_address(values[0])
    for place in range(min(grid[0] * block[0], values[1])):
        words[place] = words[place] * 3


@pytest.fixture(params=["simulated", "fake", "cupy"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if request.param == "cupy":
        pytest.importorskip("cupy")
        gpu = CupyDriver()
        if not gpu.device_count():
            pytest.skip("no GPU")
        yield gpu
        return
    simulated = SimulatedDriver(total_memory=64 << 20)
    simulated.define_kernel("triple", triple)
    if request.param == "simulated":
        yield simulated
    else:
        fake = FakeCupy(simulated)
        module = ModuleType("cupy")
        module.cuda = SimpleNamespace(runtime=fake.runtime, driver=fake.low)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "cupy", module)
        over_fake = CupyDriver()
        over_fake._library = CudaLibrary(lambda name: FakeLibrary(fake))
        yield over_fake
    assert sum(simulated.live(0)) == 0


def words(address: int) -> list[int]:
    return list((ctypes.c_uint32 * COUNT).from_buffer_copy(read_bytes(address, 4 * COUNT)))


def test_a_kernel_between_two_copies(driver: Driver) -> None:
    stream, host, pointer = driver.stream_create(0), driver.host_malloc(4 * COUNT), driver.malloc(0, 4 * COUNT)
    write_bytes(host, bytes((ctypes.c_uint32 * COUNT)(*range(COUNT))))
    module = driver.module_load(0, PTX)
    kernel = driver.module_function(0, module, "triple")
    driver.memcpy(0, pointer, host, 4 * COUNT, "h2d", stream)
    grid = (-(-COUNT // 128), 1, 1)
    driver.launch(0, kernel, grid, (128, 1, 1), 0, stream, (ctypes.c_uint64(pointer), ctypes.c_uint32(COUNT)))
    driver.memset(0, pointer, 255, 8, stream)
    driver.memcpy(0, host, pointer, 4 * COUNT, "d2h", stream)
    driver.stream_synchronize(0, stream)
    assert words(host) == [2**32 - 1, 2**32 - 1, *range(6, 3 * COUNT, 3)]
    driver.module_unload(0, module)
    driver.free(0, pointer)
    driver.host_free(host)
    driver.stream_destroy(0, stream)


def test_events_order_streams_and_keep_time(driver: Driver) -> None:
    first, second = driver.stream_create(0, -1), driver.stream_create(0)
    start, end = driver.event_create(0, timing=True), driver.event_create(0, timing=True)
    size = 16 << 20
    source, to, host = driver.malloc(0, size), driver.malloc(0, size), driver.host_malloc(size)
    driver.event_synchronize(0, start)
    assert driver.event_query(0, start)
    driver.event_record(0, start, first)
    for value in range(20):
        driver.memset(0, source, value, size, first)
    driver.event_record(0, end, first)
    driver.stream_wait_event(0, second, end)
    driver.memcpy(0, to, source, size, "d2d", second)
    driver.memcpy(0, host, to, size, "d2h", second)
    driver.stream_synchronize(0, second)
    assert read_bytes(host, size) == b"\x13" * size
    assert driver.event_query(0, end) and driver.stream_query(0, first)
    assert 0 < driver.event_elapsed(0, start, end) < 1000
    for event in (start, end):
        driver.event_destroy(0, event)
    for stream in (first, second):
        driver.stream_destroy(0, stream)
    for pointer in (source, to):
        driver.free(0, pointer)
    driver.host_free(host)


def test_graphs_hold_work_for_later(driver: Any) -> None:
    first, second = driver.stream_create(0), driver.stream_create(0)
    fork, join = driver.event_create(0), driver.event_create(0)
    host, pointer = driver.host_malloc(4 * COUNT), driver.malloc(0, 4 * COUNT)
    write_bytes(host, bytes((ctypes.c_uint32 * COUNT)(*range(COUNT))))
    driver.memcpy(0, pointer, host, 4 * COUNT, "h2d", first)
    driver.stream_synchronize(0, first)
    module = driver.module_load(0, PTX)
    kernel = driver.module_function(0, module, "triple")
    number = driver.capture_begin(0, first)
    assert number and driver.capture_of(0, first) == number and not driver.capture_of(0, second)
    grid = (-(-COUNT // 128), 1, 1)
    driver.launch(0, kernel, grid, (128, 1, 1), 0, first, (ctypes.c_uint64(pointer), ctypes.c_uint32(COUNT)))
    driver.event_record(0, fork, first)
    driver.stream_wait_event(0, second, fork)
    assert driver.capture_of(0, second) == number
    driver.memcpy(0, host, pointer, 4 * COUNT, "d2h", second)
    driver.event_record(0, join, second)
    driver.stream_wait_event(0, first, join)
    graph = driver.capture_end(0, first)
    assert not driver.capture_of(0, first) and not driver.capture_of(0, second)
    driver.synchronize(0)
    assert words(host) == [*range(COUNT)]
    for times in (3, 9):
        driver.graph_launch(0, graph, second)
        driver.stream_synchronize(0, second)
        assert words(host) == [*range(0, times * COUNT, times)]
    driver.graph_destroy(0, graph)
    with pytest.raises(DriverError, match="graph"):
        driver.graph_launch(0, graph, second)
    with pytest.raises(DriverError, match="capture began on"):
        driver.capture_end(0, first)
    driver.module_unload(0, module)
    driver.free(0, pointer)
    driver.host_free(host)
    for event in (fork, join):
        driver.event_destroy(0, event)
    for stream in (first, second):
        driver.stream_destroy(0, stream)


def test_virtual_memory_is_memory(driver: Driver) -> None:
    step = driver.granularity(0)
    address = driver.address_reserve(0, 4 * step)
    handles = [driver.memory_create(0, step) for _ in range(2)]
    for place, handle in enumerate(handles):
        driver.memory_map(0, address + place * step, step, handle)
        driver.memory_release(0, handle)
    host = driver.host_malloc(2 * step)
    driver.memset(0, address, 9, 2 * step, 0)
    driver.memcpy(0, host, address, 2 * step, "d2h", 0)
    driver.synchronize(0)
    assert read_bytes(host, 2 * step) == b"\x09" * (2 * step)
    driver.memory_unmap(0, address, 2 * step)
    driver.address_free(0, address, 4 * step)
    driver.host_free(host)


def test_pageable_memory_goes_both_ways(driver: Driver) -> None:
    sent, received = ctypes.create_string_buffer(b"abcd", 4), ctypes.create_string_buffer(4)
    pointer = driver.malloc(0, 4)
    driver.memcpy(0, pointer, ctypes.addressof(sent), 4, "h2d", 0)
    driver.memcpy(0, ctypes.addressof(received), pointer, 4, "d2h", 0)
    driver.stream_synchronize(0, 0)
    assert received.raw == b"abcd"
    driver.free(0, pointer)


def test_memory_runs_out_and_comes_back(driver: Driver) -> None:
    free, total = driver.mem_info(0)
    assert 0 < free <= total <= driver.properties(0).total_memory
    with pytest.raises(DriverOutOfMemory, match=r"malloc\(\)"):
        driver.malloc(0, total + (1 << 20))
    with pytest.raises(DriverOutOfMemory, match=r"memory_create\(\)"):
        driver.memory_create(0, 2 * total // driver.granularity(0) * driver.granularity(0))
    driver.free(0, driver.malloc(0, 1 << 20))


def test_what_is_gone_is_refused(driver: Driver) -> None:
    pointer, stream, event = driver.malloc(0, 512), driver.stream_create(0), driver.event_create(0)
    driver.free(0, pointer)
    driver.stream_destroy(0, stream)
    driver.event_destroy(0, event)
    for call in (
        lambda: driver.free(0, pointer),
        lambda: driver.stream_synchronize(0, stream),
        lambda: driver.event_record(0, event, 0),
        lambda: driver.stream_wait_event(0, 0, event),
        lambda: driver.event_destroy(0, event),
        lambda: driver.module_function(0, 77, "f"),
        lambda: driver.host_free(77),
        lambda: driver.malloc(driver.device_count(), 1),
    ):
        with pytest.raises(DriverError):
            call()
    driver.synchronize(0)


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")
def test_the_kernel_assembles() -> None:
    assert assemble(PTX, "sm_90").startswith(b"\x7fELF")
