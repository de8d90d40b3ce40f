"""Blocks that streams other than their own use: given back by their owner, they wait for the events of those."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..driver.protocol import Driver, DriverError
from .block_store import PENDING, SHARED, Block, PrivatePool

Completed = Callable[[Block], None]
"""What is done with a block that nobody uses any more."""


class StreamUses:
    """The streams that use each block, and the events that are waited for, in order, by stream."""

    def __init__(self, driver: Driver, device: int) -> None:
        self.driver = driver
        self.device = device
        self.uses: dict[Block, dict[int, None]] = {}
        self.waits: dict[Block, int] = {}
        """How many events each block waits for."""
        self.queues: dict[int, deque[tuple[int, Block]]] = {}
        self.deferred: deque[Block] = deque()
        """Blocks given back during a capture; their events are recorded once no capture is underway."""
        self.captured: dict[Block, set[int]] = {}
        """Streams that came to use a block during a capture: their work is over when the capture is."""
        self._spare_events: list[int] = []

    @property
    def waiting(self) -> bool:
        """Return whether any block waits for anything."""
        return bool(self.queues or self.deferred)

    def record(self, block: Block, stream: int, capturing: bool) -> None:
        """Let a stream use an allocated block; nothing happens for its own."""
        if stream == block.home.stream:
            return
        block.state = SHARED
        uses = self.uses.setdefault(block, {})
        if capturing and stream not in uses:
            self.captured.setdefault(block, set()).add(stream)
        uses[stream] = None

    def give_back(self, block: Block, capturing: bool) -> bool:
        """The owner is done with a block that other streams use; returns whether it waits for any of them. The block
        stays as it was if a DriverError is raised."""
        if capturing:
            self.deferred.append(block)
        else:
            self._record_events(block, list(self.uses[block]))
        block.state = PENDING
        return capturing or block in self.waits

    def _record_events(self, block: Block, streams: list[int]) -> None:
        """Record an event on each stream; for one that takes none, such as a destroyed one, the device is awaited."""
        recorded: list[tuple[int, int]] = []
        try:
            for stream in streams:
                event = self._spare_events.pop() if self._spare_events else self.driver.event_create(self.device)
                try:
                    self.driver.event_record(self.device, event, stream)
                except DriverError:
                    self._spare_events.append(event)
                    self.driver.synchronize(self.device)
                else:
                    recorded.append((stream, event))
        except DriverError:
            self._spare_events.extend(event for _, event in recorded)
            raise
        for stream, event in recorded:
            self.queues.setdefault(stream, deque()).append((event, block))
        if recorded:
            self.waits[block] = len(recorded)
        del self.uses[block]
        self.captured.pop(block, None)

    def process(self, completed: Completed, *, wait: bool = False, owner: PrivatePool | None = None) -> None:
        """Complete the blocks whose events have happened; each stream's in order, up to the first that has not. With
        `wait` the events are awaited: all, or those of a private pool's blocks."""
        while self.deferred:
            block = self.deferred[0]
            captured = self.captured.get(block, set())
            self._record_events(block, [stream for stream in self.uses[block] if stream not in captured])
            self.deferred.popleft()
            if block not in self.waits:
                completed(block)
        for stream, queue in list(self.queues.items()):
            kept: deque[tuple[int, Block]] = deque()
            try:
                while queue:
                    event, block = queue[0]
                    if owner is not None and block.home.pool.owner is not owner:
                        kept.append(queue.popleft())
                        continue
                    if wait:
                        self.driver.event_synchronize(self.device, event)
                    elif not self.driver.event_query(self.device, event):
                        break
                    queue.popleft()
                    self._spare_events.append(event)
                    self.waits[block] -= 1
                    if not self.waits[block]:
                        del self.waits[block]
                        completed(block)
            finally:
                queue.extendleft(reversed(kept))
            if not queue:
                del self.queues[stream]
