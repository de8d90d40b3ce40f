"""Every instruction set that can be chosen: equal bits where rounding is exact, the error bound elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..case import TensorCase
from ..failure import NoReproducer
from ..oracles.pointwise import bound, expected
from ..requirement import requirement
from ..session import Session

_UNTOLD = NoReproducer("the library is started anew for another instruction set")

EXACT = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "abs", "sqrt", "gt.Tensor", "floor")
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "sigmoid")


def _operands(dtype: str, kind: str) -> tuple[Array, Array]:
    first, second = (TensorCase(dtype, (1037,), (1,), kind=kind, seed=seed).array for seed in (11, 12))
    return first, second


def _calls() -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    for dtype in ("float32", "float64"):
        operands = _operands(dtype, "hard")
        calls += [(name, *operands[: 2 if "." in name else 1]) for name in EXACT]
    return calls + [(name, _operands("float32", "finite")[0]) for name in FUNCTIONS]


def _where(left: Array, right: Array) -> int:
    """The first place with different bits (NaN equals NaN), or -1."""
    same = (left == right) | ((left != left) & (right != right))
    if left.dtype.kind == "f":
        same &= (np.signbit(left) == np.signbit(right)) | (left != left)
    return -1 if same.all() else int(np.flatnonzero(~same)[0])


def _judge_function(s: Session, name: str, given: Array, got: Array) -> None:
    want, limit = expected(name, [given], "float32"), bound(name, [given], "float32")
    finite = np.isfinite(want) & np.isfinite(got)
    s.expect(np.array_equal(np.isnan(want), np.isnan(got)), True, f"places of NaN in {name}", _UNTOLD)
    wanted = np.where(finite, want, got)
    if isinstance(limit, float):
        s.expect_values(s.tensor(got), wanted.astype(got.dtype), ulp=limit, signed_zero=False)
    else:
        s.expect_close(s.tensor(got), wanted, np.where(finite, limit, np.inf))


@requirement("kernels/instruction-sets-agree", slow=True)
def test_lower_instruction_sets(s: Session) -> None:
    """The process that runs has the best one; each other one is tried in a process of its own."""
    calls = _calls()
    best = [s.read(s.call(name, *map(s.tensor, arrays))).copy() for name, *arrays in calls]

    def row(s: Session, level: str) -> None:
        found = s.guard(level, lambda: s.backend.call("on_instruction_set", level, calls))
        for (name, *arrays), own, other in zip(calls, best, found, strict=True):
            if name in FUNCTIONS:
                _judge_function(s, name, arrays[0], other)
            else:
                s.expect(_where(own, other), -1, f"first place where {name} differs on {level}", _UNTOLD)

    s.table(s.call("instruction_sets")[:-1], row)
