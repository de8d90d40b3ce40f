"""The simulated driver: devices of a stated size in host memory, with streams in virtual time and faults on demand."""

from __future__ import annotations

from typing import Any

from gaugeblock.cuda.driver.protocol import Driver

from .graphs import SimulatedGraphs

POLL_NANOSECONDS = 1000
"""Virtual time of a query that has to say no, so that a loop over queries comes to its end."""


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


class ReportingDriver(SimulatedDriver):
    """A SimulatedDriver whose waits and queries raise what `report` was told, the earliest of a device first.

    A GPU would refuse every call after such a failure; what the driver itself finds wrong still ends like that.
    """

    def report(self, device: int, error: Exception) -> None:
        """Let the next wait for a device raise `error`."""
        self._reports().setdefault(device, error)

    def _reports(self) -> dict[int, Exception]:
        found: dict[int, Exception] = self.__dict__.setdefault("reports", {})
        return found

    def _raise_reported(self, device: int) -> None:
        error = self._reports().pop(device, None)
        if error is not None:
            raise error

    def stream_query(self, device: int, stream: int) -> bool:
        """Return whether the stream's work is done."""
        done = super().stream_query(device, stream)
        self._raise_reported(device)
        return done

    def stream_synchronize(self, device: int, stream: int) -> None:
        """Wait for the stream's work."""
        super().stream_synchronize(device, stream)
        self._raise_reported(device)

    def synchronize(self, device: int) -> None:
        """Wait for all work of the device."""
        super().synchronize(device)
        self._raise_reported(device)

    def event_query(self, device: int, event: int) -> bool:
        """Return whether the event is done."""
        done = super().event_query(device, event)
        self._raise_reported(device)
        return done

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait for the event."""
        super().event_synchronize(device, event)
        self._raise_reported(device)


def process_driver(**options: Any) -> Driver:
    """Return the driver that ``gaugeblock.cuda.use_driver("simulated")`` installs.

    `options` are those of SimulatedDriver; `poll_nanoseconds` is POLL_NANOSECONDS unless given. Raises TypeError for
    an unknown option, TypeError or DriverError for a value out of range.
    """
    return ReportingDriver(**{"poll_nanoseconds": POLL_NANOSECONDS, **options})
