"""Memory of the simulated driver: malloc, pinned host memory, copies."""

from __future__ import annotations

from collections.abc import Callable

from gaugeblock.core.errors import check_int
from gaugeblock.cuda.driver.protocol import COPY_KINDS, CopyKind, DriverError, DriverOutOfMemory
from gaugeblock.memory.elements import read_bytes, write_bytes

from .memory import SimulatedMemory
from .state import positive
from .streams import SimulatedStreams

COPY_LATENCY = 2_000
BYTES_PER_NANOSECOND = {"h2d": 55, "d2h": 55, "d2d": 1500, "memset": 3000}
"""About what an H100 moves, over PCIe 5 and in its own memory."""


class SimulatedCopies(SimulatedStreams):
    """Device memory, pinned host memory, and bytes that move between them in the order of streams."""

    def malloc(self, device: int, size: int) -> int:
        """A new block of device memory."""
        wanted = positive("malloc", "size", size, 0)
        with self._lock:
            memory = self._device("malloc", device).memory
            if not wanted:
                return 0
            fails, nanoseconds = self.faults.malloc()
            pointer = None if fails else memory.malloc(wanted)
        if nanoseconds:
            self.advance(nanoseconds)
        if pointer is None:
            raise self._out_of_memory("malloc", device, wanted, memory)
        return pointer

    @staticmethod
    def _out_of_memory(operator: str, device: int, size: int, memory: SimulatedMemory) -> DriverOutOfMemory:
        return DriverOutOfMemory(
            f"{operator}(): out of memory: {size} bytes asked of device {device}, which has "
            f"{memory.total - memory.used} free of {memory.total}"
        )

    def free(self, device: int, pointer: int) -> None:
        """Take back a block, once the device has done its work."""
        with self._lock:
            memory = self._device("free", device).memory
            if pointer == 0 and type(pointer) is int:
                return
            self._check_block(memory, device, pointer)
        self._wait("free", device, self._timeline.tail(device))
        with self._lock:
            self._check_block(memory, device, pointer)
            memory.free(pointer)

    def _check_block(self, memory: SimulatedMemory, device: int, pointer: object) -> None:
        address = check_int("free", "pointer", pointer)
        if address not in memory.blocks.sizes:
            raise DriverError(
                f"free(): argument 'pointer' must be what malloc gave on device {device} and free has not taken, got "
                f"{address:#x}"
            )

    def mem_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes."""
        with self._lock:
            memory = self._device("mem_info", device).memory
            return memory.total - memory.used, memory.total

    def host_malloc(self, size: int) -> int:
        """A new block of pinned host memory."""
        wanted = positive("host_malloc", "size", size, 0)
        with self._lock:
            self.calls["host_malloc"] += 1
            if not wanted:
                return 0
            pointer = self.pages.pinned(wanted)
            if not pointer:
                raise DriverOutOfMemory(f"host_malloc(): out of memory: {wanted} bytes asked of the host")
            self._pinned.add(pointer, wanted)
        return pointer

    def host_free(self, pointer: int) -> None:
        """Take back a pinned block, once all devices have done their work."""
        with self._lock:
            self.calls["host_free"] += 1
            if pointer == 0 and type(pointer) is int:
                return
            self._check_pinned(pointer)
        self._timeline.reach(max(self._timeline.tail(number) for number in range(len(self._devices))))
        with self._lock:
            self._check_pinned(pointer)
            self.pages.unpin(pointer, self._pinned.remove(pointer))

    def _check_pinned(self, pointer: object) -> None:
        address = check_int("host_free", "pointer", pointer)
        if address not in self._pinned.sizes:
            raise DriverError(
                f"host_free(): argument 'pointer' must be what host_malloc gave and host_free has not taken, got "
                f"{address:#x}"
            )

    def memcpy(self, device: int, to: int, source: int, size: int, kind: CopyKind, stream: int) -> None:
        """Copy bytes in the stream's order; between devices too, with kind "d2d"."""
        if kind not in COPY_KINDS:
            raise DriverError(
                f"memcpy(): argument 'kind' must be one of {', '.join(COPY_KINDS)}, got {kind!r}",
                "cudaErrorInvalidMemcpyDirection",
            )
        wanted = positive("memcpy", "size", size, 0)
        with self._lock:
            known = self._device("memcpy", device)
            state = self._stream("memcpy", known, stream)
            if not wanted:
                return
            pinned = True
            for argument, address, letter in (("to", to, kind[2]), ("source", source, kind[0])):
                if letter == "d":
                    self._check_device_range("memcpy", argument, address, wanted)
                else:
                    pinned = self._check_host_range(argument, address, wanted)
            if not pinned and state.capture is not None:
                raise state.capture.refuse("memcpy", "host memory must be pinned")
            run = self._copy(to, source, wanted, kind, pinned)
            end = self._timeline.submit(state, run, COPY_LATENCY + wanted // BYTES_PER_NANOSECOND[kind])
        if kind == "d2h" and not pinned:
            self._wait("memcpy", device, end)
        self._timeline.throttle(state)

    def _copy(self, to: int, source: int, size: int, kind: CopyKind, pinned: bool) -> Callable[[], object] | None:
        if not self.pages.backed:
            return None
        if kind == "h2d" and not pinned:
            staged = read_bytes(source, size)

            def write() -> None:
                self._check_access(to, size)
                write_bytes(to, staged)

            return write
        checked = [address for address, letter in ((to, kind[2]), (source, kind[0])) if letter == "d"]

        def run() -> None:
            for address in checked:
                self._check_access(address, size)
            self.pages.copy(to, source, size)

        return run

    def memset(self, device: int, to: int, value: int, size: int, stream: int) -> None:
        """Set bytes in the stream's order."""
        wanted = positive("memset", "size", size, 0)
        byte = check_int("memset", "value", value)
        if not 0 <= byte <= 255:
            raise DriverError(f"memset(): argument 'value' must be in [0, 255], got {byte}")
        with self._lock:
            known = self._device("memset", device)
            state = self._stream("memset", known, stream)
            if not wanted:
                return
            self._check_device_range("memset", "to", to, wanted, device)
            duration = COPY_LATENCY + wanted // BYTES_PER_NANOSECOND["memset"]
            self._timeline.submit(state, self._fill(to, byte, wanted) if self.pages.backed else None, duration)
        self._timeline.throttle(state)

    def _fill(self, to: int, value: int, size: int) -> Callable[[], object]:
        def run() -> None:
            self._check_access(to, size)
            self.pages.fill(to, value, size)

        return run

    def _holders(self, address: int, size: int) -> list[int]:
        return [known.index for known in self._devices if known.memory.holds(address, size)]

    def _check_access(self, address: int, size: int) -> None:
        with self._lock:
            if not self._holders(address, size):
                raise DriverError(
                    f"an illegal memory access: {size} bytes at {address:#x} are no memory any more",
                    "cudaErrorIllegalAddress",
                )

    def _check_device_range(
        self, operator: str, argument: str, address: object, size: int, device: int | None = None
    ) -> None:
        start = check_int(operator, argument, address)
        holders = self._holders(start, size)
        if not holders or (device is not None and device not in holders):
            where = "a device" if device is None else f"device {device}"
            raise DriverError(
                f"{operator}(): argument '{argument}' must be {size} bytes of the memory of {where}, got {start:#x}"
            )

    def _check_host_range(self, argument: str, address: object, size: int) -> bool:
        """Return whether a range of host memory is pinned."""
        start = check_int("memcpy", argument, address)
        if start <= 0 or any(known.memory.has(start) for known in self._devices):
            raise DriverError(
                f"memcpy(): argument '{argument}' must be host memory, got {start:#x}",
                "cudaErrorInvalidMemcpyDirection",
            )
        block = self._pinned.around(start)
        if block is not None and start + size > sum(block):
            raise DriverError(
                f"memcpy(): argument '{argument}' must be {size} bytes of host memory, got {start:#x}, which has "
                f"{sum(block) - start} left of its pinned block"
            )
        return block is not None
