"""Faults of the simulated device: which calls fail or are slow, counted from 1 as the calls come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def _ordinals(name: str, value: int | Iterable[int]) -> frozenset[int]:
    numbers = frozenset((value,) if isinstance(value, int) else value)
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"Faults(): argument '{name}' must be an int or ints, got {number!r}")
        if number < 1:
            raise ValueError(f"Faults(): argument '{name}' must count calls from 1, got {number}")
    return numbers


class Faults:
    """Which calls of a simulated driver go wrong.

    `out_of_memory_at`: these calls of malloc and memory_create (counted together) find no memory.
    `out_of_memory_from`: so does this one and every later one.
    `failing_event_calls`: these calls of event_create, event_record, event_query and event_synchronize raise.
    `failing_launches`: these launches (and works enqueued) fail as they run, which is a sticky failure of their device.
    `malloc_nanoseconds`: virtual time that every malloc takes; `slow_mallocs`: that the n-th takes.
    Raises TypeError and ValueError for anything but ints from 1 (0 for times).
    """

    def __init__(
        self,
        *,
        out_of_memory_at: int | Iterable[int] = (),
        out_of_memory_from: int | None = None,
        failing_event_calls: int | Iterable[int] = (),
        failing_launches: int | Iterable[int] = (),
        malloc_nanoseconds: int = 0,
        slow_mallocs: Mapping[int, int] | None = None,
    ) -> None:
        self.out_of_memory_at = _ordinals("out_of_memory_at", out_of_memory_at)
        first = () if out_of_memory_from is None else out_of_memory_from
        self.out_of_memory_from = min(_ordinals("out_of_memory_from", first), default=None)
        self.failing_event_calls = _ordinals("failing_event_calls", failing_event_calls)
        self.failing_launches = _ordinals("failing_launches", failing_launches)
        self.slow_mallocs = dict(slow_mallocs or {})
        _ordinals("slow_mallocs", self.slow_mallocs)
        self.malloc_nanoseconds = malloc_nanoseconds
        for time in (malloc_nanoseconds, *self.slow_mallocs.values()):
            if time < 0:
                raise ValueError(f"Faults(): a time must not be negative, got {time}")
        self.mallocs = 0
        self.event_calls = 0
        self.launches = 0

    def malloc(self) -> tuple[bool, int]:
        """Count a malloc: whether it finds no memory, and the nanoseconds that it takes."""
        self.mallocs += 1
        number = self.mallocs
        late = self.out_of_memory_from is not None and number >= self.out_of_memory_from
        return late or number in self.out_of_memory_at, self.slow_mallocs.get(number, self.malloc_nanoseconds)

    def event_call(self) -> bool:
        """Count a call about an event: whether it fails."""
        self.event_calls += 1
        return self.event_calls in self.failing_event_calls

    def launch(self) -> bool:
        """Count a launch: whether it fails once it runs."""
        self.launches += 1
        return self.launches in self.failing_launches
