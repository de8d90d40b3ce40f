"""What always holds of an allocator, between any two calls."""

from __future__ import annotations

from .allocator_config import MIN_BLOCK
from .block_store import FREE, PENDING, SHARED, UNMAPPED, Block, BlockStore
from .stream_uses import StreamUses


def check_allocator(store: BlockStore, uses: StreamUses) -> None:
    """Raise AssertionError that names what is broken, if anything is."""
    covered = 0
    end_before = 0
    for address in sorted(store.blocks):
        block = store.blocks[address]
        if block.previous is None:
            _that(address >= end_before, f"the segment at {address:#x} begins inside of the one before")
            blocks = _check_segment(store, block)
            covered += len(blocks)
            end_before = blocks[-1].pointer + blocks[-1].size
    _that(covered == len(store.blocks), "a block is known by address that no segment reaches")
    _check_free(store)
    _check_statistics(store)
    _check_uses(store, uses)


def _that(holds: bool, broken: str) -> None:
    if not holds:
        raise AssertionError(broken)


def _check_segment(store: BlockStore, head: Block) -> list[Block]:
    """The blocks of a segment, which tile it; no two free neighbours stand side by side."""
    blocks = [head]
    while blocks[-1].next is not None:
        blocks.append(blocks[-1].next)
    address = head.pointer
    before: Block | None = None
    for block in blocks:
        where = f"block {block.pointer:#x}"
        _that(block.pointer == address, f"{where} does not begin where the block before it ends")
        _that(store.blocks.get(address) is block, f"{where} is not the one known by its address")
        _that(block.previous is before, f"{where} does not know the block before it")
        _that(block.size > 0 and block.size % MIN_BLOCK == 0, f"{where} has {block.size} bytes")
        _that(block.pointer % MIN_BLOCK == 0, f"{where} is not aligned")
        _that(block.home is head.home, f"{where} belongs to another pool or stream than its segment")
        _that(block.expandable is head.expandable, f"{where} belongs to another expandable segment")
        if before is not None and block.state in (FREE, UNMAPPED):
            _that(before.state != block.state, f"{where} was not merged with the block before it")
        if block.state not in (FREE, UNMAPPED):
            _that(0 < block.requested <= block.size, f"{where} of {block.size} bytes answers {block.requested}")
        address += block.size
        before = block
    segment = head.expandable
    if segment is not None:
        _that(head.pointer == segment.address and address == segment.address + segment.size, "a range is not covered")
        mapped = sum(block.size for block in blocks if block.state != UNMAPPED)
        _that(mapped == len(segment.handles) * segment.page, "mapped blocks and pages with memory differ")
    return blocks


def _check_free(store: BlockStore) -> None:
    """Exactly the free blocks are found in the pools, each once, and exactly the unmapped ones in their lists."""
    found: list[int] = []
    unmapped: list[int] = []
    for pool in store.pools():
        for stream, home in pool.streams.items():
            _that(home.stream == stream and home.pool is pool, "a set of free blocks is filed under another stream")
            _that(home.sizes == sorted(home.lists), "sizes of free blocks are out of order")
            _that(home.unmapped == sorted(home.unmapped), "unmapped blocks are out of order")
            for addresses in home.lists.values():
                parents = (addresses[number - 1 >> 1] for number in range(1, len(addresses)))
                _that(all(parent <= child for parent, child in zip(parents, addresses[1:], strict=True)), "no heap")
            found += [block.pointer for block in home]
            unmapped += home.unmapped
    _that(sorted(found) == _addresses(store, FREE), "the free blocks and those found in the pools differ")
    _that(sorted(unmapped) == _addresses(store, UNMAPPED), "the unmapped blocks and their lists differ")


def _addresses(store: BlockStore, state: int) -> list[int]:
    return sorted(block.pointer for block in store.blocks.values() if block.state == state)


def _check_statistics(store: BlockStore) -> None:
    """The figures are those of the blocks, and consistent among each other."""
    stats = store.statistics
    stats.settle()
    for place, small in ((1, True), (2, False)):
        blocks = [block for block in store.blocks.values() if block.home.pool.is_small == small]
        active = [block for block in blocks if block.state not in (FREE, UNMAPPED)]
        allocated = [block for block in active if block.state != PENDING]
        fixed = [block for block in blocks if block.expandable is None]
        split = [block for block in fixed if block.state == FREE and block.is_split]
        expected = {
            "allocation": len(allocated), "allocated_bytes": sum(block.size for block in allocated),
            "active": len(active), "active_bytes": sum(block.size for block in active),
            "requested_bytes": sum(block.requested for block in active), "inactive_split": len(split),
            "inactive_split_bytes": sum(block.size for block in split),
            "segment": sum(1 for block in fixed if block.previous is None),
            "reserved_bytes": sum(block.size for block in blocks if block.state != UNMAPPED),
        }  # fmt: skip
        for family, value in expected.items():
            given = stats.families[family][place].current
            which = "small" if small else "large"
            _that(given == value, f"{family} of {which} blocks is {given}, but there are {value}")
    for family, (whole, small_pool, large_pool) in stats.families.items():
        _that(whole.current == small_pool.current + large_pool.current, f"{family}: all is not small and large")
        for stat in (whole, small_pool, large_pool):
            _that(0 <= stat.current <= stat.peak, f"{family}: the peak {stat.peak} is below {stat.current}")


def _check_uses(store: BlockStore, uses: StreamUses) -> None:
    """The blocks with events or recorded streams are those that say so."""
    queued: dict[Block, int] = {}
    for queue in uses.queues.values():
        for _, block in queue:
            queued[block] = queued.get(block, 0) + 1
    _that(queued == uses.waits, "events in the queues and those that blocks wait for differ")
    deferred = set(uses.deferred)
    _that(not deferred & set(queued), "a block waits for the end of a capture and for events at once")
    pending = {block for block in store.blocks.values() if block.state == PENDING}
    _that(pending == set(queued) | deferred, "the blocks that wait are not those with events")
    shared = {block for block in store.blocks.values() if block.state == SHARED}
    _that(shared | deferred == set(uses.uses), "the blocks that other streams use are not those recorded")
