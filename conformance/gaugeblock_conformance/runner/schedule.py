"""Which worker runs which requirement next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from gaugeblock_spec.requirements import Requirement


class Schedule:
    """Requirements ``ids`` that are left, in order, and which worker has begun which area and which family.

    What a backend prepares at the first call of an operator (kernels, traces) every process prepares for itself: so
    each worker stays in areas of its own as long as it can. A family are requirements that share tests, whose verdicts
    a worker remembers.
    """

    def __init__(self, requirements: Mapping[str, Requirement], ids: Sequence[str] = ()) -> None:
        self._requirements = requirements
        self._left = dict.fromkeys(ids)
        self._areas: dict[str, Hashable] = {}
        self._families: dict[str, Hashable] = {}

    def __len__(self) -> int:
        return len(self._left)

    def next(self, worker: Hashable, families: Mapping[str, str]) -> str:
        """Take out the first requirement of an area and a family that no other worker has begun; if there is none, the
        first of such a family; else the first. ``families`` maps a requirement to the first of its family."""
        chosen = None
        for name in self._left:
            if self._families.get(families.get(name, name), worker) is worker:
                if self._areas.get(self._requirements[name].area, worker) is worker:
                    chosen = name
                    break
                chosen = chosen or name
        chosen = chosen or next(iter(self._left))
        del self._left[chosen]
        self._families[families.get(chosen, chosen)] = worker
        self._areas.setdefault(self._requirements[chosen].area, worker)
        return chosen

    def rest(self) -> list[str]:
        """Remove and return all remaining requirements."""
        left = list(self._left)
        self._left.clear()
        return left

    def forget(self, worker: Hashable) -> None:
        """Let others have the areas and families of a worker that is no more."""
        for begun in (self._areas, self._families):
            for name in [name for name, owner in begun.items() if owner is worker]:
                del begun[name]
