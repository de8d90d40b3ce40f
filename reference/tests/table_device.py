"""A device for tests of the allocator: a table of what was handed out, and streams that count their work."""

from __future__ import annotations

from collections import Counter

from gaugeblock.cuda.driver.protocol import DeviceProperties, DriverOutOfMemory

BASE = 1 << 40
RANGES = 1 << 44


class Device:
    """A device of `total` bytes whose memory is handed out side by side, what came back first; streams count work."""

    name = "table"

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self.top, self.ranges = BASE, RANGES
        self.sizes: dict[int, int] = {}
        """Of what was handed out, by address or handle."""
        self.mapped: dict[int, int] = {}
        self.back: list[tuple[int, int]] = []
        self.log: list[tuple[str, int, int]] = []
        self.work: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.events: dict[int, tuple[int, int]] = {}
        self.handles = 0

    def properties(self, device: int) -> DeviceProperties:
        return DeviceProperties("table", self.total)

    def mem_info(self, device: int) -> tuple[int, int]:
        return self.total - self.used, self.total

    def malloc(self, device: int, size: int) -> int:
        if self.used + size > self.total:
            self.log.append(("refused", 0, size))
            raise DriverOutOfMemory(f"{size} bytes")
        found = next((entry for entry in self.back if entry[1] == size), None)
        if found is None:
            pointer = self.top
            self.top += size
        else:
            self.back.remove(found)
            pointer = found[0]
        self.used += size
        self.sizes[pointer] = size
        self.log.append(("malloc", pointer, size))
        return pointer

    def free(self, device: int, pointer: int) -> None:
        size = self.sizes.pop(pointer)
        self.used -= size
        self.back.append((pointer, size))
        self.log.append(("free", pointer, size))

    def address_reserve(self, device: int, size: int) -> int:
        self.ranges += size
        return self.ranges - size

    def address_free(self, device: int, address: int, size: int) -> None:
        self.log.append(("address_free", address, size))

    def memory_create(self, device: int, size: int) -> int:
        if self.used + size > self.total:
            raise DriverOutOfMemory(f"{size} bytes")
        self.used += size
        self.handles += 1
        self.sizes[self.handles] = size
        return self.handles

    def memory_release(self, device: int, handle: int) -> None:
        assert handle not in self.mapped.values()
        self.used -= self.sizes.pop(handle)

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        assert self.sizes[handle] == size
        assert address not in self.mapped
        self.mapped[address] = handle
        self.log.append(("map", address, size))

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        assert self.sizes[self.mapped.pop(address)] == size
        self.log.append(("unmap", address, size))

    def synchronize(self, device: int) -> None:
        self.done = Counter(self.work)

    def stream_synchronize(self, device: int, stream: int) -> None:
        self.done[stream] = self.work[stream]

    def event_create(self, device: int, timing: bool = False) -> int:
        self.handles += 1
        return self.handles

    def event_record(self, device: int, event: int, stream: int) -> None:
        self.events[event] = (stream, self.work[stream])

    def event_query(self, device: int, event: int) -> bool:
        stream, count = self.events[event]
        return self.done[stream] >= count

    def event_synchronize(self, device: int, event: int) -> None:
        stream, count = self.events[event]
        self.done[stream] = max(self.done[stream], count)
