"""The roof of a backend's own device where that is not the host: copies on it, and what launching a kernel costs."""

from __future__ import annotations

import statistics
from typing import Any

from ..cases import OPERATORS, Case
from ..work import bytes_moved
from .rounds import take_turns
from .seat import Seat
from .task import OperatorTask

SECONDS = 0.1
SIZES = (100_000, 10_000_000)
_COPY = next(row for row in OPERATORS if row.name == "copy")


def device_roof(seat: Seat) -> dict[str, Any] | None:
    """Copies (clones) by size, and the seconds of a clone of one element; None for a backend of the host.

    The copies are the backend's own, for nothing else of the device can be had through the protocol.
    """
    about = seat.describe()
    if about["device"].partition(":")[0] in ("cpu", "meta"):
        return None
    rows = []
    launch = _seconds(seat, 1)
    for size in SIZES:
        seconds = _seconds(seat, size)
        if seconds is not None:
            moved = bytes_moved(Case(_COPY, "contiguous", size))
            rows.append({"moved_bytes": moved, "seconds": seconds, "bytes_per_second": moved / seconds})
    return {"backend": seat.label, "device": about["device"], "copy": rows, "launch_seconds": launch}


def _seconds(seat: Seat, size: int) -> float | None:
    if seat.prepare(OperatorTask("roof", Case(_COPY, "contiguous", size))).status != "measured":
        return None
    (samples,), _ = take_turns([seat], SECONDS)
    seat.release()
    return statistics.median(samples) if isinstance(samples, list) else None
