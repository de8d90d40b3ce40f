"""A task: something that is timed on every backend, made ready there from its own description.

Tasks are plain data, so that a worker process can be told one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gaugeblock_conformance.backend import Backend
from numpy.typing import NDArray

from ..cases import Case
from ..operands import rotations, turns
from ..subject import function_loop, function_of
from ..timing import Timed, timed_steps
from ..work import bytes_moved, operand_bytes, operations, result_bytes

Array = NDArray[Any]
SAMPLED = 4096
"""Elements of a result that are compared."""


@dataclass(frozen=True)
class Ready:
    """What a backend times for a task, and what it gave: its shape and some of its elements, None for no values."""

    timed: Timed
    shape: tuple[int, ...] = ()
    sample: Array | None = None


class Task(Protocol):
    """One line of a suite. ``nbytes`` and ``operations`` are the work that no implementation can avoid."""

    @property
    def id(self) -> str: ...
    @property
    def row(self) -> dict[str, Any]:
        """Its fields in a record."""

    @property
    def needed_bytes(self) -> int:
        """Memory that a backend needs for it, about."""

    def prepare(self, backend: Backend) -> Ready:
        """Make operands and call once. Raises Unsupported, or what the backend raises."""


@dataclass(frozen=True)
class NamedTask:
    """A task described by its name; `size` is the number of elements of its input."""

    name: str
    suite: str
    family: str
    size: int

    @property
    def id(self) -> str:
        return f"{self.suite}/{re.sub('[^a-z0-9]+', '-', self.name.lower()).strip('-')}"

    @property
    def row(self) -> dict[str, Any]:
        return {
            "id": self.id, "suite": self.suite, "operator": self.name, "call": None, "family": self.family,
            "layout": "contiguous", "dtype": "float32", "size": self.size, "moved_bytes": 0, "operations": 0,
        }  # fmt: skip


def ready_of(backend: Backend, step: Callable[[], Any]) -> Ready:
    """Return a step, called once, with what it gave; timed until its result is there."""
    finish: Callable[[Any], object] | None = getattr(backend, "finish", None)
    shape, sample = sampled(backend, step())
    return Ready(timed_steps([step if finish is None else lambda: finish(step())]), shape, sample)


@dataclass(frozen=True)
class OperatorTask:
    """A call of an operator."""

    suite: str
    case: Case

    @property
    def id(self) -> str:
        case = self.case
        return f"{self.suite}/{case.operator.name}/{case.layout.replace(' ', '-')}/{case.size}"

    @property
    def row(self) -> dict[str, Any]:
        case = self.case
        return {
            "id": self.id, "suite": self.suite, "operator": case.operator.name, "call": case.operator.call,
            "family": case.operator.family, "layout": case.layout, "dtype": case.dtype, "size": case.size,
            "moved_bytes": bytes_moved(case), "operations": operations(case),
        }  # fmt: skip

    @property
    def needed_bytes(self) -> int:
        given, result = operand_bytes(self.case), result_bytes(self.case)
        times = rotations(4 * self.case.size * len(self.case.operator.operands))
        return times * given + 2 * result + 8 * self.case.size

    def prepare(self, backend: Backend) -> Ready:
        function, _ = function_of(backend, self.case.operator.call)
        given = turns(self.case, backend)
        timed = Timed(function_loop(function, self.case, getattr(backend, "finish", None)), given)
        named = dict(zip(self.case.operator.operands, given[0], strict=True))
        result = function(*[looked_up(argument, named) for argument in self.case.arguments])
        shape, sample = sampled(backend, result)
        return Ready(timed, shape, sample)


def looked_up(argument: object, named: dict[str, Any]) -> Any:
    """An argument of a case with tensors in place of their names."""
    if isinstance(argument, tuple):
        return tuple(looked_up(part, named) for part in argument)
    return named[argument] if isinstance(argument, str) else argument


def sampled(backend: Backend, result: Any) -> tuple[tuple[int, ...], Array]:
    """The shape of a result and at most SAMPLED of its elements, evenly apart, in float64; the first of several."""
    if isinstance(result, tuple | list):
        result = result[0]
    array = np.asarray(backend.to_numpy(result))
    step = max(1, array.size // SAMPLED)
    flat = array.reshape(-1)[::step] if array.flags.c_contiguous else array.flat[::step]
    return array.shape, np.asarray(flat).astype(np.float64)

