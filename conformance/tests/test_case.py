"""Drawn tensors and their storages."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_conformance import strategies as st
from gaugeblock_conformance import values
from gaugeblock_conformance.case import TensorCase, default_strides, extent, is_contiguous
from hypothesis import given, settings

DTYPES = (*st.ALL, "uint16", "uint32", "uint64")


@pytest.mark.parametrize(
    ("sizes", "strides", "reach"),
    [((), (), 1), ((2, 3), (3, 1), 6), ((2, 3), (10, 2), 15), ((4,), (0,), 1), ((0, 3), (3, 1), 0)],
)
def test_extent(sizes: tuple[int, ...], strides: tuple[int, ...], reach: int) -> None:
    assert extent(sizes, strides) == reach


@pytest.mark.parametrize(
    ("sizes", "strides", "want"),
    [((2, 2), (2, 1), True), ((2, 2), (1, 1), False), ((3, 1), (1, 7), True), ((), (), True), ((4,), (0,), False),
     ((0, 5), (9, 9), True)],
)  # fmt: skip
def test_contiguity(sizes: tuple[int, ...], strides: tuple[int, ...], want: bool) -> None:
    assert is_contiguous(sizes, strides) is want


def test_default_strides_count_empty_dims_as_one() -> None:
    assert default_strides((2, 0, 3)) == (3, 3, 1)
    assert default_strides(()) == ()


def test_gaps_hold_poison_and_the_view_does_not() -> None:
    case = TensorCase("float32", (2, 2), (4, 1), offset=1, storage=8, kind="small")
    assert np.isnan(case.contents).tolist() == [True, False, False, True, True, False, False, True]
    assert case.array.tolist() == [[1.0, -1.0], [3.0, -3.0]]


@settings(max_examples=300, deadline=None)
@given(case=st.tensors())
def test_view_lies_in_its_storage(case: TensorCase) -> None:
    assert case.contents.size == case.storage
    assert case.offset + extent(case.sizes, case.strides) <= case.storage
    assert case.array.shape == case.sizes


@settings(max_examples=200, deadline=None)
@given(cases=st.operands(3))
def test_operands_broadcast(cases: tuple[TensorCase, ...]) -> None:
    np.broadcast_shapes(*(case.sizes for case in cases))
    assert len(cases) == 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", values.KINDS)
def test_fill_is_seeded(dtype: str, kind: str) -> None:
    first, again, other = (values.fill(dtype, 300, seed, kind) for seed in (7, 7, 8))
    assert first.tobytes() == again.tobytes()
    assert first.shape == (300,)
    if kind != "distinct" and dtype != "bool":
        assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_hard_floats_have_all_special_values(dtype: str) -> None:
    table = values.table(dtype).astype(np.float64)
    assert np.isnan(table).any()
    assert np.isposinf(table).any()
    assert np.isneginf(table).any()
    assert (np.signbit(table) & (table == 0)).any()
    tiny = np.abs(table[(table != 0) & np.isfinite(table)]).min()
    assert 0 < tiny < 1e-4


def test_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="'nice'"):
        values.table("float32", "nice")
