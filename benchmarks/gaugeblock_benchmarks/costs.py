"""What is paid once: import, first calls cold and from the disk cache, memory of many specialisations.

Each figure comes from fresh interpreters, so that nothing is warm; times are those of the thread that does the work,
which other processes do not lengthen.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

IMPORT_LIMIT = 0.3
COLD_LIMIT = 0.015
DISK_LIMIT = 0.002
MEMORY_LIMIT = 200 << 20

_IMPORT = "import time; t = time.thread_time(); import {module}; print(time.thread_time() - t)"
_FIRST_CALLS = """
import json, time, gaugeblock as gb
gb.arange(4) // gb.arange(1, 5)
calls = {
    **{name: lambda f, a, b: f(a, b) for name in ("add", "mul", "div", "maximum", "pow")},
    **{name: lambda f, a, b: f(a, 0) for name in ("cumsum", "softmax", "log_softmax")},
    "where": lambda f, a, b: f(m, a, b),
    "layer_norm": lambda f, a, b: f(a, (40,)),
    "cat": lambda f, a, b: f((a, b)),
    "gather": lambda f, a, b: f(a, 0, i),
    "transpose": lambda f, a, b: f(a.reshape(8, 5), 0, 1) + b.reshape(5, 8),
}
i, m = gb.arange(40), gb.ones(40, dtype=gb.bool)
def first(names, dtypes):
    times = {}
    for dtype in dtypes:
        a, b = gb.ones(40, dtype=dtype), gb.ones(40, dtype=dtype)
        for name in names:
            function = getattr(gb.nn.functional if name == "gelu" else gb, name)
            call = calls.get(name, lambda f, a, b: f(a))
            start = time.thread_time()
            try:
                call(function, a, b)
            except (NotImplementedError, RuntimeError):
                continue
            times[f"{name} {dtype}"] = time.thread_time() - start
    return times
families = first(("add", "neg", "where", "sum", "cumsum", "gather", "transpose"), (gb.int16,))
families |= first(("softmax", "layer_norm"), (gb.float16,))
names = "add mul div maximum neg exp log tanh sigmoid gelu where sum mean amax cumsum softmax log_softmax layer_norm"
names += " cat transpose gather sin tan atan erf erfinv expm1 log1p sqrt pow digamma lgamma"
kernels = first(names.split(), (gb.float32, gb.float64, gb.int32, gb.bfloat16))
print(json.dumps([families, kernels]))
"""
_MEMORY = """
import json, resource, gaugeblock as gb
from gaugeblock_spec.operators import load
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
gb.ones(2) + gb.ones(2)
before, count = resident(), 0
for row in load().values():
    if row.family != "pointwise":
        continue
    for name in row.dtypes:
        tensors = [gb.ones(3, dtype=getattr(gb, name)) for _ in range(3)]
        for given in (1, 2, 3):
            try:
                getattr(gb, row.name.partition(".")[0])(*tensors[:given])
            except (TypeError, RuntimeError, NotImplementedError, AttributeError):
                continue
            count += 1
print(json.dumps([resident() - before, count]))
"""


@dataclass(frozen=True)
class FirstCalls:
    """Seconds of first calls by kernel, and before them of the first of each family of kernels, which brings the entry
    points that the family shares."""

    families: dict[str, float]
    kernels: dict[str, float]


def import_seconds(module: str = "gaugeblock", repeats: int = 9) -> float:
    """Median time that ``import module`` takes in a fresh interpreter, beyond the interpreter's own start."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return statistics.median(float(_output(_IMPORT.format(module=module), environment)) for _ in range(repeats))


def first_calls() -> tuple[FirstCalls, FirstCalls]:
    """First calls of kernels compiled, and in a second process that finds the first one's objects on disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": folder}
        cold, disk = (FirstCalls(*json.loads(_output(_FIRST_CALLS, environment))) for _ in range(2))
    return cold, disk


def specialisation_memory() -> tuple[int, int]:
    """Bytes that the kernels of all pointwise rows, in each of their dtypes, add to a process; how many calls."""
    nbytes, count = json.loads(_output(_MEMORY, dict(os.environ)))
    return nbytes, count


def _output(code: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
