"""Virtual memory of the CuPy driver, by the driver library itself: CuPy has no names for it."""

from __future__ import annotations

from ..protocol import DriverError
from .copies import CupyCopies
from .state import at_least


class CupyVirtualMemory(CupyCopies):
    """Address ranges, memory without address, and mappings between them."""

    def granularity(self, device: int) -> int:
        """What sizes and addresses of virtual memory are multiples of."""
        with self._on("granularity", device):
            return self._cuda().granularity(device)

    def address_reserve(self, device: int, size: int) -> int:
        """A range of addresses without memory."""
        wanted = at_least("address_reserve", "size", size, 1)
        with self._on("address_reserve", device):
            address = self._cuda().reserve(wanted)
        self._sizes[address] = wanted
        return self._give("address", device, address)

    def address_free(self, device: int, address: int, size: int) -> None:
        """Take back a whole range."""
        start = self._check("address_free", "address", device, address)
        if self._sizes[start] != size:
            raise DriverError(
                f"address_free(): argument 'size' must be the whole {self._sizes[start]} bytes at {start:#x}, got "
                f"{size}"
            )
        self._take_back("address_free", "address", device, start, lambda given: self._cuda().unreserve(given, size))

    def memory_create(self, device: int, size: int) -> int:
        """A handle of memory without address."""
        wanted = at_least("memory_create", "size", size, 1)
        with self._on("memory_create", device):
            return self._give("handle", device, self._cuda().create(device, wanted))

    def memory_release(self, device: int, handle: int) -> None:
        """Forget a handle."""
        self._take_back("memory_release", "handle", device, handle, lambda given: self._cuda().release(given))

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put a handle's memory at an address."""
        mapped = self._check("memory_map", "handle", device, handle)
        wanted = at_least("memory_map", "size", size, 1)
        with self._on("memory_map", device):
            self._cuda().map(device, address, wanted, mapped)

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        """Take away whole mappings."""
        wanted = at_least("memory_unmap", "size", size, 1)
        with self._on("memory_unmap", device):
            self._cuda().unmap(address, wanted)
