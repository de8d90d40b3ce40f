"""Several threads at one allocator, several devices, and the time that a request takes."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .rules import MIB
from .stress import stress
from .test_snapshots import expect_agreement

TWO = 2 * MIB
FEW, MANY = 400, 16_000
ROUNDS = 400


@requirement("allocator/allocator-is-thread-safe")
def test_four_threads(s: Session) -> None:
    _expect_one_owner(s, 4, 0, False)


@requirement("allocator/allocator-is-thread-safe")
@forall(weight=0.05, threads=hs.integers(2, 6), seed=hs.integers(0, 999), looks=hs.booleans())
def test_no_two_owners(s: Session, threads: int, seed: int, looks: bool) -> None:
    _expect_one_owner(s, threads, seed, looks)


def _expect_one_owner(s: Session, threads: int, seed: int, looks: bool) -> None:
    g = Ground(s)
    faults = stress(s.backend.call, g.allocator, threads, 120, seed, looks)
    text = (
        "__import__('gaugeblock_conformance.allocator.stress', fromlist=['stress'])"
        f".stress(backend.call, {s.name_of(g.allocator)}, {threads}, 120, {seed}, {looks})"
    )
    s.expect(faults[:1], (), "what threads saw go wrong", f"{text}[:1]", g.names(g.allocator))
    g.expect_figures(allocation=0, active=0, allocated_bytes=0, requested_bytes=0, inactive_split=0)
    expect_agreement(g)


@requirement("allocator/devices-have-their-own-allocators")
def test_figures_of_two_devices(s: Session) -> None:
    g = Ground(s)
    other = Ground(s, made=s.call("allocator_beside", g.allocator))
    pointer = g.malloc(1000)
    other.expect_figures(allocation=0, segment=0, num_device_alloc=0)
    theirs = other.malloc(3 * MIB)
    g.expect_figures(allocation=1, allocated_bytes=1024, segment=1)
    other.expect_figures(allocation=1, allocated_bytes=3 * MIB, segment=1)
    s.expect_raises(RuntimeError, "free", other.allocator, pointer)
    s.expect_raises(RuntimeError, "free", g.allocator, theirs)
    g.free(pointer)
    other.expect_figures(allocation=1, segment=1)
    g.empty_cache()
    other.expect_figures(segment=1, reserved_bytes=20 * MIB)
    other.free(theirs)
    g.expect_figures(allocation=0, allocation__all__freed=1)


@requirement("allocator/cached-path-does-not-wait")
def test_one_hit(s: Session) -> None:
    g = Ground(s)
    g.free(g.malloc(512))
    s.call("device_log", g.allocator)
    g.free(g.malloc(512))
    g.expect(tuple(s.call("device_log", g.allocator)), (), "what the device was asked by a hit", "tuple({})")


@requirement("allocator/cached-path-does-not-wait")
@forall(sizes=hs.lists(hs.sampled_from((1, 600, MIB, MIB + 512, 3 * MIB, 30 * MIB)), min_size=1, max_size=8))
def test_device_is_left_alone(s: Session, sizes: list[int]) -> None:
    g = Ground(s)
    for size in sizes:
        g.free(g.malloc(size))
    s.call("device_log", g.allocator)
    for size in sizes:
        g.free(g.malloc(size))
    log = s.call("device_log", g.allocator)
    g.expect(tuple(log), (), "what the device was asked by requests that hit", "tuple({})")


@requirement("allocator/search-is-sublinear", slow=True)
def test_time_of_a_hit(s: Session) -> None:
    g = Ground(s)
    call, allocator = s.backend.call, g.allocator

    def holes(count: int) -> None:
        held = [call("malloc", allocator, 512) for _ in range(2 * count)]
        for pointer in held[::2]:
            call("free", allocator, pointer)

    def best() -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            call("free", allocator, call("malloc", allocator, 512))
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    s.guard("800 small requests", lambda: holes(FEW))
    few = best()
    s.guard("32,000 small requests", lambda: holes(MANY))
    ratio = best() / few
    s.outcome.figures["time of a hit at 16,400 free blocks to that at 400"] = round(ratio, 2)
    got = "slower" if ratio > 8 else "alike"
    _expect_time(s, got, ratio)


def _expect_time(s: Session, got: str, ratio: float) -> None:
    if got != "alike":
        raise s.failure(f"a hit takes {ratio:.1f} times as long with 40 times as many free blocks", "at most 8 times",
                        f"{ratio:.1f} times", [], cause="hits slow down")  # fmt: skip
