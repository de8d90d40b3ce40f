"""The host allocator: alignment, reuse, limits, statistics, and replacing it."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator

import gaugeblock as gb
import pytest
from gaugeblock.memory.elements import read_bytes
from gaugeblock.memory.host_allocator import SMALL_LIMIT, HostAllocator, host_allocator, large_size, small_class
from gaugeblock.memory.storage import Storage, allocate_storage, get_allocator, set_allocator, set_poison

SIZES = [1, 63, 64, 65, 128, 4095, 4096, 4097, SMALL_LIMIT, SMALL_LIMIT + 1, 12 << 20, 40 << 20]


@pytest.mark.parametrize("nbytes", SIZES)
def test_blocks_are_aligned_big_enough_and_reused(nbytes: int) -> None:
    allocator = HostAllocator()
    first = allocator.allocate(nbytes)
    assert first % 64 == 0
    assert read_bytes(first, nbytes) is not None
    second = allocator.allocate(nbytes)
    assert abs(first - second) >= nbytes
    allocator.free(first, nbytes)
    assert allocator.allocate(nbytes) == first
    allocator.free(first, nbytes)
    allocator.free(second, nbytes)
    facts = allocator.statistics()
    assert facts.allocated_bytes == 0
    assert facts.cached_bytes == facts.reserved_bytes >= 2 * nbytes
    allocator.empty_cache()
    assert allocator.statistics().reserved_bytes == 0
    assert allocator.statistics().system_frees == allocator.statistics().system_allocations == 2


def test_classes_hold_what_they_serve() -> None:
    for nbytes in [*range(1, 3000), SMALL_LIMIT - 1, SMALL_LIMIT]:
        assert nbytes <= 1 << small_class(nbytes) <= max(64, 2 * nbytes)
    for nbytes in SIZES[-3:]:
        assert nbytes <= large_size(nbytes) <= 1.25 * nbytes


def test_the_cache_is_limited() -> None:
    allocator = HostAllocator(cache_limit=24 << 20)
    blocks = [allocator.allocate(12 << 20) for _ in range(4)]
    for block in blocks:
        allocator.free(block, 12 << 20)
    assert allocator.statistics().cached_bytes <= 24 << 20
    small = [allocator.allocate(8 << 20) for _ in range(6)]
    for block in small:
        allocator.free(block, 8 << 20)
    allocator.free(allocator.allocate(1000), 1000)
    assert allocator.statistics().cached_bytes <= 24 << 20
    allocator.empty_cache()


def test_large_zeros_of_fresh_memory_are_not_written_and_of_used_memory_are() -> None:
    count = 5 * SMALL_LIMIT + 3
    host_allocator.empty_cache()
    before = _resident()
    fresh = gb.zeros(count, dtype=gb.uint8)
    assert sys.platform != "linux" or _resident() - before < count // 2
    fresh[count - 1] = 7
    assert int(fresh.sum()) == 7
    address = fresh.data_ptr()
    fresh.fill_(9)
    del fresh
    again = gb.zeros(count, dtype=gb.uint8)
    assert again.data_ptr() == address
    assert not again.any()
    both = [gb.zeros(count, dtype=gb.uint8) for _ in range(2)]
    both[0].fill_(1)
    assert not both[1].any() and both[0].all() and not again.any()


def test_memory_given_back_to_the_system_is_nobodys_fresh_block() -> None:
    allocator = HostAllocator(cache_limit=0)
    size = 2 * SMALL_LIMIT
    address = allocator.allocate(size)
    assert allocator.zeros_for_nothing(address, size) == (sys.platform == "linux")
    allocator.free(address, size)
    assert not allocator.zeros_for_nothing(address, size), "another allocator may have the address by now"


def _resident() -> int:
    """Bytes of this process that are backed by memory."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_an_impossible_size_raises_and_leaves_nothing() -> None:
    before = host_allocator.statistics()
    for nbytes in (1 << 60, (1 << 63) - 1):
        with pytest.raises(RuntimeError, match=r"can't allocate memory|overflow"):
            allocate_storage(nbytes)
    with pytest.raises(RuntimeError, match="overflowed"):
        allocate_storage(1 << 64)
    with pytest.raises(RuntimeError, match="negative"):
        allocate_storage(-1)
    assert host_allocator.statistics().allocated_bytes == before.allocated_bytes
    assert allocate_storage(64).pointer


class Counting:
    """Counts blocks, on top of a private host allocator."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.taken = 0
        self._host = HostAllocator()

    def allocate(self, nbytes: int) -> int:
        address = self._host.allocate(nbytes)
        self.live[address] = nbytes
        self.taken += 1
        return address

    def free(self, address: int, nbytes: int) -> None:
        assert self.live.pop(address) == nbytes
        self._host.free(address, nbytes)


@pytest.fixture
def counting() -> Iterator[Counting]:
    allocator = Counting()
    assert set_allocator(allocator) is host_allocator
    yield allocator
    set_allocator(None)
    assert get_allocator() is host_allocator


def test_one_block_per_storage_given_back_once(counting: Counting) -> None:
    x = gb.zeros(4, 4)
    assert (counting.taken, list(counting.live.values())) == (1, [64])
    y, z = x.t(), x[1:]
    assert counting.taken == 1
    del x, y
    gc.collect()
    assert len(counting.live) == 1
    assert z.tolist() == [[0.0] * 4] * 3
    del z
    gc.collect()
    assert counting.live == {}


def test_resizing_takes_a_new_block_and_frees_the_old(counting: Counting) -> None:
    x = gb.ones(4)
    x.resize_(400)
    assert (counting.taken, list(counting.live.values())) == (2, [1600])
    assert x[:4].tolist() == [1.0] * 4


def test_a_storage_goes_back_to_the_allocator_that_made_it() -> None:
    before = gb.ones(8)
    allocator = Counting()
    set_allocator(allocator)
    during = gb.ones(8)
    del before
    assert allocator.taken == 1
    set_allocator(None)
    del during
    gc.collect()
    assert allocator.live == {}


def test_objects_without_the_protocol_are_refused() -> None:
    with pytest.raises(TypeError, match="allocate and free"):
        set_allocator(object())  # type: ignore[arg-type]


def test_poison_fills_fresh_memory_only() -> None:
    held = gb.zeros(16)
    previous = set_poison(0xA5)
    try:
        for count in (1, 16, 1000, 1 << 19):
            assert set(gb.empty(count, dtype=gb.uint8).tolist()) == {0xA5}
        assert held.tolist() == [0.0] * 16
        del held
        assert set(gb.empty(64, dtype=gb.uint8).tolist()) == {0xA5}
    finally:
        set_poison(previous)


def test_zero_bytes_have_a_null_address() -> None:
    storage = allocate_storage(0)
    assert (storage.pointer, storage.nbytes) == (0, 0)
    assert isinstance(storage, Storage)
    assert gb.zeros(0, 3).data_ptr() == 0
