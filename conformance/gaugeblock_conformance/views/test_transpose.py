"""Transposes and permutations: the same numbers of the record in another order."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .indices import paired
from .layout import Layout, Sizes, expect_view, layout_of


def orders(sizes: Sizes) -> st.SearchStrategy[tuple[int, ...]]:
    """A permutation of the dims."""
    return st.permutations(range(len(sizes))).map(tuple)


SWAPS = ("transpose.int", "swapaxes", "swapdims")


@requirement("views/transpose-permutes-metadata")
def test_transpose_of_two_by_three(s: Session) -> None:
    x = s.tensor([[1, 2, 3], [4, 5, 6]], "int16")
    want = Layout((3, 2), (1, 3))
    for name, arguments in (("t", ()), ("T", ()), ("mT", ()), ("transpose.int", (0, 1)), ("permute", ((1, 0),))):
        y = s.call(name, x, *arguments)
        expect_view(s, y, x, want)
        s.expect_values(y, [[1, 4], [2, 5], [3, 6]], dtype="int16")


@requirement("views/transpose-permutes-metadata")
@forall(pair=paired(tensors(), orders), negative=st.booleans())
def test_permute(s: Session, pair: tuple[TensorCase, tuple[int, ...]], negative: bool) -> None:
    case, order = pair
    rank = len(order)
    x = s.build(case)
    y = s.call("permute", x, tuple(k - rank for k in order) if negative else order)
    expect_view(s, y, x, layout_of(case).permute(order), case.array.transpose(order))


@requirement("views/transpose-permutes-metadata")
@forall(case=tensors(min_dims=1), a=st.integers(-4, 3), b=st.integers(-4, 3), name=st.sampled_from(SWAPS))
def test_swaps(s: Session, case: TensorCase, a: int, b: int, name: str) -> None:
    rank = len(case.sizes)
    a, b = (max(-rank, min(rank - 1, k)) for k in (a, b))
    x = s.build(case)
    expect_view(s, s.call(name, x, a, b), x, layout_of(case).swap(a, b), case.array.swapaxes(a, b))


@requirement("views/transpose-permutes-metadata")
@forall(case=tensors(max_dims=2))
def test_t_of_up_to_two_dims(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    want = layout_of(case).permute(tuple(reversed(range(len(case.sizes)))))
    expect_view(s, s.call("t", x), x, want, case.array.T)
    if len(case.sizes) == 2:
        expect_view(s, s.call("T", x), x, want, case.array.T)


@requirement("views/transpose-permutes-metadata")
@forall(case=tensors(min_dims=2))
def test_matrix_transpose_swaps_the_last_two(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    want = layout_of(case).swap(-1, -2)
    expect_view(s, s.call("mT", x), x, want, case.array.swapaxes(-1, -2))


@requirement("views/transpose-permutes-metadata")
@forall(pair=paired(tensors(), lambda dims: st.tuples(orders(dims), orders(dims))), count=st.integers(0, 4))
def test_movedim(s: Session, pair: tuple[TensorCase, tuple[tuple[int, ...], ...]], count: int) -> None:
    case, both = pair
    rank = len(case.sizes)
    source, target = (order[:count] for order in both)
    order = [k for k in range(rank) if k not in source]
    for place, dim in sorted(zip(target, source, strict=True)):
        order.insert(place, dim)
    x = s.build(case)
    y = s.call("movedim.intlist", x, source, target)
    expect_view(s, y, x, layout_of(case).permute(order), np.moveaxis(case.array, source, target))


@requirement("views/transposed-element-is-the-same-memory")
@forall(case=tensors(min_dims=2, max_dims=2, layouts=("contiguous", "permuted", "offset", "gapped", "mixed")),
        pick=st.integers(0, 999), value=st.integers(1, 100))  # fmt: skip
def test_write_through_the_transpose(s: Session, case: TensorCase, pick: int, value: int) -> None:
    s.require("index.set")
    x = s.build(case)
    y = s.call("t", x)
    want = layout_of(case)
    back = s.call("t", y)
    expect_view(s, back, x, want, case.array)
    if case.numel:
        i, j = (int(k) for k in np.unravel_index(pick % case.numel, case.sizes))
        truth = case.contents.copy()
        want.of(truth)[i, j] = value
        s.call("__setitem__", y, (j, i), value)
        s.expect_values(x, want.of(truth))


@requirement("views/transposed-element-is-the-same-memory")
def test_addresses_agree(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = s.call("transpose.int", x, 0, 1)
    for i in range(2):
        for j in range(3):
            here, there = s.call("__getitem__", x, (i, j)), s.call("__getitem__", y, (j, i))
            s.expect_values(there, 1.0 + 3 * i + j)
            if {"storage", "strided"} <= s.capabilities:
                s.expect_shares(there, here)
                s.expect_offset(there, 3 * i + j)
                s.expect_offset(here, 3 * i + j)


def _seconds(s: Session, x: Handle, repeat: int) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeat):
            s.backend.call("transpose.int", x.raw, 0, 1)
            s.backend.call("permute", x.raw, (1, 0))
        best = min(best, time.perf_counter() - start)
    return best / repeat


@requirement("views/transpose-cost-ignores-numel")
def test_transpose_of_sixteen_million_elements_is_as_fast(s: Session) -> None:
    """A copy of the large matrix would take a thousand times as long; 20 times leaves room for a busy machine."""
    small = s.call("zeros", (2, 2))
    large = s.call("zeros", (4096, 4096))
    for x in (small, large):
        s.call("transpose.int", x, 0, 1)
        s.call("permute", x, (1, 0))
    repeat = 50
    slow = _seconds(s, large, repeat) / max(_seconds(s, small, repeat), 1e-6)
    what = "a transpose takes as long for 16777216 elements as for 4"
    s.expect(slow < 20, True, what, NoReproducer("two times are compared"))
