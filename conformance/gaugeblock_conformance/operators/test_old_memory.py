"""Previous contents of memory affect no operator's result."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import Array
from ..budget import QUICK
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall
from .coverage import costly, swept
from .drawing import draw
from .outs import with_result
from .sweep import sweep

# More blocks than an operator is likely to allocate before its result.
_BLOCKS = 4
_BYTES = 251


def _is_settled(row: operators.Operator) -> bool:
    """Return whether the row's results are new tensors, deterministic and completely written."""
    base = row.base_name
    return row.family != "random" and "old_memory" not in row.open and "empty" not in base and not base.endswith("_")


def _tensors(result: object) -> list[Handle]:
    if isinstance(result, list | tuple):
        return [tensor for item in result for tensor in _tensors(item)]
    return [result] if isinstance(result, Handle) else []


def _leave_behind(s: Session, results: list[Array], byte: int) -> None:
    """Fill blocks of the results' sizes with a byte, and free them."""
    for result in results:
        kept = [s.backend.from_numpy(np.full(result.nbytes, byte, np.uint8)) for _ in range(_BLOCKS)]
        del kept


@requirement("iteration/results-ignore-old-memory", slow=True)
def test_results_of_all_rows(s: Session) -> None:
    """Repeat each call after filling and freeing blocks of its results' sizes, with another byte for each call."""
    s.need_data()
    bytes_left = count()

    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        first = _tensors(y)
        before = [s.read(tensor).copy() for tensor in first]
        _leave_behind(s, before, 1 + next(bytes_left) % _BYTES)
        positional, keywords = call.bind(s.build)
        again = _tensors(s.call(call.operator, *positional, **keywords))
        for tensor, want in zip(again, before, strict=True):
            s.expect_values(tensor, want)

    rows = operators.load()
    names = [name for name in (*swept(), *costly()) if _is_settled(rows[name])]
    done: set[str] = set()

    def make(name: str, code: bytes) -> OperatorCall | None:
        if s.budget.examples <= QUICK.examples and name in done:
            return None
        done.add(name)
        return draw(name, code)

    sweep(s, names, make, body, weight=0.01)
