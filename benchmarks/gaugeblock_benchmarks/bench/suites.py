"""The suites: which tasks each of them has, at which sizes, for how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..cases import LAYOUTS, OPERATORS, Case, Operator
from .allocation import AllocatorTask, allocator_tasks
from .layers import LayerTask, layer_tasks
from .operators import TableTask, public_operators, table_tasks
from .steps import StepTask, step_tasks
from .task import OperatorTask
from .training import TrainingTask, training_tasks

AnyTask = OperatorTask | TableTask | StepTask | TrainingTask | AllocatorTask | LayerTask


@dataclass(frozen=True)
class Budget:
    """How long: seconds of each backend for a task in one pass, how often all tasks are gone through, what they are,
    and the most bytes of an operand of a control."""

    name: str
    seconds: float
    passes: int
    throughput_sizes: tuple[int, ...]
    layouts: tuple[str, ...]
    growth_most: int
    memory_size: int
    control_bytes: int


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget("quick", 0.015, 3, (1_000_000,), ("contiguous", "transposed"), 10_000_000, 1_000_000, 1 << 25),
        Budget("standard", 0.08, 5, (10_000, 1_000_000, 10_000_000), LAYOUTS, 100_000_000, 4_000_000, 1 << 29),
    )
}
MOST_SIZE = 1_000_000_000
"""No operand has more elements."""

GROWING = ("add", "exp", "sum", "mean", "softmax", "copy", "cat", "gather", "cumsum", "sort", "matmul", "transpose")
"""One operator of each family, and beside it those whose cost has another shape."""
OVERHEAD_SIZE = 16


def overhead(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Calls on a few elements."""
    return _operators("overhead", _rows(names), sizes or (OVERHEAD_SIZE,), ("contiguous",))


def throughput(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Calls on many elements, in several layouts."""
    rows = [row for row in _rows(names) if row.family != "view"]
    return _operators("throughput", rows, sizes or budget.throughput_sizes, budget.layouts)


def growth(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Calls on 1 element, 10, 100 ... as far as memory allows."""
    every = tuple(10**power for power in range(9) if 10**power <= budget.growth_most)
    return _operators("growth", _rows(names or GROWING), sizes or every, ("contiguous",))


def memory(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Calls whose peak of memory is looked at; they are not timed."""
    return _operators("memory", _rows(names), sizes or (budget.memory_size,), ("contiguous", "transposed"))


def operators(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Every operator of the spec."""
    return list(table_tasks(names, sizes))


def autograd(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Forward and backward passes."""
    return list(step_tasks())


def training(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Steps that train a model."""
    return list(training_tasks())


def layers(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """Additions that go through one layer of a call more each."""
    return list(layer_tasks())


def allocator(budget: Budget, names: Sequence[str], sizes: Sequence[int]) -> list[AnyTask]:
    """New tensors of several sizes, and requests to a caching allocator."""
    return list(allocator_tasks())


def _rows(names: Sequence[str]) -> list[Operator]:
    return [row for row in OPERATORS if not names or row.name in names]


def _operators(
    suite: str, rows: Sequence[Operator], sizes: Sequence[int], layouts: Sequence[str]
) -> list[AnyTask]:
    return [
        OperatorTask(suite, Case(operator, layout, size))
        for operator in rows
        for layout in layouts
        if layout in operator.layouts
        for size in sizes
        if operator.smallest <= size <= operator.largest
    ]


Suite = Callable[[Budget, Sequence[str], Sequence[int]], list[AnyTask]]
SUITES: dict[str, Suite] = {
    "overhead": overhead, "layers": layers, "throughput": throughput, "autograd": autograd, "training": training,
    "allocator": allocator, "memory": memory, "growth": growth, "operators": operators,
}  # fmt: skip
DEFAULT = tuple(name for name in SUITES if name != "operators")
"""The suites of a run that names none; every operator takes hours."""


def known_operators(suites: Sequence[str]) -> list[str]:
    """Return the names that `--ops` takes for suites."""
    own = [row.name for row in OPERATORS] if set(suites) - {"operators"} else []
    return [*own, *(public_operators() if "operators" in suites else ())]
