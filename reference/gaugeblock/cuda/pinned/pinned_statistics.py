"""Figures of pinned memory, under the names of torch.cuda.host_memory_stats."""

from __future__ import annotations


class Figure:
    """A figure over time."""

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount: int) -> None:
        """Change the current value."""
        self.current += amount
        if amount > 0:
            self.allocated += amount
            self.peak = max(self.peak, self.current)
        else:
            self.freed -= amount

    def as_dict(self) -> dict[str, float]:
        """The four values by name."""
        return {"current": self.current, "peak": self.peak, "allocated": self.allocated, "freed": self.freed}


class Duration:
    """How long calls took, in microseconds."""

    __slots__ = ("count", "max", "min", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = self.max = self.min = 0.0

    def add(self, nanoseconds: int) -> None:
        """Count a call."""
        microseconds = nanoseconds / 1000
        self.max = max(self.max, microseconds)
        self.min = microseconds if not self.count else min(self.min, microseconds)
        self.total += microseconds
        self.count += 1

    def as_dict(self) -> dict[str, float]:
        """Total, longest, shortest, number and mean."""
        mean = self.total / self.count if self.count else 0.0
        return {"total": self.total, "max": self.max, "min": self.min, "count": self.count, "avg": mean}


class PinnedStatistics:
    """`allocations` and `allocated_bytes` are blocks held from the driver, `active_*` those not free for others."""

    def __init__(self) -> None:
        self.figures = {
            name: Figure() for name in ("allocations", "allocated_bytes", "active_requests", "active_bytes")
        }
        self.times = {name: Duration() for name in ("host_alloc_time", "host_free_time")}

    def _held(self, count: int, size: int) -> None:
        self.figures["allocations"].add(count)
        self.figures["allocated_bytes"].add(count * size)

    def _active(self, count: int, size: int) -> None:
        self.figures["active_requests"].add(count)
        self.figures["active_bytes"].add(count * size)

    def grown(self, size: int, nanoseconds: int) -> None:
        """The driver gave a block."""
        self._held(1, size)
        self.times["host_alloc_time"].add(nanoseconds)

    def released(self, size: int, nanoseconds: int) -> None:
        """The driver has a block back."""
        self._held(-1, size)
        self.times["host_free_time"].add(nanoseconds)

    def handed_out(self, size: int) -> None:
        """A block is in use."""
        self._active(1, size)

    def came_back(self, size: int) -> None:
        """A block is free for others."""
        self._active(-1, size)

    def nested(self) -> dict[str, float | dict[str, float]]:
        """Every figure by name and kind."""
        found: dict[str, float | dict[str, float]] = {}
        for name, figure in self.figures.items():
            found[name] = figure.as_dict()
        for name, duration in self.times.items():
            found[name] = duration.as_dict()
        found["num_host_alloc"] = self.figures["allocations"].allocated
        found["num_host_free"] = self.figures["allocations"].freed
        return found

    def flat(self) -> dict[str, float]:
        """Every figure by names joined by a dot, in their order."""
        flat: dict[str, float] = {}
        for name, value in self.nested().items():
            if isinstance(value, dict):
                flat |= {f"{name}.{kind}": number for kind, number in value.items()}
            else:
                flat[name] = value
        return dict(sorted(flat.items()))

    def reset_peak(self) -> None:
        """Let every peak be the current value, and the longest and shortest time be 0."""
        for figure in self.figures.values():
            figure.peak = figure.current
        for duration in self.times.values():
            duration.max = duration.min = 0.0

    def reset_accumulated(self) -> None:
        """Let what was allocated and freed, and the times, begin at 0."""
        for figure in self.figures.values():
            figure.allocated = figure.freed = 0
        self.times = {name: Duration() for name in self.times}
