"""Read damaged files one after the other and print the outcomes: the program that `test_corrupt_files` runs.

Each line of the standard input is a job as JSON: the kind of the file, its path and the path of the undamaged file. The
standard output has a line when a job begins, and one with its outcome: "refused", "read", or the fault. A signal ends
the process if a call hangs, and memory is limited.
"""

from __future__ import annotations

import faulthandler
import json
import pickle
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gaugeblock as gb
from gaugeblock.kernels.object_cache import CacheFolder
from gaugeblock_tools.memory_viz.memory_picture import picture_of_replay, picture_of_snapshot
from gaugeblock_tools.problem import SnapshotProblem
from gaugeblock_tools.trace_replay import report
from gaugeblock_tools.trace_replay.trace_file import read

SECONDS = 30
ADDRESSES = 4 << 30
GROWTH = 128 << 10
"""KiB by which reading a file may increase the memory of the process."""


def values(thing: Any) -> Any:
    """Return loaded objects in a comparable form; reads every element of every tensor."""
    if isinstance(thing, gb.Tensor):
        return [str(thing.dtype), list(thing.shape), thing.stride(), repr(thing), thing.clone().tolist()]
    if isinstance(thing, dict):
        return [[values(key), values(value)] for key, value in thing.items()]
    if isinstance(thing, (list, tuple)):
        return [values(one) for one in thing]
    return repr(thing)


def cached(path: Path, original: Path) -> str:
    """Read a file of the cache; it must be a miss, or give the content that was written."""
    content = CacheFolder(path.parent).read(path.name)
    if content is None:
        return "refused"
    return "read" if content == CacheFolder(original.parent).read(original.name) else "other content was read"


def saved(path: Path, original: Path) -> str:
    """Load a file of `gb.save`; since it has checksums, it must raise a clear error or give the saved values."""
    try:
        found = gb.load(path)
    except (RuntimeError, pickle.UnpicklingError) as error:
        return "refused" if str(error) else "an error without a message"
    return "read" if values(found) == values(gb.load(original)) else "other values were loaded"


def recorded(path: Path, original: Path) -> str:
    """Read a snapshot or trace without checksum; it must raise a clear error, or give one that replays and draws."""
    try:
        snapshot, trace = read(path)
    except SnapshotProblem as problem:
        return "refused" if len(str(problem)) < 1000 else "a long message"
    if snapshot is not None:
        report.show_text(snapshot)
        picture_of_snapshot(snapshot, trace, "damaged")
    picture_of_replay(trace, device_memory=8 << 30, name="damaged")
    return "read"


def pickled(path: Path, original: Path) -> str:
    """Unpickle tensors, which pickle does not protect; it may raise any error, or give readable tensors."""
    try:
        found = pickle.loads(path.read_bytes())
    except Exception:
        return "refused"
    values(found)
    return "read"


KINDS: dict[str, Callable[[Path, Path], str]] = {
    "objects": cached,
    "rows": cached,
    "derivatives": cached,
    "saved": saved,
    "snapshots": recorded,
    "traces": recorded,
    "pickles": pickled,
}


def main() -> None:
    """Run the jobs of the standard input."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(5000)
    gb.ones(3).clone().tolist()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    for line in sys.stdin:
        kind, path, original = json.loads(line)
        print(json.dumps({"begun": path}), flush=True)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            outcome = KINDS[kind](Path(path), Path(original))
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"[:300]
        faulthandler.cancel_dump_traceback_later()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if grown > GROWTH and kind != "pickles":
            outcome = f"took {grown >> 10} MiB ({outcome})"
        print(json.dumps({"outcome": outcome}), flush=True)


if __name__ == "__main__":
    main()
