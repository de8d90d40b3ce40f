"""Many threads at one allocator, and what may be seen of it from outside."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from .programs import SIZES

Call = Callable[..., Any]


class Owners:
    """Who owns which bytes, kept by the threads themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owned: dict[int, int] = {}
        self.faults: list[str] = []

    def take(self, address: int, size: int) -> None:
        with self._lock:
            for start, length in self._owned.items():
                if start < address + size and address < start + length:
                    self.faults.append(f"{size} bytes overlap {length} live ones by {start + length - address}")
            self._owned[address] = size

    def give(self, address: int) -> None:
        with self._lock:
            del self._owned[address]


def stress(call: Call, allocator: Any, threads: int, rounds: int, seed: int, looks: bool = False) -> tuple[str, ...]:
    """Faults seen while so many threads ask for memory and free it; all of it is freed at the end.

    ``looks``: they also take snapshots and empty the cache.
    """
    owners, start = Owners(), threading.Barrier(threads)

    def work(number: int) -> None:
        chance, held = random.Random(seed * 1000 + number), list[Any]()
        start.wait()
        try:
            for _ in range(rounds):
                if held and chance.random() < 0.45:
                    pointer = held.pop(chance.randrange(len(held)))
                    owners.give(int(pointer))
                    call("free", allocator, pointer)
                else:
                    size = SIZES[chance.randrange(len(SIZES) // 2)]
                    pointer = call("malloc", allocator, size)
                    owners.take(int(pointer), size)
                    held.append(pointer)
                if looks and chance.random() < 0.1:
                    call(chance.choice(("memory_snapshot", "memory_stats", "empty_cache")), allocator)
            for pointer in held:
                owners.give(int(pointer))
                call("free", allocator, pointer)
        except Exception as error:
            owners.faults.append(f"{type(error).__name__}: {error}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return tuple(owners.faults)
