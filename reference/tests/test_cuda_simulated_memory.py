"""Device memory of the simulated driver against a model: blocks, mappings, contents, what is left."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory
from gaugeblock.memory.elements import read_bytes
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

MIB = 1 << 20
G = 2 * MIB
TOTAL = 12 * MIB
PAGES = 6


@dataclass
class Handle:
    """Memory of one granule in the model: the byte it is full of, where it is mapped, whether its handle lives."""

    value: int = 0
    places: int = 0
    living: bool = True


class DeviceMemory(RuleBasedStateMachine):
    """malloc, free, create, release, map, unmap and memset on one device; every block keeps its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = SimulatedDriver(total_memory=TOTAL)
        self.base = self.driver.address_reserve(0, PAGES * G)
        self.blocks: dict[int, tuple[int, int]] = {}
        self.handles: dict[int, Handle] = {}
        self.pages: dict[int, Handle] = {}
        self.physical: list[Handle] = []
        self.freed: list[int] = []

    def used(self) -> int:
        blocks = sum(-(-size // 512) * 512 for size, _ in self.blocks.values())
        return blocks + G * sum(handle.living or handle.places > 0 for handle in self.physical)

    @rule(size=st.one_of(st.integers(1, 5000), st.integers(MIB, 9 * MIB)), value=st.integers(1, 255))
    def malloc(self, size: int, value: int) -> None:
        if -(-size // 512) * 512 > TOTAL - self.used():
            with pytest.raises(DriverOutOfMemory):
                self.driver.malloc(0, size)
            return
        pointer = self.driver.malloc(0, size)
        self.driver.memset(0, pointer, value, size, 0)
        self.blocks[pointer] = (size, value)
        self.freed = [other for other in self.freed if other != pointer]

    @precondition(lambda self: self.blocks)
    @rule(pick=st.integers(0, 99))
    def free(self, pick: int) -> None:
        pointer = sorted(self.blocks)[pick % len(self.blocks)]
        self.driver.free(0, pointer)
        del self.blocks[pointer]
        self.freed.append(pointer)

    @precondition(lambda self: self.freed)
    @rule(pick=st.integers(0, 99))
    def free_again(self, pick: int) -> None:
        with pytest.raises(DriverError, match="free has not taken"):
            self.driver.free(0, self.freed[pick % len(self.freed)])

    @rule()
    def create(self) -> None:
        if self.used() + G > TOTAL:
            with pytest.raises(DriverOutOfMemory):
                self.driver.memory_create(0, G)
            return
        self.handles[self.driver.memory_create(0, G)] = handle = Handle()
        self.physical.append(handle)

    @precondition(lambda self: self.handles)
    @rule(pick=st.integers(0, 99))
    def release(self, pick: int) -> None:
        handle = sorted(self.handles)[pick % len(self.handles)]
        self.driver.memory_release(0, handle)
        self.handles.pop(handle).living = False

    @precondition(lambda self: self.handles)
    @rule(pick=st.integers(0, 99), page=st.integers(0, PAGES - 1))
    def map(self, pick: int, page: int) -> None:
        handle = sorted(self.handles)[pick % len(self.handles)]
        if page in self.pages:
            with pytest.raises(DriverError, match="nothing mapped"):
                self.driver.memory_map(0, self.base + page * G, G, handle)
            return
        self.driver.memory_map(0, self.base + page * G, G, handle)
        self.pages[page] = self.handles[handle]
        self.handles[handle].places += 1

    @rule(page=st.integers(0, PAGES - 1), count=st.integers(1, 3))
    def unmap(self, page: int, count: int) -> None:
        pages = range(page, page + count)
        if not all(other in self.pages for other in pages):
            with pytest.raises(DriverError, match="whole mappings"):
                self.driver.memory_unmap(0, self.base + page * G, count * G)
            return
        self.driver.synchronize(0)
        self.driver.memory_unmap(0, self.base + page * G, count * G)
        for other in pages:
            self.pages.pop(other).places -= 1

    @rule(page=st.integers(0, PAGES - 1), value=st.integers(1, 255))
    def fill(self, page: int, value: int) -> None:
        if page in self.pages:
            self.driver.memset(0, self.base + page * G, value, G, 0)
            self.pages[page].value = value
        else:
            with pytest.raises(DriverError, match="bytes of the memory"):
                self.driver.memset(0, self.base + page * G, value, G, 0)

    @invariant()
    def everything_is_where_it_belongs(self) -> None:
        assert self.driver.mem_info(0) == (TOTAL - self.used(), TOTAL)
        self.driver.synchronize(0)
        ends = 0
        for pointer, (size, value) in sorted(self.blocks.items()):
            assert pointer % 512 == 0 and pointer >= ends
            ends = pointer + size
            assert read_bytes(pointer, 1) == read_bytes(ends - 1, 1) == bytes([value])
        for page, handle in self.pages.items():
            for offset in (0, G - 1):
                assert read_bytes(self.base + page * G + offset, 1) == bytes([handle.value])

    def teardown(self) -> None:
        for pointer in self.blocks:
            self.driver.free(0, pointer)
        for page in self.pages:
            self.driver.memory_unmap(0, self.base + page * G, G)
        for handle in self.handles:
            self.driver.memory_release(0, handle)
        self.driver.address_free(0, self.base, PAGES * G)
        assert sum(self.driver.live(0)) == 0


TestDeviceMemory = DeviceMemory.TestCase
TestDeviceMemory.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
