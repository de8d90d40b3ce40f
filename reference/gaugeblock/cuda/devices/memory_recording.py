"""Recording what the allocators of all devices do, under the names that torch.cuda.memory has for it.

What `_dump_snapshot` writes is read by PyTorch's memory viewer and by `gaugeblock allocator`.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaugeblock_spec.atomic_file import output_file

from ..allocator.caching_allocator import CachingAllocator
from ..driver.installed_driver import device_index
from .devices import AnyDevice
from .drivers import runtime


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: AnyDevice = None,
    clear_history: bool = False,
    skip_actions: Sequence[str] | None = None,
) -> None:
    """Record allocations on every device from now on; None stops and forgets.

    `enabled` "state" keeps the stacks of live blocks, "all" an entry of each action as well; `context` says for what
    stacks are taken. `device` must be one that is there, and makes no difference, as in PyTorch. ValueError for other
    words.
    """
    device_index("_record_memory_history", device)
    for allocator in _allocators():
        allocator.record_memory_history(enabled, context, stacks, max_entries, clear_history, skip_actions)


def _snapshot(device: AnyDevice = None) -> dict[str, Any]:
    """Segments of all devices, what was recorded of each, and the settings of `device`, in PyTorch's shape."""
    index = device_index("_snapshot", device)
    found = [allocator.snapshot() for allocator in _allocators()]
    return {
        "segments": [segment for one in found for segment in one["segments"]],
        "device_traces": [one["device_traces"][place] for place, one in enumerate(found)],
        "allocator_settings": found[index]["allocator_settings"],
        "external_annotations": [],
    }


def _dump_snapshot(filename: str | Path = "dump_snapshot.pickle") -> None:
    """Write `_snapshot()` as a pickle."""
    content = pickle.dumps(_snapshot())
    with output_file(filename) as file:
        file.write(content)


def _allocators() -> list[CachingAllocator]:
    there = runtime()
    return [there.memory(index).allocator for index in range(there.count)]
