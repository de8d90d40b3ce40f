"""Operators whose result never shares memory with an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors

Make = Callable[[Session, Handle, Array], Handle]


def _whole(s: Session, length: int) -> Handle:
    return s.tensor(np.arange(length))


def _true(s: Session, a: Array) -> Handle:
    return s.tensor(np.ones(a.shape, bool))


def _rows(s: Session, a: Array) -> Handle:
    return s.tensor(np.broadcast_to(np.arange(a.shape[0]).reshape(-1, *(1,) * (a.ndim - 1)), a.shape))


# Operator -> the call with arguments for which a view (or the input) would have the right values, for one or more dims.
TEMPTING: dict[str, Make] = {
    "roll": lambda s, x, a: s.call("roll", x, (0,), (0,)),
    "roll by the size": lambda s, x, a: s.call("roll", x, (max(a.shape[0], 1),), (0,)),
    "flip of no dims": lambda s, x, a: s.call("flip", x, ()),
    "rot90": lambda s, x, a: s.call("rot90", x, 0, (0, 1)),
    "repeat": lambda s, x, a: s.call("repeat", x, (1,) * a.ndim),
    "tile": lambda s, x, a: s.call("tile", x, (1,)),
    "index_select": lambda s, x, a: s.call("index_select", x, 0, _whole(s, a.shape[0])),
    "cat": lambda s, x, a: s.call("cat", [x], 0),
    "where.self": lambda s, x, a: s.call("where.self", _true(s, a), x, x),
    "gather": lambda s, x, a: s.call("gather", x, 0, _rows(s, a)),
}


@requirement("views/copying-operators-never-alias")
@forall(case=tensors(min_dims=2, max_dims=3), name=st.sampled_from(tuple(TEMPTING)))
def test_results_that_a_view_could_express(s: Session, case: TensorCase, name: str) -> None:
    x = s.build(case)
    y = TEMPTING[name](s, x, case.array)
    s.expect_values(y, case.array)
    _expect_copy(s, y, x, case)


@requirement("views/copying-operators-never-alias")
@forall(case=tensors(min_dims=1, max_dims=3, empty=False), name=st.sampled_from(("take", "masked_select", "stack")))
def test_flat_and_stacked_results(s: Session, case: TensorCase, name: str) -> None:
    a, x = case.array, s.build(case)
    if name == "take":
        y, want = s.call("take", x, _whole(s, a.size)), a.reshape(-1)
    elif name == "masked_select":
        if not s.has_data:
            return
        y, want = s.call("masked_select", x, _true(s, a)), a.reshape(-1)
    else:
        y, want = s.call("stack", [x], 0), a[None]
    s.expect_values(y, want)
    _expect_copy(s, y, x, case)


def _expect_copy(s: Session, y: Handle, x: Handle, case: TensorCase) -> None:
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)
    if "inplace" in s.capabilities:
        s.call("fill_.Scalar", y, 1)
        s.expect_values(x, case.array)


def _expected(name: str) -> tuple[tuple[Any, ...], Any]:
    a = np.array([[1, 2], [3, 4]], np.int64)
    rows: dict[str, tuple[tuple[Any, ...], Any]] = {
        "roll": (((1,), (1,)), np.roll(a, 1, 1)),
        "flip": (((0,),), a[::-1]),
        "rot90": ((1, (0, 1)), np.rot90(a)),
        "repeat": (((2, 1),), np.tile(a, (2, 1))),
        "tile": (((1, 2),), np.tile(a, (1, 2))),
    }
    return rows[name]


@requirement("views/copying-operators-never-alias")
def test_copies_of_a_matrix(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        x = s.tensor([[1, 2], [3, 4]], "int64")
        arguments, want = _expected(name)
        y = s.call(name, x, *arguments)
        s.expect_values(y, np.ascontiguousarray(want))
        if "storage" in s.capabilities:
            s.expect_fresh(y, x)

    s.table(["roll", "flip", "rot90", "repeat", "tile"], body)
