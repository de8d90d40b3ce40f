"""The same calls under each instruction set: processes that start with it chosen."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ..backend import Array

_CHILD = "from gaugeblock_conformance.backends.instruction_sets import answer; answer()"


def run(adapter: type, variable: str, level: str, calls: Sequence[tuple[Any, ...]]) -> list[Array]:
    """Results of ``calls``, each an operator and its arrays, by ``adapter()`` in a process where the environment
    variable chooses ``level``.

    Raises RuntimeError with the last line of what the process wrote if it fails.
    """
    question = pickle.dumps((adapter.__module__, adapter.__qualname__, list(calls)))
    environment = {**os.environ, variable: level}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input=question, capture_output=True, env=environment, check=False
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{variable}={level}: {lines[-1]}")
    found: list[Array] = pickle.loads(done.stdout)
    return found


def answer() -> None:
    """In the child: read the question, call, write the results."""
    module, name, calls = pickle.loads(sys.stdin.buffer.read())
    backend: Any = getattr(importlib.import_module(module), name)()
    results = [backend.call(operator, *map(backend.from_numpy, arrays)) for operator, *arrays in calls]
    sys.stdout.buffer.write(pickle.dumps([backend.to_numpy(result).copy() for result in results]))
