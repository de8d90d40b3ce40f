"""Arguments that name a dim: negative ones count from the end, others raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Array
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import sizes

# Operator, the arguments around the dim, and what NumPy makes of an array with at least one dim and dim >= 0.
OPERATORS: dict[str, tuple[Callable[[int], tuple[Any, ...]], Callable[[Array, int], Array]]] = {
    "sum.dim_IntList": (lambda d: ((d,),), lambda a, d: a.sum(d, dtype=np.int64)),
    "amax": (lambda d: (d,), lambda a, d: a.max(d)),
    "argmax": (lambda d: (d,), lambda a, d: a.argmax(d)),
    "cumsum": (lambda d: (d,), lambda a, d: a.cumsum(d, dtype=np.int64)),
    "flip": (lambda d: ((d,),), lambda a, d: np.flip(a, d)),
    "select.int": (lambda d: (d, 0), lambda a, d: a.take(0, d)),
    "narrow": (lambda d: (d, 0, 1), lambda a, d: a.take([0], d)),
    "squeeze.dim": (lambda d: (d,), lambda a, d: a.squeeze(d) if a.shape[d] == 1 else a),
    "transpose.int": (lambda d: (0, d), lambda a, d: a.swapaxes(0, d)),
    "roll": (lambda d: ((1,), (d,)), lambda a, d: np.roll(a, 1, d)),
    "index_select": (lambda d: (d,), lambda a, d: a.take([0, 0], d)),
}
NEED_A_DIM = frozenset(("select.int", "narrow"))
_REDUCE = frozenset(("sum.dim_IntList", "amax", "argmax", "cumsum"))


def _call(s: Session, x: Any, operator: str, dim: int) -> tuple[Any, ...]:
    arguments = OPERATORS[operator][0](dim)
    return (x, *arguments, s.tensor([0, 0], "int64")) if operator == "index_select" else (x, *arguments)


@requirement("views/dim-arguments-wrap")
@forall(
    operator=st.sampled_from(tuple(OPERATORS)),
    dims=sizes(1, 4, empty=False),
    dim=st.integers(0, 3),
    negative=st.booleans(),
    seed=st.integers(0, 999),
)
def test_dims_wrap(s: Session, operator: str, dims: tuple[int, ...], dim: int, negative: bool, seed: int) -> None:
    if operator in _REDUCE:
        s.require("reduce")
    dim %= len(dims)
    case = TensorCase("int64", dims, default_strides(dims), kind="small", seed=seed)
    y = s.call(operator, *_call(s, s.build(case), operator, dim - len(dims) if negative else dim))
    s.expect_values(y, OPERATORS[operator][1](case.array, dim))


@requirement("views/dim-arguments-wrap")
def test_zero_dim_accepts_0_and_minus_1(s: Session) -> None:
    def body(s: Session, operator: str, dim: int) -> None:
        if operator in _REDUCE and "reduce" not in s.capabilities:
            return
        x = s.tensor(7, "int64")
        y = s.call(operator, *_call(s, x, operator, dim))
        if operator == "index_select":
            return
        want = 0 if operator == "argmax" else 7
        s.expect_values(y, want, dtype="int64")

    names = [name for name in OPERATORS if name not in NEED_A_DIM | {"roll", "index_select"}]
    s.table([(name, dim) for name in names for dim in (0, -1)], body)


@requirement("views/dim-out-of-range-raises")
@forall(
    operator=st.sampled_from(tuple(OPERATORS)),
    dims=sizes(0, 3, empty=False),
    beyond=st.integers(0, 3),
    below=st.booleans(),
)
def test_dim_out_of_range(s: Session, operator: str, dims: tuple[int, ...], beyond: int, below: bool) -> None:
    if operator in _REDUCE:
        s.require("reduce")
    dims = (1,) if operator in NEED_A_DIM and not dims else dims
    rank = max(len(dims), 1)
    x = s.build(TensorCase("int64", dims, default_strides(dims)))
    dim = -rank - 1 - beyond if below else rank + beyond
    s.expect_raises(IndexError, operator, *_call(s, x, operator, dim))


@requirement("views/dim-out-of-range-raises")
def test_size_of_a_missing_dim(s: Session) -> None:
    x = s.tensor([[1.0, 2.0]])
    s.expect(s.call("size", x, -1), 2, "size(-1)")
    for dim in (2, -3, 7):
        s.expect_raises(IndexError, "size", x, dim)
    s.expect_raises(IndexError, "unsqueeze", x, 3)
    s.expect_raises(IndexError, "unsqueeze", x, -4)
