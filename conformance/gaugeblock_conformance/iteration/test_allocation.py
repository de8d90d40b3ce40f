"""Memory that an operator asks for, and the deterministic mode."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import AllocatorLog, DType
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session

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
            s.expect_values(again, s.read(results[0]).copy())
    finally:
        s.call("use_deterministic_algorithms", False)


def _observed(s: Session) -> AbstractContextManager[AllocatorLog]:
    """Capability ``alloc.pluggable``: a log of all blocks that are allocated inside."""
    manager: AbstractContextManager[AllocatorLog] = s.backend.observed_allocator()  # type: ignore[attr-defined]
    return manager


@requirement("iteration/broadcast-inputs-are-not-materialised")
@forall(xs=st.operands(2, ("float32", "int32"), same_dtype=True, kind="small", empty=False), weight=0.5)
def test_one_allocation_per_result(s: Session, xs: tuple[TensorCase, ...]) -> None:
    x, y = (s.build(case) for case in xs)
    total, log = s.call_within(_observed(s), "add.Tensor", x, y)
    result = np.broadcast_shapes(*[case.sizes for case in xs])
    asked = [nbytes for _, nbytes in log.given if nbytes]
    s.expect_shape(total, result)
    s.expect(len(asked), 1, "allocations of one result", "len(allocations)")


@requirement("iteration/broadcast-inputs-are-not-materialised")
def test_expanded_inputs_cost_nothing(s: Session) -> None:
    wide = s.call("expand", s.tensor([[1.0], [2.0]]), (2, 50000))
    _, log = s.call_within(_observed(s), "add.Tensor", wide, wide)
    total = sum(nbytes for _, nbytes in log.given)
    s.expect(total < 2 * 2 * 50000 * 4, True, "bytes allocated stay below twice the result", "allocated")
