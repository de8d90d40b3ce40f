"""The smallest device on which a trace runs. It tells what a configuration is worth better than what an unlimited
device reserves, since an allocator whose device is full gives its cache back."""

from __future__ import annotations

from .replay import replay, served
from .replay_device import UNLIMITED
from .trace import Trace

STEP = 2 << 20
CLOSENESS = 0.01
"""Share of the size to which it is searched."""


def smallest_device(trace: Trace, config: str = "", mode: str = "fixed") -> int | None:
    """Bytes of a device that serves every request of the trace, where one smaller by 1% (or by 2 MiB) does not;
    None if a request is too large for any device.

    It is searched by halves between what is in use at the peak and what an unlimited device reserves; should a trace
    fit on some device and not on all larger ones, it is one of those at which that changes.

    Raises:
        ConfigProblem: the configuration is not one.
    """
    free = replay(trace, config, None, mode)
    if not free.fits:
        return None
    low = free.peak_allocated // STEP
    high = max(-(-free.peak_reserved // STEP), 1)
    while not served(trace, config, high * STEP, mode):
        if high * STEP > UNLIMITED:
            return None
        low, high = high, high + max(high // 4, 1)
    while high - low > max(1, int(high * CLOSENESS)):
        middle = (low + high) // 2
        if served(trace, config, middle * STEP, mode):
            high = middle
        else:
            low = middle
    return high * STEP
