"""What every call of the simulated driver stands on: devices, handles, the clock, failures, and checks of arguments."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import NamedTuple, NoReturn

from gaugeblock.core.errors import check_int
from gaugeblock.cuda.driver.protocol import DEFAULT_STREAM, DeviceProperties, DriverError

from .capture import Graph
from .faults import Faults
from .memory import Extents, SimulatedMemory
from .pages import HostPages, NumberPages, Pages
from .timeline import EventState, StreamState, Timeline

DEFAULT_MEMORY = 16 << 30
QUEUE_LIMIT = 1024


class LiveObjects(NamedTuple):
    """What exists on a device, and pinned blocks of the host: all zero when nothing has leaked."""

    pointers: int
    bytes: int
    reservations: int
    handles: int
    mappings: int
    streams: int
    events: int
    modules: int
    pending: int
    pinned: int
    graphs: int = 0


class SimulatedDevice:
    """One device: its memory, streams, events, modules, functions and graphs by handle."""

    def __init__(self, index: int, total_memory: int, pages: Pages) -> None:
        self.index = index
        self.properties = DeviceProperties("Simulated CUDA device", total_memory)
        self.memory = SimulatedMemory(total_memory, pages)
        self.default = StreamState(DEFAULT_STREAM, index, 0)
        self.streams: dict[int, StreamState] = {DEFAULT_STREAM: self.default}
        self.events: dict[int, EventState] = {}
        self.modules: dict[int, dict[str, tuple[int, ...]]] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.graphs: dict[int, Graph] = {}


def positive(operator: str, argument: str, value: object, least: int = 1) -> int:
    """`value` as an int of at least `least`. Raises TypeError, DriverError."""
    number = check_int(operator, argument, value)
    if number < least:
        raise DriverError(f"{operator}(): argument '{argument}' must be at least {least}, got {number}")
    return number


class SimulatedState:
    """Simulated devices. `total_memory` and `poll_nanoseconds` are for each of them and for each query that has to be
    answered with no; see SimulatedDriver for the rest."""

    name = "simulated"

    def __init__(
        self,
        devices: int = 1,
        total_memory: int = DEFAULT_MEMORY,
        backed: bool = True,
        faults: Faults | None = None,
        *,
        poll_nanoseconds: int = 0,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        operator = type(self).__name__
        total = positive(operator, "total_memory", total_memory)
        self.pages: Pages = HostPages() if backed else NumberPages()
        self.faults = faults if faults is not None else Faults()
        self.calls: Counter[str] = Counter()
        self.resets: Counter[int] = Counter()
        self._poll = positive(operator, "poll_nanoseconds", poll_nanoseconds, 0)
        self._timeline = Timeline(positive(operator, "queue_limit", queue_limit))
        self._lock = self._timeline.lock
        self._handles = count(0x10000, 16)
        self._pinned = Extents()
        indices = range(positive(operator, "devices", devices))
        self._devices = [SimulatedDevice(index, total, self.pages) for index in indices]

    @property
    def now(self) -> int:
        """The virtual clock, in nanoseconds."""
        return self._timeline.now

    def advance(self, nanoseconds: int) -> None:
        """Let virtual time pass; what is due by then runs. A failure of a device is reported by its next call."""
        self._timeline.reach(self._timeline.now + positive("advance", "nanoseconds", nanoseconds, 0))

    def device_count(self) -> int:
        """Return how many devices there are."""
        return len(self._devices)

    def properties(self, device: int) -> DeviceProperties:
        """Return what the device is."""
        return self._known("properties", device).properties

    def live(self, device: int) -> LiveObjects:
        """Return what exists on a device."""
        known = self._known("live", device)
        with self._lock:
            return LiveObjects(
                *known.memory.counts(),
                streams=len(known.streams) - 1,
                events=len(known.events),
                modules=len(known.modules),
                pending=self._timeline.pending(device),
                pinned=len(self._pinned.sizes),
                graphs=len(known.graphs),
            )

    def reset(self, device: int) -> None:
        """Destroy everything on a device, its waiting work too, and let it work again after a failure."""
        known = self._known("reset", device)
        with self._lock:
            self._timeline.wait_idle()
            self._timeline.drop(device)
            self._timeline.failures.pop(device, None)
            known.memory.clear()
            known.streams = {DEFAULT_STREAM: known.default}
            known.default.tail = self._timeline.now
            known.default.pending.clear()
            known.events.clear()
            known.modules.clear()
            known.functions.clear()
            known.graphs.clear()
            self.resets[known.index] += 1

    def _known(self, operator: str, device: object) -> SimulatedDevice:
        index = device if type(device) is int else check_int(operator, "device", device)
        if not 0 <= index < len(self._devices):
            raise DriverError(
                f"{operator}(): argument 'device' must be in [0, {len(self._devices) - 1}], got {index}",
                "cudaErrorInvalidDevice",
            )
        return self._devices[index]

    def _device(self, operator: str, device: object) -> SimulatedDevice:
        """A device that works, with the call counted."""
        known = self._known(operator, device)
        self.calls[operator] += 1
        self._check_failure(operator, known.index)
        return known

    def _check_failure(self, operator: str, device: int) -> None:
        failure = self._timeline.failures.get(device)
        if failure is not None:
            raise DriverError(f"{operator}(): {failure}; it refuses every call until it is reset", failure.code) from (
                failure.__cause__
            )

    def _stream(self, operator: str, device: SimulatedDevice, stream: object) -> StreamState:
        found = device.streams.get(stream) if type(stream) is int else None
        if found is None:
            self._refuse_handle(operator, "stream", device, stream)
        return found

    def _event(self, operator: str, device: SimulatedDevice, event: object, argument: str = "event") -> EventState:
        found = device.events.get(event) if type(event) is int else None
        if found is None:
            self._refuse_handle(operator, argument, device, event)
        return found

    def _refuse_handle(self, operator: str, argument: str, device: SimulatedDevice, given: object) -> NoReturn:
        handle = check_int(operator, argument, given)
        wanted = "event" if argument in ("start", "end") else argument
        owners = [
            f"{kind[:-1]} of device {other.index}"
            for other in self._devices
            for kind in ("streams", "events", "modules", "functions", "graphs")
            if handle and handle in getattr(other, kind)
        ]
        raise DriverError(
            f"{operator}(): argument '{argument}' must be a living {wanted} of device {device.index}, got {handle:#x} "
            f"({' and '.join(owners) or 'nothing that lives'})",
            "cudaErrorInvalidResourceHandle",
        )
