"""The part of a recorded stack that a program's author knows.

A stack begins, innermost first, with the frames of the library that asked for memory: C++ functions of PyTorch, its
Python modules, ours. They say little, and are the same everywhere.
"""

from __future__ import annotations

from .snapshot import Frame, Stack

LIBRARIES = ("/torch/", "/gaugeblock/")
"""Folders whose frames are left out at the inner end."""


def program_part(stack: Stack) -> Stack:
    """A stack from the innermost frame on that is Python code outside the libraries; the whole stack without one."""
    for place, frame in enumerate(stack):
        if frame.file.endswith(".py") and not any(folder in frame.file.replace("\\", "/") for folder in LIBRARIES):
            return stack[place:]
    return stack


def site(frame: Frame) -> str:
    """A frame as words, its file without folders."""
    return f"{frame.name} ({frame.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame.line})"


def line(frame: Frame) -> str:
    """A frame as words, with its whole file."""
    return f"{frame.name} ({frame.file}:{frame.line})"
