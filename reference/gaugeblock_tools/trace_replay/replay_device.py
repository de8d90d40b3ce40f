"""The device of a replay: memory of a stated size without contents, streams that are busy until an event of a trace.

It has the part of the driver protocol that an allocator asks for, in plain numbers, since a replay asks often. No
address is given twice. Time is counted in events of the trace; waiting for a stream sets the clock ahead by as much.
"""

from __future__ import annotations

from gaugeblock.cuda.driver.protocol import DeviceProperties, DriverError, DriverOutOfMemory

UNLIMITED = 1 << 46
"""Bytes of the device when no size is stated."""
GRANULARITY = 2 << 20
FIRST = 0x7F0000000000


class ReplayDevice:
    """One device of `total` bytes, of which `used` are taken. `changed` becomes true when that number changes; `at` is
    the event that is replayed."""

    name = "replay"

    def __init__(self, total: int | None) -> None:
        self.total = total or UNLIMITED
        self.used = 0
        self.changed = False
        self.at = 0
        self._ahead = 0
        self._latest = 0
        self._busy: dict[int, int] = {}
        self._recorded: dict[int, int] = {}
        self._numbers = 0
        self._next = FIRST
        self._sizes: dict[int, int] = {}

    def occupy(self, stream: int, until: int) -> None:
        """Let a stream work until an event of the trace."""
        done = self._busy[stream] = until + self._ahead
        self._latest = max(self._latest, done)

    def properties(self, device: int) -> DeviceProperties:
        """Its name and size."""
        return DeviceProperties(self.name, self.total)

    def mem_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes."""
        return self.total - self.used, self.total

    def malloc(self, device: int, size: int) -> int:
        """The address of fresh memory. Raises DriverOutOfMemory."""
        self._take(size)
        pointer = self.address_reserve(device, size)
        self._sizes[pointer] = size
        return pointer

    def free(self, device: int, pointer: int) -> None:
        """Give memory back, when all streams are done."""
        self.synchronize(device)
        self._give(pointer)

    def granularity(self, device: int) -> int:
        """Of virtual memory."""
        return GRANULARITY

    def address_reserve(self, device: int, size: int) -> int:
        """Addresses without memory."""
        address = self._next
        self._next += (-(-size // GRANULARITY) + 1) * GRANULARITY
        return address

    def address_free(self, device: int, address: int, size: int) -> None:
        """Forget addresses."""

    def memory_create(self, device: int, size: int) -> int:
        """Memory without address. Raises DriverOutOfMemory."""
        self._take(size)
        handle = self._number()
        self._sizes[handle] = size
        return handle

    def memory_release(self, device: int, handle: int) -> None:
        """Give it back; the allocator unmaps it before."""
        self._give(handle)

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put memory at an address."""

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        """Take it away from there."""

    def stream_create(self, device: int, priority: int = 0) -> int:
        """A new stream."""
        return self._number()

    def event_create(self, device: int, timing: bool = False) -> int:
        """A new event."""
        return self._number()

    def event_destroy(self, device: int, event: int) -> None:
        """Forget an event."""
        self._recorded.pop(event, None)

    def event_record(self, device: int, event: int, stream: int) -> None:
        """Let the event stand for what the stream does now."""
        self._recorded[event] = self._busy.get(stream, 0)

    def event_query(self, device: int, event: int) -> bool:
        """Return whether that is over."""
        return self._recorded.get(event, 0) <= self.at + self._ahead

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait until it is."""
        self._ahead = max(self._ahead, self._recorded.get(event, 0) - self.at)

    def stream_synchronize(self, device: int, stream: int) -> None:
        """Wait for one stream."""
        self._ahead = max(self._ahead, self._busy.get(stream, 0) - self.at)

    def synchronize(self, device: int) -> None:
        """Wait for all streams."""
        self._ahead = max(self._ahead, self._latest - self.at)

    def _take(self, size: int) -> None:
        if self.used + size > self.total:
            raise DriverOutOfMemory(f"out of memory: {size} bytes asked for, {self.total - self.used} are free")
        self.used += size
        self.changed = True

    def _give(self, key: int) -> None:
        size = self._sizes.pop(key, None)
        if size is None:
            raise DriverError(f"{key:#x} is no memory of this device")
        self.used -= size
        self.changed = True

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers
