"""The memory of one simulated device: blocks of malloc, reserved address ranges, handles and their mappings."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from .address_space import AddressSpace
from .pages import PAGE, Pages

ALIGNMENT = 512


class Extents:
    """Ranges of addresses that do not overlap, by their starts."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self._starts: list[int] | None = []

    def add(self, start: int, size: int) -> None:
        """Add a range."""
        self.sizes[start] = size
        self._starts = None

    def remove(self, start: int) -> int:
        """Remove the range that starts there: its size. KeyError when there is none."""
        size = self.sizes.pop(start)
        self._starts = None
        return size

    def around(self, address: int) -> tuple[int, int] | None:
        """The range that an address lies in, as (start, size), or None."""
        starts = self._starts
        if starts is None:
            starts = self._starts = sorted(self.sizes)
        number = bisect_right(starts, address) - 1
        if number < 0:
            return None
        start = starts[number]
        size = self.sizes[start]
        return (start, size) if address < start + size else None

    def meets(self, start: int, size: int) -> bool:
        """Return whether a range overlaps one of these."""
        if self.around(start) is not None or self.around(start + size - 1) is not None:
            return True
        starts = self._starts or ()
        number = bisect_right(starts, start)
        return number < len(starts) and starts[number] < start + size


class Physical:
    """Memory without address: its size, how often it is mapped, and whether its handle is gone."""

    __slots__ = ("mapped", "offset", "released", "size")

    def __init__(self, offset: int, size: int) -> None:
        self.offset = offset
        self.size = size
        self.mapped = 0
        self.released = False


class MemoryCounts(NamedTuple):
    """What of a device's memory is in use."""

    pointers: int
    bytes: int
    reservations: int
    handles: int
    mappings: int


class SimulatedMemory:
    """`total` bytes of one device. Sizes count as rounded up to ALIGNMENT; there is no fragmentation."""

    def __init__(self, total: int, pages: Pages) -> None:
        self.total = total
        self.used = 0
        self.pages = pages
        self._arenas: list[AddressSpace] = []
        self._ranges: list[tuple[int, int]] = []
        self.blocks = Extents()
        self.reservations = Extents()
        self.mappings = Extents()
        self._mapped: dict[int, Physical] = {}
        self.handles: dict[int, Physical] = {}

    def malloc(self, size: int) -> int | None:
        """The address of a new block; None when it does not fit."""
        rounded = (size + ALIGNMENT - 1) & -ALIGNMENT
        if rounded > self.total - self.used:
            return None
        address = self._take(rounded)
        if address is not None:
            self.blocks.add(address, rounded)
            self.used += rounded
        return address

    def _take(self, size: int) -> int | None:
        for arena in self._arenas:
            address = arena.take(size)
            if address is not None:
                return address
        for wanted in (max(size, 2 * self.total), size):
            start = self.pages.reserve(wanted)
            if start is not None:
                self._ranges.append((start, wanted))
                self._arenas.append(AddressSpace(start, wanted, ALIGNMENT))
                return self._arenas[-1].take(size)
        return None

    def free(self, address: int) -> None:
        """Take back a block of malloc. KeyError when it is none."""
        size = self.blocks.remove(address)
        self.used -= size
        first, last = (address + PAGE - 1) & -PAGE, (address + size) & -PAGE
        if last > first:
            self.pages.discard(first, last - first)
        for arena in self._arenas:
            if arena.start <= address < arena.end:
                arena.give(address, size)

    def reserve(self, size: int) -> int | None:
        """The address of a new range without memory; None when there is no room."""
        address = self.pages.reserve(size)
        if address is not None:
            self.reservations.add(address, size)
        return address

    def unreserve(self, address: int) -> None:
        """Take back a range of `reserve`. KeyError when it is none."""
        self.pages.release(address, self.reservations.remove(address))

    def create(self, handle: int, size: int) -> bool:
        """Make memory that can be mapped, under a handle; False when it does not fit."""
        if size > self.total - self.used:
            return False
        offset = self.pages.create(size)
        if offset is None:
            return False
        self.handles[handle] = Physical(offset, size)
        self.used += size
        return True

    def release(self, handle: int) -> None:
        """Forget a handle; its memory goes back with its last mapping. KeyError when it is none."""
        physical = self.handles.pop(handle)
        physical.released = True
        self._collect(physical)

    def map(self, address: int, handle: int) -> bool:
        """Put a handle's memory at an address; False when the system refuses."""
        physical = self.handles[handle]
        if not self.pages.map(address, physical.size, physical.offset):
            return False
        physical.mapped += 1
        self.mappings.add(address, physical.size)
        self._mapped[address] = physical
        return True

    def whole_mappings(self, address: int, size: int) -> list[int] | None:
        """The starts of the mappings that fill a range exactly; None when it is not filled so."""
        starts = []
        end = address + size
        while address < end:
            found = self.mappings.sizes.get(address)
            if found is None:
                return None
            starts.append(address)
            address += found
        return starts if address == end else None

    def unmap(self, address: int) -> None:
        """Take away the mapping that starts at an address. KeyError when it is none."""
        self.pages.unmap(address, self.mappings.remove(address))
        physical = self._mapped.pop(address)
        physical.mapped -= 1
        self._collect(physical)

    def _collect(self, physical: Physical) -> None:
        if physical.released and not physical.mapped:
            self.pages.destroy(physical.offset, physical.size)
            self.used -= physical.size

    def holds(self, address: int, size: int) -> bool:
        """Return whether all of a range is memory: inside one block, or mapped without gaps."""
        end = address + size
        block = self.blocks.around(address)
        if block is not None:
            return end <= sum(block)
        while address < end:
            mapping = self.mappings.around(address)
            if mapping is None:
                return False
            address = sum(mapping)
        return True

    def has(self, address: int) -> bool:
        """Return whether an address belongs to the device, with memory behind it or without."""
        return any(start <= address < start + size for start, size in self._ranges) or bool(
            self.reservations.around(address)
        )

    def counts(self) -> MemoryCounts:
        """Return what is in use."""
        return MemoryCounts(
            len(self.blocks.sizes),
            self.used,
            len(self.reservations.sizes),
            len(self.handles),
            len(self.mappings.sizes),
        )

    def clear(self) -> None:
        """Take everything back."""
        for address in list(self.mappings.sizes):
            self.unmap(address)
        for handle in list(self.handles):
            self.release(handle)
        for address in list(self.reservations.sizes):
            self.unreserve(address)
        for address in list(self.blocks.sizes):
            self.free(address)
