"""Calls that end in results or exceptions, and never in the end of the process.

The arguments are bad on purpose. What a call answers is judged elsewhere; here the process must survive it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session

Sequence = Callable[[Session], Any]
BIG = 2**62


def _int_min(s: Session, dtype: str, operator: str, **named: Any) -> None:
    info = np.iinfo(numpy_dtype(dtype))
    x = s.tensor([info.min, 7], dtype)
    s.attempt(operator, x, s.tensor([-1, 2], dtype), **named)
    s.attempt(operator, x, -1, **named)


def _common(s: Session, dtype: str, operator: str) -> None:
    smallest = -(2**63) if dtype == "int64" else -(2**31)
    for pair in ([smallest, 5], [5, smallest], [smallest, -1], [smallest, smallest], [0, 0]):
        s.attempt(operator, s.tensor(pair[:1], dtype), s.tensor(pair[1:], dtype))


def _zero(s: Session, dtype: str, operator: str) -> None:
    x = s.tensor([7, 1, 0], dtype)
    s.attempt(operator, x, s.tensor([0, 0, 0], dtype))
    s.attempt(operator, x, 0)


def _index(s: Session, operator: str, value: int) -> None:
    x, index = s.tensor([1.0, 2.0, 3.0]), s.tensor([value, 0], "int64")
    if operator == "take":
        s.attempt("take", x, index)
    elif operator == "__getitem__":
        s.attempt("__getitem__", x, index)
    elif operator == "__setitem__":
        s.attempt("__setitem__", x, index, 5.0)
    elif operator == "scatter_":
        s.attempt("scatter_", x, 0, index, s.tensor([8.0, 9.0]))
    else:
        s.attempt(operator, x, 0, index)


def _borrowed_growth(s: Session) -> None:
    x = s.call("from_numpy", np.arange(4.0))
    s.attempt("resize_", x, (2**28,))
    s.without_data()
    s.attempt("sum", x)
    s.attempt("__getitem__", x, -1)


def _failed_growth(s: Session) -> None:
    x = s.call("ones", (3,))
    s.attempt("resize_", x, (BIG,))
    s.without_data()
    s.attempt("__getitem__", x, 2**40)
    s.attempt("item", s.attempt("__getitem__", x, -1)[0] or x)


def _set_outside(s: Session) -> None:
    x, source = s.call("zeros", (0,)), s.call("from_numpy", np.arange(4, dtype=np.float32))
    s.without_data()
    for offset, sizes, strides in ((0, (2**28,), (1,)), (2**40, (1,), (1,)), (-5, (2,), (1,)), (0, (2,), (2**61,))):
        s.attempt("set_.source_Storage_storage_offset", x, source, offset, sizes, strides)
        s.attempt("sum", x)


DIVIDERS: list[tuple[str, dict[str, Any]]] = [
    ("floor_divide", {}),
    ("remainder.Tensor", {}),
    ("fmod.Tensor", {}),
    ("div.Tensor_mode", {"rounding_mode": "trunc"}),
    ("div.Tensor_mode", {"rounding_mode": "floor"}),
    ("__floordiv__", {}),
    ("__mod__", {}),
]
DIVISIONS: list[Sequence] = [
    partial(_int_min, dtype=dtype, operator=operator, **named)
    for dtype in ("int8", "int16", "int32", "int64")
    for operator, named in DIVIDERS
]
DIVISIONS += [
    partial(_common, dtype=dtype, operator=operator) for dtype in ("int32", "int64") for operator in ("gcd", "lcm")
]
ZERO_DIVISIONS: list[Sequence] = [
    partial(_zero, dtype=dtype, operator=operator)
    for dtype in ("int8", "int32", "int64", "uint8")
    for operator in ("floor_divide", "remainder.Tensor", "fmod.Tensor", "__floordiv__", "__mod__")
]
INDICES: list[Sequence] = [
    partial(_index, operator=operator, value=value)
    for operator in ("take", "__getitem__", "__setitem__", "index_select", "gather", "scatter_")
    for value in (3, -4, 2**40, -(2**40), 2**63 - 1, -(2**63))
]
SHAPES: list[Sequence] = [
    lambda s: s.attempt("as_strided", s.tensor([1.0]), (BIG, 4), (1, BIG), 0),
    lambda s: s.attempt("as_strided", s.tensor([1.0]), (2**31, 2**31), (2**31, 2**31), 2**60),
    lambda s: s.attempt("expand", s.tensor([1.0]), (BIG, BIG)),
    lambda s: s.attempt("repeat", s.tensor([1.0]), (BIG, BIG)),
    lambda s: s.attempt("view", s.tensor([1.0, 2.0]), (BIG, 4)),
    lambda s: s.attempt("narrow", s.tensor([1.0, 2.0]), 0, 2**63 - 1, 2**63 - 1),
    lambda s: s.attempt("narrow", s.tensor([1.0, 2.0]), 0, -(2**63), 1),
    lambda s: s.attempt("unfold", s.tensor([1.0, 2.0]), 0, 2, 2**63 - 1),
    lambda s: s.attempt("select.int", s.tensor([1.0]), -(2**63), -(2**63)),
    lambda s: s.attempt("transpose.int", s.tensor([1.0]), 2**63 - 1, -(2**63)),
    lambda s: s.attempt("permute", s.tensor([[1.0]]), (0, 0)),
    lambda s: s.attempt("diagonal", s.tensor([[1.0]]), 2**63 - 1),
    lambda s: s.attempt("diagonal", s.tensor([[1.0]]), -(2**63)),
    lambda s: s.attempt("__getitem__", s.tensor([1.0]), slice(-(2**63), 2**63 - 1, 2**63 - 1)),
    lambda s: s.attempt("__getitem__", s.tensor([1.0]), 2**63 - 1),
    lambda s: s.attempt("__getitem__", s.tensor([1.0]), 2**70),
    lambda s: s.attempt("split.Tensor", s.tensor([1.0]), 0),
    lambda s: s.attempt("chunk", s.tensor([1.0]), 0),
    lambda s: s.attempt("chunk", s.tensor([1.0]), -(2**63)),
    lambda s: s.attempt("unflatten.int", s.tensor([1.0]), 0, (-1, 0)),
    lambda s: s.attempt("roll", s.tensor([1.0, 2.0]), (2**63 - 1,), (0,)),
    lambda s: s.attempt("roll", s.tensor([1.0, 2.0]), (-(2**63),), (0,)),
    lambda s: s.attempt("flip", s.tensor([1.0]), (0, 0)),
    lambda s: s.attempt("cat", []),
    lambda s: s.attempt("zeros", (1,) * 100),
    lambda s: s.attempt("permute", s.call("zeros", (1,) * 70), tuple(range(70))),
    lambda s: s.attempt("reshape", s.tensor([1.0]), (-(2**63), 1)),
]


def _run(s: Session, sequence: Sequence) -> None:
    sequence(s)
    x = s.tensor([1.0, 2.0])
    s.expect_values(s.call("add.Tensor", x, x), [2.0, 4.0])


@requirement("storage/no-call-kills-the-process", may_crash=True)
def test_divisions(s: Session) -> None:
    for sequence in (*DIVISIONS, *ZERO_DIVISIONS):
        s.run_example(lambda s, row, sequence=sequence: _run(s, sequence), {"row": "division"})


@requirement("storage/no-call-kills-the-process", may_crash=True)
def test_indices_far_outside(s: Session) -> None:
    for sequence in INDICES:
        s.run_example(lambda s, row, sequence=sequence: _run(s, sequence), {"row": "index"})


@requirement("storage/no-call-kills-the-process", may_crash=True)
def test_sizes_and_strides_of_any_value(s: Session) -> None:
    for sequence in SHAPES:
        s.run_example(lambda s, row, sequence=sequence: _run(s, sequence), {"row": "sizes"})


@requirement("storage/no-call-kills-the-process", needs=("resize", "numpy"), may_crash=True)
def test_growth_that_failed(s: Session) -> None:
    for sequence in (_failed_growth, _borrowed_growth):
        s.run_example(lambda s, row, sequence=sequence: _run(s, sequence), {"row": "growth"})


@requirement("storage/no-call-kills-the-process", needs=("as_strided", "numpy"), may_crash=True)
def test_rebinding_outside(s: Session) -> None:
    s.run_example(lambda s, row: _run(s, _set_outside), {"row": "set_"})


EXTREME = st.sampled_from((0, 1, -1, 2, 3, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)))
CALLS = st.sampled_from(("as_strided", "expand", "view", "narrow", "select.int", "unfold", "reshape", "repeat"))


@requirement("storage/no-call-kills-the-process", needs=("as_strided",), may_crash=True)
@forall(name=CALLS, a=EXTREME, b=EXTREME, c=EXTREME)
def test_extreme_arguments(s: Session, name: str, a: int, b: int, c: int) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    arguments: dict[str, tuple[Any, ...]] = {
        "as_strided": ((a, 2), (b, 1), c),
        "narrow": (a, b, c),
        "select.int": (a, b),
        "unfold": (a, b, c),
        "repeat": ((*(_beyond_memory(n) for n in (a, b)), 2),),
    }
    y, error = s.attempt(name, x, *arguments.get(name, ((a, b, 2),)))
    if error is None:
        sizes = [float(n) for n in s.observe("shape", y)]
        # NumPy, through which results are read, describes no larger array, not even an empty one.
        readable = np.prod([max(n, 1.0) for n in sizes]) <= 2**31
        if readable and np.prod(sizes) <= 64:
            s.attempt("add.Scalar", y, 1)
    s.expect_values(x, [[1.0, 2.0], [3.0, 4.0]])


def _beyond_memory(count: int) -> int:
    """``count``, or more if a large machine has the memory for so many copies."""
    return 2**45 if count == 2**31 else count


def _emptied(s: Session, nbytes: int, through_view: bool = False) -> Handle:
    """1000 elements whose storage has been shrunk to ``nbytes``, or a view of them that was taken before."""
    x: Handle = s.call("ones", (1000,))
    view: Handle = s.call("view", x, (1000,)) if through_view else x
    s.call("resize_storage_", x, nbytes)
    s.without_data()
    return view


USES: list[tuple[str, tuple[Any, ...]]] = [
    ("add.Scalar", (1,)),
    ("sum", ()),
    ("neg", ()),
    ("clone", ()),
    ("tolist", ()),
    ("fill_.Scalar", (1,)),
    ("add_.Scalar", (1,)),
    ("zero_", ()),
    ("to.dtype", (DType("float64"),)),
    ("__setitem__", (999, 1.0)),
    ("eq.Scalar", (1,)),
    ("cumsum", (0,)),
    ("nonzero", ()),
    ("flip", ((0,),)),
]


@requirement("storage/emptied-storage-raises-on-use", may_crash=True)
def test_use_after_resize_to_nothing(s: Session) -> None:
    def body(s: Session, name: str, arguments: tuple[Any, ...]) -> None:
        s.expect_raises(RuntimeError, name, _emptied(s, 0), *arguments)

    s.table(USES, body)


@requirement("storage/emptied-storage-raises-on-use", needs=("views",), may_crash=True)
@forall(nbytes=st.integers(0, 3999), row=st.integers(0, len(USES) - 1), through_view=st.booleans())
def test_use_of_a_storage_too_short(s: Session, nbytes: int, row: int, through_view: bool) -> None:
    name, arguments = USES[row]
    x = _emptied(s, nbytes, through_view)
    s.expect_raises(RuntimeError, name, x, *arguments)
    s.expect_nbytes(x, nbytes)


@requirement("storage/emptied-storage-raises-on-use", may_crash=True)
def test_grown_again_it_works(s: Session) -> None:
    x = s.call("ones", (4,))
    s.call("resize_storage_", x, 8)
    s.expect_nbytes(x, 8)
    s.expect_raises(RuntimeError, "sum", x)
    s.call("resize_storage_", x, 16)
    s.call("fill_.Scalar", x, 3)
    s.expect_values(s.call("add.Scalar", x, 1), [4.0] * 4)


@requirement("storage/shared-memory-growth-raises", may_crash=True)
@forall(length=st.integers(1, 9), more=st.integers(1, 10000))
def test_growth_of_shared_memory(s: Session, length: int, more: int) -> None:
    x = s.call("ones", (length,))
    s.call("share_memory_", x)
    s.expect_raises(RuntimeError, "resize_", x, (length + more,))


@requirement("storage/shared-memory-growth-raises", may_crash=True)
def test_shared_three_do_not_become_four(s: Session) -> None:
    x = s.call("ones", (3,))
    s.call("share_memory_", x)
    s.expect_raises(RuntimeError, "resize_", x, (4,))
    s.expect_values(s.call("add.Scalar", x, 1), [2.0, 2.0, 2.0])
