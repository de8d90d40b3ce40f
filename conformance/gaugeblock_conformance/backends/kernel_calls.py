"""The calls of :mod:`..backend_kernels` for the engine: its accessors, checks, traced loops and shared loops."""

from __future__ import annotations

import importlib
import threading
from itertools import product
from typing import Any

from ..backend_kernels import Paths

# Seconds that a chunk of a loop waits for the others, which start immediately if there are enough threads.
_LONGEST_WAIT = 5.0


class KernelCalls:
    """Answers the kernels' calls with the engine's ``kernel_tools``."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._tools = importlib.import_module(f"{module.__name__}.kernel_tools")

    def accessor_elements(self, tensor: Any, dtype: Any, ndim: int, bits: int = 64, packed: bool = False) -> list[Any]:
        make = self._tools.packed_accessor if packed else self._tools.accessor
        found = make(tensor, dtype, ndim, index_bits=bits)
        if ndim == 0:
            return [found[()]]
        return [found[place] for place in product(*map(range, found.sizes))]

    def accessor_put_(self, tensor: Any, indices: tuple[int, ...], value: Any) -> Any:
        self._tools.accessor(tensor, tensor.dtype, tensor.dim())[indices] = value
        return tensor

    def paths_of(self, operator: str, *args: Any) -> Paths:
        found = self._tools.trace_paths(operator, *args)
        return Paths(found.result, found.vector, found.scalar, found.width, found.buffered)

    def vector_width(self, dtype: Any) -> int:
        return int(self._tools.vector_width(dtype))

    def check_argument(self, check: str, function: str, name: str, position: int, tensor: Any, wanted: Any) -> None:
        getattr(self._tools, check)(function, self._tools.Argument(tensor, name, position), wanted)

    def instruction_sets(self) -> tuple[str, ...]:
        levels = importlib.import_module(f"{self._module.__name__}.kernels.isa").supported_levels()
        return tuple(level.name for level in levels)

    def visits_of_loop(self, length: int, grain: int, failing: int | None = None) -> list[int]:
        visits = [0] * length

        def body(begin: int, end: int) -> None:
            for index in range(begin, end):
                visits[index] += 1
                if index == failing:
                    raise LookupError(f"index {index} of the suite")

        self._tools.parallel_for(length, grain, body)
        return visits

    def threads_of_loop(self, length: int) -> int:
        most = min(length, self._module.get_num_threads())
        begun: set[int] = set()
        all_begun = threading.Event()

        def body(begin: int, end: int) -> None:
            begun.add(threading.get_ident())
            if len(begun) >= most:
                all_begun.set()
            all_begun.wait(_LONGEST_WAIT)

        self._tools.parallel_for(length, 1, body)
        return len(begun)
