"""The caching allocator beside a naive one, each on its own copy of the device: calls drawn at random, all compared."""

from __future__ import annotations

import random
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from gaugeblock.cuda.allocator.allocator_config import AllocatorConfig
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.allocator.out_of_memory import OutOfMemoryError
from gaugeblock.cuda.driver.protocol import Driver
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from .naive_allocator import FAMILIES, POOLS, NaiveAllocator
from .table_device import Device

KIB, MIB = 1 << 10, 1 << 20
CONFIGS = {
    "default": "",
    "max_split": "max_split_size_mb:24",
    "rounding": "roundup_power2_divisions:[1:4,2:2,>:8]",
    "expandable": "expandable_segments:True",
    "expandable, larger pages": "expandable_segments:True,large_segment_size_mb:12",
    "garbage": "garbage_collection_threshold:0.5,per_process_memory_fraction:0.75",
    "fraction": "per_process_memory_fraction:0.5,max_split_size_mb:20,large_segment_size_mb:16",
}
SIZES = st.one_of(
    st.integers(1, 4 * KIB),
    st.integers(1, 3 * MIB),
    st.sampled_from([512, 513, MIB - 512, MIB, MIB + 1, 5 * MIB, 10 * MIB - 512, 10 * MIB, 20 * MIB]),
    st.sampled_from([21 * MIB, 24 * MIB, 31 * MIB]),
)
STREAMS = st.integers(0, 2)


class Both:
    """The allocator and the naive one, given the same calls."""

    def __init__(self, config: str, mode: Any, total: int) -> None:
        self.devices = Device(total), Device(total)
        self.real = CachingAllocator(cast(Driver, self.devices[0]), 0, config, mode=mode)
        self.naive = NaiveAllocator(self.devices[1], AllocatorConfig.parse(config), mode == "fixed")
        self.live: list[int] = []
        self.pools: list[tuple[int, int]] = []

    def malloc(self, size: int, stream: int) -> None:
        expected = self.naive.malloc(size, stream)
        try:
            given = self.real.malloc(size, stream)
        except OutOfMemoryError:
            assert expected is None
        else:
            assert given == expected
            self.live.append(given)

    def free(self, place: int) -> None:
        pointer = self.live.pop(place % len(self.live))
        self.naive.free(pointer)
        self.real.free(pointer)

    def record_stream(self, place: int, stream: int) -> None:
        pointer = self.live[place % len(self.live)]
        self.naive.record_stream(pointer, stream)
        self.real.record_stream(pointer, stream)

    def work(self, stream: int) -> None:
        for device in self.devices:
            device.work[stream] += 1

    def finish(self, stream: int) -> None:
        for device in self.devices:
            device.stream_synchronize(0, stream)

    def process_events(self) -> None:
        if not self.naive.captures:
            self.naive.process()
        self.real.process_events()

    def empty_cache(self) -> None:
        if not self.naive.captures:
            self.naive.process(wait=True)
        self.naive.release_cached()
        self.real.empty_cache()

    def begin(self) -> None:
        pool = self.real.create_pool()
        self.real.begin_allocate_to_pool(pool, lambda stream: True)
        self.naive.captures.append(pool)
        self.naive.users[pool] = 2

    def end(self) -> None:
        pool = self.naive.captures.pop()
        self.real.end_allocate_to_pool(pool)
        self.pools.append(pool)

    def release(self) -> None:
        pool = self.pools.pop(0)
        for _ in range(2):
            self.real.release_pool(pool)
        self.naive.users[pool] = 0

    def switch(self, config: str) -> None:
        self.real.config = config
        self.naive.config = AllocatorConfig.parse(config)

    def compare(self) -> None:
        """Blocks, figures and what was asked of the device are the same."""
        segments = [
            (segment["address"], segment["stream"], segment["segment_type"] == "small", segment["segment_pool_id"],
             segment["is_expandable"],
             [(b["address"], b["size"], b["state"], b["requested_size"]) for b in segment["blocks"]])
            for segment in self.real.memory_snapshot()
        ]  # fmt: skip
        assert segments == self.naive.snapshot()
        stats = self.real.memory_stats()
        for family in FAMILIES:
            for pool in POOLS:
                for kind in ("current", "peak", "allocated", "freed"):
                    given = stats[f"{family}.{pool}.{kind}"]
                    assert given == self.naive.figures[family, pool][kind], f"{family}.{pool}.{kind}"
        assert self.devices[0].log == self.devices[1].log
        self.real.check_invariants()


class Machine(RuleBasedStateMachine):
    """Calls in any order; the device has room for a few segments, so that it is often full."""

    both: Both

    @initialize(
        config=st.sampled_from(sorted(CONFIGS)),
        mode=st.sampled_from(["fixed", "faithful"]),
        total=st.sampled_from([30 * MIB, 64 * MIB, 128 * MIB]),
    )
    def start(self, config: str, mode: str, total: int) -> None:
        self.both = Both(CONFIGS[config], mode, total)

    @rule(size=SIZES, stream=STREAMS)
    def malloc(self, size: int, stream: int) -> None:
        self.both.malloc(size, stream)

    @rule(size=SIZES, count=st.integers(1, 6))
    def malloc_many(self, size: int, count: int) -> None:
        for _ in range(count):
            self.both.malloc(size, 0)

    @precondition(lambda self: self.both.live)
    @rule(place=st.integers(0, 100))
    def free(self, place: int) -> None:
        self.both.free(place)

    @precondition(lambda self: self.both.live)
    @rule(place=st.integers(0, 100), stream=STREAMS)
    def record_stream(self, place: int, stream: int) -> None:
        self.both.record_stream(place, stream)

    @rule(stream=STREAMS)
    def work(self, stream: int) -> None:
        self.both.work(stream)

    @rule(stream=STREAMS)
    def finish(self, stream: int) -> None:
        self.both.finish(stream)

    @rule()
    def process_events(self) -> None:
        self.both.process_events()

    @rule()
    def empty_cache(self) -> None:
        self.both.empty_cache()

    @precondition(lambda self: self.both.naive.allowed is None)
    @rule(config=st.sampled_from(["default", "max_split", "rounding", "expandable"]))
    def switch(self, config: str) -> None:
        self.both.switch(CONFIGS[config])

    @precondition(lambda self: len(self.both.naive.captures) < 2)
    @rule()
    def begin(self) -> None:
        self.both.begin()

    @precondition(lambda self: self.both.naive.captures)
    @rule()
    def end(self) -> None:
        self.both.end()

    @precondition(lambda self: self.both.pools)
    @rule()
    def release(self) -> None:
        self.both.release()

    @invariant()
    def compare(self) -> None:
        if hasattr(self, "both"):
            self.both.compare()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
@pytest.mark.parametrize("config", CONFIGS)
def test_a_long_walk_agrees_with_the_naive_allocator(config: str, mode: str) -> None:
    chance = random.Random(f"{config} {mode}")
    both = Both(CONFIGS[config], mode, 96 * MIB)
    sizes = [300, 700, 4000, 70_000, 400_000, MIB, MIB + 5, 3 * MIB, 11 * MIB, 21 * MIB, 25 * MIB]
    for step in range(600):
        kind = chance.random()
        if kind < 0.45 or not both.live:
            both.malloc(chance.choice(sizes) + chance.randrange(200), chance.choice([0, 0, 0, 1]))
        elif kind < 0.8:
            both.free(chance.randrange(100))
        elif kind < 0.86:
            both.record_stream(chance.randrange(100), chance.randrange(3))
        elif kind < 0.9:
            both.work(chance.randrange(3))
        elif kind < 0.95:
            both.finish(chance.randrange(3))
        elif kind < 0.96:
            both.empty_cache()
        elif kind < 0.965 and both.naive.allowed is None:
            both.switch(CONFIGS[chance.choice([config, config, "expandable", "default"])])
        elif kind < 0.975 and not both.naive.captures:
            both.begin()
        elif both.naive.captures:
            both.end()
        elif both.pools:
            both.release()
        if step % 5 == 0:
            both.compare()
    both.compare()
