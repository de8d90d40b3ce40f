"""The simulated driver: memory, copies in the order of streams, events, failures, and refusals."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from threading import Event as Flag
from threading import Lock, Thread

import pytest
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory
from gaugeblock.memory.elements import read_bytes, write_bytes
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver
from gaugeblock_testing.cuda_simulator.state import LiveObjects

NOTHING = LiveObjects(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
MIB = 1 << 20


@pytest.fixture
def driver() -> SimulatedDriver:
    return SimulatedDriver(devices=2, total_memory=64 * MIB)


def pinned(driver: SimulatedDriver, data: bytes) -> int:
    address = driver.host_malloc(len(data))
    write_bytes(address, data)
    return address


@pytest.mark.parametrize("backed", [True, False])
def test_memory_is_counted_and_given_back(backed: bool) -> None:
    driver = SimulatedDriver(total_memory=4 * MIB, backed=backed)
    assert driver.mem_info(0) == (4 * MIB, 4 * MIB)
    first, second = driver.malloc(0, 1000), driver.malloc(0, MIB)
    assert first % 512 == second % 512 == 0 and abs(first - second) >= 1024
    assert driver.mem_info(0)[0] == 3 * MIB - 1024
    with pytest.raises(DriverOutOfMemory, match=r"3145728 bytes asked of device 0, which has 3144704 free of 4194304"):
        driver.malloc(0, 3 * MIB)
    driver.free(0, first)
    third = driver.malloc(0, 3 * MIB)
    driver.free(0, second)
    driver.free(0, third)
    assert driver.malloc(0, 0) == 0
    driver.free(0, 0)
    assert driver.live(0) == NOTHING


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may count memory that nobody touches")
def test_a_device_may_be_larger_than_the_host() -> None:
    driver = SimulatedDriver(total_memory=2 << 40)
    pointer, address = driver.malloc(0, 1 << 40), driver.address_reserve(0, 9 << 38)
    for place in (0, (1 << 40) - 1):
        driver.memset(0, pointer + place, 7, 1, 0)
    driver.synchronize(0)
    assert read_bytes(pointer + (1 << 40) - 2, 2) == b"\0\7"
    driver.address_free(0, address, 9 << 38)


def test_copies_wait_for_their_stream_and_pinned_memory_shows_old_bytes_before(driver: SimulatedDriver) -> None:
    host = pinned(driver, b"abcdefgh")
    device = driver.malloc(0, 8)
    driver.memcpy(0, device, host, 8, "h2d", 0)
    assert read_bytes(device, 8) == bytes(8)
    write_bytes(host, b"ABCDEFGH")
    driver.memcpy(0, device + 4, device, 4, "d2d", 0)
    driver.memset(0, device, 0x21, 1, 0)
    driver.memcpy(0, host, device, 8, "d2h", 0)
    assert read_bytes(host, 8) == b"ABCDEFGH"
    assert not driver.stream_query(0, 0)
    driver.stream_synchronize(0, 0)
    assert read_bytes(host, 8) == b"!BCDABCD"
    assert driver.stream_query(0, 0)


def test_other_host_memory_is_staged_on_the_way_in_and_waited_for_on_the_way_out(driver: SimulatedDriver) -> None:
    buffer = ctypes.create_string_buffer(b"abcd", 4)
    device = driver.malloc(0, 4)
    driver.memcpy(0, device, ctypes.addressof(buffer), 4, "h2d", 0)
    buffer.raw = b"wxyz"
    assert read_bytes(device, 4) == bytes(4)
    driver.memcpy(0, ctypes.addressof(buffer), device, 4, "d2h", 0)
    assert buffer.raw == b"abcd"


def test_streams_run_side_by_side_in_virtual_time(driver: SimulatedDriver) -> None:
    left, right = driver.stream_create(0), driver.stream_create(0)
    log: list[str] = []
    driver.enqueue(0, left, lambda: log.append("left"), 3000)
    driver.enqueue(0, right, lambda: log.append("right"), 1000)
    driver.enqueue(0, right, lambda: log.append("right again"), 1500)
    driver.advance(999)
    assert log == [] and not driver.stream_query(0, right)
    driver.advance(1)
    assert log == ["right"]
    driver.stream_synchronize(0, left)
    assert log == ["right", "right again", "left"]
    assert driver.now == 3000


def test_events_complete_when_their_stream_reaches_them(driver: SimulatedDriver) -> None:
    stream = driver.stream_create(0)
    start, end = driver.event_create(0, timing=True), driver.event_create(0, timing=True)
    assert driver.event_query(0, end)
    driver.advance(500)
    driver.event_record(0, start, stream)
    driver.enqueue(0, stream, lambda: None, 2_000_000)
    driver.event_record(0, end, stream)
    assert driver.event_query(0, start) and not driver.event_query(0, end)
    with pytest.raises(DriverError, match=r"'end' must be a completed event"):
        driver.event_elapsed(0, start, end)
    driver.event_synchronize(0, end)
    assert driver.event_elapsed(0, start, end) == 2.0
    assert driver.event_elapsed(0, end, start) == -2.0


def test_a_stream_waits_for_an_event_as_it_was_recorded_then(driver: SimulatedDriver) -> None:
    first, second = driver.stream_create(0), driver.stream_create(1)
    log: list[str] = []
    event = driver.event_create(0)
    driver.stream_wait_event(1, second, event)
    driver.enqueue(0, first, lambda: log.append("made"), 1000)
    driver.event_record(0, event, first)
    driver.stream_wait_event(1, second, event)
    driver.enqueue(0, first, lambda: log.append("late"), 9000)
    driver.event_record(0, event, first)
    driver.event_destroy(0, event)
    driver.enqueue(1, second, lambda: log.append("used"), 10)
    driver.stream_synchronize(1, second)
    assert log == ["made", "used"] and driver.now == 1010


def test_a_stream_that_is_not_waited_for_sees_what_a_race_leaves(driver: SimulatedDriver) -> None:
    one, two = driver.stream_create(0), driver.stream_create(0)
    shared, host = driver.malloc(0, 4), pinned(driver, b"new!")
    out = pinned(driver, b"....")
    driver.enqueue(0, one, lambda: None, 1_000_000)
    driver.memcpy(0, shared, host, 4, "h2d", one)
    driver.memcpy(0, out, shared, 4, "d2h", two)
    driver.synchronize(0)
    assert read_bytes(out, 4) == bytes(4)
    assert read_bytes(shared, 4) == b"new!"


def test_works_of_several_streams_that_end_together_show_a_race(driver: SimulatedDriver) -> None:
    one, two, log = driver.stream_create(0), driver.stream_create(0), []
    event = driver.event_create(0)
    driver.enqueue(0, one, lambda: log.append("written"), 10)
    driver.event_record(0, event, one)
    driver.enqueue(0, two, lambda: log.append("read"), 10)
    driver.stream_wait_event(0, two, event)
    driver.enqueue(0, two, lambda: log.append("read in time"), 0)
    driver.synchronize(0)
    assert log == ["read", "written", "read in time"]


def test_a_query_never_waits_for_a_work_that_another_thread_runs(driver: SimulatedDriver) -> None:
    held, running, answers = Lock(), Flag(), []

    def work() -> None:
        running.set()
        with held:
            answers.append("ran")

    driver.enqueue(0, 0, work, 10)
    mark = driver.event_create(0)
    driver.event_record(0, mark, 0)
    with held:
        waiting = Thread(target=driver.synchronize, args=(0,))
        waiting.start()
        assert running.wait(10)
        answers += [driver.stream_query(0, 0), driver.event_query(0, mark)]
        driver.enqueue(0, 0, lambda: answers.append("later"))
    waiting.join(10)
    driver.synchronize(0)
    assert answers == [False, False, "ran", "later"]


def test_a_destroyed_stream_finishes_its_work(driver: SimulatedDriver) -> None:
    stream, log = driver.stream_create(0), []
    driver.enqueue(0, stream, lambda: log.append(1), 100)
    driver.stream_destroy(0, stream)
    with pytest.raises(DriverError, match=r"'stream' must be a living stream of device 0, got 0x\w+ \(nothing that"):
        driver.enqueue(0, stream, lambda: log.append(2))
    driver.synchronize(0)
    assert log == [1]


def test_freeing_waits_for_the_device(driver: SimulatedDriver) -> None:
    pointer, host, log = driver.malloc(0, 512), driver.host_malloc(512), []
    driver.enqueue(0, driver.stream_create(0), lambda: log.append("used"), 5000)
    driver.free(0, pointer)
    assert log == ["used"] and driver.now == 5000
    driver.enqueue(1, 0, lambda: log.append("copied"), 5000)
    driver.host_free(host)
    assert log == ["used", "copied"]


def test_a_full_stream_makes_the_host_wait() -> None:
    driver, log = SimulatedDriver(queue_limit=4), []
    for number in range(6):
        driver.enqueue(0, 0, lambda number=number: log.append(number), 10)
    assert log == [0, 1] and driver.now == 20


def test_a_full_stream_that_fails_lets_the_host_go_on() -> None:
    driver = SimulatedDriver(queue_limit=2, faults=Faults(failing_launches=1))
    for _ in range(3):
        driver.enqueue(0, 0, lambda: None, 10)
    with pytest.raises(DriverError, match="launch 1 fails"):
        driver.enqueue(0, 0, lambda: None, 10)


def test_queries_that_say_yes_cost_nothing() -> None:
    driver = SimulatedDriver(poll_nanoseconds=1000)
    event = driver.event_create(0)
    driver.enqueue(0, 0, lambda: None, 500)
    driver.event_record(0, event, 0)
    driver.advance(500)
    assert driver.stream_query(0, 0) and driver.event_query(0, event) and driver.now == 500


def test_queries_may_cost_time_so_that_a_loop_over_them_ends() -> None:
    driver, log = SimulatedDriver(poll_nanoseconds=1000), []
    driver.enqueue(0, 0, lambda: log.append(1), 3500)
    rounds = 0
    while not driver.stream_query(0, 0):
        rounds += 1
        assert not log
    assert rounds == 3 and log == [1]


def test_what_work_raises_is_a_failure_of_its_device_until_it_is_reset(driver: SimulatedDriver) -> None:
    log: list[str] = []

    def fail() -> None:
        raise IndexError("index 5 is out of range")

    driver.malloc(0, 100)
    driver.enqueue(0, 0, fail, 10)
    driver.enqueue(0, 0, lambda: log.append("after"), 10)
    driver.enqueue(1, 0, lambda: log.append("elsewhere"), 50)
    with pytest.raises(DriverError, match=r"synchronize\(\): device 0 has failed: index 5 is out of range") as raised:
        driver.synchronize(0)
    assert raised.value.code == "cudaErrorLaunchFailure" and isinstance(raised.value.__cause__, IndexError)
    calls: list[Callable[[], object]] = [
        lambda: driver.malloc(0, 1),
        lambda: driver.stream_query(0, 0),
        lambda: driver.event_create(0),
        lambda: driver.mem_info(0),
        lambda: driver.enqueue(0, 0, lambda: None),
    ]
    for call in calls:
        with pytest.raises(DriverError, match=r"device 0 has failed.*until it is reset"):
            call()
    driver.synchronize(1)
    assert log == ["elsewhere"]
    driver.reset(0)
    assert driver.live(0) == NOTHING
    driver.enqueue(0, 0, lambda: log.append("again"))
    driver.synchronize(0)
    assert log == ["elsewhere", "again"]


def test_faults_come_at_the_calls_they_are_set_for() -> None:
    driver = SimulatedDriver(faults=Faults(out_of_memory_at=2, slow_mallocs={3: 700}, failing_event_calls=3))
    driver.malloc(0, 1)
    with pytest.raises(DriverOutOfMemory):
        driver.malloc(0, 1)
    driver.malloc(0, 1)
    assert driver.now == 700
    event = driver.event_create(0)
    driver.event_record(0, event, 0)
    with pytest.raises(DriverError, match=r"event_query\(\): call 3 about events fails"):
        driver.event_query(0, event)
    assert driver.event_query(0, event)
    driver.faults = Faults(out_of_memory_from=2, failing_launches=[2])
    driver.malloc(0, 1)
    for _ in range(2):
        with pytest.raises(DriverOutOfMemory):
            driver.malloc(0, 1)
    driver.enqueue(0, 0, lambda: None)
    driver.enqueue(0, 0, lambda: None)
    with pytest.raises(DriverError, match="launch 2 fails"):
        driver.stream_synchronize(0, 0)


def test_bad_faults_are_refused() -> None:
    with pytest.raises(ValueError, match="must count calls from 1, got 0"):
        Faults(out_of_memory_at=0)
    with pytest.raises(TypeError, match="'failing_launches' must be an int or ints, got 'a'"):
        Faults(failing_launches=["a"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="time must not be negative"):
        Faults(malloc_nanoseconds=-1)


REFUSALS: list[tuple[str, Callable[[SimulatedDriver, int, int, int], object]]] = [
    (r"free\(\): argument 'pointer' must be what malloc gave on device 0.*got 0x7b", lambda d, p, s, e: d.free(0, 123)),
    (r"free\(\): .*on device 1", lambda d, p, s, e: d.free(1, p)),
    (r"free\(\): .*device 0", lambda d, p, s, e: d.free(0, p + 8)),
    (r"'pointer' must be int, not str", lambda d, p, s, e: d.free(0, "p")),  # type: ignore[arg-type]
    (r"malloc\(\): argument 'size' must be at least 0, got -1", lambda d, p, s, e: d.malloc(0, -1)),
    (r"malloc\(\): argument 'device' must be in \[0, 1\], got 2", lambda d, p, s, e: d.malloc(2, 1)),
    (r"host_free\(\): argument 'pointer'.*got 0x7b", lambda d, p, s, e: d.host_free(123)),
    (r"must be a living stream of device 0, got .*\(stream of device 1\)", lambda d, p, s, e: d.event_record(0, e, s)),
    (r"'stream' must be a living stream of device 1, got .*event of device 0", lambda d, p, s, e: d.stream_query(1, e)),
    (r"'event' must be a living event of device 1, got .*event of device 0", lambda d, p, s, e: d.event_query(1, e)),
    (r"'event' must be a living event of device 0, got 0x63", lambda d, p, s, e: d.stream_wait_event(0, 0, 99)),
    (r"default stream", lambda d, p, s, e: d.stream_destroy(0, 0)),
    (r"'start' must be a recorded event that keeps time.*timing=False", lambda d, p, s, e: d.event_elapsed(0, e, e)),
    (r"'kind' must be one of h2d, d2h, d2d, got 'h2h'", lambda d, p, s, e: d.memcpy(0, p, p, 1, "h2h", 0)),  # type: ignore[arg-type]
    (r"'to' must be 513 bytes of the memory of a device", lambda d, p, s, e: d.memcpy(0, p, p, 513, "d2d", 0)),
    (r"'to' must be host memory, got", lambda d, p, s, e: d.memcpy(0, p, p, 1, "d2h", 0)),
    (r"'source' must be host memory, got 0x0", lambda d, p, s, e: d.memcpy(0, p, 0, 1, "h2d", 0)),
    (r"'value' must be in \[0, 255\], got 256", lambda d, p, s, e: d.memset(0, p, 256, 1, 0)),
    (r"'to' must be 1 bytes of the memory of device 1", lambda d, p, s, e: d.memset(1, p, 0, 1, 0)),
    (r"'work' must be callable, got int", lambda d, p, s, e: d.enqueue(0, 0, 3)),  # type: ignore[arg-type]
    (r"'nanoseconds' must be at least 0", lambda d, p, s, e: d.advance(-1)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), REFUSALS)
def test_bad_input_is_refused_by_name_and_changes_nothing(
    driver: SimulatedDriver, message: str, call: Callable[[SimulatedDriver, int, int, int], object]
) -> None:
    pointer, stream, event = driver.malloc(0, 512), driver.stream_create(1), driver.event_create(0)
    before = driver.live(0), driver.live(1), driver.now
    with pytest.raises((DriverError, TypeError), match=message):
        call(driver, pointer, stream, event)
    assert (driver.live(0), driver.live(1), driver.now) == before
    driver.free(0, pointer)
    with pytest.raises(DriverError, match="free has not taken"):
        driver.free(0, pointer)
    driver.event_destroy(0, event)
    driver.stream_destroy(1, stream)
    assert driver.live(0) == driver.live(1) == NOTHING


def test_work_must_not_wait_but_may_submit_and_ask(driver: SimulatedDriver) -> None:
    log: list[object] = []

    def work() -> None:
        log.append(driver.stream_query(0, 0))
        driver.enqueue(0, 0, lambda: log.append("later"), 5)
        driver.synchronize(0)

    driver.enqueue(0, 0, work, 10)
    with pytest.raises(DriverError, match="work on a stream must not wait") as raised:
        driver.synchronize(0)
    assert raised.value.code == "cudaErrorNotPermitted" and log == [False]


def test_an_interrupted_work_is_a_failure_and_goes_on_to_the_caller(driver: SimulatedDriver) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    driver.enqueue(0, 0, stop)
    with pytest.raises(KeyboardInterrupt):
        driver.synchronize(0)
    with pytest.raises(DriverError, match="has failed: KeyboardInterrupt"):
        driver.synchronize(0)


def test_threads_share_a_driver(driver: SimulatedDriver) -> None:
    counter = [0]
    errors: list[BaseException] = []

    def bump() -> None:
        seen = counter[0]
        counter[0] = seen + 1

    def run(device: int) -> None:
        try:
            stream, event = driver.stream_create(device), driver.event_create(device)
            for _ in range(100):
                pointer = driver.malloc(device, 4096)
                driver.enqueue(device, stream, bump, 100)
                driver.event_record(device, event, stream)
                driver.event_query(device, event)
                driver.memset(device, pointer, 1, 4096, stream)
                driver.event_synchronize(device, event)
                driver.free(device, pointer)
            driver.event_destroy(device, event)
            driver.stream_destroy(device, stream)
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=run, args=(number % 2,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and counter == [600]
    assert driver.live(0) == driver.live(1) == NOTHING
