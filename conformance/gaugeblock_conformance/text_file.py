"""Reading of files that a user names: only regular files of a bounded size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .problem import UsageProblem

TEXT_LIMIT = 16 << 20
"""Largest size in bytes of a hand-written file."""


def read_bytes(path: Path, limit: int = TEXT_LIMIT) -> bytes:
    """Return the content of the file at ``path``.

    Raises:
        OSError: the file cannot be opened.
        UsageProblem: the path is not a regular file, or the file is longer than ``limit`` bytes.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise UsageProblem(f"{path}: not a regular file")
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise UsageProblem(f"{path}: more than {limit >> 20} MiB, which is too long")
    return data
