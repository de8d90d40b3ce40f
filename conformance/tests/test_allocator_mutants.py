"""Each wrong allocator is caught by the requirement that it breaks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from gaugeblock_conformance.mutants.table import table
from gaugeblock_conformance.session import ConformanceError
from gaugeblock_spec import requirements

FailureOf = Callable[[str, str], ConformanceError]

BROKEN = {
    "request-is-rounded-up-to-512": "sizes-round-to-256 sizes-round-to-1024 large-sizes-are-not-rounded",
    "zero-bytes-take-nothing": "zero-bytes-take-a-block",
    "freed-memory-is-reused": "nothing-is-reused",
    "hit-asks-the-device-for-nothing": "nothing-is-cached exact-fit-is-no-fit",
    "miss-takes-one-segment": "misses-take-two-segments",
    "small-and-large-requests-have-own-pools": "small-pool-ends-before-1-mib small-pool-ends-behind-1-mib "
    "pools-serve-each-other kinds-of-segments-are-swapped all-segments-are-small",
    "segment-size-follows-the-request": "small-segments-have-4-mib ten-mib-share-a-segment "
    "huge-segments-are-not-rounded large-segments-hold-one-block",
    "best-fit-wins": "first-fit worst-fit best-fit-takes-the-highest-address",
    "small-remainder-is-split-off": "remainder-of-512-stays small-blocks-are-not-split",
    "large-remainder-is-split-off-above-1-mib": "remainder-of-1-mib-is-split-off large-blocks-split-like-small-ones",
    "low-end-is-handed-out": "high-end-is-handed-out",
    "cached-path-does-not-wait": "hits-wait-for-the-device",
    "search-is-sublinear": "search-is-linear",
    "freed-memory-is-not-trusted": "zeros-may-be-stale",
    "free-neighbours-merge": "neighbours-never-merge only-whole-segments-merge one-of-two-neighbours-merges",
    "blocks-tile-their-segment": "splits-lose-a-unit free-blocks-are-hidden",
    "live-memory-does-not-overlap": "blocks-overlap-by-a-unit addresses-are-moved",
    "foreign-pointers-are-refused": "any-pointer-can-be-freed pointers-into-blocks-can-be-freed "
    "refused-frees-are-counted double-free-is-a-key-error",
    "fragmentation-shows": "holes-are-not-told",
    "figures-have-fixed-names": "a-figure-is-missing figures-are-floats",
    "allocated-counts-rounded-sizes": "allocated-counts-requests",
    "requested-counts-what-was-asked-for": "requested-counts-rounded-sizes",
    "reserved-counts-whole-segments": "reserved-counts-active-bytes device-frees-are-not-counted",
    "figures-are-ordered": "waiting-blocks-are-not-active",
    "waiting-blocks-are-active-not-allocated": "waiting-blocks-are-allocated waiting-blocks-are-inactive",
    "pools-add-up": "all-leaves-the-small-pool-out",
    "current-is-allocated-minus-freed": "freed-is-allocated",
    "peak-is-the-highest-current": "peaks-follow-current peaks-count-all-requests",
    "reset-peak-starts-from-current": "peaks-cannot-be-reset either-reset-does-both",
    "reset-accumulated-starts-from-zero": "accumulated-cannot-be-reset resetting-accumulated-resets-peaks "
    "plain-counts-survive-resets",
    "inactive-split-cannot-be-released": "whole-free-segments-are-split",
    "summary-never-fails": "no-summary-of-nothing summary-leaves-reserved-out",
    "empty-cache-releases-free-segments": "emptying-does-nothing emptying-keeps-small-segments "
    "emptying-gives-back-one-segment",
    "empty-cache-keeps-live-memory": "emptying-takes-live-memory",
    "empty-cache-is-idempotent": "emptying-nothing-raises",
    "empty-cache-frees-nothing-for-its-own-users": "emptying-resets-peaks",
    "empty-cache-waits-for-other-streams": "emptying-does-not-wait",
    "snapshot-lists-segments-by-address": "segments-come-in-reverse segments-name-no-stream free-segments-are-hidden",
    "segment-figures-are-sums-over-blocks": "active-size-is-the-whole-segment",
    "block-states-have-three-names": "snapshots-round-requests snapshots-show-waiting-as-inactive "
    "inactive-blocks-are-called-free",
    "snapshot-agrees-with-the-figures": "pools-of-active-are-swapped",
    "looking-changes-nothing": "snapshots-empty-the-cache summaries-empty-the-cache",
    "block-belongs-to-its-stream": "streams-share-free-blocks",
    "own-stream-reuses-at-once": "own-blocks-wait-for-their-stream",
    "recorded-stream-delays-reuse": "recorded-streams-are-forgotten work-after-the-free-counts "
    "recorded-streams-outlive-the-free",
    "every-recorded-stream-counts": "last-recorded-stream-counts-alone one-finished-stream-suffices",
    "finished-work-releases-at-the-next-request": "finished-work-is-seen-when-emptied",
    "own-stream-needs-no-recording": "own-stream-is-recorded-too",
    "streams-do-not-hold-each-other-up": "streams-wait-in-one-queue",
    "out-of-memory-is-an-error-of-its-own": "out-of-memory-is-a-memory-error out-of-memory-is-a-plain-runtime-error "
    "refused-requests-yield-null refusals-are-not-counted waits-count-as-misses",
    "cache-is-released-before-giving-up": "first-refusal-is-final retries-are-not-counted",
    "refused-request-leaves-all-valid": "refusals-lose-free-blocks",
    "oversize-blocks-are-released-first": "oversize-blocks-go-last oversize-blocks-go-all",
    "out-of-memory-says-how-much": "out-of-memory-says-nothing",
    "waiting-blocks-are-searched-before-giving-up": "waiting-blocks-are-not-searched",
    "absurd-request-is-out-of-memory": "absurd-requests-are-value-errors",
    "memory-fraction-is-a-limit": "limit-is-seen-too-late fraction-is-ignored fraction-limits-allocated-bytes "
    "fraction-is-exclusive",
    "memory-fraction-is-checked": "any-fraction-is-taken bad-fractions-are-type-errors",
    "configuration-is-a-list-of-pairs": "configurations-are-read-strictly",
    "bad-configuration-is-refused": "any-configuration-is-taken",
    "max-split-size-keeps-large-blocks-whole": "largest-split-is-ignored unsplit-blocks-serve-small-requests "
    "largest-split-is-inclusive",
    "rounding-of-unsplit-blocks-is-limited": "unsplit-blocks-round-without-limit rounding-limit-is-inclusive",
    "sizes-round-to-divisions-of-powers-of-two": "divisions-are-ignored divisions-are-doubled",
    "divisions-may-depend-on-the-size": "first-division-is-not-inherited last-division-is-ignored",
    "garbage-is-collected-above-a-threshold": "garbage-is-not-collected youngest-garbage-goes all-garbage-goes "
    "garbage-goes-without-a-fraction",
    "large-segments-may-have-another-size": "large-segments-have-a-fixed-size",
    "expandable-segments-grow": "segments-never-grow",
    "expandable-segments-are-never-split-for-good": "growing-segments-are-counted",
    "private-pool-keeps-to-itself": "private-pools-are-not-entered",
    "private-pool-outlives-the-cache": "private-pools-go-when-left",
    "history-tells-what-happened": "history-lacks-completed-frees history-comes-in-reverse history-rounds-sizes",
    "history-can-be-switched-off": "history-cannot-be-switched-off",
    "allocator-is-thread-safe": "threads-share-blocks",
    "devices-have-their-own-allocators": "devices-share-an-allocator",
}
PAIRS = [(mutant, slug) for slug, mutants in BROKEN.items() for mutant in mutants.split()]
# Those whose snippets need another device, time or luck.
NOT_SHOWN = {"search-is-linear", "threads-share-blocks"}
SHOWN = [PAIRS[k] for k in range(0, len(PAIRS), 7) if PAIRS[k][0] not in NOT_SHOWN]


def test_every_mutant_breaks_a_requirement_and_every_requirement_has_one() -> None:
    mutants = {m.name for m in table().values() if m.kind == "allocator" and not m.base}
    assert mutants == {mutant for mutant, _ in PAIRS}
    area = {r.slug for r in requirements.load().values() if r.area == "allocator"}
    assert area - set(BROKEN) == {"view-keeps-the-whole-block"}  # The reference's tensors on a CPU have no such cache.


@pytest.mark.parametrize(("mutant", "slug"), PAIRS)
def test_mutant_is_caught(failure_of: FailureOf, mutant: str, slug: str) -> None:
    assert failure_of(mutant, f"allocator/{slug}").message


@pytest.mark.parametrize(("mutant", "slug"), SHOWN)
def test_snippet_holds_on_the_right_backend(failure_of: FailureOf, mutant: str, slug: str) -> None:
    snippet = failure_of(mutant, f"allocator/{slug}").snippet
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"
