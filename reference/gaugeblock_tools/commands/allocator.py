"""``gaugeblock allocator``: replay, draw and sum up what a caching allocator recorded."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..trace_replay.trace import Trace

FITS, FAILS = 0, 1
"""Exit statuses: every request was served; some were not. Bad input ends with 2."""


class Allocator:
    """The subcommand; its modules are imported when one of its words is used."""

    help = "replay allocation traces under configurations, draw and sum up memory snapshots"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        words = parser.add_subparsers(metavar="WORD", required=True, parser_class=type(parser))
        one = words.add_parser(
            "replay",
            help="replay a trace on a simulated device",
            description="Replay a trace or snapshot (ours, or a pickle of PyTorch's) on the caching allocator. "
            "Ends with 1 when a request is not served.",
        )
        one.add_argument("trace", metavar="TRACE", help="a trace, or a snapshot whose entries were recorded")
        _options(one)
        one.add_argument("--sweep", action="store_true", help="try a table of configurations and rank them")
        one.add_argument("--fit", action="store_true", help="search the smallest device that serves the trace, too")
        one.add_argument("--format", choices=("text", "json"), default="text", help="of the report (text)")
        one.add_argument("--out", type=Path, metavar="FILE", help="write the report there instead of printing it")
        one.set_defaults(word=_replay)
        one = words.add_parser(
            "picture",
            help="draw memory over time, segments and blocks as a page",
            description="Write a self-contained page: memory over time by the stacks that allocated it, and segments "
            "with their blocks. With --config, or for a trace, that is what a replay came to.",
        )
        one.add_argument("snapshot", metavar="SNAPSHOT", help="a snapshot or a trace")
        _options(one)
        one.add_argument("--out", type=Path, metavar="FILE.html", required=True, help="the page")
        one.set_defaults(word=_picture)
        one = words.add_parser("show", help="sum up a snapshot", description="Sum up the segments of a snapshot.")
        one.add_argument("snapshot", metavar="SNAPSHOT", help="a snapshot, as JSON or as a pickle")
        one.add_argument("--format", choices=("text", "json"), default="text", help="of the summary (text)")
        one.set_defaults(word=_show)

    def run(self, args: argparse.Namespace) -> int:
        word: Callable[[argparse.Namespace], int] = args.word
        return word(args)


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--config", metavar="TEXT", help="the text of PYTORCH_CUDA_ALLOC_CONF (the defaults)")
    add("--device-memory", type=_size, metavar="SIZE", help="of the device, such as 24GiB (without limit)")
    add("--device", type=_index, metavar="N", help="of a snapshot of several devices (the one with the most entries)")
    add("--mode", choices=("fixed", "faithful"), default="fixed", help="faithful repeats a known defect (fixed)")


def _size(text: str) -> int:
    from ..trace_replay.units import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _index(text: str) -> int:
    if not text.isdecimal() or len(text) > 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not the index of a device, from 0")
    return int(text)


def _replay(args: argparse.Namespace) -> int:
    from ..problem import SnapshotProblem
    from ..trace_replay import report
    from ..trace_replay.replay import replay
    from ..trace_replay.replay_device import UNLIMITED
    from ..trace_replay.smallest_device import smallest_device
    from ..trace_replay.sweep import sweep
    from ..trace_replay.trace_file import read_trace

    if args.sweep and args.config is not None:
        raise SnapshotProblem("--sweep tries its own configurations; --config is allowed without it")
    trace = read_trace(args.trace, args.device)
    memory = _memory(args, trace)
    if args.sweep:
        result = sweep(trace, memory, args.mode, fit=args.fit, progress=lambda row: _progress(row.config or "defaults"))
        _emit(args, report.sweep_text(result), report.sweep_value(result))
        return FITS if result.best.fits else FAILS
    one = replay(trace, args.config or "", memory, args.mode)
    smallest = None
    if args.fit:
        smallest = smallest_device(trace, args.config or "", args.mode) or UNLIMITED
    _emit(args, report.replay_text(one, smallest), report.replay_value(one, smallest))
    _progress(f"{one.events} events in {one.seconds:.2f} s, {one.events_per_second:,.0f} a second")
    return FITS if one.fits else FAILS


def _picture(args: argparse.Namespace) -> int:
    from ..memory_viz.memory_picture import picture_of_replay, picture_of_snapshot
    from ..trace_replay.trace_file import read

    snapshot, trace = read(args.snapshot, args.device)
    name = Path(args.snapshot).name
    if snapshot is not None and args.config is None:
        page = picture_of_snapshot(snapshot, trace, name)
    else:
        page = picture_of_replay(trace, args.config or "", _memory(args, trace), args.mode, name)
    _write(args.out, page)
    _progress(f"written: {args.out}")
    return FITS


def _show(args: argparse.Namespace) -> int:
    from ..trace_replay import report
    from ..trace_replay.snapshot_file import read_snapshot

    snapshot = read_snapshot(args.snapshot)
    if args.format == "json":
        print(json.dumps(report.show_value(snapshot), indent=2))
    else:
        sys.stdout.write(report.show_text(snapshot))
    return FITS


def _memory(args: argparse.Namespace, trace: Trace) -> int | None:
    """The device's size: as stated, else as the trace has it."""
    stated: int | None = args.device_memory
    return trace.device_memory if stated is None else stated


def _emit(args: argparse.Namespace, text: str, value: object) -> None:
    made = text if args.format == "text" else json.dumps(value, indent=2) + "\n"
    if args.out is None:
        sys.stdout.write(made)
    else:
        _write(args.out, made)
        _progress(f"written: {args.out}")


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all; raise SnapshotProblem when it cannot be written."""
    from gaugeblock_spec.atomic_file import output_file

    from ..problem import SnapshotProblem

    try:
        with output_file(path) as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SnapshotProblem(f"{path}: cannot be written: {reason}") from error


def _progress(text: str) -> None:
    print(text, file=sys.stderr)


command = Allocator()
