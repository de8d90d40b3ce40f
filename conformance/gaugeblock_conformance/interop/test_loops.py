"""Ten thousand conversions leave nothing behind."""

from __future__ import annotations

import gc
import mmap
import sys
from pathlib import Path

import numpy as np

from ..backend import Unsupported
from ..failure import NoReproducer
from ..requirement import requirement
from ..session import Session

ROUNDS = 10_000
BYTES = 16 << 20
"""Memory that may be in use afterwards beyond what was before; a leak of one array each time would be 40 times that."""


@requirement("interop/loops-over-arrays-leak-nothing")
def test_array_to_tensor_and_back(s: Session) -> None:
    array = s.bind("np.zeros((2, 3), 'float32')")
    call = s.backend.call
    before = sys.getrefcount(array)
    for _ in range(ROUNDS):
        call("numpy", call("from_numpy", array))
    gc.collect()
    _expect_same_references(s, sys.getrefcount(array) - before)
    s.expect_values(s.call("from_numpy", array), array)


@requirement("interop/loops-over-arrays-leak-nothing")
def test_fresh_arrays_of_65_kilobytes(s: Session) -> None:
    _rounds(s, 200)  # what is kept for the next time
    before = _resident()
    _rounds(s, ROUNDS)
    grown = _resident() - before
    why = NoReproducer("it takes ten thousand conversions")
    s.expect(grown < BYTES, True, f"whether less than {BYTES >> 20} MiB stay behind; {grown >> 20} MiB do", why)
    s.expect_values(s.call("from_numpy", s.bind("np.ones(2)")), [1.0, 1.0], dtype="float64")


def _rounds(s: Session, count: int) -> None:
    call = s.backend.call
    for _ in range(count):
        call("numpy", call("from_numpy", np.zeros(1 << 13)))


def _expect_same_references(s: Session, more: int) -> None:
    why = NoReproducer("it takes ten thousand conversions")
    s.expect(more, 0, "references to the array beyond those before", why)


def _resident() -> int:
    """Return the bytes of memory that this process has in use. Raises Unsupported where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        raise Unsupported("statm", "the system does not tell how much memory is in use") from None
