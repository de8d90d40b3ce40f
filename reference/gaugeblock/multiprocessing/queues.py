"""Queues over channels, so that tensors in them go by descriptor."""

from __future__ import annotations

from multiprocessing import queues, reduction
from typing import Any

from .channel import Packed, Pipe, receiving, sending, taking


class Queue(queues.Queue):  # type: ignore[type-arg]
    """multiprocessing.Queue. An object is pickled by `put` itself, which shares its tensors; what cannot be pickled
    raises there."""

    def __init__(self, maxsize: int = 0, *, ctx: Any) -> None:
        super().__init__(maxsize, ctx=ctx)
        self._reader, self._writer = Pipe(duplex=False)
        self._reset()  # type: ignore[attr-defined]

    def put(self, obj: Any, block: bool = True, timeout: float | None = None) -> None:
        """Put an object into the queue. Raises queue.Full when there is no room within `timeout` seconds."""
        super().put(Packed(obj), block, timeout)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Remove an object and return it. Raises queue.Empty when there is none within `timeout` seconds."""
        with receiving():
            return super().get(block, timeout)


class JoinableQueue(Queue, queues.JoinableQueue):  # type: ignore[type-arg]
    """multiprocessing.JoinableQueue."""


class SimpleQueue(queues.SimpleQueue):  # type: ignore[type-arg]
    """multiprocessing.SimpleQueue."""

    def __init__(self, *, ctx: Any) -> None:
        super().__init__(ctx=ctx)
        self._reader, self._writer = Pipe(duplex=False)
        self._poll = self._reader.poll

    def get(self) -> Any:
        """Remove an object and return it; wait for one."""
        with receiving():
            return super().get()

    def put(self, obj: Any) -> None:
        """Put an object into the queue."""
        with sending() as outgoing:
            data = reduction.ForkingPickler.dumps(obj)
        with self._wlock, taking(outgoing):  # type: ignore[attr-defined]
            self._writer.send_bytes(data)
