"""Ends a worker whose backend no longer works, so that what comes next is not blamed for it.

A device may be lost for a process by one call, as a CUDA device is by an index out of range in a kernel: all that a
process asks of it from then on raises.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ..backend import Array, Backend
from ..conversation import Conversation
from ..problem import one_line

LOST = 71
"""Exit status of a worker whose backend no longer works."""
GONE = "the backend no longer worked"
_exit = os._exit


class Liveness:
    """After each example in which ``backend`` raised, builds a tensor, adds it to itself and reads the sum; ends the
    process if that raises twice. Once may be the error of an earlier call, where calls return before they are done.

    A backend for which it raises from the start is not asked; one that does not add is not asked to.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend: Any = backend
        self._reads = getattr(backend, "has_data", True)
        self._adds = True
        self._adds = self._problem() is None
        if self._adds or self._problem() is None:
            Conversation.check_liveness = self.check

    def check(self) -> None:
        """End the process if the backend is lost."""
        problem = self._problem() and self._problem()
        if problem is not None:
            print(f"{GONE}: {one_line(problem)}", file=sys.stderr, flush=True)
            _exit(LOST)

    def _problem(self) -> Exception | None:
        try:
            made = self._backend.from_numpy(_some())
            if self._adds:
                made = self._backend.call("add.Tensor", made, made)
            if self._reads:
                self._backend.to_numpy(made)
        except Exception as error:
            return error
        return None


def _some() -> Array:
    return np.array([1.0, 2.0], np.float32)
