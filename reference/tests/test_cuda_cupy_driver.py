"""The CuPy driver over a small fake of CuPy that keeps its names, signatures and errors, on simulated devices."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from types import ModuleType, SimpleNamespace

import gaugeblock as gb
import pytest
from gaugeblock.cuda.devices import use_driver
from gaugeblock.cuda.driver.cuda_library import AccessDescription, AllocationProperties, CudaLibrary
from gaugeblock.cuda.driver.cupy_driver import CupyDriver, translated
from gaugeblock.cuda.driver.protocol import Driver, DriverError, DriverOutOfMemory
from gaugeblock.cuda.operators.cupy_operators import array_over, memory_for
from gaugeblock.memory.elements import read_bytes, write_bytes
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver

from .fake_cupy import CONSTANTS, LOW, RUNTIME, CUDARuntimeError, FakeCupy, FakeLibrary, signatures

MIB = 1 << 20
G = 2 * MIB
PTX = b".version 8.0\n.target sm_90\n.visible .entry twice(.param .u64 twice_0, .param .u32 twice_1) { ret; }"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    fake = FakeCupy(SimulatedDriver(devices=2, total_memory=16 * MIB))
    module = ModuleType("cupy")
    module.cuda = SimpleNamespace(runtime=fake.runtime, driver=fake.low)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", module)
    yield fake
    assert fake.getDevice() == 0


@pytest.fixture
def driver(fake: FakeCupy) -> CupyDriver:
    driver = CupyDriver()
    driver._library = CudaLibrary(lambda name: FakeLibrary(fake))
    return driver


def test_the_driver_follows_the_protocol(driver: CupyDriver) -> None:
    used: Driver = driver
    assert used.name == "cupy" and used.device_count() == 2
    assert used.properties(1)[:5] == ("Fake H100", 16 * MIB, 9, 0, 132)
    assert used.stream_priority_range(0) == (0, -5) and used.granularity(1) == G


def test_memory_and_copies(driver: CupyDriver, fake: FakeCupy) -> None:
    pointer, other, host = driver.malloc(0, 8), driver.malloc(1, 8), driver.host_malloc(8)
    assert driver.malloc(0, 0) == driver.host_malloc(0) == 0
    write_bytes(host, b"abcdefgh")
    stream = driver.stream_create(0)
    driver.memcpy(0, pointer, host, 8, "h2d", stream)
    driver.memset(0, pointer, 33, 2, stream)
    driver.stream_synchronize(0, stream)
    driver.memcpy(1, other, pointer, 8, "d2d", 0)
    driver.memcpy(1, host, other, 8, "d2h", 0)
    assert read_bytes(host, 8) == b"abcdefgh"
    driver.synchronize(1)
    assert read_bytes(host, 8) == b"!!cdefgh"
    assert driver.mem_info(1) == (16 * MIB - 512, 16 * MIB)
    for device, block in ((0, pointer), (1, other)):
        driver.free(device, block)
    driver.free(0, 0)
    driver.host_free(host)
    driver.host_free(0)
    driver.stream_destroy(0, stream)
    assert sum(fake.driver.live(0)) == sum(fake.driver.live(1)) == 0


def test_streams_and_events(driver: CupyDriver, fake: FakeCupy) -> None:
    first, second = driver.stream_create(0, -1), driver.stream_create(1)
    start, end = driver.event_create(0, timing=True), driver.event_create(0, timing=True)
    driver.event_record(0, start, first)
    fake.driver.enqueue(0, first, lambda: None, 2_000_000)
    driver.event_record(0, end, first)
    driver.stream_wait_event(1, second, end)
    assert driver.event_query(0, start) and not driver.event_query(0, end)
    assert not driver.stream_query(0, first) and not driver.stream_query(1, second)
    driver.event_synchronize(0, end)
    assert driver.event_elapsed(0, start, end) == 2.0 and driver.stream_query(1, second)
    untimed = driver.event_create(1)
    with pytest.raises(DriverError, match=r"event_elapsed\(\): cudaErrorInvalidResourceHandle"):
        driver.event_elapsed(1, untimed, untimed)


def test_kernels_get_the_values_of_their_arguments(driver: CupyDriver, fake: FakeCupy) -> None:
    log: list[object] = []
    fake.driver.define_kernel("twice", lambda *call: log.append(call))
    module = driver.module_load(1, PTX)
    twice = driver.module_function(1, module, "twice")
    assert driver.module_function(1, module, "twice") == twice
    for _ in range(2):
        driver.launch(1, twice, (3, 2, 1), (64, 1, 1), 0, 0, (ctypes.c_uint64(1 << 40), ctypes.c_uint32(7)))
    fake.setDevice(1)
    driver.launch(1, twice, (1, 1, 1), (1, 1, 1), 0, 0, (ctypes.c_uint64(5), ctypes.c_uint32(6)))
    with pytest.raises(DriverError, match=r"launch\(\): CUDA_ERROR_INVALID_VALUE: what it means") as raised:
        driver.launch(1, twice, (0, 1, 1), (1, 1, 1), 0, 0, (ctypes.c_uint64(5), ctypes.c_uint32(6)))
    assert raised.value.code == "CUDA_ERROR_INVALID_VALUE"
    fake.setDevice(0)
    driver.synchronize(1)
    assert log == [((3, 2, 1), (64, 1, 1), 0, (1 << 40, 7))] * 2 + [((1, 1, 1), (1, 1, 1), 0, (5, 6))]
    driver.module_unload(1, module)
    with pytest.raises(DriverError, match="'function' must be one that was given on device 1 and not given back"):
        driver.launch(1, twice, (1, 1, 1), (1, 1, 1), 0, 0, ())
    with pytest.raises(DriverError, match=r"module_load\(\): CUDA_ERROR_INVALID_PTX"):
        driver.module_load(0, b"nothing")


def test_virtual_memory(driver: CupyDriver, fake: FakeCupy) -> None:
    address, handle = driver.address_reserve(1, 2 * G), driver.memory_create(1, G)
    driver.memory_map(1, address + G, G, handle)
    driver.memset(1, address + G, 5, G, 0)
    driver.synchronize(1)
    assert read_bytes(address + G, 1) == b"\5"
    with pytest.raises(DriverError, match=r"memory_map\(\): cuMemMap gives CUDA_ERROR_INVALID_VALUE") as raised:
        driver.memory_map(1, address + G, G, handle)
    assert raised.value.code == "CUDA_ERROR_INVALID_VALUE"
    driver.memory_unmap(1, address + G, G)
    fake.driver.faults = Faults(failing_event_calls=1)
    with pytest.raises(DriverError, match="cuMemSetAccess"):
        driver.memory_map(1, address, G, handle)
    assert fake.driver.live(1).mappings == 0
    driver.memory_release(1, handle)
    with pytest.raises(DriverError, match="'size' must be the whole 4194304 bytes"):
        driver.address_free(1, address, G)
    driver.address_free(1, address, 2 * G)
    with pytest.raises(DriverOutOfMemory, match=r"memory_create\(\): cuMemCreate finds no memory"):
        driver.memory_create(0, 32 * MIB)
    assert sum(fake.driver.live(1)) == 0


def test_no_memory_is_an_error_of_its_own(driver: CupyDriver) -> None:
    with pytest.raises(DriverOutOfMemory, match=r"malloc\(\): cudaErrorMemoryAllocation: what it means"):
        driver.malloc(0, 17 * MIB)
    for call in (lambda: driver.malloc(0, 1 << 64), lambda: driver.host_malloc(1 << 63)):
        with pytest.raises(DriverOutOfMemory, match="more bytes than there are addresses"):
            call()


REFUSALS: list[tuple[str, Callable[[CupyDriver, int, int, int], object]]] = [
    (r"free\(\): argument 'pointer' must be .* device 1.*got 0x", lambda d, p, s, e: d.free(1, p)),
    (r"free\(\): argument 'pointer'.*got 0x7b", lambda d, p, s, e: d.free(0, 123)),
    (r"'device' must be the index of one of 2 devices, got 2", lambda d, p, s, e: d.malloc(2, 1)),
    (r"'size' must be at least 0, got -1", lambda d, p, s, e: d.malloc(0, -1)),
    (r"host_free\(\): argument 'pointer'.*got 0x7b", lambda d, p, s, e: d.host_free(123)),
    (r"'event' must be one that was given on device 1", lambda d, p, s, e: d.event_query(1, e)),
    (r"stream_wait_event\(\): argument 'event'.*got 0x63", lambda d, p, s, e: d.stream_wait_event(0, 0, 99)),
    (r"'stream' must be one that was given on device 1", lambda d, p, s, e: d.stream_destroy(1, s)),
    (r"default stream", lambda d, p, s, e: d.stream_destroy(0, 0)),
    (r"'kind' must be one of", lambda d, p, s, e: d.memcpy(0, p, p, 1, "x", 0)),  # type: ignore[arg-type]
    (r"'value' must be in \[0, 255\]", lambda d, p, s, e: d.memset(0, p, -1, 1, 0)),
    (r"'module' must be one that was given", lambda d, p, s, e: d.module_function(0, 5, "f")),
    (r"'handle' must be one that was given", lambda d, p, s, e: d.memory_release(0, 5)),
    (r"'address' must be one that was given", lambda d, p, s, e: d.address_free(0, 5, G)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), REFUSALS)
def test_bad_input_never_reaches_cuda(
    driver: CupyDriver, fake: FakeCupy, message: str, call: Callable[[CupyDriver, int, int, int], object]
) -> None:
    pointer, stream, event = driver.malloc(0, 512), driver.stream_create(0), driver.event_create(0)
    before = fake.driver.live(0), fake.driver.live(1)
    with pytest.raises(DriverError, match=message):
        call(driver, pointer, stream, event)
    assert (fake.driver.live(0), fake.driver.live(1)) == before
    driver.free(0, pointer)
    driver.event_destroy(0, event)
    driver.stream_destroy(0, stream)
    for again in (lambda: driver.free(0, pointer), lambda: driver.event_destroy(0, event)):
        with pytest.raises(DriverError, match="not given back"):
            again()
    with pytest.raises(DriverError, match=r"living stream, got .* which is destroyed"):
        driver.stream_synchronize(0, stream)


def test_what_cuda_refuses_to_take_back_stays_ours(driver: CupyDriver, fake: FakeCupy) -> None:
    pointer = driver.malloc(0, 512)
    fake.driver.enqueue(0, 0, lambda: 1 // 0)
    with pytest.raises(DriverError, match=r"free\(\): cudaErrorLaunchFailure"):
        driver.free(0, pointer)
    with pytest.raises(DriverError, match=r"stream_query\(\): cudaErrorUnknown"):
        driver.stream_query(0, 0)
    fake.driver.reset(0)
    with pytest.raises(DriverError, match=r"free\(\): cudaErrorInvalidValue"):
        driver.free(0, pointer)


def test_every_thread_gets_a_context_and_its_device_back(driver: CupyDriver, fake: FakeCupy) -> None:
    seen: list[object] = []

    def run() -> None:
        fake.setDevice(1)
        driver.free(0, driver.malloc(0, 8))
        seen.append(fake.getDevice())

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [1]


def test_without_a_gpu_there_are_no_devices(fake: FakeCupy) -> None:
    def none() -> int:
        error = CUDARuntimeError("cudaErrorNoDevice")
        error.status = 100
        raise error

    fake.runtime.getDeviceCount = none
    driver = CupyDriver()
    assert driver.device_count() == 0
    with pytest.raises(DriverError, match=r"one of 0 devices, got 0 \(cudaErrorNoDevice: what it means"):
        driver.malloc(0, 1)
    with pytest.raises(RuntimeError, match=r"finds no CUDA device \(cudaErrorNoDevice.*use_driver\('simulated'\)"):
        use_driver("cupy")
    with pytest.raises(DriverError, match="library cannot be opened: no such file") as raised:
        CudaLibrary(lambda name: (_ for _ in ()).throw(OSError("no such file")))
    assert raised.value.code == "cudaErrorNoDevice"


def test_without_cupy_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"install gaugeblock\[cuda12\] or gaugeblock\[cuda13\]"):
        CupyDriver()
    with pytest.raises(ImportError, match=r"import of cupy halted.*GAUGEBLOCK_CUDA_DRIVER=simulated"):
        use_driver("cupy")


def test_structures_are_as_large_as_in_c() -> None:
    assert ctypes.sizeof(AllocationProperties) == 32 and ctypes.sizeof(AccessDescription) == 12


def test_the_fake_refuses_what_cupy_refuses(fake: FakeCupy) -> None:
    runtime, low = fake.runtime, fake.low
    for call, error in (
        (lambda: runtime.malloc(-1), OverflowError), (lambda: runtime.malloc(1 << 64), OverflowError),
        (lambda: runtime.malloc(1.5), TypeError), (lambda: runtime.free(1 << 63), OverflowError),
        (lambda: low.moduleLoadData(bytearray(b"x")), TypeError), (lambda: low.launchKernel(*range(10)), TypeError),
        (lambda: runtime.memcpyAsync(1, 2, 3, 4), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            call()


def test_cupy_is_as_the_fake() -> None:
    cupy = pytest.importorskip("cupy")
    for module, text in ((cupy.cuda.runtime, RUNTIME), (cupy.cuda.driver, LOW)):
        for name, signature in signatures(text).items():
            assert signatures(getattr(module, name).__doc__.splitlines()[0])[name] == signature, name
    assert {name: getattr(cupy.cuda.runtime, name) for name in CONSTANTS} == CONSTANTS
    assert cupy.cuda.runtime.streamCaptureModeRelaxed == 2
    for error in (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError):
        assert issubclass(error, RuntimeError)
    refused = translated("malloc", cupy.cuda.runtime.CUDARuntimeError(2))
    assert isinstance(refused, DriverOutOfMemory) and str(refused).startswith("malloc(): cudaErrorMemoryAllocation: ")
    with pytest.raises(OverflowError):
        cupy.cuda.runtime.malloc(-1)


def test_cupy_without_a_gpu_says_what_is_missing() -> None:
    pytest.importorskip("cupy")
    driver = CupyDriver()
    if driver.device_count():
        pytest.skip("there is a GPU")
    assert driver.no_devices.startswith("cudaError")
    with pytest.raises(DriverError, match=r"one of 0 devices, got 0 \(cudaError"):
        driver.malloc(0, 1)
    with pytest.raises(DriverError, match=r"host_malloc\(\): cudaError"):
        driver.host_malloc(1)
    with pytest.raises(RuntimeError, match=r"finds no CUDA device \(cudaError.*GAUGEBLOCK_CUDA_DRIVER=simulated"):
        use_driver("cupy")


@pytest.fixture
def simulated() -> Iterator[None]:
    use_driver("simulated")
    yield
    use_driver(None)


def test_cupys_arrays_lie_over_our_memory(simulated: None) -> None:
    cupy = pytest.importorskip("cupy")
    for dtype in (gb.bool, gb.uint8, gb.int8, gb.int16, gb.int32, gb.int64, gb.uint16, gb.uint32, gb.uint64,
                  gb.float16, gb.float32, gb.float64, gb.complex64, gb.complex128):  # fmt: skip
        whole = gb.zeros(3, 4, dtype=dtype, device="cuda")
        for tensor in (whole, whole.t(), whole[1:, ::2], whole[0, 0], whole[:0]):
            array = array_over(cupy, tensor)
            size = whole.element_size()
            assert (array.shape, array.dtype, array.data.ptr) == (tensor.shape, dtype.numpy, tensor.pointer)
            assert array.strides == tuple(step * size for step in tensor.stride())
    before = gb.cuda.memory_allocated()
    with cupy.cuda.using_allocator(memory_for(cupy, gb.device("cuda:0"))):
        made, none = cupy.ndarray((5, 100), "float32"), cupy.ndarray((0,), "float32")
        assert gb.cuda.memory_allocated() == before + 2048 and made.data.device_id == 0 and none.data.ptr == 0
    del made
    assert gb.cuda.memory_allocated() == before


def test_a_query_that_says_no_leaves_no_error_behind(driver: CupyDriver, fake: FakeCupy) -> None:
    event = driver.event_create(0)
    fake.driver.enqueue(0, 0, lambda: None, 1_000_000)
    driver.event_record(0, event, 0)
    assert not driver.event_query(0, event) and not driver.stream_query(0, 0) and fake.last_error == 0


def test_errors_of_cupys_own_have_a_name() -> None:
    texts = {
        "cudaErrorIllegalAddress: an illegal memory access": "cudaErrorIllegalAddress",
        "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure": "CUDA_ERROR_LAUNCH_FAILED",
        "the stream was capturing, but an error has invalidated the capture sequence": (
            "cudaErrorStreamCaptureInvalidated"
        ),
        "CuPy failed to load libcuda.so.1: OSError: no such file": "cudaErrorUnknown",
    }
    assert [translated("f", RuntimeError(text)).code for text in texts] == list(texts.values())
    assert isinstance(translated("f", RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out")), DriverOutOfMemory)
