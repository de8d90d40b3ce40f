"""The order of work on the simulated driver, against a model that steps from one completion to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gaugeblock.memory.elements import read_bytes, write_bytes
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from gaugeblock_testing.cuda_simulator.copies import COPY_LATENCY
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)


@dataclass
class Operation:
    """Something on a stream of the model: work, or a mark, or a wait for another mark."""

    number: int
    submitted: int
    duration: int
    effect: Callable[[], object]
    after: Operation | None = None
    done_at: int | None = None


@dataclass
class Queue:
    """A stream of the model: what is not done, and when the last thing was."""

    device: int
    operations: deque[Operation] = field(default_factory=deque)
    free_at: int = 0


class Model:
    """Runs the ready head that completes first until a time; among equals the latest submitted that took time, and then
    those that took none as they came."""

    def __init__(self) -> None:
        self.now = 0
        self.number = 0
        self.queues: list[Queue] = []

    def put(
        self, queue: Queue, duration: int, effect: Callable[[], object], after: Operation | None = None
    ) -> Operation:
        self.number += 1
        operation = Operation(self.number, self.now, duration, effect, after)
        queue.operations.append(operation)
        return operation

    def _next(self) -> tuple[int, tuple[int, int], Queue] | None:
        ready = []
        for queue in self.queues:
            if not queue.operations:
                continue
            head = queue.operations[0]
            start = max(head.submitted, queue.free_at)
            if head.after is not None:
                if head.after.done_at is None:
                    continue
                start = max(start, head.after.done_at)
            rank = (1, head.number) if not head.duration else (0, -head.number)
            ready.append((start + head.duration, rank, queue))
        return min(ready, default=None, key=lambda entry: entry[:2])

    def run(self, until: Callable[[], bool], limit: int | None = None) -> None:
        while not until():
            found = self._next()
            if found is None or (limit is not None and found[0] > limit):
                return
            time, _, queue = found
            operation = queue.operations.popleft()
            operation.done_at = queue.free_at = time
            self.now = max(self.now, time)
            operation.effect()

    def settle(self) -> None:
        """What is due by now is done."""
        self.run(lambda: False, self.now)


class Ordering(RuleBasedStateMachine):
    """Works log their names and copies move bytes; whatever can be seen must agree at every step."""

    streams = Bundle("streams")
    events = Bundle("events")

    def __init__(self) -> None:
        super().__init__()
        self.driver = SimulatedDriver(devices=2, total_memory=1 << 20)
        self.model = Model()
        self.log: list[int] = []
        self.expected: list[int] = []
        self.names = 0
        self.cells = [self.driver.malloc(device, 1) for device in (0, 0, 1)]
        self.cells += [self.driver.host_malloc(1) for _ in range(2)]
        for value, cell in enumerate(self.cells):
            write_bytes(cell, bytes([value]))
        self.values = list(range(len(self.cells)))
        self.defaults = [Queue(device) for device in (0, 1)]
        self.model.queues += self.defaults

    @initialize(target=streams)
    def default_stream(self) -> tuple[int, int, Queue]:
        return 0, 0, self.defaults[0]

    @initialize(target=streams, devices=st.lists(st.integers(0, 1), min_size=2, max_size=3))
    def create_streams(self, devices: list[int]) -> MultipleResults[tuple[int, int, Queue]]:
        return multiple(*[self._stream(device) for device in devices])

    @initialize(target=events, devices=st.lists(st.integers(0, 1), min_size=2, max_size=3))
    def create_events(self, devices: list[int]) -> MultipleResults[tuple[int, int, list[Operation]]]:
        return multiple(*[self._event(device) for device in devices])

    def _stream(self, device: int) -> tuple[int, int, Queue]:
        queue = Queue(device)
        self.model.queues.append(queue)
        return device, self.driver.stream_create(device), queue

    def _event(self, device: int) -> tuple[int, int, list[Operation]]:
        return device, self.driver.event_create(device, timing=True), []

    @rule(stream=streams, nanoseconds=st.integers(0, 4000))
    def work(self, stream: tuple[int, int, Queue], nanoseconds: int) -> None:
        device, handle, queue = stream
        self.names += 1
        name = self.names
        self.driver.enqueue(device, handle, lambda: self.log.append(name), nanoseconds)
        self.model.put(queue, nanoseconds, lambda: self.expected.append(name))

    @rule(stream=streams, to=st.integers(0, 4), source=st.integers(0, 4))
    def copy(self, stream: tuple[int, int, Queue], to: int, source: int) -> None:
        device, handle, queue = stream
        kinds = {(True, True): "d2d", (True, False): "h2d", (False, True): "d2h"}
        kind = kinds.get((to < 3, source < 3))
        if kind is None:
            return
        self.driver.memcpy(device, self.cells[to], self.cells[source], 1, kind, handle)  # type: ignore[arg-type]
        self.model.put(queue, COPY_LATENCY, lambda: self.values.__setitem__(to, self.values[source]))

    @rule(stream=streams, event=events)
    def record(self, stream: tuple[int, int, Queue], event: tuple[int, int, list[Operation]]) -> None:
        if stream[0] == event[0]:
            self.driver.event_record(event[0], event[1], stream[1])
            event[2][:] = [self.model.put(stream[2], 0, lambda: None)]

    @rule(stream=streams, event=events)
    def wait(self, stream: tuple[int, int, Queue], event: tuple[int, int, list[Operation]]) -> None:
        self.driver.stream_wait_event(stream[0], stream[1], event[1])
        if event[2]:
            self.model.put(stream[2], 0, lambda: None, event[2][0])

    @rule(first=streams, event=events, second=streams, nanoseconds=st.integers(0, 4000))
    def hand_over(
        self,
        first: tuple[int, int, Queue],
        event: tuple[int, int, list[Operation]],
        second: tuple[int, int, Queue],
        nanoseconds: int,
    ) -> None:
        self.work(first, nanoseconds)
        self.record(first, event)
        self.wait(second, event)
        self.work(second, 4000 - nanoseconds)

    @rule(nanoseconds=st.integers(0, 5000))
    def advance(self, nanoseconds: int) -> None:
        self.driver.advance(nanoseconds)
        self._reach(self.model.now + nanoseconds)

    def _reach(self, time: int) -> None:
        self.model.run(lambda: False, time)
        self.model.now = max(self.model.now, time)

    def _wait_for(self, done: Callable[[], bool]) -> None:
        self.model.run(done)
        self.model.settle()

    @rule(stream=streams, event=events)
    def query(self, stream: tuple[int, int, Queue], event: tuple[int, int, list[Operation]]) -> None:
        self.model.settle()
        assert self.driver.stream_query(stream[0], stream[1]) == (not stream[2].operations)
        done = all(mark.done_at is not None for mark in event[2])
        assert self.driver.event_query(event[0], event[1]) == done

    @rule(stream=streams)
    def synchronize_stream(self, stream: tuple[int, int, Queue]) -> None:
        self.driver.stream_synchronize(stream[0], stream[1])
        self._wait_for(lambda: not stream[2].operations)

    @rule(event=events)
    def synchronize_event(self, event: tuple[int, int, list[Operation]]) -> None:
        device, handle, marks = event
        self.driver.event_synchronize(device, handle)
        if marks:
            self._wait_for(lambda: marks[0].done_at is not None)

    @rule(device=st.integers(0, 1))
    def synchronize_device(self, device: int) -> None:
        self.driver.synchronize(device)
        self._wait_for(lambda: not any(queue.operations for queue in self.model.queues if queue.device == device))

    @rule(start=events, end=events)
    def elapsed(self, start: tuple[int, int, list[Operation]], end: tuple[int, int, list[Operation]]) -> None:
        marks = [*start[2], *end[2]]
        if start[0] != end[0] or len(marks) != 2:
            return
        self.synchronize_event(start)
        self.synchronize_event(end)
        assert marks[0].done_at is not None and marks[1].done_at is not None
        milliseconds = (marks[1].done_at - marks[0].done_at) / 1e6
        assert self.driver.event_elapsed(start[0], start[1], end[1]) == milliseconds

    @rule(target=streams, stream=consumes(streams))
    def replace_stream(self, stream: tuple[int, int, Queue]) -> tuple[int, int, Queue]:
        if not stream[1]:
            return stream
        self.driver.stream_destroy(stream[0], stream[1])
        return self._stream(stream[0])

    @rule(target=events, event=consumes(events))
    def replace_event(self, event: tuple[int, int, list[Operation]]) -> tuple[int, int, list[Operation]]:
        self.driver.event_destroy(event[0], event[1])
        return self._event(event[0])

    @invariant()
    def what_can_be_seen_agrees(self) -> None:
        assert self.log == self.expected
        assert self.driver.now == self.model.now
        assert [read_bytes(cell, 1)[0] for cell in self.cells] == self.values

    def teardown(self) -> None:
        for device in (0, 1):
            self.driver.synchronize(device)
        self.model.run(lambda: False)
        self.what_can_be_seen_agrees()
        assert self.driver.live(0).pending == self.driver.live(1).pending == 0


TestOrdering = Ordering.TestCase
TestOrdering.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
