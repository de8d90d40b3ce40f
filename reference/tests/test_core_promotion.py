"""promote_types and can_cast as whole tables."""

from __future__ import annotations

from itertools import product

import pytest
from gaugeblock.core import dtype as d
from gaugeblock.core.promotion import can_cast, promote_types

LIMITED = (d.uint16, d.uint32, d.uint64)
USUAL = tuple(dtype for dtype in d.ALL_DTYPES if dtype not in LIMITED and dtype not in d.FLOAT8)
INTS = {dtype: dtype.itemsize for dtype in (d.int8, d.int16, d.int32, d.int64)}


def model(a: d.DType, b: d.DType) -> d.DType:
    """The lattice: kinds dominate widths; within a kind the smallest dtype that holds both."""
    if a.kind != b.kind:
        high, low = (a, b) if a.kind > b.kind else (b, a)
        if high.is_complex and low.is_floating_point:
            return max(high, low.to_complex(), key=lambda dtype: dtype.itemsize)
        return high
    if a is b:
        return a
    if a.kind == 1:
        need = max(2 if d.uint8 in (a, b) and d.int8 in (a, b) else 0, a.itemsize, b.itemsize)
        return next(dtype for dtype, size in INTS.items() if size >= need)
    if {a, b} == {d.float16, d.bfloat16}:
        return d.float32
    return a if a.itemsize > b.itemsize else b


@pytest.mark.parametrize("a", USUAL, ids=lambda dtype: dtype.name)
def test_promotion_follows_the_lattice(a: d.DType) -> None:
    for b in USUAL:
        assert promote_types(a, b) is promote_types(b, a) is model(a, b), b


def test_promotion_is_associative_but_for_the_halves() -> None:
    halves = {d.float16, d.bfloat16}
    for a, b, c in product(USUAL, repeat=3):
        if halves <= {a, b, c} or {d.bfloat16, d.complex32} <= {a, b, c}:
            continue
        assert promote_types(promote_types(a, b), c) is promote_types(a, promote_types(b, c))


def test_wide_unsigned_ints_meet_only_floats_and_themselves() -> None:
    for a, b in product(LIMITED, (*USUAL, *LIMITED)):
        if a is b or b.is_floating_point:
            assert promote_types(a, b) is b
        else:
            with pytest.raises(RuntimeError, match="uint16, uint32, uint64"):
                promote_types(a, b)


def test_can_cast_forbids_lowering_the_kind() -> None:
    for a, b in product(d.ALL_DTYPES, repeat=2):
        assert can_cast(a, b) == (a.kind <= b.kind)
