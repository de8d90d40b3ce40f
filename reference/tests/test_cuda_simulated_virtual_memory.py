"""Virtual memory and modules of the simulated driver, and the address ranges under its memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory
from gaugeblock.memory.elements import read_bytes
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver
from gaugeblock_testing.cuda_simulator.address_space import AddressSpace
from gaugeblock_testing.cuda_simulator.modules import kernels_of
from gaugeblock_testing.cuda_simulator.state import LiveObjects
from hypothesis import given
from hypothesis import strategies as st

NOTHING = LiveObjects(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
MIB = 1 << 20
G = 2 * MIB


@pytest.fixture(params=[True, False], ids=["backed", "numbers"])
def driver(request: pytest.FixtureRequest) -> SimulatedDriver:
    return SimulatedDriver(devices=2, total_memory=16 * MIB, backed=request.param)


def test_memory_is_mapped_unmapped_and_mapped_elsewhere(driver: SimulatedDriver) -> None:
    assert driver.granularity(0) == G
    address = driver.address_reserve(0, 40 * MIB)
    assert address % G == 0 and driver.mem_info(0)[0] == 16 * MIB
    one, two = driver.memory_create(0, G), driver.memory_create(0, 2 * G)
    assert driver.mem_info(0)[0] == 10 * MIB
    driver.memory_map(0, address, G, one)
    driver.memory_map(0, address + G, 2 * G, two)
    driver.memset(0, address, 7, 3 * G, 0)
    driver.synchronize(0)
    if driver.pages.backed:
        assert read_bytes(address + 3 * G - 2, 2) == b"\7\7"
    driver.memory_unmap(0, address, 3 * G)
    driver.memory_map(0, address + 4 * G, 2 * G, two)
    if driver.pages.backed:
        assert read_bytes(address + 4 * G, 2) == b"\7\7"
        assert read_bytes(address, 2) == b"\0\0"
    driver.memory_release(0, one)
    assert driver.mem_info(0)[0] == 12 * MIB
    driver.memory_release(0, two)
    assert driver.mem_info(0)[0] == 12 * MIB
    driver.memory_unmap(0, address + 4 * G, 2 * G)
    assert driver.mem_info(0)[0] == 16 * MIB
    driver.address_free(0, address, 40 * MIB)
    assert driver.live(0) == NOTHING


def test_memory_that_comes_back_is_fresh(driver: SimulatedDriver) -> None:
    address = driver.address_reserve(0, G)
    for _ in range(2):
        handle = driver.memory_create(0, G)
        driver.memory_map(0, address, G, handle)
        driver.memory_release(0, handle)
        if driver.pages.backed:
            assert read_bytes(address, 1) == b"\0"
        driver.memset(0, address, 1, G, 0)
        driver.synchronize(0)
        driver.memory_unmap(0, address, G)


def test_out_of_memory_and_faults_leave_nothing(driver: SimulatedDriver) -> None:
    driver.malloc(0, 15 * MIB)
    with pytest.raises(DriverOutOfMemory, match=r"memory_create\(\): out of memory: 2097152 bytes asked of device 0"):
        driver.memory_create(0, G)
    driver.faults = Faults(out_of_memory_at=1)
    with pytest.raises(DriverOutOfMemory):
        driver.memory_create(1, G)
    assert driver.live(0).handles == driver.live(1).handles == 0


def test_work_on_memory_that_is_unmapped_before_it_runs_is_an_illegal_access() -> None:
    driver = SimulatedDriver(total_memory=16 * MIB)
    address, handle = driver.address_reserve(0, G), driver.memory_create(0, G)
    driver.memory_map(0, address, G, handle)
    driver.memset(0, address, 1, G, 0)
    driver.memory_unmap(0, address, G)
    with pytest.raises(DriverError, match="illegal memory access: 2097152 bytes at") as raised:
        driver.synchronize(0)
    assert raised.value.code == "cudaErrorIllegalAddress"
    driver.reset(0)
    assert driver.live(0) == NOTHING


REFUSALS: list[tuple[str, Callable[[SimulatedDriver, int, int], object]]] = [
    (r"address_reserve\(\): argument 'size' must be a multiple of 2097152", lambda d, a, h: d.address_reserve(0, 5)),
    (r"memory_create\(\): argument 'size' must be at least 1, got 0", lambda d, a, h: d.memory_create(0, 0)),
    (r"'size' must be the handle's whole 2097152, got 4194304", lambda d, a, h: d.memory_map(0, a, 2 * G, h)),
    (r"'address' must be a multiple of 2097152 with .* reserved", lambda d, a, h: d.memory_map(0, a + 512, G, h)),
    (r"'address' must be a multiple of", lambda d, a, h: d.memory_map(0, a + 2 * G, G, h)),
    (r"'handle' must be a living handle of memory_create on device 1", lambda d, a, h: d.memory_map(1, a, G, h)),
    (r"memory_release\(\): argument 'handle'.*got 0x7", lambda d, a, h: d.memory_release(0, 7)),
    (r"must be a range of whole mappings of device 0, got", lambda d, a, h: d.memory_unmap(0, a, G)),
    (r"must be a whole reserved range of device 0.*4194304 bytes are", lambda d, a, h: d.address_free(0, a, G)),
    (r"whole reserved range of device 1.*nothing is reserved", lambda d, a, h: d.address_free(1, a, 2 * G)),
    (r"'to' must be 1 bytes of the memory", lambda d, a, h: d.memset(0, a, 0, 1, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), REFUSALS)
def test_bad_ranges_and_handles_are_refused(
    driver: SimulatedDriver, message: str, call: Callable[[SimulatedDriver, int, int], object]
) -> None:
    address, handle = driver.address_reserve(0, 2 * G), driver.memory_create(0, G)
    before = driver.live(0), driver.live(1)
    with pytest.raises(DriverError, match=message):
        call(driver, address, handle)
    assert (driver.live(0), driver.live(1)) == before
    driver.memory_map(0, address, G, handle)
    with pytest.raises(DriverError, match="nothing mapped"):
        driver.memory_map(0, address, G, handle)
    with pytest.raises(DriverError, match="nothing mapped"):
        driver.address_free(0, address, 2 * G)


PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(
    .param .u64 .ptr .global .align 16 scale_param_0, // where
    .param .f32 scale_param_1,
    .param .align 8 .b8 scale_param_2[24]
)
{ ret; }
.visible .entry nothing()
{ ret; }
\0"""


def test_kernels_are_read_from_ptx() -> None:
    assert kernels_of(PTX) == {"scale": (8, 4, 24), "nothing": ()}
    with pytest.raises(DriverError, match=r"'image' must be PTX.*ELF") as raised:
        kernels_of(b"\x7fELF....")
    assert raised.value.code == "cudaErrorInvalidPtx"


def test_stand_ins_run_in_the_order_of_the_stream(driver: SimulatedDriver) -> None:
    module = driver.module_load(0, PTX)
    scale = driver.module_function(0, module, "scale")
    assert driver.module_function(0, module, "scale") == scale
    log: list[object] = []
    driver.define_kernel("scale", lambda *call: log.append(call))
    block = (ctypes.c_char * 24)()
    arguments = (ctypes.c_void_p(4096), ctypes.c_float(1.5), block)
    driver.launch(0, scale, (2, 1, 1), (32, 4, 1), 16, 0, arguments)
    assert log == []
    driver.synchronize(0)
    assert log == [((2, 1, 1), (32, 4, 1), 16, (4096, 1.5, block.value))]
    driver.module_unload(0, module)
    with pytest.raises(DriverError, match=r"'function' must be a living function of device 0"):
        driver.launch(0, scale, (1, 1, 1), (1, 1, 1), 0, 0, arguments)
    assert driver.live(0).modules == 0


LAUNCHES: list[tuple[str, dict[str, object]]] = [
    (r"'grid' must be three ints from 1 to \(2147483647, 65535, 65535\), got \(1, 65536, 1\)", {"grid": (1, 65536, 1)}),
    (r"'block' must be three ints from 1 to \(1024, 1024, 64\), got \(0, 1, 1\)", {"block": (0, 1, 1)}),
    (r"'block' must be at most 1024 threads, got \(64, 64, 1\)", {"block": (64, 64, 1)}),
    (r"'shared_bytes' must be at most 49152, got 49153", {"shared_bytes": 49153}),
    (r"must have the bytes \(\) for kernel 'nothing', got \(4,\)", {"arguments": (ctypes.c_int(1),)}),
    (r"nothing stands in for kernel 'nothing'", {}),
]


@pytest.mark.parametrize(("message", "change"), LAUNCHES)
def test_bad_launches_are_refused_and_harm_nothing(
    driver: SimulatedDriver, message: str, change: dict[str, object]
) -> None:
    module = driver.module_load(0, PTX)
    with pytest.raises(DriverError, match="must be one of the kernels scale, nothing, got 'other'"):
        driver.module_function(0, module, "other")
    call: dict[str, object] = {"grid": (1, 1, 1), "block": (1, 1, 1), "shared_bytes": 0, "stream": 0, "arguments": ()}
    with pytest.raises(DriverError, match=message):
        driver.launch(0, driver.module_function(0, module, "nothing"), **(call | change))  # type: ignore[arg-type]
    driver.synchronize(0)
    assert driver.live(0).pending == 0


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=60))
def test_address_ranges_are_disjoint_and_the_lowest_that_fit(actions: list[tuple[bool, int]]) -> None:
    space = AddressSpace(100, 64, 1)
    taken: dict[int, int] = {}
    for take, size in actions:
        if take:
            used = {place for start, length in taken.items() for place in range(start, start + length)}
            fits = [start for start in range(100, 165 - size) if not used & set(range(start, start + size))]
            address = space.take(size)
            assert address == (fits[0] if fits else None)
            if address is not None:
                taken[address] = size
        elif taken:
            start = sorted(taken)[size % len(taken)]
            space.give(start, taken.pop(start))
    for start, size in taken.items():
        space.give(start, size)
    assert space.take(64) == 100
