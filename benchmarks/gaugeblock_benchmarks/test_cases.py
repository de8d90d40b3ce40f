"""The cases under pytest-benchmark, for one backend at a time and its own comparisons, histograms and JSON:
``pytest --pyargs gaugeblock_benchmarks.test_cases --backend numpy``. What a backend does not offer is
skipped by name.

For several backends beside each other use ``gaugeblock bench``: pytest-benchmark times one function from its first
round to its last, so that a disturbance meets one of them alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from gaugeblock_conformance.backend import Backend, Unsupported
from gaugeblock_conformance.discovery import load, resolve

from .bench.suites import BUDGETS, overhead, throughput
from .bench.task import OperatorTask, looked_up
from .operands import turns
from .subject import function_of

pytest.importorskip("pytest_benchmark")

TASKS = [
    task
    for suite in (overhead, throughput)
    for task in suite(BUDGETS["quick"], (), ())
    if isinstance(task, OperatorTask)
]


@functools.cache
def _backend(name: str) -> Backend:
    return load(resolve(name))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_case(task: OperatorTask, request: pytest.FixtureRequest, benchmark: Callable[..., Any]) -> None:
    """Time one case."""
    backend = _backend(request.config.getoption("--backend", None) or "reference")
    case = task.case
    try:
        function, _ = function_of(backend, case.operator.call)
        rounds = cycle(
            [
                [looked_up(argument, dict(zip(case.operator.operands, given, strict=True)))
                 for argument in case.arguments]
                for given in turns(case, backend)
            ]
        )  # fmt: skip
        function(*next(rounds))
    except Unsupported as error:
        pytest.skip(str(error))
    benchmark(lambda: function(*next(rounds)))
