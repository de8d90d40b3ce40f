"""Memory that an operator asks for, and the deterministic mode."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import AllocatorLog, DType, numpy_dtype
from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..operators.calls import OperatorCall
from ..operators.drawing import draw
from ..operators.sweep import sweep
from ..oracles.pointwise import operators_with_oracle
from ..requirement import requirement
from ..session import Session

_UNTOLD = NoReproducer("the adapter watches the allocator during the call")

# Examples of each operator as a share of the budget for a property.
_SHARE = 0.03
# Allocators may round a request up by less than this number of bytes.
_ROUNDING = 512
_FILLED = (("float32", None), ("float64", None), ("complex64", None), ("int32", 2**31 - 1), ("int8", 127),
           ("uint8", 255), ("int64", 2**63 - 1))  # fmt: skip


@requirement("iteration/deterministic-mode-fills-fresh-memory")
def test_fresh_memory_is_filled(s: Session) -> None:
    s.call("use_deterministic_algorithms", True)
    try:
        for dtype, largest in _FILLED:
            for operator, arguments in (("empty.memory_format", ((5,),)), ("empty_strided", ((5,), (1,)))):
                made = s.call(operator, *arguments, dtype=DType(dtype))
                if largest is None:
                    s.expect_values(s.call("isnan", made), np.ones(5, bool))
                else:
                    s.expect_values(made, np.full(5, largest, np.dtype(dtype)))
    finally:
        s.call("use_deterministic_algorithms", False)


@requirement("iteration/deterministic-mode-repeats-or-raises")
@forall(seed=hs.integers(0, 10**6), rows=hs.integers(1, 40), weight=0.3)
def test_repeated_accumulation(s: Session, seed: int, rows: int) -> None:
    s.call("use_deterministic_algorithms", True)
    try:
        index = np.random.default_rng(seed).integers(0, 3, rows)
        source = s.build(TensorCase("float32", (rows,), (1,), kind="finite", seed=seed))
        results = []
        for _ in range(3):
            x = s.tensor(np.zeros(3, np.float32))
            results.append(s.call("index_put_", x, [s.tensor(index)], source, True))
        for again in results[1:] if s.has_data else ():
            s.expect_agreement(again, results[0])
    finally:
        s.call("use_deterministic_algorithms", False)


def _observed(s: Session) -> AbstractContextManager[AllocatorLog]:
    """Capability ``alloc.pluggable``: a log of all blocks that are allocated inside."""
    manager: AbstractContextManager[AllocatorLog] = s.backend.observed_allocator()  # type: ignore[attr-defined]
    return manager


def _expect_one_block(s: Session, operator: str, *arguments: Any, **keywords: Any) -> None:
    """Expect that the call allocates its result and nothing else."""
    result, log = s.call_within(_observed(s), operator, *arguments, **keywords)
    asked = [nbytes for _, nbytes in log.given if nbytes]
    room = prod(s.observe("shape", result)) * numpy_dtype(str(s.observe("dtype", result))).itemsize
    s.expect(len(asked), 1 if room else 0, f"allocations of a call of {operator}", _UNTOLD)
    s.expect(sum(asked) < room + _ROUNDING, True, f"{operator} allocates no more than its result needs", _UNTOLD)


@requirement("iteration/broadcast-inputs-are-not-materialised", slow=True)
def test_one_allocation_per_result(s: Session) -> None:
    """Call every operator that has an oracle on operands of any layout, including expanded and broadcast ones."""

    def body(s: Session, x: OperatorCall) -> None:
        dtypes = {case.dtype for case in x.tensors if case.dtype != "bool" or not x.operator.startswith("where")}
        if len(dtypes) > 1 or any(0 in case.sizes for case in x.tensors):
            return
        positional, keywords = x.bind(s.build)
        _, refused = s.attempt(x.operator, *positional, **keywords)
        if refused is None:
            _expect_one_block(s, x.operator, *positional, **keywords)

    sweep(s, operators_with_oracle(), lambda name, code: draw(name, code, kind="small"), body, weight=_SHARE)


@requirement("iteration/broadcast-inputs-are-not-materialised")
def test_expanded_inputs_cost_nothing(s: Session) -> None:
    """Call operators on expanded operands: a hundred thousand elements that share a few memory locations."""
    narrow = s.tensor([[1.0], [2.0]])
    wide = s.call("expand", narrow, (2, 50000))
    condition = s.call("gt.Scalar", wide, 1.5)
    for operator, arguments in (
        ("neg", (wide,)), ("exp", (wide,)), ("add.Tensor", (wide, wide)), ("mul.Tensor", (wide, narrow)),
        ("add.Scalar", (wide, 1.0)), ("gt.Tensor", (wide, wide)), ("maximum", (narrow, wide)),
        ("clamp", (wide, 0.0, 1.5)), ("where.self", (condition, wide, narrow)), ("addcmul", (wide, narrow, wide)),
        ("lerp.Tensor", (wide, wide, narrow)), ("pow.Tensor_Scalar", (wide, 2.0)),
    ):  # fmt: skip
        _expect_one_block(s, operator, *arguments)
