"""Writing what a command makes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .problem import SnapshotProblem


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        SnapshotProblem: it cannot be written.
    """
    beside = Path(f"{path}.{os.getpid()}.part")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "Is a directory")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            beside.unlink()
        reason = getattr(error, "strerror", None) or str(error)
        raise SnapshotProblem(f"{path}: cannot be written: {reason}") from error
