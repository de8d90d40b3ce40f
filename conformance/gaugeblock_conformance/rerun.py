"""Runs a failing example again over other memory, and tells a value that differs from run to run as that."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from .backend import Backend, Unsupported, has_numpy_dtype, numpy_dtype
from .failure import DIFFERS, ConformanceError, NoReproducer
from .purity import UNREPEATABLE
from .session import Handle, Session
from .trace import Call, names_in

_RUNS = 3
# Blocks of each size that a small result may be given, more than an operator is likely to take before.
_BLOCKS = 4
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# What blocks of a snippet are filled with, and their variables; those of one filling are freed before the call.
_FILLS = {3: "freed", 5: "kept"}
_FREED = 3
_CALLS = 50


class _Rerun(Session):
    """A session that fills memory with a byte, and frees it, before each call; failures learn how to tell that a result
    differs."""

    def __init__(self, backend: Backend, first: Session, byte: int) -> None:
        super().__init__(backend, first.budget, first.seed)
        self.dialect = first.dialect
        self._byte = byte
        self._results: tuple[Any, ...] = ()
        # The snippet of the last failure that first asserts that repeated calls agree, if the call can be repeated.
        self.reproducible: str | None = None

    def _run(self, step: Call, operator: str, args: Any, kwargs: Any) -> Any:
        for size in _SIZES:
            blocks = [self.backend.from_numpy(np.full(size, self._byte, np.uint8)) for _ in range(_BLOCKS)]
            del blocks
        return super()._run(step, operator, args, kwargs)

    def _finish(self, step: Call, operator: str, args: Any, kwargs: Any, result: Any, raw: Any) -> Any:
        wrapped = super()._finish(step, operator, args, kwargs, result, raw)
        self._results = tuple(wrapped) if isinstance(wrapped, list | tuple) else (wrapped,)
        return wrapped

    def failure(
        self, message: str, expected: str, got: str, lines: list[str] | NoReproducer, wanted: Collection[str] = (),
        cause: str | None = None,
    ) -> ConformanceError:  # fmt: skip
        error = super().failure(message, expected, got, lines, wanted, cause)
        self.reproducible = self._repeated(lines if isinstance(lines, list) else [], set(wanted))
        return error

    def _repeated(self, conclusion: list[str], wanted: set[str]) -> str | None:
        last = next((step for step in reversed(self.steps()) if isinstance(step, Call) and step.targets), None)
        kept = [result for result in self._results if isinstance(result, Handle)]
        if last is None or last.mutates or not kept or kept[0].name not in last.targets:
            return None
        if not all(has_numpy_dtype(str(self.observe("dtype", result))) for result in kept):
            return None
        names = [result.name for result in kept]
        again = [name if name == "_" else f"again_{name}" for name in last.targets]
        filled: list[str] = []
        for fill, variable in _FILLS.items():
            for place, result in enumerate(kept):
                count, dtype = int(np.prod(self.observe("shape", result))), str(self.observe("dtype", result))
                block = np.full(count, fill, np.float64).astype(numpy_dtype(dtype))
                filled += self.dialect.create(f"{variable}{place}", block)
        called = self.dialect.expression(*last.shown)
        bound = f"{', '.join(again)}{',' if last.unpack and len(again) == 1 else ''}"
        lines = [
            f"seen = {{repr([{', '.join(self.dialect.whole(name) for name in names)}])}}",
            f"for _ in range({_CALLS}):",
            *[f"    {line}" for line in filled],
            f"    del {', '.join(f'{_FILLS[_FREED]}{place}' for place in range(len(kept)))}",
            f"    {bound} = {called}",
            f"    seen.add(repr([{', '.join(self.dialect.whole(f'again_{name}') for name in names)}]))",
            "assert len(seen) == 1",
            *conclusion,
        ]
        return self.snippet(lines, {*names, *wanted, *names_in(last.args), *names_in(last.kwargs)})


def told(backend: Backend, first: Session, operator: str, error: ConformanceError) -> ConformanceError:
    """Return ``error``, told as one that differs from run to run if the example, run again over other memory, gives
    another wrong value, or none."""
    if not error.by_value or error.again is None or not _is_settled(operator):
        return error
    for run in range(_RUNS):
        session = _Rerun(backend, first, 17 + 83 * run)
        try:
            error.again(session)
        except ConformanceError as other:
            if other.cause != error.cause or (other.message, other.got) == (error.message, error.got):
                continue
            found = ConformanceError(
                f"{error.message}; it {DIFFERS}", error.expected, f"{DIFFERS}: {error.got}, then {other.got}",
                error.example, session.reproducible or error.snippet, error.cause,
            )  # fmt: skip
            found.again = error.again
            return found
        except Unsupported:
            return error
        else:
            return _noted(error)
    return error


def _noted(error: ConformanceError) -> ConformanceError:
    noted = error.note(f"it {DIFFERS}: right when the call was made again")
    noted.again = error.again
    return noted


def _is_settled(operator: str) -> bool:
    """Return whether the results of an operator are deterministic."""
    row = operators.load().get(operator)
    return row is not None and row.family != "random" and row.base_name.rstrip("_") not in UNREPEATABLE
