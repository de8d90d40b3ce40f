"""Private pools: memory of their own for captured graphs and for users, and who is allocating to which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .pools import BlockPool

PoolId = tuple[int, int]
Filter = Callable[[int], bool]
"""Whether the allocations of a stream go to the pool."""
NO_POOL: Final[PoolId] = (0, 0)


class PrivatePool:
    """A small and a large pool, apart from everybody's.

    `use_count` counts the users: the pool itself until it is released, and every begin_allocate_to_pool; at 0 its
    memory may be given back. `segments` counts what the device gave for it. With `use_on_oom` everybody's requests
    may take its free blocks before they fail; with `no_split` its blocks are never split.
    """

    __slots__ = ("id", "large", "no_split", "segments", "small", "use_count", "use_on_oom")

    def __init__(self, id: PoolId, use_on_oom: bool = False, no_split: bool = False) -> None:
        self.id = id
        self.small = BlockPool(is_small=True, owner=self)
        self.large = BlockPool(is_small=False, owner=self)
        self.use_count = 1
        self.segments = 0
        self.use_on_oom = use_on_oom
        self.no_split = no_split

    @property
    def freeable(self) -> bool:
        return self.use_count == 0


class PrivatePools:
    """The private pools of a device, by id, and the stack of captures underway."""

    def __init__(self) -> None:
        self.pools: dict[PoolId, PrivatePool] = {}
        self.captures: list[tuple[PrivatePool, Filter]] = []
        self._made = 0

    def create(self, use_on_oom: bool, no_split: bool) -> PoolId:
        """Make a pool, which `release` gives up."""
        self._made += 1
        id = (0, self._made)
        self.pools[id] = PrivatePool(id, use_on_oom, no_split)
        return id

    def begin(self, id: PoolId, filter: Filter) -> None:
        """Let allocations of the streams that `filter` accepts go to a pool, which is made if there is none such."""
        if any(pool.id == id for pool, _ in self.captures):
            raise RuntimeError(f"begin_allocate_to_pool(): allocations to the pool {id} are underway already")
        pool = self.pools.get(id)
        if pool is None:
            _check_id(id)
            pool = self.pools[id] = PrivatePool(id)
        elif pool.freeable:
            raise RuntimeError(f"begin_allocate_to_pool(): the pool {id} has been released")
        else:
            pool.use_count += 1
        self.captures.append((pool, filter))

    def end(self, id: PoolId) -> None:
        """Undo `begin`; the pool stays in use until it is released once more."""
        for place, (pool, _) in enumerate(self.captures):
            if pool.id == id:
                del self.captures[place]
                return
        raise RuntimeError(f"end_allocate_to_pool(): no allocations to the pool {id} are underway")

    def release(self, id: PoolId) -> None:
        """Take back one use of a pool."""
        pool = self.get("release_pool", id)
        if pool.freeable:
            raise RuntimeError(f"release_pool(): the pool {id} has been released as often as it was used")
        pool.use_count -= 1

    def get(self, operator: str, id: PoolId) -> PrivatePool:
        pool = self.pools.get(id)
        if pool is None:
            raise RuntimeError(f"{operator}(): there is no pool {id}")
        return pool

    def forget_empty(self) -> None:
        """Forget the released pools that hold no memory any more."""
        underway = [pool for pool, _ in self.captures]
        for pool in list(self.pools.values()):
            if pool.freeable and not pool.segments and pool not in underway:
                del self.pools[pool.id]

    def capturing(self, stream: int) -> PrivatePool | None:
        """The pool that allocations of a stream go to, by the latest capture that wants them; None for everybody's."""
        for pool, filter in reversed(self.captures):
            if filter(stream):
                return pool
        return None


def _check_id(id: PoolId) -> None:
    if not (isinstance(id, tuple) and len(id) == 2 and all(isinstance(part, int) for part in id)) or id == NO_POOL:
        raise RuntimeError(
            f"begin_allocate_to_pool(): argument 'pool' must be a pair of ints other than (0, 0), got {id}"
        )
