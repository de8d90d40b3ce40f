"""The driver over CuPy: the calls of CUDA's runtime and driver under CuPy's names, on NVIDIA GPUs.

CUDA crashes on handles that are gone, so they are refused here: the driver knows what it has given. Streams may be
another library's; of those only the ones that were destroyed here are refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from .graphs import CupyGraphs
from .state import translated


class CupyDriver(CupyGraphs):
    """The GPUs that CuPy sees. Raises ImportError without CuPy; without a GPU there are 0 devices."""

    def module_load(self, device: int, image: bytes) -> int:
        """Load PTX or a cubin."""
        with self._on("module_load", device):
            loaded = int(self._driver.moduleLoadData(bytes(image) + b"\0"))
        self._functions[loaded] = {}
        return self._give("module", device, loaded)

    def module_unload(self, device: int, module: int) -> None:
        """Forget a module and its functions."""
        self._take_back("module_unload", "module", device, module, self._driver.moduleUnload)
        for function in self._functions.pop(module).values():
            self._given["function"].pop(function, None)

    def module_function(self, device: int, module: int, name: str) -> int:
        """The kernel of that name in a module."""
        functions = self._functions[self._check("module_function", "module", device, module)]
        if name not in functions:
            with self._on("module_function", device):
                functions[name] = int(self._driver.moduleGetFunction(module, name))
            self._give("function", device, functions[name])
        return functions[name]

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
        """Put a kernel on a stream; CUDA copies the arguments before this returns."""
        if self._given["function"].get(function) != device:
            self._check("launch", "function", device, function)
        handle = self._stream("launch", stream)
        addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        parameters = ctypes.addressof(addresses)
        if device in self._ready.devices and self._runtime.getDevice() == device:
            try:
                self._driver.launchKernel(function, *grid, *block, shared_bytes, handle, parameters, 0)
            except RuntimeError as error:
                raise translated("launch", error) from error
        else:
            with self._on("launch", device):
                self._driver.launchKernel(function, *grid, *block, shared_bytes, handle, parameters, 0)
