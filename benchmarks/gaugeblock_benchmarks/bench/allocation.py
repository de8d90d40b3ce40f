"""New tensors, and requests to caching allocators, as tasks."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from gaugeblock_conformance.backend import Backend, Unsupported
from gaugeblock_conformance.backend_allocator import Machine

from ..allocator import draw_size
from ..subject import function_of
from ..timing import timed_steps
from .task import Ready

CALLS = 100
"""Requests of one step."""
SIZES = (16, 100_000, 10_000_000)
ALIVE = (100, 10_000)


@dataclass(frozen=True)
class AllocatorTask:
    """``empty``: a new tensor of `size` elements and its release. ``malloc+free`` and ``churn``: with `size` blocks
    alive, CALLS requests each freed at once, or CALLS blocks freed at random and as many new ones."""

    name: str
    size: int
    suite: str = "allocator"

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.name}/{self.size}"

    @property
    def row(self) -> dict[str, Any]:
        return {
            "id": self.id, "suite": self.suite, "operator": self.name,
            "call": "empty.memory_format" if self.name == "empty" else None, "family": "allocation",
            "layout": "contiguous", "dtype": "float32", "size": self.size, "moved_bytes": 0, "operations": 0,
        }  # fmt: skip

    @property
    def needed_bytes(self) -> int:
        return 8 * self.size if self.name == "empty" else 1000 * self.size

    def prepare(self, backend: Backend) -> Ready:
        if self.name == "empty":
            function, _ = function_of(backend, "empty.memory_format")
            shape = (self.size,)
            return Ready(timed_steps([lambda: function(shape)]))
        if "alloc.reuse" not in backend.capabilities:
            raise Unsupported(self.name, "needs the capability alloc.reuse")
        return Ready(timed_steps([self._requests(backend)]))

    def _requests(self, backend: Backend) -> Any:
        chance = random.Random(self.size)
        allocator = backend.call("allocator", Machine())
        malloc, _ = function_of(backend, "malloc")
        free, _ = function_of(backend, "free")
        alive = [malloc(allocator, draw_size(chance)) for _ in range(self.size)]
        sizes = [draw_size(chance) for _ in range(CALLS)]

        def pairs() -> None:
            for size in sizes:
                free(allocator, malloc(allocator, size))

        def churn() -> None:
            for size in sizes:
                place = chance.randrange(len(alive))
                free(allocator, alive[place])
                alive[place] = malloc(allocator, size)

        return pairs if self.name == "malloc+free" else churn


def allocator_tasks() -> list[AllocatorTask]:
    """All of them."""
    tensors = [AllocatorTask("empty", size) for size in SIZES]
    return tensors + [AllocatorTask(name, alive) for name in ("malloc+free", "churn") for alive in ALIVE]
