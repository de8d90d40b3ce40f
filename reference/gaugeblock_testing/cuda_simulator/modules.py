"""Modules and launches of the simulated driver: PTX is read for its kernels, and Python functions stand in for them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock.cuda.driver.protocol import DriverError

from .state import positive
from .streams import WORK_NANOSECONDS
from .virtual_memory import SimulatedVirtualMemory

StandIn = Callable[[tuple[int, int, int], tuple[int, int, int], int, tuple[Any, ...]], object]
"""What runs in place of a kernel: of the grid, the block, the shared bytes and the values of the arguments."""

_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?")
_PARAMETER = re.compile(r"\.param\b.*?\.[subf](\d+)\b[^\n\[]*(?:\[(\d+)\])?")
GRID_LIMITS = (2**31 - 1, 65535, 65535)
BLOCK_LIMITS = (1024, 1024, 64)


def kernels_of(image: bytes) -> dict[str, tuple[int, ...]]:
    """The kernels of a PTX text, with the bytes of each parameter. DriverError for anything else."""
    text = bytes(image).rstrip(b"\0").decode("utf-8", "replace")
    if ".version" not in text or ".target" not in text:
        raise DriverError(
            f"module_load(): argument 'image' must be PTX, which has .version and .target, got {image[:24]!r}...",
            "cudaErrorInvalidPtx",
        )
    found = {}
    for name, parameters in _ENTRY.findall(re.sub(r"//[^\n]*", "", text)):
        found[name] = tuple(
            int(bits) // 8 * int(array or 1) for bits, array in _PARAMETER.findall(parameters.replace(",", "\n"))
        )
    return found


class SimulatedModules(SimulatedVirtualMemory):
    """Kernels by name. The simulated device checks a launch like a real one, but runs no PTX."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stand_ins: dict[str, StandIn] = {}

    def define_kernel(self, name: str, run: StandIn) -> None:
        """Let `run` stand in for every kernel called `name`."""
        self._stand_ins[name] = run

    def module_load(self, device: int, image: bytes) -> int:
        """Read the kernels of a PTX text."""
        kernels = kernels_of(image)
        with self._lock:
            known = self._device("module_load", device)
            handle = next(self._handles)
            known.modules[handle] = kernels
        return handle

    def module_unload(self, device: int, module: int) -> None:
        """Forget a module and its functions."""
        with self._lock:
            known = self._device("module_unload", device)
            if known.modules.pop(module, None) is None:
                self._refuse_handle("module_unload", "module", known, module)
            for handle in [handle for handle, (owner, _) in known.functions.items() if owner == module]:
                del known.functions[handle]

    def module_function(self, device: int, module: int, name: str) -> int:
        """The kernel of that name; the same handle each time."""
        with self._lock:
            known = self._device("module_function", device)
            kernels = known.modules.get(module)
            if kernels is None:
                self._refuse_handle("module_function", "module", known, module)
            if name not in kernels:
                raise DriverError(
                    f"module_function(): argument 'name' must be one of the kernels {', '.join(kernels)}, got {name!r}",
                    "cudaErrorSymbolNotFound",
                )
            for handle, function in known.functions.items():
                if function == (module, name):
                    return handle
            handle = next(self._handles)
            known.functions[handle] = (module, name)
        return handle

    def launch(
        self,
        device: int,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        stream: int,
        arguments: Sequence[Any],
    ) -> None:
        """Put a kernel's stand-in on a stream. DriverError for a launch that a device refuses."""
        with self._lock:
            known = self._device("launch", device)
            state = self._stream("launch", known, stream)
            if function not in known.functions:
                self._refuse_handle("launch", "function", known, function)
            module, name = known.functions[function]
            _check_dimensions("grid", grid, GRID_LIMITS)
            _check_dimensions("block", block, BLOCK_LIMITS)
            threads = block[0] * block[1] * block[2]
            if threads > known.properties.max_threads_per_block:
                raise _bad_configuration("block", f"at most {known.properties.max_threads_per_block} threads", block)
            if positive("launch", "shared_bytes", shared_bytes, 0) > known.properties.shared_memory_per_block:
                most = known.properties.shared_memory_per_block
                raise _bad_configuration("shared_bytes", f"at most {most}", shared_bytes)
            sizes = tuple(ctypes.sizeof(argument) for argument in arguments)
            wanted = known.modules[module][name]
            if sizes != wanted:
                raise DriverError(
                    f"launch(): argument 'arguments' must have the bytes {wanted} for kernel {name!r}, got {sizes}"
                )
            run = self._stand_ins.get(name)
            if run is None:
                raise DriverError(
                    f"launch(): the simulated device runs no PTX, and nothing stands in for kernel {name!r} "
                    "(SimulatedDriver.define_kernel)",
                    "cudaErrorNotSupported",
                )
            values = tuple(getattr(argument, "value", argument) for argument in arguments)
            self._launch(state, lambda: run(grid, block, shared_bytes, values), WORK_NANOSECONDS)
        self._timeline.throttle(state)


def _bad_configuration(argument: str, allowed: str, given: object) -> DriverError:
    return DriverError(
        f"launch(): argument '{argument}' must be {allowed}, got {given}", "cudaErrorInvalidConfiguration"
    )


def _check_dimensions(argument: str, sizes: tuple[int, int, int], limits: tuple[int, int, int]) -> None:
    fits = len(sizes) == 3 and all(1 <= size <= limit for size, limit in zip(sizes, limits, strict=True))
    if not fits:
        raise _bad_configuration(argument, f"three ints from 1 to {limits}", sizes)
