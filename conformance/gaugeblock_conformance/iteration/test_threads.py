"""Threads: exact operators do not notice them, reductions repeat."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..threads import expect_alone, threads

_LENGTHS = (32767, 32768, 32769, 65535, 65536, 65537, 100003)


def _wave(count: int, dtype: str = "float32") -> Array:
    return np.sin(np.arange(count)).astype(dtype)


@requirement("iteration/elementwise-ignores-thread-count")
def test_elementwise_at_the_grain(s: Session) -> None:
    def row(s: Session, count: int) -> None:
        data = _wave(count)
        x = s.tensor(data)
        for operator in ("neg", "exp", "sqrt", "add.Tensor", "gt.Tensor"):
            arguments = (x, x) if "." in operator else (x,)
            with threads(s, 1):
                alone = s.call(operator, *arguments)
            with threads(s, 3):
                together = s.call(operator, *arguments)
            s.expect_agreement(together, alone)
        s.expect_values(s.call("add.Tensor", x, x), data + data)

    s.table(_LENGTHS, row)


@requirement("iteration/elementwise-ignores-thread-count")
@forall(
    count=hs.sampled_from(_LENGTHS),
    step=hs.integers(1, 3),
    several=hs.integers(2, 4),
    operator=hs.sampled_from(["mul.Tensor", "abs", "tanh", "lt.Tensor"]),
    weight=0.1,
)
def test_strided_ranges(s: Session, count: int, step: int, several: int, operator: str) -> None:
    x = s.build(TensorCase("float32", (count,), (step,), offset=1, kind="hard", seed=count))
    arguments = (x, x) if "." in operator else (x,)
    with threads(s, 1):
        alone = s.call(operator, *arguments)
    with threads(s, several):
        together = s.call(operator, *arguments)
    s.expect_agreement(together, alone)


@requirement("iteration/chunks-cover-the-range-once")
@forall(count=hs.sampled_from(_LENGTHS), several=hs.integers(1, 4), weight=0.1)
def test_every_element_once(s: Session, count: int, several: int) -> None:
    data = np.arange(count, dtype=np.int32)
    x = s.tensor(data)
    with threads(s, several):
        s.expect_values(s.call("add.Tensor", x, x), data + data)
        s.call("add_.Scalar", x, 1)
    s.expect_values(x, data + 1)


@requirement("iteration/chunks-cover-the-range-once")
def test_short_ranges_stay_on_one_thread(s: Session) -> None:
    def row(s: Session, operator: str, operands: int) -> None:
        x = s.call("ones", (32767,))
        given = [x.raw] * operands
        s.call(operator, *[x] * operands)
        with threads(s, 4):
            expect_alone(s, lambda: s.backend.call(operator, *given), f"{operator} of 32767 elements")

    s.table([("add.Tensor", 2), ("neg", 1), ("gt.Tensor", 2), ("clone", 1), ("exp", 1)], row)


@requirement("iteration/reductions-repeat-exactly")
def test_sums_repeat(s: Session) -> None:
    def row(s: Session, count: int) -> None:
        data = _wave(count)
        x = s.tensor(data)
        exact = data.astype(np.longdouble).sum()
        steps = 64 + 4 * count.bit_length()
        bound = np.asarray(steps * np.finfo(np.float32).eps * np.abs(data).sum(dtype=np.float64))
        for several in (1, 2, 3):
            with threads(s, several):
                first = s.call("sum", x)
                s.expect_close(first, np.asarray(exact), bound)
                for _ in range(5):
                    s.expect_agreement(s.call("sum", x), first)

    s.table((10, 1000, *_LENGTHS), row)


@requirement("iteration/reductions-repeat-exactly")
@forall(
    x=st.tensors(("float32", "float64"), kind="finite", long=True, min_dims=1, max_dims=2, empty=False),
    operator=hs.sampled_from(["sum", "mean", "prod", "amax", "var"]),
    weight=0.3,
)
def test_any_reduction_repeats(s: Session, x: TensorCase, operator: str) -> None:
    made = s.build(x)
    first = s.call(operator, made)
    s.expect_agreement(s.call(operator, made), first)
