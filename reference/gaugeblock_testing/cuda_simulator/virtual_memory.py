"""Virtual memory of the simulated driver: address ranges, memory without address, and mappings between them."""

from __future__ import annotations

from gaugeblock.core.errors import check_int
from gaugeblock.cuda.driver.protocol import DriverError, DriverOutOfMemory

from .copies import SimulatedCopies
from .memory import SimulatedMemory
from .pages import GRANULARITY
from .state import positive


def _granules(operator: str, size: object, argument: str = "size") -> int:
    number = positive(operator, argument, size)
    if number % GRANULARITY:
        raise DriverError(f"{operator}(): argument '{argument}' must be a multiple of {GRANULARITY}, got {number}")
    return number


class SimulatedVirtualMemory(SimulatedCopies):
    """Memory that is made apart from its address. What is unmapped while work on it waits fails that work."""

    def granularity(self, device: int) -> int:
        """Return what sizes and addresses of virtual memory are multiples of."""
        self._known("granularity", device)
        return GRANULARITY

    def address_reserve(self, device: int, size: int) -> int:
        """A range of addresses without memory."""
        wanted = _granules("address_reserve", size)
        with self._lock:
            address = self._device("address_reserve", device).memory.reserve(wanted)
        if address is None:
            raise DriverOutOfMemory(f"address_reserve(): out of addresses: {wanted} asked for")
        return address

    def address_free(self, device: int, address: int, size: int) -> None:
        """Take back a whole range, once the device has done its work."""
        with self._lock:
            memory = self._device("address_free", device).memory
            self._check_reservation(memory, device, address, size)
        self._wait("address_free", device, self._timeline.tail(device))
        with self._lock:
            self._check_reservation(memory, device, address, size)
            memory.unreserve(address)

    def _check_reservation(self, memory: SimulatedMemory, device: int, address: object, size: object) -> None:
        start = check_int("address_free", "address", address)
        length = memory.reservations.sizes.get(start)
        if length is None or length != size:
            reserved = "nothing is" if length is None else f"{length} bytes are"
            raise DriverError(
                f"address_free(): arguments 'address' and 'size' must be a whole reserved range of device {device}, "
                f"got {start:#x} and {size}, and {reserved} reserved there"
            )
        if memory.mappings.meets(start, length):
            raise DriverError(f"address_free(): argument 'address' must be a range with nothing mapped, got {start:#x}")

    def memory_create(self, device: int, size: int) -> int:
        """A handle of memory without address."""
        wanted = _granules("memory_create", size)
        with self._lock:
            memory = self._device("memory_create", device).memory
            fails, nanoseconds = self.faults.malloc()
            handle = next(self._handles)
            made = not fails and memory.create(handle, wanted)
        if nanoseconds:
            self.advance(nanoseconds)
        if not made:
            raise self._out_of_memory("memory_create", device, wanted, memory)
        return handle

    def memory_release(self, device: int, handle: int) -> None:
        """Forget a handle."""
        with self._lock:
            memory = self._device("memory_release", device).memory
            self._check_handle("memory_release", memory, device, handle)
            memory.release(handle)

    @staticmethod
    def _check_handle(operator: str, memory: SimulatedMemory, device: int, handle: object) -> None:
        given = check_int(operator, "handle", handle)
        if given not in memory.handles:
            raise DriverError(
                f"{operator}(): argument 'handle' must be a living handle of memory_create on device {device}, got "
                f"{given:#x}"
            )

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put a handle's memory at an address."""
        with self._lock:
            memory = self._device("memory_map", device).memory
            self._check_handle("memory_map", memory, device, handle)
            length = memory.handles[handle].size
            if size != length:
                raise DriverError(f"memory_map(): argument 'size' must be the handle's whole {length}, got {size}")
            start = check_int("memory_map", "address", address)
            around = memory.reservations.around(start)
            if around is None or start + length > sum(around) or start % GRANULARITY:
                raise DriverError(
                    f"memory_map(): argument 'address' must be a multiple of {GRANULARITY} with {length} bytes "
                    f"reserved on device {device}, got {start:#x}"
                )
            if memory.mappings.meets(start, length):
                raise DriverError(
                    f"memory_map(): argument 'address' must be a range with nothing mapped, got {start:#x}"
                )
            if not memory.map(start, handle):
                raise DriverOutOfMemory(f"memory_map(): the system maps no {length} bytes at {start:#x}")

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        """Take away whole mappings; their memory goes back if its handle is released."""
        with self._lock:
            memory = self._device("memory_unmap", device).memory
            start = check_int("memory_unmap", "address", address)
            length = positive("memory_unmap", "size", size)
            starts = memory.whole_mappings(start, length)
            if starts is None:
                raise DriverError(
                    f"memory_unmap(): arguments 'address' and 'size' must be a range of whole mappings of device "
                    f"{device}, got {start:#x} and {length}"
                )
            for mapping in starts:
                memory.unmap(mapping)
