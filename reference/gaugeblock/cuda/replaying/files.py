"""Writing what a command makes."""

from __future__ import annotations

from pathlib import Path

from gaugeblock_spec.atomic_file import output_file

from .problem import SnapshotProblem


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        SnapshotProblem: it cannot be written.
    """
    try:
        with output_file(path) as file:
            file.write(text.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SnapshotProblem(f"{path}: cannot be written: {reason}") from error
