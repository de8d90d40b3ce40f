"""Replays: what the allocator's rules make of small traces, worked out by hand, and how configurations are ranked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_tools.problem import ConfigProblem
from gaugeblock_tools.trace_replay import report, workloads
from gaugeblock_tools.trace_replay.fragmentation import Fragmentation
from gaugeblock_tools.trace_replay.replay import replay, served
from gaugeblock_tools.trace_replay.smallest_device import smallest_device
from gaugeblock_tools.trace_replay.sweep import CONFIGURATIONS, Row, recommendation, sweep
from gaugeblock_tools.trace_replay.trace import Trace
from gaugeblock_tools.trace_replay.trace_file import read_trace
from gaugeblock_tools.trace_replay.units import parse_size, size_text

DATA = Path(__file__).parent / "data" / "allocator"
MIB = 1 << 20


def holes() -> Trace:
    """Four blocks of 5 MiB fill a segment; two that do not touch are freed; 9 MiB need another segment."""
    trace = Trace()
    blocks = [trace.alloc(5 * MIB) for _ in range(4)]
    trace.free(blocks[0])
    trace.free(blocks[2])
    trace.alloc(9 * MIB)
    return trace


def test_small_and_large_segments() -> None:
    trace = Trace()
    trace.alloc(1000)
    trace.alloc(4 * MIB)
    one = replay(trace)
    assert (one.peak_requested, one.peak_allocated, one.peak_reserved) == (4_195_304, 4_195_328, 22 * MIB)
    assert (one.device_mallocs, one.device_frees, one.retries, one.out_of_memory) == (2, 0, 0, 0)
    assert one.fits and one.peak_event == 1


def test_fragmentation_at_the_peak() -> None:
    one = replay(holes())
    assert one.peak_reserved == 40 * MIB
    assert one.peak_event == 6
    assert one.at_peak == Fragmentation(
        reserved=40 * MIB,
        allocated=19 * MIB,
        requested=19 * MIB,
        free=21 * MIB,
        largest_free=11 * MIB,
        free_blocks=3,
        stuck=21 * MIB,
    )
    assert one.at_peak.idle == 0.525
    assert one.at_peak.scattered == 1 - 11 / 21
    assert one.at_peak.rounded == 0


def test_the_state_is_that_of_the_peak_and_not_of_the_end() -> None:
    trace = holes()
    for block in (1, 3, 4):
        trace.free(block)
    trace.empty_cache()
    one = replay(trace)
    assert (one.peak_event, one.at_peak.free, one.device_frees) == (6, 21 * MIB, 2)


def test_a_retry_gives_cached_segments_back() -> None:
    trace = Trace()
    trace.free(trace.alloc(4 * MIB))
    trace.alloc(24 * MIB)
    one = replay(trace, device_memory=30 * MIB)
    assert (one.retries, one.device_frees, one.out_of_memory, one.peak_reserved) == (1, 1, 0, 24 * MIB)
    assert replay(trace).retries == 0


def test_failures_tell_what_was_free() -> None:
    trace = holes()
    one = replay(trace, device_memory=30 * MIB)
    assert one.out_of_memory == 1 and not one.fits
    assert one.first is not None
    assert (one.first.event, one.first.size) == (6, 9 * MIB)
    assert (one.first.at.free, one.first.at.largest_free, one.first.at.free_blocks) == (10 * MIB, 5 * MIB, 2)
    assert report.replay_text(one).splitlines()[-4:] == [
        "first failure          event 6, 9.00 MiB asked for",
        "                       10.0 MiB in use",
        "                       10.0 MiB left on the device, of which 20.0 MiB were wanted",
        "                       10.0 MiB free, but in pieces that are too small: 2 blocks, the largest of 5.00 MiB",
    ]


def test_failures_tell_whose_the_free_memory_is() -> None:
    trace = Trace()
    kept = [trace.alloc(12 * MIB, stream) for stream in (0, 0, 7)]
    pieces = [trace.alloc(size * MIB, stream, pool=pool) for size, stream, pool in (
        (4, 0, (0, 0)), (5, 0, (0, 0)), (4, 7, (0, 0)), (5, 7, (0, 0)), (4, 0, (0, 1)), (5, 0, (0, 1)), (1, 0, (0, 0))
    )]  # fmt: skip
    for block in pieces[::2]:
        trace.free(block)
    trace.alloc(64 * MIB)
    first = replay(trace, device_memory=120 * MIB).first
    assert first is not None
    assert (first.event, first.rounded, first.segment, first.device_left) == (14, 64 * MIB, 64 * MIB, 24 * MIB)
    assert first.too_small == (15 * MIB, 2, 11 * MIB)
    assert first.other_streams == (15 * MIB, 2, 11 * MIB)
    assert first.other_pools == (15 * MIB, 2, 11 * MIB)
    assert first.missed == (0, 0, 0)
    assert len(kept) == 3 and len(first.lines()) == 5


def test_a_failure_as_json() -> None:
    value = report.replay_value(replay(holes(), device_memory=30 * MIB))
    assert json.loads(json.dumps(value)) == value
    assert value["first"]["too_small"] == {"total": 10 * MIB, "blocks": 2, "largest": 5 * MIB}
    assert value["first"]["at"]["scattered"] == 0.5


def test_failures_tell_what_pytorch_misses() -> None:
    trace = Trace()
    first = trace.alloc(9 * MIB)
    trace.alloc(9 * MIB)
    trace.record_stream(first, 1)
    trace.free(first)
    trace.alloc(9 * MIB)
    assert replay(trace, device_memory=20 * MIB).fits
    failed = replay(trace, device_memory=20 * MIB, mode="faithful").first
    assert failed is not None
    assert failed.missed == (9 * MIB, 1, 9 * MIB)
    assert failed.too_small == (2 * MIB, 1, 2 * MIB)
    assert failed.lines()[3] == (
        "9.00 MiB free and large enough, but not looked at again after waiting for events: "
        "1 block, the largest of 9.00 MiB"
    )


def test_the_free_of_a_failed_request_is_left_out() -> None:
    trace = Trace()
    trace.free(trace.alloc(64 * MIB))
    trace.alloc(12 * MIB)
    one = replay(trace, device_memory=32 * MIB)
    assert (one.out_of_memory, one.peak_allocated) == (1, 12 * MIB)


def waiting() -> Trace:
    trace = Trace()
    first = trace.alloc(12 * MIB)
    trace.record_stream(first, 1)
    trace.free(first)
    trace.alloc(12 * MIB)
    trace.completed(first)
    trace.alloc(12 * MIB)
    return trace


def test_a_block_that_another_stream_uses_waits() -> None:
    one = replay(waiting())
    assert (one.device_mallocs, one.peak_reserved) == (2, 24 * MIB)
    assert (one.peak_allocated, one.peak_active) == (24 * MIB, 24 * MIB)


def test_it_waits_for_ever_if_nothing_completes() -> None:
    trace = Trace()
    first = trace.alloc(12 * MIB)
    trace.record_stream(first, 1)
    trace.free(first)
    for _ in range(3):
        trace.free(trace.alloc(12 * MIB))
    assert replay(trace).device_mallocs == 2


def test_a_synchronising_retry_ends_the_wait() -> None:
    one = replay(waiting(), device_memory=14 * MIB)
    assert one.retries >= 1
    assert one.out_of_memory == 1


def test_streams_do_not_share_blocks() -> None:
    trace = Trace()
    trace.free(trace.alloc(12 * MIB, 5))
    trace.alloc(12 * MIB, 6)
    assert replay(trace).device_mallocs == 2


def test_private_pools_do_not_share_blocks() -> None:
    trace = Trace()
    trace.free(trace.alloc(12 * MIB, pool=(0, 3)))
    trace.alloc(12 * MIB)
    trace.alloc(12 * MIB, pool=(0, 3))
    assert replay(trace).device_mallocs == 2


def test_requests_that_failed_when_recorded_are_tried_again() -> None:
    trace = Trace()
    trace.attempt(80 * MIB)
    one = replay(trace)
    assert (one.attempts, one.attempts_fit, one.out_of_memory, one.peak_reserved) == (1, 1, 0, 80 * MIB)
    one = replay(trace, device_memory=64 * MIB)
    assert (one.attempts, one.attempts_fit, one.out_of_memory) == (1, 0, 1)


def test_expandable_segments_reuse_what_fragments_leave() -> None:
    trace = Trace()
    for size in range(20, 200, 6):
        trace.free(trace.alloc(size * MIB))
    plain, growing = replay(trace), replay(trace, "expandable_segments:True")
    assert plain.peak_reserved == sum(range(20, 200, 6)) * MIB
    assert growing.peak_reserved == 200 * MIB


def test_a_trace_of_pytorch_is_replayed() -> None:
    one = replay(read_trace(DATA / "torch_ring_buffer.pickle"))
    assert (one.attempts, one.attempts_fit) == (1, 1)
    assert one.notes
    one = replay(read_trace(DATA / "torch_ring_buffer.pickle"), device_memory=8 << 30)
    assert one.first is not None and one.first.size == 80 << 30


def test_a_wrong_configuration_is_named() -> None:
    with pytest.raises(ConfigProblem, match="max_split_size_mb"):
        replay(holes(), "max_split_size_mb:5")
    with pytest.raises(ConfigProblem):
        replay(holes(), "nothing:1")


def test_replays_are_repeatable() -> None:
    trace = workloads.several_streams(steps=10)
    first, second = (report.replay_value(replay(trace, "roundup_power2_divisions:8")) for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first)) == first


def test_growing_sequences_want_growing_segments() -> None:
    result = sweep(workloads.training_loop(steps=20))
    assert result.best.config.startswith("expandable_segments:True")
    assert result.best.peak_reserved < result.default.peak_reserved
    line, words = recommendation(result)
    assert line == f"PYTORCH_CUDA_ALLOC_CONF={result.best.config}"
    assert words.startswith(f"the reserved peak falls from {size_text(result.default.peak_reserved)} to ")
    assert len(result.left_out) == 3
    assert len(result.ranked) == len(CONFIGURATIONS) - 3
    peaks = [one.peak_reserved for one in result.ranked]
    assert min(peaks) * 1.01 >= peaks[0]


def test_defaults_are_kept_where_nothing_is_gained() -> None:
    trace = Trace()
    for _ in range(10):
        trace.free(trace.alloc(12 * MIB))
    result = sweep(trace, 16 * MIB)
    assert result.default.out_of_memory == 0
    assert recommendation(result) == [
        "keep the defaults: no configuration of the table reserves clearly less than 12.0 MiB"
    ]


def test_a_configuration_that_fits_is_recommended() -> None:
    trace = Trace()
    trace.free(trace.alloc(100 * MIB))
    trace.alloc(30 * MIB)
    trace.alloc(90 * MIB)
    result = sweep(trace, 150 * MIB, rows=[Row("expandable_segments:True", "growing")])
    assert [(one.config, one.out_of_memory, one.peak_reserved) for one in result.ranked] == [
        ("expandable_segments:True", 0, 120 * MIB),
        ("", 1, 100 * MIB),
    ]
    assert recommendation(result) == [
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "all requests are served on this device, against 1 failure with the defaults (growing)",
    ]
    assert report.sweep_text(result).splitlines()[:3] == [
        "configuration             peak reserved  idle  scattered  mallocs  retries  failed",
        "expandable_segments:True        120 MiB  0.0%       0.0%        2        0       0",
        "defaults                        100 MiB  0.0%       0.0%        1        1       1",
    ]


def test_the_smallest_device() -> None:
    trace = Trace()
    trace.free(trace.alloc(100 * MIB))
    trace.alloc(30 * MIB)
    trace.alloc(90 * MIB)
    assert smallest_device(trace, "expandable_segments:True") == 120 * MIB
    assert smallest_device(trace) == 190 * MIB
    assert served(trace, "", 190 * MIB) and not served(trace, "", 188 * MIB)
    trace.attempt(1 << 60)
    assert smallest_device(trace) is None
    assert smallest_device(Trace()) == 2 * MIB


def test_a_sweep_by_the_smallest_device() -> None:
    trace = workloads.training_loop(steps=12, layers=4)
    result = sweep(trace, rows=CONFIGURATIONS[:2], fit=True)
    need = result.smallest
    assert need["expandable_segments:True"] < need[""] <= result.default.peak_reserved
    assert recommendation(result)[1].startswith("the smallest device that serves the trace falls from ")
    assert report.sweep_text(result).splitlines()[0].endswith("failed  fits in")
    assert report.sweep_value(result)["ranked"][0]["smallest_device"] == need["expandable_segments:True"]


def test_every_configuration_of_the_table_is_one() -> None:
    for row in CONFIGURATIONS:
        assert replay(holes(), row.config, 1 << 30).out_of_memory == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("24GiB", 24 << 30), ("24g", 24 << 30), ("512 MiB", 512 << 20), ("1.5GiB", 3 << 29), ("25769803776", 24 << 30)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "24GB", "-1GiB", "1KiB", "1e9", "9" * 17, "nan", "1.5.2GiB", "2048TiB"])
def test_wrong_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size from 2MiB to 1024TiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1000, "1000 B"), (1024, "1.00 KiB"), (12 * MIB, "12.0 MiB"), (600 * MIB, "600 MiB")],
)
def test_size_texts(size: int, text: str) -> None:
    assert size_text(size) == text


def test_the_guide_has_these_figures() -> None:
    guide = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    trace = workloads.training_loop()
    for config in ("expandable_segments:True", "max_split_size_mb:64", "large_segment_size_mb:128", ""):
        one, fits = replay(trace, config), smallest_device(trace, config)
        assert fits is not None
        name = f"`{config}`" if config else "defaults"
        line = f"| {name} | {size_text(one.peak_reserved)} | {one.at_peak.idle:.0%} | {size_text(fits)} |"
        assert line in guide, line
    assert f"never has more than {size_text(replay(trace).peak_allocated)} in use" in guide
