"""Private pools: memory apart, for captured graphs and for users; the blocks of one kept and brought back.

So graphs that are replayed in another order than they were captured in find free what was free, and held what was held,
when they were.
"""

from __future__ import annotations

from typing import NamedTuple

from .block_store import (
    ALLOCATED,
    FREE,
    NO_POOL,
    PENDING,
    SHARED,
    UNMAPPED,
    Block,
    BlockStore,
    Filter,
    PoolId,
    PrivatePool,
    Request,
)
from .statistics import FREED, MALLOC, NO_SPLIT_CHANGE


def create_pool(store: BlockStore, *, use_on_oom: bool = False, no_split: bool = False) -> PoolId:
    """Make a pool of memory apart, which `release_pool` gives up. With `use_on_oom` all requests may take its free
    blocks before they fail; with `no_split` its blocks are never split."""
    store.pools_made += 1
    id = (0, store.pools_made)
    store.private[id] = PrivatePool(id, use_on_oom, no_split)
    return id


def begin_allocate_to_pool(store: BlockStore, id: PoolId, filter: Filter) -> None:
    """Let allocations of the streams that `filter` accepts go to a pool, as for the capture of a graph; it is made if
    there is none such.

    Until end_allocate_to_pool, nobody waits for events or gives cached memory back to the device.
    """
    if any(pool.id == id for pool, _ in store.captures):
        raise RuntimeError(f"begin_allocate_to_pool(): allocations to the pool {id} are underway already")
    pool = store.private.get(id)
    if pool is None:
        _check_id(id)
        pool = store.private[id] = PrivatePool(id)
    elif pool.freeable:
        raise RuntimeError(f"begin_allocate_to_pool(): the pool {id} has been released")
    else:
        pool.use_count += 1
    store.captures.append((pool, filter))


def end_allocate_to_pool(store: BlockStore, id: PoolId) -> None:
    """Undo `begin_allocate_to_pool`; the pool stays in use until it is released once more."""
    for place, (pool, _) in enumerate(store.captures):
        if pool.id == id:
            del store.captures[place]
            return
    raise RuntimeError(f"end_allocate_to_pool(): no allocations to the pool {id} are underway")


def release_pool(store: BlockStore, id: PoolId) -> None:
    """Take back one use of a pool; after the last, its free memory goes back to the device with the cache's."""
    pool = get_pool("release_pool", store, id)
    if pool.freeable:
        raise RuntimeError(f"release_pool(): the pool {id} has been released as often as it was used")
    pool.use_count -= 1


def get_pool(operator: str, store: BlockStore, id: PoolId) -> PrivatePool:
    """The pool of that id. RuntimeError when there is none."""
    pool = store.private.get(id)
    if pool is None:
        raise RuntimeError(f"{operator}(): there is no pool {id}")
    return pool


def help_out(store: BlockStore, request: Request) -> Block | None:
    """A free block, for a request of everybody's pools, of a pool that helps out when there is no memory."""
    home = request.home
    if home.pool.owner is None:
        for owner in store.private.values():
            if owner.use_on_oom and not owner.freeable:
                pool = owner.small if home.pool.is_small else owner.large
                block = store.find(request._replace(home=pool.of_stream(home.stream, store.blocks)))
                if block is not None:
                    return block
    return None


def _check_id(id: PoolId) -> None:
    if not (isinstance(id, tuple) and len(id) == 2 and all(isinstance(part, int) for part in id)) or id == NO_POOL:
        raise RuntimeError(
            f"begin_allocate_to_pool(): argument 'pool' must be a pair of ints other than (0, 0), got {id}"
        )


class HeldBlock(NamedTuple):
    """A block that is allocated: address, bytes, bytes asked for, the first address of its segment, and its home."""

    pointer: int
    size: int
    requested: int
    segment: int
    stream: int
    is_small: bool


class PoolCheckpoint(NamedTuple):
    """The blocks of a pool that are allocated, by address."""

    pool: PoolId
    held: tuple[HeldBlock, ...]


class Restored(NamedTuple):
    """The changes by a checkpoint: addresses that nobody may free any more, and those that are to be freed."""

    freed: tuple[int, ...]
    allocated: tuple[int, ...]


def checkpoint_of(store: BlockStore, id: PoolId) -> PoolCheckpoint:
    """The checkpoint of a pool. RuntimeError when there is none such, and while other streams use its blocks."""
    owner = get_pool("checkpoint_pool", store, id)
    held = _held("checkpoint_pool", store, owner)
    return PoolCheckpoint(id, tuple([
        HeldBlock(one.pointer, one.size, one.requested, one.head().pointer, one.home.stream, one.home.pool.is_small)
        for one in held
    ]))  # fmt: skip


def restore(store: BlockStore, checkpoint: PoolCheckpoint) -> Restored:
    """Give back every block of the pool, and allocate those of the checkpoint where they were.

    Raises RuntimeError, with nothing changed, when there is no such pool, while other streams use its blocks, and when
    its memory is not there any more.
    """
    owner = get_pool("restore_pool", store, checkpoint.pool)
    held = _held("restore_pool", store, owner)
    for wanted in checkpoint.held:
        _check_memory(store, owner, wanted)
    stack = store.stack("all")
    before = [block.pointer for block in held]
    wanted_now = {(one.pointer, one.size, one.requested) for one in checkpoint.held}
    stay = {block.pointer for block in held if (block.pointer, block.size, block.requested) in wanted_now}
    for block in held:
        if block.pointer not in stay:
            if store.history is not None:
                store.history.requested(block, stack)
            store.free_block(block, FREED, stack)
    fresh = [one for one in checkpoint.held if one.pointer not in stay]
    for one in fresh:
        _allocate(store, one)
    return Restored(tuple(pointer for pointer in before if pointer not in stay), tuple(one.pointer for one in fresh))


def _held(operator: str, store: BlockStore, owner: PrivatePool) -> list[Block]:
    """The blocks of a pool that are allocated, by address."""
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


def _allocate(store: BlockStore, wanted: HeldBlock) -> None:
    """Cut a block out of the free one that its bytes lie in."""
    found: Block | None = store.blocks[wanted.segment]
    while found is not None and found.pointer + found.size <= wanted.pointer:
        found = found.next
    assert found is not None and found.state == FREE
    block = found
    change = NO_SPLIT_CHANGE - (block.size + 1 if block.is_split else 0)
    front = wanted.pointer - block.pointer
    if front:
        block = store.split(found, front)
        found.home.push(found)
        change += front + 1
    rest = block.size - wanted.size
    if rest:
        store.split(block, wanted.size)
        change += rest + 1
    block.state = ALLOCATED
    block.requested = wanted.requested
    journal_change = change if block.expandable is None else NO_SPLIT_CHANGE
    store.journal += block.size | MALLOC | block.home.pool.tag, block.requested, journal_change
    if store.history is not None:
        store.history.allocated(block, store.stack("state"))
