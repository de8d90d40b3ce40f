"""The blocks of a private pool at one moment, kept and brought back: so graphs that are replayed in another order than
they were captured in find free what was free, and held what was held, when they were."""

from __future__ import annotations

from typing import NamedTuple

from .block_store import BlockStore
from .pools import ALLOCATED, FREE, PENDING, SHARED, UNMAPPED, Block, PoolId, PrivatePool
from .statistics import FREED, MALLOC, NO_SPLIT_CHANGE


class HeldBlock(NamedTuple):
    """A block that is handed out: address, bytes, bytes asked for, the first address of its segment, and its home."""

    pointer: int
    size: int
    requested: int
    segment: int
    stream: int
    is_small: bool


class PoolCheckpoint(NamedTuple):
    """The blocks of a pool that are handed out, by address."""

    pool: PoolId
    held: tuple[HeldBlock, ...]


class Restored(NamedTuple):
    """What bringing back a checkpoint changed: addresses that nobody may free any more, and those that are to be."""

    freed: tuple[int, ...]
    allocated: tuple[int, ...]


def checkpoint_of(store: BlockStore, id: PoolId) -> PoolCheckpoint:
    """The checkpoint of a pool. RuntimeError when there is none such, and while other streams use its blocks."""
    owner = store.private.get("checkpoint_pool", id)
    held = _held("checkpoint_pool", store, owner)
    return PoolCheckpoint(id, tuple(map(_record, held)))


def restore(store: BlockStore, checkpoint: PoolCheckpoint) -> Restored:
    """Give back every block of the pool, and hand out those of the checkpoint where they were.

    Raises RuntimeError, with nothing changed, when there is no such pool, while other streams use its blocks, and when
    its memory is not there any more.
    """
    owner = store.private.get("restore_pool", checkpoint.pool)
    held = _held("restore_pool", store, owner)
    for wanted in checkpoint.held:
        _check_memory(store, owner, wanted)
    stack = store.history.stack("all")
    before = [block.pointer for block in held]
    wanted_now = {one.pointer: one for one in checkpoint.held}
    stay = {block.pointer for block in held if _is_as(block, wanted_now.get(block.pointer))}
    for block in held:
        if block.pointer not in stay:
            if store.history.active:
                store.history.requested(block, stack)
            store.take_back(block, stack, FREED)
    fresh = [one for one in checkpoint.held if one.pointer not in stay]
    for one in fresh:
        _hand_out(store, one)
    return Restored(tuple(pointer for pointer in before if pointer not in stay), tuple(one.pointer for one in fresh))


def _held(operator: str, store: BlockStore, owner: PrivatePool) -> list[Block]:
    """The blocks of a pool that are handed out, by address."""
    found = []
    for pointer in sorted(store.blocks):
        block = store.blocks[pointer]
        if block.home.pool.owner is not owner:
            continue
        if block.state in (SHARED, PENDING):
            raise RuntimeError(
                f"{operator}(): the block at {pointer:#x} of the pool {owner.id} is used by other streams; free it and "
                "wait for them first"
            )
        if block.state == ALLOCATED:
            found.append(block)
    return found


def _record(block: Block) -> HeldBlock:
    home = block.home
    return HeldBlock(block.pointer, block.size, block.requested, block.head().pointer, home.stream, home.pool.is_small)


def _is_as(block: Block, wanted: HeldBlock | None) -> bool:
    return wanted is not None and (block.size, block.requested) == (wanted.size, wanted.requested)


def _check_memory(store: BlockStore, owner: PrivatePool, wanted: HeldBlock) -> None:
    """RuntimeError unless the pool still has the block's bytes in one segment."""
    block: Block | None = store.blocks.get(wanted.segment)
    end = wanted.pointer + wanted.size
    if block is not None and (block.home.stream, block.home.pool.is_small) != (wanted.stream, wanted.is_small):
        block = None
    while block is not None and block.home.pool.owner is owner and block.pointer < end:
        if block.pointer + block.size > wanted.pointer and block.state == UNMAPPED:
            break
        if block.pointer + block.size >= end:
            return
        block = block.next
    raise RuntimeError(
        f"restore_pool(): the {wanted.size} bytes at {wanted.pointer:#x} of the pool {owner.id} have been given back "
        "to the device"
    )


def _hand_out(store: BlockStore, wanted: HeldBlock) -> None:
    """Cut a block out of the free one that its bytes lie in."""
    found: Block | None = store.blocks[wanted.segment]
    while found is not None and found.pointer + found.size <= wanted.pointer:
        found = found.next
    assert found is not None and found.state == FREE
    block = found
    change = NO_SPLIT_CHANGE - (block.size + 1 if block.is_split else 0)
    front = wanted.pointer - block.pointer
    if front:
        block = store.insert_after(found, front)
        store.shelve(found)
        change += front + 1
    rest = block.size - wanted.size
    if rest:
        store.insert_after(block, wanted.size)
        change += rest + 1
    block.state = ALLOCATED
    block.requested = wanted.requested
    journal_change = change if block.expandable is None else NO_SPLIT_CHANGE
    store.statistics.journal += block.size | MALLOC | block.home.pool.tag, block.requested, journal_change
    if store.history.active:
        store.history.handed_out(block, store.history.stack("state"))
