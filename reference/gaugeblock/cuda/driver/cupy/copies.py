"""Device memory, pinned memory and copies of the CuPy driver."""

from __future__ import annotations

from ....core.errors import check_int
from ..protocol import COPY_KINDS, CopyKind, DriverError
from .state import at_least, translated
from .streams import CupyStreams


class CupyCopies(CupyStreams):
    """Blocks of memory, and bytes that move between them in the order of streams."""

    def malloc(self, device: int, size: int) -> int:
        """A new block of device memory."""
        wanted = at_least("malloc", "size", size)
        with self._on("malloc", device):
            return self._give("pointer", device, int(self._runtime.malloc(wanted))) if wanted else 0

    def free(self, device: int, pointer: int) -> None:
        """Take back a block; CUDA waits for the device."""
        if pointer or type(pointer) is not int:
            self._take_back("free", "pointer", device, pointer, self._runtime.free)

    def mem_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes."""
        with self._on("mem_info", device):
            free, total = self._runtime.memGetInfo()
        return int(free), int(total)

    def host_malloc(self, size: int) -> int:
        """A new block of pinned host memory, for all devices."""
        wanted = at_least("host_malloc", "size", size)
        if not wanted:
            return 0
        try:
            address = int(self._runtime.hostAlloc(wanted, self._runtime.hostAllocPortable))
        except RuntimeError as error:
            raise translated("host_malloc", error) from error
        self._pinned.add(address)
        return address

    def host_free(self, pointer: int) -> None:
        """Take back a pinned block."""
        address = check_int("host_free", "pointer", pointer)
        if not address:
            return
        with self._lock:
            if address not in self._pinned:
                raise DriverError(
                    f"host_free(): argument 'pointer' must be what host_malloc gave and host_free has not taken, got "
                    f"{address:#x}"
                )
            self._pinned.discard(address)
        try:
            self._runtime.freeHost(address)
        except RuntimeError as error:
            self._pinned.add(address)
            raise translated("host_free", error) from error

    def memcpy(self, device: int, to: int, source: int, size: int, kind: CopyKind, stream: int) -> None:
        """Copy bytes in the stream's order; between devices too, with kind "d2d"."""
        if kind not in COPY_KINDS:
            raise DriverError(
                f"memcpy(): argument 'kind' must be one of {', '.join(COPY_KINDS)}, got {kind!r}",
                "cudaErrorInvalidMemcpyDirection",
            )
        wanted = at_least("memcpy", "size", size)
        handle = self._stream("memcpy", stream)
        runtime = self._runtime
        direction = {"h2d": runtime.memcpyHostToDevice, "d2h": runtime.memcpyDeviceToHost, "d2d": runtime.memcpyDefault}
        with self._on("memcpy", device):
            if wanted:
                runtime.memcpyAsync(to, source, wanted, direction[kind], handle)

    def memset(self, device: int, to: int, value: int, size: int, stream: int) -> None:
        """Set bytes in the stream's order."""
        wanted = at_least("memset", "size", size)
        if not 0 <= value <= 255:
            raise DriverError(f"memset(): argument 'value' must be in [0, 255], got {value}")
        handle = self._stream("memset", stream)
        with self._on("memset", device):
            if wanted:
                self._runtime.memsetAsync(to, value, wanted, handle)
