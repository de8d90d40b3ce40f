"""The figures: their names, what they count, how they add up, and what a reset leaves."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hypothesis import strategies as hs

from ..backend_allocator import FAMILIES, FIGURES, NAMES, PLAIN_COUNTS, POOLS
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import BASIC, RESETS, STREAMS, Follower, programs
from .rules import MIB

TWO = 2 * MIB
_ODD = f"[n for n in {NAMES!r} if type({{}}.get(n)) is not int]"
_SUMS = (
    f"[f'{{f}}.{{k}}' for f in {FAMILIES!r} for k in ('current', 'allocated', 'freed') if {{0}}[f + '.all.' + k] != "
    "{0}[f + '.small_pool.' + k] + {0}[f + '.large_pool.' + k]]"
)
_DIFFERENCES = (
    f"[k for k in [f + '.' + p for f in {FAMILIES!r} for p in {POOLS!r}] if {{0}}[k + '.current'] != "
    "{0}[k + '.allocated'] - {0}[k + '.freed'] or {0}[k + '.peak'] < {0}[k + '.current']]"
)
_ORDER = "[{0}[k + '_bytes.all.current'] for k in ('requested', 'allocated', 'active', 'reserved')]"


@requirement("allocator/figures-have-fixed-names")
def test_all_names_are_there(s: Session) -> None:
    g = Ground(s)
    for _ in range(2):
        stats = g.stats()
        g.expect([n for n in NAMES if type(stats.get(n)) is not int], [], "figures that are missing or no int", _ODD)
        g.malloc(1000)
    fresh = Ground(s)
    stats = fresh.stats()
    fresh.expect([n for n in NAMES if stats[n]], [], "figures of a fresh allocator that are not zero",
                 f"[n for n in {NAMES!r} if {{}}[n]]")  # fmt: skip


@requirement("allocator/allocated-counts-rounded-sizes")
@forall(code=programs(), weight=0.5)
def test_allocated_bytes(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: follower.expect_figures(("allocation", "allocated_bytes")))


@requirement("allocator/allocated-counts-rounded-sizes")
def test_allocated_of_three(s: Session) -> None:
    g = Ground(s)
    a = g.malloc(1)
    b = g.malloc(600)
    g.malloc(3 * MIB)
    g.expect_figures(allocation=3, allocated_bytes=512 + 1024 + 3 * MIB, allocated_bytes__small_pool=1536)
    g.free(a, b)
    g.expect_figures(allocation=1, allocated_bytes=3 * MIB, allocation__small_pool=0, allocation__large_pool=1)


@requirement("allocator/requested-counts-what-was-asked-for")
def test_requested_of_two(s: Session) -> None:
    g = Ground(s)
    a = g.malloc(1)
    g.malloc(19 * MIB + 7)
    g.expect_figures(requested_bytes=19 * MIB + 8, requested_bytes__small_pool=1, allocated_bytes=20 * MIB + 512)
    g.free(a)
    g.expect_figures(requested_bytes=19 * MIB + 7)


@requirement("allocator/requested-counts-what-was-asked-for")
@forall(code=programs(), weight=0.5)
def test_requested_bytes(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: follower.expect_figures(("requested_bytes",)))


@requirement("allocator/reserved-counts-whole-segments")
def test_reserved_of_two_segments(s: Session) -> None:
    g = Ground(s)
    a, b = g.malloc(512), g.malloc(MIB + 512)
    g.expect_figures(reserved_bytes=22 * MIB, segment=2, reserved_bytes__small_pool=TWO)
    g.free(a, b)
    g.expect_figures(reserved_bytes=22 * MIB, segment=2)
    g.empty_cache()
    g.expect_figures(reserved_bytes=0, segment=0, reserved_bytes__all__freed=22 * MIB, num_device_free=2)


@requirement("allocator/reserved-counts-whole-segments")
@forall(code=programs(), weight=0.5)
def test_reserved_bytes(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        follower.expect_figures(("segment", "reserved_bytes"), FIGURES)
        follower.expect_counts("num_device_alloc", "num_device_free")

    follower.run(code, BASIC, look)


@requirement("allocator/figures-are-ordered")
@forall(code=programs(), weight=0.5)
def test_order_of_sizes(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: _expect_order(follower.ground))


@requirement("allocator/figures-are-ordered", needs=("alloc.streams",))
@forall(code=programs(), weight=0.5)
def test_order_of_sizes_with_streams(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)
    follower.run(code, STREAMS, lambda: _expect_order(follower.ground))


def _expect_order(g: Ground) -> None:
    segments = g.snapshot()
    inactive = sum(b["size"] for seg in segments for b in seg["blocks"] if b["state"] == "inactive")
    stats = g.stats()
    asked, allocated, active, reserved = (stats[f"{k}_bytes.all.current"] for k in
                                          ("requested", "allocated", "active", "reserved"))  # fmt: skip
    got = (asked <= active, allocated <= active, active <= reserved, reserved - active)
    text = f"(lambda q, a, v, r: (q <= v, a <= v, v <= r, r - v))(*{_ORDER.replace('{0}', '{}')})"
    g.expect(got, (True, True, True, inactive), "requested, allocated <= active <= reserved, and the difference", text)


@requirement("allocator/pools-add-up")
@forall(code=programs(), weight=0.5)
def test_sums_of_pools(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        stats = follower.ground.stats()
        wrong = [
            f"{family}.{figure}"
            for family in FAMILIES
            for figure in ("current", "allocated", "freed")
            if stats[f"{family}.all.{figure}"] != _sum(stats, family, figure)
        ]
        follower.ground.expect(wrong, [], "figures of all that are no sum of the pools", _SUMS.replace("{0}", "{}"))

    follower.run(code, RESETS, look)


def _sum(stats: Mapping[str, int], family: str, figure: str) -> int:
    return stats[f"{family}.small_pool.{figure}"] + stats[f"{family}.large_pool.{figure}"]


@requirement("allocator/current-is-allocated-minus-freed")
def test_accumulated_of_three_requests(s: Session) -> None:
    g = Ground(s)
    a, b = g.malloc(512), g.malloc(1024)
    g.free(a)
    g.malloc(512)
    g.free(b)
    g.expect_figures(allocation__all__allocated=3, allocation__all__freed=2, allocated_bytes__all__allocated=2048,
                     allocated_bytes__all__freed=1536, segment__all__allocated=1, segment__all__freed=0)  # fmt: skip


@requirement("allocator/current-is-allocated-minus-freed")
@forall(code=programs(), weight=0.5)
def test_differences(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        stats = follower.ground.stats()
        keys = [f"{family}.{pool}" for family in FAMILIES for pool in POOLS]
        wrong = [k for k in keys if not _consistent(stats, k)]
        text = _DIFFERENCES.replace("{0}", "{}")
        follower.ground.expect(wrong, [], "families whose figures do not fit together", text)
        follower.expect_figures(("allocation", "active", "active_bytes", "requested_bytes"), ("allocated", "freed"))

    follower.run(code, BASIC, look)


def _consistent(stats: Mapping[str, int], key: str) -> bool:
    current = stats[f"{key}.current"]
    return current == stats[f"{key}.allocated"] - stats[f"{key}.freed"] and stats[f"{key}.peak"] >= current


@requirement("allocator/peak-is-the-highest-current")
def test_peak_stays(s: Session) -> None:
    g = Ground(s)
    a, b = g.malloc(512), g.malloc(3 * MIB)
    g.free(a, b)
    g.malloc(512)
    g.expect_figures(allocation__all__peak=2, allocated_bytes__all__peak=3 * MIB + 512, segment__all__peak=2,
                     allocated_bytes__small_pool__peak=512, allocated_bytes__large_pool__peak=3 * MIB,
                     active__all__peak=2, requested_bytes__all__peak=3 * MIB + 512)  # fmt: skip


@requirement("allocator/peak-is-the-highest-current")
@forall(code=programs(), weight=0.5)
def test_peaks_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, RESETS, lambda: follower.expect_figures(None, ("current", "peak")))


@requirement("allocator/reset-peak-starts-from-current")
def test_reset_of_peaks(s: Session) -> None:
    g = Ground(s)
    a = g.malloc(512)
    g.malloc(1024)
    g.free(a)
    before = dict(g.stats())
    s.call("reset_peak_memory_stats", g.allocator)
    stats = g.stats()
    for name, value in before.items():
        want = before[name.replace(".peak", ".current")] if name.endswith(".peak") else value
        g.expect(stats.get(name), want, f"figure {name} after a reset of peaks", f"{{}}.get({name!r})")
    g.malloc(3 * MIB)
    g.expect_figures(allocation__all__peak=2, allocated_bytes__all__peak=1024 + 3 * MIB)


@requirement("allocator/reset-peak-starts-from-current")
@forall(code=programs(), weight=0.5)
def test_peaks_after_resets(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, (*BASIC, *("reset_peak_memory_stats",) * 4), lambda: follower.expect_figures(None, ("peak",)))


@requirement("allocator/reset-accumulated-starts-from-zero")
def test_reset_of_accumulated(s: Session) -> None:
    g = Ground(s)
    a = g.malloc(512)
    g.malloc(3 * MIB)
    g.free(a)
    before = dict(g.stats())
    s.call("reset_accumulated_memory_stats", g.allocator)
    stats = g.stats()
    for name in NAMES:
        gone = name in PLAIN_COUNTS or name.endswith((".allocated", ".freed"))
        want = 0 if gone else before[name]
        g.expect(stats.get(name), want, f"figure {name} after a reset", f"{{}}.get({name!r})")
    g.malloc(1024)
    g.expect_figures(allocation__all__allocated=1, allocation__all__freed=0, allocation=2)


@requirement("allocator/reset-accumulated-starts-from-zero")
@forall(code=programs(), weight=0.5)
def test_accumulated_after_resets(s: Session, code: bytes) -> None:
    follower = Follower(s)
    actions = (*BASIC, *("reset_accumulated_memory_stats",) * 4)
    follower.run(code, actions, lambda: follower.expect_figures(None, ("current", "allocated", "freed")))


@requirement("allocator/inactive-split-cannot-be-released")
def test_inactive_split_of_one_segment(s: Session) -> None:
    g = Ground(s)
    a, b, c = g.malloc(512), g.malloc(512), g.malloc(512)
    g.expect_figures(inactive_split=1, inactive_split_bytes=TWO - 1536)
    g.free(b)
    g.expect_figures(inactive_split=2, inactive_split_bytes=TWO - 1024)
    g.free(a)
    g.expect_figures(inactive_split=2, inactive_split_bytes=TWO - 512)
    g.free(c)
    g.expect_figures(inactive_split=0, inactive_split_bytes=0, reserved_bytes=TWO)
    g.malloc(TWO // 2)
    g.expect_figures(inactive_split=1, inactive_split_bytes=MIB)


@requirement("allocator/inactive-split-cannot-be-released")
@forall(code=programs(), weight=0.5)
def test_inactive_split_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: follower.expect_figures(("inactive_split", "inactive_split_bytes"), FIGURES))
    follower.ground.empty_cache()
    stats = follower.ground.stats()
    got = [stats[f"{k}_bytes.all.current"] for k in ("reserved", "active", "inactive_split")]
    names = "('reserved', 'active', 'inactive_split')"
    text = f"(lambda r, a, i: r - a - i)(*[{{}}[k + '_bytes.all.current'] for k in {names}])"
    what = "reserved minus active minus inactive split bytes after the cache was emptied"
    follower.ground.expect(got[0] - got[1] - got[2], 0, what, text)


_UNITS = {"B": 1, "KB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1024, "MiB": 2**20, "GiB": 2**30}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|KiB|MiB|GiB|bytes)?\b")


def told(text: str, size: int) -> bool:
    """Return whether a number of the text is the size, in bytes or rounded in its unit."""
    for number, unit in _NUMBER.findall(text.replace(",", "")):
        factor = _UNITS.get(unit, 1)
        step = factor * 10 ** -len(number.partition(".")[2])
        if abs(float(number) * factor - size) < (step if factor > 1 else 0.5):
            return True
    return False


@requirement("allocator/summary-never-fails")
def test_summary_of_nothing_and_of_two_blocks(s: Session) -> None:
    g = Ground(s)
    _expect_summary(g)
    g.malloc(3 * MIB)
    g.malloc(5 * MIB)
    _expect_summary(g)


@requirement("allocator/summary-never-fails")
@forall(sizes=hs.lists(hs.integers(1, 40 * MIB), max_size=5))
def test_summary(s: Session, sizes: list[int]) -> None:
    g = Ground(s)
    for size in sizes:
        g.malloc(size)
    _expect_summary(g)


def _expect_summary(g: Ground) -> None:
    stats = g.stats()
    text = g.s.call("memory_summary", g.allocator)
    g.expect(type(text), str, "type of the summary", "type({})")
    for family in ("allocated_bytes", "reserved_bytes"):
        size = stats[f"{family}.all.current"]
        how = f"__import__('gaugeblock_conformance.allocator.test_figures', fromlist=['told']).told({{}}, {size})"
        g.expect(told(text, size), True, f"summary that tells {family} {size}", how)


@requirement("allocator/figures-have-fixed-names")
@forall(code=programs(), weight=0.25)
def test_no_figure_is_negative(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        stats = follower.ground.stats()
        below = [n for n in NAMES if stats[n] < 0]
        follower.ground.expect(below, [], "figures below zero", f"[n for n in {NAMES!r} if {{}}[n] < 0]")

    follower.run(code, RESETS, look)
