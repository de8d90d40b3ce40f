"""Pictures of memory: what is summed up, what is drawn, and that a page holds nothing but itself."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from gaugeblock_tools.memory_viz import memory_map, memory_over_time
from gaugeblock_tools.memory_viz.memory_picture import picture_of_replay, picture_of_snapshot
from gaugeblock_tools.problem import ConfigProblem
from gaugeblock_tools.trace_replay import workloads
from gaugeblock_tools.trace_replay.snapshot import Block, Frame, Segment, Snapshot, program_part
from gaugeblock_tools.trace_replay.trace import Trace
from gaugeblock_tools.trace_replay.trace_file import read, read_trace

DATA = Path(__file__).parent / "data" / "allocator"
MIB = 1 << 20


def segment(*blocks: tuple[int, str], address: int = 0, stream: int = 0, kind: str = "large") -> Segment:
    made, at = [], address
    for size, state in blocks:
        made.append(Block(at, size, size, state, ()))
        at += size
    return Segment(0, address, at - address, stream, kind, (0, 0), False, tuple(made), ())


def test_columns_keep_the_peak_of_their_events() -> None:
    trace = Trace()
    first = trace.alloc(10)
    trace.free(trace.alloc(1000))
    trace.free(first)
    made = memory_over_time.memory_over_time(trace, [(0, 64), (1, 2048), (3, 32)], columns=2)
    assert [(one.first, one.last, one.at, one.used, one.waiting, one.reserved) for one in made.columns] == [
        (0, 1, 1, 1010, 0, 2048),
        (2, 3, 2, 10, 0, 2048),
    ]
    assert (made.peak, made.peak_event) == (1010, 1)
    assert [(one.size, one.event) for one in made.largest] == [(1000, 1), (10, 0)]
    assert [(band.label, band.peak, band.count) for band in made.bands] == [
        ("512 B to 1.00 KiB", 1000, 1),
        ("8 B to 16 B", 10, 1),
    ]


def test_sites_by_stack_and_the_rest_together() -> None:
    trace = Trace()
    for place in range(12):
        trace.alloc(111 - place, 0, (Frame("/x/model.py", place, "layer"),))
    made = memory_over_time.memory_over_time(trace, [])
    assert len(made.bands) == 9
    assert made.bands[0].label == "layer (model.py:0)"
    assert made.bands[8].label == "4 other sites"
    assert made.columns[-1].parts == (111, 110, 109, 108, 107, 106, 105, 104, 406)
    assert made.columns[-1].reserved is None
    assert [band.peak for band in made.bands] == [111, 110, 109, 108, 107, 106, 105, 104, 406]


def test_the_sites_that_hold_most_for_longest_have_a_band() -> None:
    trace = Trace()
    for place in range(8):
        trace.alloc(10, 0, (Frame("model.py", place, "weights"),))
    trace.free(trace.alloc(1000, 0, (Frame("model.py", 9, "short"),)))
    for _ in range(200):
        trace.empty_cache()
    trace.attempt(5)
    made = memory_over_time.memory_over_time(trace, [])
    assert [band.label.partition(" ")[0] for band in made.bands] == ["weights"] * 8 + ["1"]
    assert made.failed == [210]


def test_frames_of_libraries_are_left_out() -> None:
    inner = (
        Frame("??", 0, "c10::cuda::CUDACachingAllocator::malloc(void**, int)"),
        Frame("/usr/lib/python3/site-packages/torch/nn/functional.py", 2000, "linear"),
    )
    own = (Frame("/home/u/model.py", 7, "forward"), Frame("/usr/lib/site-packages/torch/_call.py", 1, "call"))
    assert program_part(inner + own) == own
    assert program_part(inner) == inner
    assert program_part(()) == ()
    trace = Trace()
    trace.alloc(100, 0, inner + own)
    trace.alloc(100, 0, inner[1:] + own)
    (band,) = memory_over_time.memory_over_time(trace, []).bands
    assert (band.label, band.peak, band.stack) == ("forward (model.py:7)", 200, own)


def test_a_freed_block_waits_for_another_stream() -> None:
    trace = Trace()
    block = trace.alloc(100, 1)
    trace.record_stream(block, 0)
    trace.free(block)
    trace.completed(block)
    made = memory_over_time.memory_over_time(trace, [])
    assert [(one.used, one.waiting) for one in made.columns] == [(100, 0), (100, 0), (0, 100), (0, 0)]


def test_segments_in_rows() -> None:
    active, free, pending = "active_allocated", "inactive", "active_pending_free"
    made = memory_map.memory_map([
        segment((3 * MIB, active), (1 * MIB, pending)),
        segment((2 * MIB, free), address=1 << 30, stream=7),
        segment((MIB, active), (MIB, free), address=1 << 31, kind="small"),
    ])  # fmt: skip
    assert made.row_bytes == 2 * MIB
    assert [group.title for group in made.groups] == [
        "stream 0 · large · 1 segment · 4.00 MiB reserved, 75% in use",
        "stream 0 · small · 1 segment · 2.00 MiB reserved, 50% in use",
        "stream 7 · large · 1 segment · 2.00 MiB reserved, 0% in use",
    ]
    assert [(run.row, run.left, run.right, run.state) for run in made.groups[0].runs] == [
        (0, 0, 1000, active),
        (1, 0, 500, active),
        (1, 500, 1000, pending),
    ]
    assert made.groups[0].bars == [(0, 0, 1000), (1, 0, 1000)]


def test_small_blocks_are_drawn_together() -> None:
    blocks = [(512, "active_allocated"), (512, "inactive")] * 2000
    made = memory_map.memory_map([segment(*blocks, (62 * MIB, "inactive"))])
    runs = made.groups[0].runs
    assert sum(run.state == "mixed" for run in runs) < 1000
    assert runs[0].text.splitlines() == [
        "13 blocks of 6.50 KiB: 7 in use (3.50 KiB), 6 free (3.00 KiB)",
        "segment of 64.0 MiB at 0x0",
    ]


class _Reader(HTMLParser):
    """Checks that elements close in order, and gathers what is there."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_needs_nothing_else() -> None:
    snapshot, trace = read(DATA / "torch_ring_buffer.pickle")
    assert snapshot is not None
    page = picture_of_snapshot(snapshot, trace, "ring.pickle")
    reader = parsed(page)
    assert not re.search(r"https?://|url\((?!#hatch)|@import|<link|<img|<iframe", page)
    assert {name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "href")} == set()
    assert "default-src 'none'" in dict(reader.attributes)["content"] or "default-src 'none'" in page
    assert reader.seen["svg"] == 3
    assert [value for name, value in reader.attributes if name == "tabindex"] == ["0"] * 3
    assert "prefers-color-scheme:dark" in page
    text = "".join(reader.text)
    assert "Memory: ring.pickle" in text
    assert "max_split_size_mb:128" in text
    assert "forward (/home/u/model.py:40) ← step (/home/u/train.py:61)" in text


def test_strings_of_a_file_are_text() -> None:
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    trace = Trace()
    trace.alloc(5, 0, (Frame(hostile, 1, hostile),))
    block = Block(0, 512, 5, "active_allocated", (Frame(hostile, 1, hostile),))
    snapshot = Snapshot(
        [Segment(0, 0, 512, 0, "small", (0, 0), False, (block,), ())], [], {"PYTORCH_CUDA_ALLOC_CONF": hostile}
    )
    trace.notes.append(hostile)
    reader = parsed(picture_of_snapshot(snapshot, trace, hostile))
    assert reader.seen["script"] == 1
    assert "img" not in reader.seen
    assert not any(name.startswith("on") for name, _ in reader.attributes)


def test_the_style_and_script_are_the_only_ones() -> None:
    page = picture_of_replay(read_trace(DATA / "several_streams.json"), name="t")
    policy = re.search(r"script-src '(sha256-[^']+)'", page)
    assert policy is not None
    import base64
    import hashlib

    script = page[page.index("<script>") + 8 : page.index("</script>")]
    assert policy[1] == "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_a_replay_is_drawn_under_its_configuration() -> None:
    trace = read_trace(DATA / "fragments.json")
    page = picture_of_replay(trace, "expandable_segments:True", 8 << 30, name="fragments")
    text = "".join(parsed(page).text)
    assert "expandable_segments:True" in text and "8.00 GiB" in text and "when most was reserved" in text
    with pytest.raises(ConfigProblem, match="expandable_segments"):
        picture_of_replay(trace, "expandable_segments:yes")


def test_nothing_to_draw() -> None:
    assert "There are no segments" in picture_of_snapshot(Snapshot([], []), Trace(), "empty")
    empty = Segment(0, 0, 0, 0, "large", (0, 0), False, (), ())
    parsed(picture_of_snapshot(Snapshot([empty], []), Trace(), "empty"))


def test_many_events_make_a_small_page() -> None:
    trace = workloads.fragments(events=60_000, live=1500)
    started = time.perf_counter()
    page = picture_of_replay(trace, name="many")
    assert len(page) < 3_000_000
    assert time.perf_counter() - started < 20
