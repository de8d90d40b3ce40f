"""Segments and their blocks at this moment, in the shape of torch.cuda.memory_snapshot and of its memory viewer."""

from __future__ import annotations

from typing import Any

from .block_store import BlockStore
from .memory_history import ShownStacks, pool_id
from .pools import FREE, STATE_NAMES, UNMAPPED, Block


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
    blocks: list[dict[str, Any]] = []
    block: Block | None = head
    while block is not None and block.state != UNMAPPED:
        blocks.append(
            {
                "address": block.pointer,
                "size": block.size,
                "requested_size": 0 if block.state == FREE else block.requested,
                "state": STATE_NAMES[block.state],
                "frames": shown.frames(store.history.block_stacks.get(block)),
            }
        )
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
        "frames": shown.frames(store.history.segment_stacks.get(head.head().pointer)),
        "blocks": blocks,
    }


def snapshot_of(store: BlockStore) -> dict[str, Any]:
    """Segments, traces by device and settings, as torch.cuda.memory._snapshot gives them."""
    shown = ShownStacks()
    traces: list[list[dict[str, Any]]] = [[] for _ in range(store.device)]
    traces.append(store.history.as_dicts(shown))
    return {
        "segments": segments_of(store, shown),
        "device_traces": traces,
        "allocator_settings": store.config.as_settings(),
        "external_annotations": [],
    }
