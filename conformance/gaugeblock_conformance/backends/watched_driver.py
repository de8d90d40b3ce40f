"""A driver of the engine's devices that is looked at, limited and made to fail while another one does the work."""

from __future__ import annotations

from typing import Any


class WatchedDriver:
    """``inner`` with a log of what allocators ask of it.

    ``memory`` limits what a device gives, ``refusals`` is how many requests it refuses next. A stream can be held:
    events recorded on it are not done until it is let go, or until something waits for them.
    """

    def __init__(self, inner: Any, memory: int, refused: type[Exception]) -> None:
        self.inner = inner
        self.memory = memory
        self.refusals = 0
        self.log: list[tuple[Any, ...]] = []
        self._refused = refused
        self._given: dict[tuple[int, int], int] = {}
        self._held: set[tuple[int, int]] = set()
        self._unready: dict[int, tuple[int, int]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def hold(self, device: int, stream: int) -> None:
        self._held.add((device, stream))

    def let_go(self, device: int, stream: int) -> None:
        """End the work that the stream has now."""
        self._held.discard((device, stream))
        for event in [event for event, place in self._unready.items() if place == (device, stream)]:
            del self._unready[event]

    def mem_info(self, device: int) -> tuple[int, int]:
        return self.memory - self._used(device), self.memory

    def _used(self, device: int) -> int:
        return sum(size for (where, _), size in self._given.items() if where == device)

    def malloc(self, device: int, size: int) -> int:
        if self.refusals or self._used(device) + size > self.memory:
            self.refusals = max(0, self.refusals - 1)
            self.log.append(("refused", size))
            raise self._refused(f"{size} bytes are more than there are")
        pointer = int(self.inner.malloc(device, size))
        self._given[device, pointer] = size
        self.log.append(("malloc", size))
        return pointer

    def free(self, device: int, pointer: int) -> None:
        """Like a device's own free it first waits for all work."""
        self.log.append(("free",))
        self._end_all(device)
        self.inner.free(device, pointer)
        self._given.pop((device, pointer), None)

    def _end_all(self, device: int) -> None:
        for place in [*self._held, *self._unready.values()]:
            if place[0] == device:
                self.let_go(*place)

    def event_record(self, device: int, event: int, stream: int) -> None:
        self.inner.event_record(device, event, stream)
        self._unready.pop(event, None)
        if (device, stream) in self._held:
            self._unready[event] = (device, stream)

    def event_query(self, device: int, event: int) -> bool:
        return event not in self._unready and bool(self.inner.event_query(device, event))

    def event_synchronize(self, device: int, event: int) -> None:
        self.log.append(("wait",))
        if event in self._unready:
            self.let_go(*self._unready[event])
        self.inner.event_synchronize(device, event)

    def stream_synchronize(self, device: int, stream: int) -> None:
        self.log.append(("wait",))
        self.let_go(device, stream)
        self.inner.stream_synchronize(device, stream)

    def synchronize(self, device: int) -> None:
        self.log.append(("wait",))
        self._end_all(device)
        self.inner.synchronize(device)
