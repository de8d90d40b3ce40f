"""Snapshots of an allocator: what it did, in order, with the Python stacks of those who asked, and its segments now.

They have the shape of torch.cuda.memory's, which its memory viewer reads.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, Final

from ...core.errors import type_error
from .block_store import FREE, NO_POOL, STATE_NAMES, UNMAPPED, Block, BlockStore, PoolId

Stack = tuple[tuple[CodeType, int], ...]
"""Code and place in it, the innermost first."""

ACTIONS: Final = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "snapshot", "oom",
)  # fmt: skip
CONTEXTS: Final = (None, "state", "alloc", "all")
_ALLOC: Final = CONTEXTS.index("alloc")
STATES: Final = (None, "state", "all")
STACKS: Final = ("python", "all")


class MemoryHistory:
    """The entries that were recorded, and the stacks of the blocks and segments that live. `level` is a place in
    CONTEXTS."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.level = 0
        self.keeps_entries = False
        self.skipped: frozenset[str] = frozenset()
        self.entries: deque[tuple[str, int, int, int, int, PoolId, Stack | None]] = deque()
        self.block_stacks: dict[Block, Stack] = {}
        self.segment_stacks: dict[int, Stack] = {}

    def configure(
        self, enabled: str | None, context: str | None, stacks: str, max_entries: int, clear_history: bool,
        skip_actions: Sequence[str] | None,
    ) -> None:  # fmt: skip
        """Start or change recording; ValueError for a word that is not among the allowed ones."""
        for name, value, allowed in (
            ("enabled", enabled, STATES),
            ("context", context, CONTEXTS),
            ("stacks", stacks, STACKS),
        ):
            if value not in allowed:
                _refuse(name, value, allowed)
        for action in skip_actions or ():
            if action not in ACTIONS:
                _refuse("skip_actions", action, ACTIONS)
        if isinstance(max_entries, bool) or not isinstance(max_entries, int):
            type_error("record_memory_history", "max_entries", max_entries, "int")
        self.level = CONTEXTS.index(context) if enabled else 0
        self.keeps_entries = enabled == "all"
        self.skipped = frozenset(skip_actions or ())
        kept = () if clear_history else self.entries
        self.entries = deque(kept, maxlen=min(max(max_entries, 1), sys.maxsize))

    def stack(self, level: str) -> Stack | None:
        """The stack of the caller of the allocator, if it is recorded at this level."""
        if self.level < CONTEXTS.index(level):
            return None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__package__") == __package__:
            frame = frame.f_back
        found = []
        while frame is not None:
            found.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(found)

    def record(
        self, action: str, address: int, size: int, stream: int, pool: PoolId = NO_POOL, stack: Stack | None = None
    ) -> None:
        """Write an entry; `address` of an oom is the memory that the device had left."""
        if self.keeps_entries and action not in self.skipped:
            shown = stack if self.level >= _ALLOC else None
            self.entries.append((action, address, size, stream, time.time_ns() // 1000, pool, shown))

    def allocated(self, block: Block, stack: Stack | None) -> None:
        """A block was allocated."""
        if stack is not None:
            self.block_stacks[block] = stack
        self._block("alloc", block, stack)

    def requested(self, block: Block, stack: Stack | None) -> None:
        """The owner of a block gave it back."""
        self._block("free_requested", block, stack or self.block_stacks.get(block))

    def completed(self, block: Block, stack: Stack | None) -> None:
        """A block that was given back is free."""
        stored = self.block_stacks.pop(block, None)
        self._block("free_completed", block, stack or stored)

    def _block(self, action: str, block: Block, stack: Stack | None) -> None:
        self.record(action, block.pointer, block.requested, block.home.stream, pool_id(block), stack)

    def segment(self, action: str, address: int, size: int, block: Block, stack: Stack | None) -> None:
        """A segment or mapped memory, to which `block` belongs, came or went."""
        if stack is not None and action in ("segment_alloc", "segment_map"):
            self.segment_stacks.setdefault(block.head().pointer, stack)
        stored = self.segment_stacks.get(block.head().pointer)
        if action == "segment_free":
            self.segment_stacks.pop(address, None)
        self.record(action, address, size, block.home.stream, pool_id(block), stack or stored)

    def as_dicts(self, shown: ShownStacks) -> list[dict[str, Any]]:
        """The entries in the shape of PyTorch's device traces."""
        found = []
        for action, address, size, stream, time_us, pool, stack in self.entries:
            entry: dict[str, Any] = {
                "action": action, "device_free" if action == "oom" else "addr": address, "size": size,
                "stream": stream, "time_us": time_us, "compile_context": "N/A", "user_metadata": "", "pool_id": pool,
            }  # fmt: skip
            if stack is not None:
                entry["frames"] = shown.frames(stack)
            found.append(entry)
        return found


def pool_id(block: Block) -> PoolId:
    """The private pool that a block belongs to."""
    owner = block.home.pool.owner
    return NO_POOL if owner is None else owner.id


class ShownStacks:
    """Stacks as lists of dicts; those that are equal are one list, and so are equal frames."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[tuple[int, int], ...], list[dict[str, Any]]] = {}
        self._frames: dict[tuple[int, int], dict[str, Any]] = {}

    def frames(self, stack: Stack | None) -> list[dict[str, Any]]:
        """Files, lines and functions of a stack, the innermost first; none for None."""
        key = tuple([(id(code), place) for code, place in stack or ()])
        found = self._stacks.get(key)
        if found is None:
            found = self._stacks[key] = [self._frame(code, place) for code, place in stack or ()]
        return found

    def _frame(self, code: CodeType, place: int) -> dict[str, Any]:
        key = (id(code), place)
        if key not in self._frames:
            self._frames[key] = {"filename": code.co_filename, "line": _line(code, place), "name": code.co_name}
        return self._frames[key]


def _line(code: CodeType, place: int) -> int:
    for start, end, line in code.co_lines():
        if start <= place < end:
            return line or code.co_firstlineno
    return code.co_firstlineno


def _refuse(name: str, value: object, allowed: tuple[object, ...]) -> None:
    words = ", ".join(map(repr, allowed))
    raise ValueError(f"record_memory_history(): argument '{name}' must be one of {words}, got {value!r}")


def segments_of(store: BlockStore, shown: ShownStacks | None = None) -> list[dict[str, Any]]:
    """Every segment by address; of an expandable one, every run of mapped memory.

    The requested size of an inactive block is 0. `active_size` and `requested_size` count the blocks that wait for
    other streams, `allocated_size` does not.
    """
    found = []
    shown = shown or ShownStacks()
    for address in sorted(store.blocks):
        block = store.blocks[address]
        before = block.previous
        if block.state != UNMAPPED and (before is None or before.state == UNMAPPED):
            found.append(_segment(store, block, shown))
    return found


def _segment(store: BlockStore, head: Block, shown: ShownStacks) -> dict[str, Any]:
    history = store.history
    blocks: list[dict[str, Any]] = []
    block: Block | None = head
    while block is not None and block.state != UNMAPPED:
        frames = shown.frames(None if history is None else history.block_stacks.get(block))
        requested = 0 if block.state == FREE else block.requested
        blocks.append({
            "address": block.pointer, "size": block.size, "requested_size": requested,
            "state": STATE_NAMES[block.state], "frames": frames,
        })  # fmt: skip
        block = block.next
    active = [block for block in blocks if block["state"] != "inactive"]
    return {
        "device": store.device,
        "address": head.pointer,
        "total_size": sum(block["size"] for block in blocks),
        "allocated_size": sum(block["size"] for block in active if block["state"] == "active_allocated"),
        "active_size": sum(block["size"] for block in active),
        "requested_size": sum(block["requested_size"] for block in active),
        "stream": head.home.stream,
        "segment_type": "small" if head.home.pool.is_small else "large",
        "segment_pool_id": pool_id(head),
        "is_expandable": head.expandable is not None,
        "frames": shown.frames(None if history is None else history.segment_stacks.get(head.head().pointer)),
        "blocks": blocks,
    }


def snapshot_of(store: BlockStore) -> dict[str, Any]:
    """Segments, traces by device and settings, as torch.cuda.memory._snapshot gives them."""
    shown = ShownStacks()
    traces: list[list[dict[str, Any]]] = [[] for _ in range(store.device)]
    traces.append([] if store.history is None else store.history.as_dicts(shown))
    return {
        "segments": segments_of(store, shown),
        "device_traces": traces,
        "allocator_settings": store.config.as_settings(),
        "external_annotations": [],
    }
