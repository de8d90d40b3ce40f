"""Streams, events and their work in virtual time.

Streams run side by side. When a work is put on a stream, its completion time is known at once: it begins when it has
been submitted, the work before it is done, and what the stream waits for is done. Its effect comes later: the work
runs, on the host, when somebody waits until that time or the clock has passed it, in the order of completion times. So
whoever reads too early, or on another stream, finds what a race would leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Condition, RLock, get_ident
from typing import NamedTuple

from gaugeblock.core.fork_safety import fork_safe
from gaugeblock.cuda.driver.protocol import DriverError

from .capture import Capture, Graph, Point


class StreamState:
    """A stream: when the work that it has by now is done, and the completion times of what has not run.

    With a `capture`, new work goes there.
    """

    __slots__ = ("capture", "device", "handle", "pending", "priority", "tail")

    def __init__(self, handle: int, device: int, priority: int) -> None:
        self.handle = handle
        self.device = device
        self.priority = priority
        self.tail = 0
        self.pending: deque[int] = deque()
        self.capture: Capture | None = None


class EventState:
    """An event: the time that it was last recorded at, None before; or the point of a capture."""

    __slots__ = ("capture", "device", "handle", "point", "time", "timing")

    def __init__(self, handle: int, device: int, timing: bool) -> None:
        self.handle = handle
        self.device = device
        self.timing = timing
        self.time: int | None = None
        self.capture: Capture | None = None
        self.point: Point | None = None


class _Work(NamedTuple):
    """Works run in the order of these fields. Of those that end together, the ones that took time do not depend on
    each other: the latest goes first, which is the order that a race is seen in. Those that took none follow."""

    end: int
    instant: bool
    number: int
    stream: StreamState
    run: Callable[[], object]


class _Quiet:
    """The lock of a timeline; it can be acquired while no other thread runs an operation."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait until no other thread runs an operation, and block new ones."""
        timeline = self._timeline
        if not timeline.lock.acquire(blocking, timeout):
            return False
        quiet = timeline.wait_until_quiet(timeout if blocking else 0)
        if not quiet:
            timeline.lock.release()
        return quiet

    def release(self) -> None:
        """Allow operations again."""
        self._timeline.lock.release()

    def _at_fork_reinit(self) -> None:
        self._timeline.forget_runner()


class Timeline:
    """The clock, in nanoseconds, and what is to run on every device.

    Works run one at a time, outside the lock. So what waits (throttle, reach, poll, settle) is called without it, and
    the rest with it.
    """

    def __init__(self, queue_limit: int) -> None:
        self.lock = fork_safe(RLock())
        self.now = 0
        self.failures: dict[int, DriverError] = {}
        self._idle = Condition(self.lock)
        self._quiet = fork_safe(_Quiet(self))
        self._runner: int | None = None
        self._running: _Work | None = None
        self._queue: list[_Work] = []
        self._numbers = count()
        self._tails: dict[int, int] = {}
        self._queue_limit = queue_limit

    def submit(self, stream: StreamState, run: Callable[[], object] | None, nanoseconds: int) -> int:
        """Put work on a stream: its completion time. Work that is captured is not done."""
        if stream.capture is not None:
            stream.capture.add(stream.handle, run, nanoseconds)
            return self.now
        end = max(stream.tail, self.now) + nanoseconds
        if run is not None:
            self._push(stream, run, end, not nanoseconds)
        self._extend(stream, end)
        return end

    def submit_graph(self, stream: StreamState, graph: Graph) -> None:
        """Put the work of a graph on a stream."""
        begin = max(stream.tail, self.now)
        for node in graph.nodes:
            if node.run is not None:
                self._push(stream, node.run, begin + node.end, node.instant)
        self._extend(stream, begin + graph.nanoseconds)

    def _push(self, stream: StreamState, run: Callable[[], object], end: int, instant: bool) -> None:
        number = next(self._numbers)
        heappush(self._queue, _Work(end, instant, number if instant else -number, stream, run))
        stream.pending.append(end)

    def throttle(self, stream: StreamState) -> None:
        """Wait until a stream has no more than the limit of works that have not run; a work itself never waits."""
        while True:
            with self.lock:
                if len(stream.pending) <= self._queue_limit or self._runner == get_ident():
                    return
                oldest = stream.pending[0]
            self.reach(oldest)

    def record(self, event: EventState, stream: StreamState) -> None:
        """Let the event stand for what the stream has by now."""
        event.capture, event.point = stream.capture, None
        if stream.capture is not None:
            event.time, event.point = None, stream.capture.points[stream.handle]
            return
        event.time = max(stream.tail, self.now)
        self._extend(stream, event.time)

    def hold(self, stream: StreamState, until: int) -> None:
        """Let later work of a stream begin at `until` at the earliest."""
        self._extend(stream, max(stream.tail, until))

    def _extend(self, stream: StreamState, end: int) -> None:
        stream.tail = end
        self._tails[stream.device] = max(self._tails.get(stream.device, 0), end)

    def tail(self, device: int) -> int:
        """When everything on a device is done."""
        return self._tails.get(device, 0)

    def stream_done(self, stream: StreamState) -> bool:
        """Return whether the stream's work has run."""
        return stream.tail <= self.now and not stream.pending

    def done(self, time: int) -> bool:
        """Return whether all work has run that completes by `time`, and the clock is there."""
        running, queue = self._running, self._queue
        return time <= self.now and (running is None or running.end > time) and (not queue or queue[0].end > time)

    def reach(self, time: int) -> None:
        """Wait until `time`: the clock stands there, unless it is past it, and everything due has run."""
        with self.lock:
            self.now = max(self.now, time)
        self.settle()

    def poll(self, nanoseconds: int) -> None:
        """Let some time pass, and run what is due unless another work is running."""
        with self.lock:
            self.now += nanoseconds
            busy = self._runner is not None
        if not busy:
            self.settle()

    def settle(self) -> None:
        """Run what is due by now, or wait until another thread has.

        Raises DriverError in a work that waits for the device. What a work raises becomes its device's failure; a
        KeyboardInterrupt or the like goes on to the caller too.
        """
        while True:
            error: BaseException | None = None
            work = None
            try:
                work = self._take()
                if work is None:
                    return
                work.run()
            except BaseException as raised:
                if work is None:
                    raise
                error = raised
            finally:
                if work is not None:
                    self._finish(work, error)
            if error is not None and not isinstance(error, Exception):
                raise error

    def _take(self) -> _Work | None:
        with self.lock:
            while self._runner is not None:
                if self._runner == get_ident():
                    raise DriverError("work on a stream must not wait for the device", "cudaErrorNotPermitted")
                self._idle.wait()
            if not self._queue or self._queue[0].end > self.now:
                return None
            work = self._running = heappop(self._queue)
            self._runner = get_ident()
            return work

    def wait_until_quiet(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until no other thread runs an operation; return whether none does."""
        return self._idle.wait_for(lambda: self._runner in (None, get_ident()), timeout)

    def forget_runner(self) -> None:
        """Drop the operation of a thread that does not exist in this process."""
        self._runner = self._running = None

    def _finish(self, work: _Work, error: BaseException | None) -> None:
        with self.lock:
            self._runner = self._running = None
            if work.stream.pending:
                work.stream.pending.popleft()
            if error is not None:
                self._fail(work.stream.device, error)
            self._idle.notify_all()

    def _fail(self, device: int, error: BaseException) -> None:
        code = error.code if isinstance(error, DriverError) else "cudaErrorLaunchFailure"
        failure = DriverError(f"device {device} has failed: {str(error) or type(error).__name__}", code)
        failure.__cause__ = error
        self.failures.setdefault(device, failure)
        self.drop(device)

    def drop(self, device: int) -> None:
        """Forget all work of a device that has not run."""
        for work in self._queue:
            if work.stream.device == device:
                work.stream.pending.clear()
        self._queue = [work for work in self._queue if work.stream.device != device]
        heapify(self._queue)

    def pending(self, device: int) -> int:
        """Return how many works of a device have not run."""
        return sum(work.stream.device == device for work in self._queue)

    def wait_idle(self) -> None:
        """Wait until no other thread runs a work."""
        while self._runner is not None and self._runner != get_ident():
            self._idle.wait()
