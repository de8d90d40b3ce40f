"""The driver of a CUDA device: everything that the allocator, the streams and the kernels ask of a device.

Pointers, streams, events, modules, functions and handles are ints; stream 0 is the default stream of each device, and
it does not wait for the others. Every call names its device. Two drivers follow this protocol: the one over CuPy, in
`cupy_driver`, and the simulated one, in host memory, in the package `gaugeblock_testing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

CopyKind = Literal["h2d", "d2h", "d2d"]
COPY_KINDS: tuple[CopyKind, ...] = ("h2d", "d2h", "d2d")
DEFAULT_STREAM = 0


class DriverError(RuntimeError):
    """A call that the driver refused, or a failure of the device; `code` is the CUDA runtime's name of the error."""

    def __init__(self, message: str, code: str = "cudaErrorInvalidValue") -> None:
        super().__init__(message)
        self.code = code


class DriverOutOfMemory(DriverError):
    """The device has not got the memory that was asked for."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "cudaErrorMemoryAllocation")


class DeviceProperties(NamedTuple):
    """The properties of a device under torch's names; memory in bytes."""

    name: str
    total_memory: int
    major: int = 9
    minor: int = 0
    multi_processor_count: int = 132
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    shared_memory_per_block: int = 48 << 10
    warp_size: int = 32


class Driver(Protocol):
    """The calls of a device. Each raises DriverError for what it refuses, and then has changed nothing."""

    @property
    def name(self) -> str:
        """The driver's name: "simulated" or "cupy"."""

    def device_count(self) -> int:
        """Return the number of devices; their indices count from 0."""

    def properties(self, device: int) -> DeviceProperties:
        """Return the properties of the device."""

    def malloc(self, device: int, size: int) -> int:
        """The pointer of `size` fresh bytes, 0 for none. Raises DriverOutOfMemory."""

    def free(self, device: int, pointer: int) -> None:
        """Give back what malloc gave, once the device has done all its work; nothing happens for pointer 0."""

    def mem_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes of the device."""

    def host_malloc(self, size: int) -> int:
        """The address of `size` bytes of pinned host memory, 0 for none. Raises DriverOutOfMemory."""

    def host_free(self, pointer: int) -> None:
        """Give back what host_malloc gave, once the devices have done all their work."""

    def memcpy(self, device: int, to: int, source: int, size: int, kind: CopyKind, stream: int) -> None:
        """Copy bytes in the stream's order. Host memory that is not pinned is read at once, and written at once
        after a wait for the stream; everything else is not waited for."""

    def memset(self, device: int, to: int, value: int, size: int, stream: int) -> None:
        """Set `size` bytes to `value` in 0..255, in the stream's order."""

    def stream_create(self, device: int, priority: int = 0) -> int:
        """A new stream that waits for no other; a lower number is a higher priority, and is clamped to the range."""

    def stream_priority_range(self, device: int) -> tuple[int, int]:
        """The lowest and the highest priority of streams, such as (0, -5)."""

    def stream_destroy(self, device: int, stream: int) -> None:
        """Forget a stream; what was put on it still runs."""

    def stream_query(self, device: int, stream: int) -> bool:
        """Return whether all work of the stream is done; waits for nothing."""

    def stream_synchronize(self, device: int, stream: int) -> None:
        """Wait for all work of the stream."""

    def synchronize(self, device: int) -> None:
        """Wait for all work of the device."""

    def stream_wait_event(self, device: int, stream: int, event: int) -> None:
        """Let later work of the stream wait for the event as it was last recorded; `event` may be of any device."""

    def event_create(self, device: int, timing: bool = False) -> int:
        """A new event, not recorded."""

    def event_destroy(self, device: int, event: int) -> None:
        """Forget an event; streams that wait for it still do."""

    def event_record(self, device: int, event: int, stream: int) -> None:
        """Let the event stand for all work that the stream has by now."""

    def event_query(self, device: int, event: int) -> bool:
        """Return whether the work that the event stands for is done; True when it was never recorded."""

    def event_synchronize(self, device: int, event: int) -> None:
        """Wait for the work that the event stands for."""

    def event_elapsed(self, device: int, start: int, end: int) -> float:
        """Milliseconds between two recorded and completed events that keep time."""

    def module_load(self, device: int, image: bytes) -> int:
        """Load PTX or a cubin."""

    def module_unload(self, device: int, module: int) -> None:
        """Forget a module and its functions."""

    def module_function(self, device: int, module: int, name: str) -> int:
        """The kernel of that name in a module."""

    def launch(
        self, device: int, function: int, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int,
        stream: int, arguments: Sequence[Any],
    ) -> None:  # fmt: skip
        """Put a kernel on a stream; `arguments` are ctypes values in the order of its parameters."""

    def granularity(self, device: int) -> int:
        """Return the bytes that sizes and addresses of virtual memory are multiples of."""

    def address_reserve(self, device: int, size: int) -> int:
        """The address of `size` bytes of address space without memory."""

    def address_free(self, device: int, address: int, size: int) -> None:
        """Give back a whole range of address_reserve; nothing may be mapped in it."""

    def memory_create(self, device: int, size: int) -> int:
        """A handle of `size` bytes of memory without address. Raises DriverOutOfMemory."""

    def memory_release(self, device: int, handle: int) -> None:
        """Forget a handle; its memory goes back when it is mapped nowhere any more."""

    def memory_map(self, device: int, address: int, size: int, handle: int) -> None:
        """Put a handle's whole memory at an address of a reserved range, readable and writable."""

    def memory_unmap(self, device: int, address: int, size: int) -> None:
        """Take away what was mapped in a range, whole mappings only."""
