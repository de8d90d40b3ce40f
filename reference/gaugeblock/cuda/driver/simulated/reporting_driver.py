"""The simulated device as the engine uses it: a kernel that fails is reported once, and the device goes on."""

from __future__ import annotations

from .simulated_driver import SimulatedDriver


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
        """Whether the stream's work is done."""
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
        """Whether the event is done."""
        done = super().event_query(device, event)
        self._raise_reported(device)
        return done

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait for the event."""
        super().event_synchronize(device, event)
        self._raise_reported(device)
