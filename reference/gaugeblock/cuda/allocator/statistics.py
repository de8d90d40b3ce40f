"""Statistics of an allocator: current, peak, allocated and freed of each family, for all, small and large blocks.

The hot path only writes down what happened, three ints per operation; the figures are computed when somebody asks, or
when enough has come together.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...core import lazy_numpy as np

if TYPE_CHECKING:
    from .block_store import PoolId, PrivatePool

FAMILIES: Final = (
    "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
    "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
POOLS: Final = ("all", "small_pool", "large_pool")
OVERSIZE: Final = ("oversize_allocations", "oversize_segments")
COUNTERS: Final = (
    "num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
    "num_oom_rejections",
)  # fmt: skip

# What happened to a block: the second lowest bits of an entry's first int, over the tag of its pool.
MALLOC: Final = 0
FREED: Final = 2
REQUESTED: Final = 4
"""The owner gave it back; other streams still use it."""
COMPLETED: Final = 6
NO_SPLIT_CHANGE: Final = 2
"""The third int of an entry: the change of inactive_split_bytes, a multiple of 512, plus that of inactive_split + 2."""

_JOURNALED: Final = (
    "allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes", "inactive_split",
    "inactive_split_bytes",
)  # fmt: skip
LIMIT: Final = 3 * 8192
"""Ints in the journal at which the figures are brought up to date."""
_SHORT: Final = 3 * 24


class Stat:
    """A figure over time."""

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount: int) -> None:
        """Change the current value by `amount`."""
        if amount > 0:
            self.current += amount
            self.allocated += amount
            if self.current > self.peak:
                self.peak = self.current
        elif amount < 0:
            self.current += amount
            self.freed -= amount

    def add_course(self, highest: int, last: int, grown: int) -> None:
        """The value went up by `grown` and down as well, was at most `highest` above what it was, and is `last`."""
        self.peak = max(self.peak, self.current + highest)
        self.current += last
        self.allocated += grown
        self.freed += grown - last

    def as_dict(self) -> dict[str, int]:
        return {"current": self.current, "peak": self.peak, "allocated": self.allocated, "freed": self.freed}


class Statistics:
    """All figures of one allocator. `max_split_size` is what it was made with; None for no limit."""

    def __init__(self, max_split_size: int | None) -> None:
        self.journal: list[int] = []
        """Per operation: the block's size, its pool's tag and what happened; the size asked for; the change of
        inactive_split."""
        self.max_split_size = max_split_size
        self.oversize_from = max_split_size
        """Blocks from this size on count as oversize; None for none. Change it by `set_oversize`."""
        self.families = {family: [Stat() for _ in POOLS] for family in FAMILIES}
        self.oversize = {family: Stat() for family in OVERSIZE}
        self.private: dict[PoolId, list[Stat]] = {}
        """Reserved bytes of each private pool."""
        self.counters = dict.fromkeys(COUNTERS, 0)

    def set_oversize(self, size: int | None) -> None:
        """From now on, blocks of at least `size` are oversize; None for none."""
        self.settle()
        self.oversize_from = size

    def segment(self, tag: int, count: int, size: int, owner: PrivatePool | None) -> None:
        """`count` segments (0 for mapped memory) of together `size` bytes came, or went if negative, in the pool of an
        owner or everybody's."""
        for place in (0, 1 + tag):
            self.families["segment"][place].add(count)
            self.families["reserved_bytes"][place].add(size)
            if owner is not None:
                self.private.setdefault(owner.id, [Stat() for _ in POOLS])[place].add(size)
        if self.oversize_from is not None and count and abs(size) >= self.oversize_from:
            self.oversize["oversize_segments"].add(count)

    @property
    def reserved(self) -> int:
        """The bytes that the allocator holds."""
        return self.families["reserved_bytes"][0].current

    def current(self, family: str) -> int:
        """The current value of a family over all pools."""
        self.settle()
        return self.families[family][0].current

    def settle(self) -> None:
        """Bring the figures up to date with the journal."""
        if len(self.journal) > _SHORT:
            self._settle_many()
        elif self.journal:
            self._settle_few()
        self.journal.clear()

    def _settle_few(self) -> None:
        journal = self.journal
        for at in range(0, len(journal), 3):
            code, requested, split = journal[at : at + 3]
            size, what, tag = code & -512, code & 6, code & 1
            given = {MALLOC: 1, FREED: -1, REQUESTED: -1, COMPLETED: 0}[what]
            active = {MALLOC: 1, FREED: -1, REQUESTED: 0, COMPLETED: -1}[what]
            changes = (given, given * size, active, active * size, active * requested,
                       (split & 511) - NO_SPLIT_CHANGE, split & -512)  # fmt: skip
            for family, change in zip(_JOURNALED, changes, strict=True):
                if change:
                    stats = self.families[family]
                    stats[0].add(change)
                    stats[1 + tag].add(change)
            if self.oversize_from is not None and size >= self.oversize_from:
                self.oversize["oversize_allocations"].add(given)

    def _settle_many(self) -> None:
        entries = np.frombuffer(array("q", self.journal), np.int64).reshape(-1, 3)
        code, requested, split = np.ascontiguousarray(entries.T)
        size, what = code & -512, code & 6
        given = (what == MALLOC).astype(np.int64) - ((what == FREED) | (what == REQUESTED))
        active = (what == MALLOC).astype(np.int64) - ((what == FREED) | (what == COMPLETED))
        changes = np.empty((len(POOLS), len(_JOURNALED), len(entries)), np.int64)
        whole = changes[0]
        whole[0] = given
        whole[1] = given * size
        whole[2] = active
        whole[3] = active * size
        whole[4] = active * requested
        whole[5] = (split & 511) - NO_SPLIT_CHANGE
        whole[6] = split & -512
        np.multiply(whole, code & 1, out=changes[2])
        np.subtract(whole, changes[2], out=changes[1])
        for pool, families in enumerate(zip(*_courses(changes), strict=True)):
            for family, course in zip(_JOURNALED, zip(*families, strict=True), strict=True):
                self.families[family][pool].add_course(*course)
        if self.oversize_from is not None:
            oversize = given[None, size >= self.oversize_from]
            if oversize.size:
                ((highest,), (last,), (grown,)) = _courses(oversize)
                self.oversize["oversize_allocations"].add_course(highest, last, grown)

    def reset_peak(self) -> None:
        """Let every peak be the current value."""
        self.settle()
        for stat in self._stats():
            stat.peak = stat.current

    def reset_accumulated(self) -> None:
        """Let what was allocated and freed, and the counters, begin at 0 again."""
        self.settle()
        for stat in self._stats():
            stat.allocated = stat.freed = 0
        self.counters = dict.fromkeys(COUNTERS, 0)

    def _stats(self) -> list[Stat]:
        arrays = [*self.families.values(), *self.private.values(), list(self.oversize.values())]
        return [stat for stats in arrays for stat in stats]

    def nested(self) -> dict[str, Any]:
        """Every figure by family, pool and kind."""
        self.settle()
        found: dict[str, Any] = {family: _by_pool(stats) for family, stats in self.families.items()}
        found["reserved_bytes_by_private_pools"] = {id: _by_pool(stats) for id, stats in self.private.items()}
        found |= {family: stat.as_dict() for family, stat in self.oversize.items()}
        found |= self.counters
        found["max_split_size"] = -1 if self.max_split_size is None else self.max_split_size
        return found

    def flat(self) -> dict[str, int]:
        """Every figure under torch.cuda.memory_stats' names, such as "allocated_bytes.all.peak", in their order."""
        return flattened(self.nested())


def flattened(nested: Mapping[Any, Any]) -> dict[str, Any]:
    """Every figure in nested dictionaries under its names joined by dots, in the order of the names."""
    return dict(sorted(_figures(nested, "")))


def _figures(nested: Mapping[Any, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in nested.items():
        name = before + ("_".join(map(str, key)) if isinstance(key, tuple) else key)
        if isinstance(value, dict):
            yield from _figures(value, f"{name}.")
        else:
            yield name, value


def _courses(changes: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any, Any]:
    """Of each row of changes: the highest sum on the way, the last one, and the sum of those above 0, as lists."""
    grown = np.maximum(changes, 0).sum(axis=-1)
    course = np.cumsum(changes, axis=-1)
    return course.max(axis=-1).tolist(), course[..., -1].tolist(), grown.tolist()


def _by_pool(stats: list[Stat]) -> dict[str, dict[str, int]]:
    return {pool: stat.as_dict() for pool, stat in zip(POOLS, stats, strict=True)}


_BYTES = (
    ("allocated_bytes", "Allocated memory"),
    ("active_bytes", "Active memory"),
    ("requested_bytes", "Requested memory"),
    ("reserved_bytes", "Reserved memory"),
    ("inactive_split_bytes", "Non-releasable memory"),
)
_COUNTS = (
    ("allocation", "Allocations"),
    ("active", "Active allocations"),
    ("segment", "Reserved segments"),
    ("inactive_split", "Non-releasable blocks"),
)
_OVERSIZE_ROWS = (("oversize_allocations", "Oversize allocations"), ("oversize_segments", "Oversize segments"))
_KINDS = ("current", "peak", "allocated", "freed")
_HEADINGS = ("Metric", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
_WIDTHS = (23, 12, 12, 12, 12)
_WIDTH = sum(_WIDTHS) + len(_WIDTHS) - 1
_BYTE_UNITS = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNT_UNITS = (" ", "K", "M")


def summary_of(stats: Mapping[str, int], device: int, abbreviated: bool = False) -> str:
    """The statistics `stats` (flat) of a device as a table; `abbreviated` leaves out the pools."""
    rule, thin = "=" * _WIDTH, "-" * _WIDTH
    events = f"CUDA OOMs: {stats['num_ooms']}".center(_WIDTH // 2)
    retries = f"cudaMalloc retries: {stats['num_alloc_retries']}".center(_WIDTH - _WIDTH // 2 - 1)
    lines = [rule, f"CUDA memory summary, device {device}".center(_WIDTH), thin, f"{events}|{retries}", rule]
    lines.append("|".join(heading.center(width) for heading, width in zip(_HEADINGS, _WIDTHS, strict=True)))
    pools = (("all", ""), ("large_pool", "      from large pool"), ("small_pool", "      from small pool"))
    for families, show in ((_BYTES, _bytes), (_COUNTS, _count)):
        for family, name in families:
            lines.append(thin)
            whole = [stats[f"{family}.all.{kind}"] for kind in _KINDS]
            for pool, label in pools[:1] if abbreviated else pools:
                values = [stats[f"{family}.{pool}.{kind}"] for kind in _KINDS]
                lines.append(_row(label or name, values, whole, show))
    for family, name in _OVERSIZE_ROWS:
        values = [stats[f"{family}.{kind}"] for kind in _KINDS]
        lines += [thin, _row(name, values, values, _count)]
    lines.append(rule)
    return "".join(f"|{line}|\n" for line in lines)


def _row(name: str, values: list[int], whole: list[int], show: Callable[[int, int], str]) -> str:
    columns = zip(values, whole, _WIDTHS[1:], strict=True)
    cells = [show(value, unit_by).center(width) for value, unit_by, width in columns]
    return "|".join([f" {name:<{_WIDTHS[0] - 1}}", *cells])


def _in_unit(value: int, unit_by: int, base: int, units: Sequence[str]) -> tuple[int, str]:
    """`value` in the unit that `unit_by` needs, so that a figure and its parts share one."""
    unit = 0
    while unit_by >= 3 * base * base // 4 and unit < len(units) - 1:
        unit_by //= base
        value //= base
        unit += 1
    return value, units[unit]


def _bytes(value: int, unit_by: int) -> str:
    number, unit = _in_unit(value, unit_by, 1024, _BYTE_UNITS)
    return f"{number:6d} {unit}"


def _count(value: int, unit_by: int) -> str:
    number, unit = _in_unit(value, unit_by, 1000, _COUNT_UNITS)
    return f"{number:7d} {unit} "
