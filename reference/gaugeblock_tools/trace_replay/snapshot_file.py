"""Files of snapshots: PyTorch's pickles and JSON, told apart by their first bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..problem import SnapshotProblem
from .pickle_reader import loads
from .snapshot import Snapshot
from .snapshot_shape import checked

FOREIGN = {
    b"PK\x03\x04": "a zip archive, as torch.save writes; take the file that torch.cuda.memory._dump_snapshot writes",
    b"\x1f\x8b": "compressed by gzip; unpack it first",
    b"<!DO": "HTML; take the snapshot that the page was made of",
    b"<htm": "HTML; take the snapshot that the page was made of",
}


def read_value(path: str | Path) -> Any:
    """The plain value in a pickle or JSON file, not yet held against any shape.

    Raises:
        SnapshotProblem: the file cannot be read, is empty, cut off or malformed, or a pickle of more than plain data.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SnapshotProblem(f"{path}: cannot be read: {reason}") from error
    except MemoryError as error:
        raise SnapshotProblem(f"{path}: does not fit into memory") from error
    if not data.strip():
        raise SnapshotProblem(f"{path}: is empty; a snapshot or trace is allowed")
    for start, what in FOREIGN.items():
        if data.startswith(start):
            raise SnapshotProblem(f"{path}: is {what}")
    try:
        return _json(data) if data.lstrip()[:1] in (b"{", b"[") else loads(data)
    except SnapshotProblem as problem:
        raise SnapshotProblem(f"{path}: {problem}") from problem
    except MemoryError as error:
        raise SnapshotProblem(f"{path}: does not fit into memory") from error


def read_snapshot(path: str | Path) -> Snapshot:
    """The snapshot in a pickle or JSON file.

    Raises:
        SnapshotProblem: as `read_value`, or a field does not have the shape of a snapshot's.
    """
    value = read_value(path)
    try:
        return checked(value)
    except SnapshotProblem as problem:
        raise SnapshotProblem(f"{path}: {problem}") from problem


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise SnapshotProblem(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise SnapshotProblem(f"not JSON: byte {error.start} is not UTF-8") from error
    except RecursionError as error:
        raise SnapshotProblem("not a snapshot: nested too deeply") from error
    except ValueError as error:
        raise SnapshotProblem(f"not JSON: {error}") from error
