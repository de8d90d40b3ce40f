"""Stream, Event and the current stream: torch.cuda's semantics on the simulated driver."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Thread

import pytest
from gaugeblock.core.device import Device
from gaugeblock.cuda import devices
from gaugeblock.cuda.devices import (
    ABSENT,
    current_device_index,
    current_handle,
    device_index,
    get_driver,
    install_driver,
    set_current_device_index,
)
from gaugeblock.cuda.driver.protocol import DriverError
from gaugeblock.cuda.streams import (
    STREAMS_PER_POOL,
    Event,
    ExternalStream,
    Stream,
    current_stream,
    default_stream,
    set_stream,
    stream,
    synchronize,
)
from gaugeblock_testing.cuda_simulator import Faults, SimulatedDriver


@pytest.fixture
def driver() -> Iterator[SimulatedDriver]:
    made = SimulatedDriver(devices=2, total_memory=1 << 20, backed=False)
    before = install_driver(made)
    yield made
    set_current_device_index(0)
    set_stream(default_stream(1))
    set_stream(default_stream(0))
    install_driver(before)


def test_streams_have_a_device_a_handle_and_a_priority(driver: SimulatedDriver) -> None:
    one, two, high = Stream(), Stream("cuda:1"), Stream(priority=-9)
    assert (one.device, two.device) == (Device("cuda:0"), Device("cuda:1"))
    assert (one.priority, high.priority, Stream(priority=7).priority) == (0, -3, 0)
    assert Stream.priority_range() == (0, -3)
    assert one != two and one != "s" and one == ExternalStream(one.cuda_stream, 0)
    assert hash(one) == hash(ExternalStream(one.cuda_stream))
    assert one.__cuda_stream__() == (0, one.cuda_stream) and one.stream_id == one.cuda_stream and one.device_type == 1
    assert repr(one) == f"<gaugeblock.cuda.Stream device=cuda:0 cuda_stream={one.cuda_stream:#x}>"
    assert default_stream().cuda_stream == 0 and default_stream(1).device_index == 1


def test_streams_come_from_a_pool_in_turn(driver: SimulatedDriver) -> None:
    streams = [Stream() for _ in range(STREAMS_PER_POOL + 2)]
    assert len(set(streams)) == STREAMS_PER_POOL
    assert streams[-2:] == streams[:2]
    assert Stream(priority=-1) not in streams
    assert driver.live(0).streams == STREAMS_PER_POOL + 1
    driver.reset(0)
    assert Stream() not in streams[1:] and driver.live(0).streams == 1


@pytest.mark.parametrize("bad", ["cpu", 2, "cuda:5"])
def test_streams_of_no_cuda_device_are_refused(driver: SimulatedDriver, bad: object) -> None:
    with pytest.raises(RuntimeError, match=r"argument 'device' must be"):
        Stream(bad)
    with pytest.raises(TypeError, match="'device' must be int, not float"):
        Stream(1.5)
    with pytest.raises(RuntimeError, match="must not be negative, got -1"):
        ExternalStream(-1)
    with pytest.raises(DriverError, match=r"'stream' must be a living stream of device 0, got 0x7b"):
        ExternalStream(123).synchronize()


def test_contexts_set_the_stream_and_the_device_and_put_both_back(driver: SimulatedDriver) -> None:
    here, there = Stream(0), Stream(1)
    assert current_stream() == default_stream() and current_handle(0) == 0
    with stream(here):
        assert current_stream() == here and current_handle(0) == here.cuda_stream and current_handle(1) == 0
        with there as entered:
            assert entered is there
            assert current_device_index() == 1 and current_stream() == there and current_stream(0) == here
            with here, stream(None):
                assert current_device_index() == 0 and current_handle(1) == there.cuda_stream
            assert current_device_index() == 1
        assert current_device_index() == 0 and current_handle(1) == 0
    assert current_stream() == default_stream()
    with pytest.raises(ValueError, match="within"), stream(there):
        raise ValueError("within")
    assert current_device_index() == 0 and current_handle(1) == 0
    set_stream(there)
    assert current_device_index() == 1 and current_stream() == there
    set_stream(None)
    assert current_stream() == there
    with pytest.raises(TypeError, match="'stream' must be Stream or None, not int"):
        set_stream(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'stream' must be Stream or None, not str"):
        stream("s")  # type: ignore[arg-type]


def test_every_thread_has_its_own_current_stream_and_device(driver: SimulatedDriver) -> None:
    seen: list[object] = []
    with Stream(1):
        thread = Thread(target=lambda: seen.append((current_device_index(), current_handle(0), current_handle(1))))
        thread.start()
        thread.join()
    assert seen == [(0, 0, 0)]


def test_a_stream_waits_for_another_as_it_stands(driver: SimulatedDriver) -> None:
    first, second = Stream(), Stream(1)
    log: list[str] = []
    driver.enqueue(0, first.cuda_stream, lambda: log.append("first"), 1000)
    second.wait_stream(first)
    driver.enqueue(0, first.cuda_stream, lambda: log.append("late"), 1000)
    driver.enqueue(1, second.cuda_stream, lambda: log.append("second"), 1)
    assert not second.query() and log == []
    second.synchronize()
    assert log == ["first", "second"] and second.query() and not first.query()
    synchronize()
    assert first.query()


def test_events_measure_virtual_time(driver: SimulatedDriver) -> None:
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    assert end.query() and end.device is None and repr(end) == "<gaugeblock.cuda.Event uninitialized>"
    end.synchronize()
    end.wait()
    with pytest.raises(RuntimeError, match="recorded before calculating"):
        start.elapsed_time(end)
    with Stream() as on:
        start.record()
        driver.enqueue(0, on.cuda_stream, lambda: None, 3_500_000)
        assert on.record_event(end) is end
    with pytest.raises(RuntimeError, match="completed before calculating"):
        start.elapsed_time(end)
    end.synchronize()
    assert start.elapsed_time(end) == 3.5
    assert end.device == Device("cuda:0") and repr(end) == f"<gaugeblock.cuda.Event {end.cuda_event:#x}>"
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        start.elapsed_time(on.record_event())
    other = Event(enable_timing=True)
    other.record(Stream(1))
    with pytest.raises(RuntimeError, match="must be on one device, got cuda:0 and cuda:1"):
        start.elapsed_time(other)


def test_an_event_stays_on_its_device_and_any_stream_may_wait_for_it(driver: SimulatedDriver) -> None:
    event = Event()
    event.record()
    with pytest.raises(
        RuntimeError, match=r"must be on the event's device cuda:0, got <gaugeblock.cuda.Stream device=c"
    ):
        event.record(Stream(1))
    event.wait(Stream(1))
    with pytest.raises(TypeError, match="'stream' must be Stream or None, not str"):
        event.wait("s")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="'interprocess' must be False"):
        Event(interprocess=True)


def test_events_go_with_their_objects(driver: SimulatedDriver) -> None:
    events = [Stream().record_event() for _ in range(5)]
    Event()
    assert driver.live(0).events == 5
    del events[1:]
    gc.collect()
    assert driver.live(0).events == 1
    driver.reset(0)
    events.clear()
    gc.collect()
    assert driver.live(0).events == 0


def test_a_failing_event_call_leaves_no_event_behind(driver: SimulatedDriver) -> None:
    driver.faults = Faults(failing_event_calls=[1, 3])
    event = Event()
    with pytest.raises(DriverError, match="event_create"):
        event.record()
    assert event.device is None and driver.live(0).events == 0
    with pytest.raises(DriverError, match="event_record"):
        event.record()
    event.record()
    assert event.query()
    del event
    gc.collect()
    assert driver.live(0).events == 0


def test_what_belongs_to_another_driver_is_not_mixed_in(driver: SimulatedDriver) -> None:
    old, event = Stream(), Event()
    event.record(old)
    set_stream(old)
    other = SimulatedDriver(backed=False)
    install_driver(other)
    assert current_handle(0) == 0 and current_stream().driver is other
    with pytest.raises(RuntimeError, match="must be of the driver in use"):
        set_stream(old)
    with pytest.raises(RuntimeError, match="must be of the event's driver"):
        event.wait()
    old.synchronize()
    install_driver(driver)
    assert current_stream() == old


def test_a_driver_is_found_when_the_first_call_needs_it(
    driver: SimulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_driver(None)
    monkeypatch.delenv("GAUGEBLOCK_CUDA_DRIVER", raising=False)
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="device cuda is not available") as raised:
        get_driver()
    assert str(raised.value) == ABSENT
    monkeypatch.setattr(devices, "find_driver", lambda: driver)
    assert get_driver() is driver


def test_device_arguments_name_a_device(driver: SimulatedDriver) -> None:
    assert [device_index("f", value) for value in (None, 1, -1, "cuda", "cuda:1", Device("cuda:0"))] == [
        0,
        1,
        0,
        0,
        1,
        0,
    ]
    set_current_device_index(1)
    assert device_index("f", "cuda") == device_index("f") == 1
    with pytest.raises(
        RuntimeError, match=r"must be the index of one of 2 CUDA devices, got 2 \(invalid device ordinal"
    ):
        set_current_device_index(2)
    assert current_device_index() == 1
