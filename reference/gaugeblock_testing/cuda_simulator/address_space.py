"""A range of addresses out of which blocks are taken, the lowest that fits first."""

from __future__ import annotations

from bisect import bisect_left


class AddressSpace:
    """Addresses from `start` on, `size` of them; blocks are multiples of `step`, and so are their offsets."""

    def __init__(self, start: int, size: int, step: int) -> None:
        self.start = start
        self.end = start + size
        self.step = step
        self._starts = [start]
        self._ends = [self.end]

    def take(self, size: int) -> int | None:
        """The lowest address of `size` > 0 free ones, a multiple of the step; None when no range is long enough."""
        for number, start in enumerate(self._starts):
            if self._ends[number] - start >= size:
                if self._ends[number] - start == size:
                    del self._starts[number], self._ends[number]
                else:
                    self._starts[number] = start + size
                return start
        return None

    def give(self, start: int, size: int) -> None:
        """Take back a block of `take`, and join it to the free ranges beside it."""
        end = start + size
        number = bisect_left(self._starts, start)
        before = number > 0 and self._ends[number - 1] == start
        after = number < len(self._starts) and self._starts[number] == end
        if before and after:
            self._ends[number - 1] = self._ends[number]
            del self._starts[number], self._ends[number]
        elif before:
            self._ends[number - 1] = end
        elif after:
            self._starts[number] = start
        else:
            self._starts.insert(number, start)
            self._ends.insert(number, end)
