"""The memory that a call takes at its peak, beside the least that it can: what its result holds.

Who counts is named with every figure, the first of these that sees the backend's memory:

=================== ==================================================================================================
``allocator``       an observing allocator of the backend (``alloc.pluggable``): what is given less what is taken back
``figures``         the backend's own figures (``alloc.tensors``): all that was allocated during the call, freed or not,
                    so at least the peak
``tracemalloc``     Python's tracer, for backends that report to it, as NumPy does
``resident set``    the most memory that the process had resident, less before: pages that the call wrote to and that
                    were not there yet, to a page
=================== ==================================================================================================

The last two are asked first whether they see what copies of a known size take; where they do not, the peak is not
known.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend

from ..operands import operands
from ..subject import function_of
from ..work import result_bytes
from .task import OperatorTask, Task, looked_up

PROBE_BYTES = 8 << 20
TOLERANCE = 0.1
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
Call = Callable[[], object]


def of(task: Task, backend: Backend) -> dict[str, Any]:
    """A row of the memory table. Raises what the backend raises."""
    assert isinstance(task, OperatorTask)
    case = task.case
    function, _ = function_of(backend, case.operator.call)
    named = dict(zip(case.operator.operands, operands(case, backend, 0), strict=True))
    arguments = [looked_up(argument, named) for argument in case.arguments]

    finish = getattr(backend, "finish", None)

    def call() -> object:
        result = function(*arguments)
        if finish is not None:
            finish(result)
        return result

    call()
    method = _method(backend)
    taken = _METHODS[method](backend, call) if method else None
    least = result_bytes(case)
    return {"status": "measured", "reason": "", "method": method, "peak_bytes": taken, "least_bytes": least}


class _Balance(list[tuple[int, int]]):
    """Entries of an allocator's log that also keep what is alive at most."""

    def __init__(self, account: list[int], sign: int) -> None:
        super().__init__()
        self._account, self._sign = account, sign

    def append(self, entry: tuple[int, int]) -> None:
        account = self._account
        account[0] += self._sign * entry[1]
        account[1] = max(account[1], account[0])
        super().append(entry)


def _by_log(backend: Any, call: Call) -> int:
    account = [0, 0]
    with backend.observed_allocator() as log:
        log.given, log.taken = _Balance(account, 1), _Balance(account, -1)
        result = call()
        del result
    return account[1]


def _by_figures(backend: Backend, call: Call) -> int:
    name = "allocated_bytes.all.allocated"
    before = int(backend.call("tensor_stats")[name])
    call()
    return int(backend.call("tensor_stats")[name]) - before


def _by_tracer(backend: Backend, call: Call) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def _by_resident_set(backend: Backend, call: Call) -> int:
    gc.collect()
    _RESET.write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    call()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    line = next(line for line in _STATUS.read_text(encoding="ascii").splitlines() if line.startswith(field))
    return int(line.split()[1]) << 10


_METHODS: dict[str, Callable[[Any, Call], int]] = {
    "allocator": _by_log, "figures": _by_figures, "tracemalloc": _by_tracer, "resident set": _by_resident_set,
}  # fmt: skip


def _method(backend: Backend) -> str | None:
    if "alloc.pluggable" in backend.capabilities:
        return "allocator"
    if "alloc.tensors" in backend.capabilities and backend.device.partition(":")[0] != "cpu":
        return "figures"
    if backend.device.partition(":")[0] != "cpu":
        return None
    return next((name for name in ("tracemalloc", "resident set") if _sees(name, backend)), None)


def _sees(name: str, backend: Backend) -> bool:
    """Return whether a way to count finds the bytes of copies, each made when the one before is gone."""
    source = backend.from_numpy(np.ones(PROBE_BYTES // 4, np.float32))
    function, _ = function_of(backend, "clone")
    try:
        function(source)
        found = [_METHODS[name](backend, lambda: function(source)) for _ in range(3)]
    except (OSError, StopIteration, ValueError):
        return False
    return all(abs(nbytes - PROBE_BYTES) <= TOLERANCE * PROBE_BYTES for nbytes in found)
