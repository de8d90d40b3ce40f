"""Writing what a command makes."""

from __future__ import annotations

import os
from pathlib import Path

from .problem import SnapshotProblem


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        SnapshotProblem: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except (OSError, ValueError) as error:
        beside.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise SnapshotProblem(f"{path}: cannot be written: {reason}") from error
