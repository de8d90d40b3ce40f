"""The simulated driver: devices of a stated size in host memory, with streams in virtual time and faults on demand."""

from __future__ import annotations

from .graphs import SimulatedGraphs


class SimulatedDriver(SimulatedGraphs):
    """`devices` devices of `total_memory` bytes each.

    `backed`: pointers are addresses of this process, so that its kernels work on device memory; otherwise they are
    numbers, and a device may be of any size. `faults`: which calls go wrong. `poll_nanoseconds`: virtual time that a
    query takes when its answer may be no; with 0, a loop over a query alone never ends. `queue_limit`: how many works
    wait on a stream before the host waits for the oldest.

    Beside the driver protocol: `enqueue` defers Python work in the order of a stream, `advance` lets time pass, `now`
    is the clock, `define_kernel` lets a function stand in for a kernel, `live` counts what exists, `calls` counts calls
    by name, `reset` brings a failed device back. All calls may come from any thread; work must not wait for the device.
    """
