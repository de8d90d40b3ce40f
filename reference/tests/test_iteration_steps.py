"""The iterator's steps as pure functions."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from gaugeblock.core.dtype import bool_, complex128, float16, float32, float64, int8, int32, int64, uint8
from gaugeblock.core.promotion import common_dtype
from gaugeblock.iteration.dimensions import (
    INT32_MAX,
    broadcast_shapes,
    coalesce_dimensions,
    fits_32bit,
    iteration_strides,
    packed_strides,
    unpermute,
)
from gaugeblock.iteration.overlap import Extent, Overlap, internal_overlap, pair_overlap
from gaugeblock.tensor.tensor_meta import permuted, reorder_dimensions
from hypothesis import given
from hypothesis import strategies as st

shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_broadcast_agrees_with_numpy(given_shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            broadcast_shapes(given_shapes)
    else:
        assert broadcast_shapes(given_shapes) == expected


def test_broadcast_error_names_sizes_and_dim() -> None:
    with pytest.raises(RuntimeError, match=r"tensor a \(4\).*tensor b \(3\) at non-singleton dimension 1"):
        broadcast_shapes([(2, 4), (3,)])


def test_stretched_and_missing_dims_have_stride_zero() -> None:
    assert iteration_strides((3, 1), (1, 7), (2, 3, 5), 4) == (0, 4, 0)
    assert iteration_strides((1, 3), (9, 1), (1, 3), 8) == (72, 8)


@pytest.mark.parametrize(
    ("sizes", "strides", "verdict"),
    [((3, 4), (4, 1), Overlap.NO), ((3, 4), (1, 3), Overlap.NO), ((3, 4), (0, 1), Overlap.YES),
     ((1, 4), (0, 1), Overlap.NO), ((3, 4), (2, 1), Overlap.TOO_HARD), ((0, 4), (0, 0), Overlap.NO)],
)  # fmt: skip
def test_internal_overlap(sizes: tuple[int, ...], strides: tuple[int, ...], verdict: Overlap) -> None:
    assert internal_overlap(sizes, strides) is verdict


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [((0, (4,), (1,)), (0, (4,), (1,)), Overlap.FULL), ((0, (4,), (1,)), (1, (4,), (1,)), Overlap.PARTIAL),
     ((0, (4,), (1,)), (4, (4,), (1,)), Overlap.NO), ((0, (3, 3), (3, 1)), (0, (3, 3), (1, 3)), Overlap.PARTIAL),
     ((0, (2, 2), (3, 1)), (4, (2, 2), (3, 1)), Overlap.TOO_HARD), ((0, (0,), (1,)), (0, (4,), (1,)), Overlap.NO)],
)  # fmt: skip
def test_pair_overlap(
    a: tuple[int, tuple[int, ...], tuple[int, ...]], b: tuple[int, tuple[int, ...], tuple[int, ...]], verdict: Overlap
) -> None:
    assert pair_overlap(Extent(7, *a, 4), Extent(7, *b, 4)) is verdict
    assert pair_overlap(Extent(7, *a, 4), Extent(8, *b, 4)) is Overlap.NO


def test_overlap_counts_bytes_not_elements() -> None:
    assert pair_overlap(Extent(7, 2, (2,), (1,), 8), Extent(7, 0, (4,), (1,), 4)) is Overlap.NO
    assert pair_overlap(Extent(7, 1, (2,), (1,), 8), Extent(7, 0, (4,), (1,), 4)) is Overlap.PARTIAL


def test_smallest_stride_goes_innermost() -> None:
    assert reorder_dimensions((3, 4), [(4, 12)]) == (0, 1)
    assert reorder_dimensions((3, 4), [(16, 4)]) == (1, 0)


def test_first_operand_with_an_opinion_decides() -> None:
    assert reorder_dimensions((3, 4), [(4, 12), (16, 4)]) == (0, 1)
    assert reorder_dimensions((3, 4), [(0, 4), (4, 12)]) == (0, 1)
    assert reorder_dimensions((3, 4), [None, (4, 12)]) == (0, 1)


def test_equal_strides_put_the_smaller_size_inside() -> None:
    assert reorder_dimensions((1, 2), [(8, 8)]) == (0, 1)
    assert reorder_dimensions((2, 1), [(8, 8)]) == (1, 0)


def test_reduced_dims_go_innermost() -> None:
    assert reorder_dimensions((3, 4), [(0, 4), (16, 4)], [True]) == (0, 1)


@given(st.permutations(range(4)))
def test_unpermute_inverts_permute(order: list[int]) -> None:
    assert unpermute(permuted((5, 6, 7, 8), tuple(order)), tuple(order)) == (5, 6, 7, 8)


def test_packed_strides_follow_the_order() -> None:
    assert packed_strides((2, 3, 4), (2, 1, 0)) == (12, 4, 1)
    assert packed_strides((2, 3, 4), (0, 2, 1)) == (1, 8, 2)


@given(st.data())
def test_coalescing_visits_the_same_addresses(data: st.DataObject) -> None:
    ndim = data.draw(st.integers(0, 4))
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(ndim))
    operands = [tuple(data.draw(st.sampled_from([0, 4, 8, 12, 24, 36])) for _ in shape) for _ in range(2)]
    merged, strides = coalesce_dimensions(shape, operands)
    assert prod(merged) == prod(shape) and len(merged) <= max(len(shape), 1)

    def visited(sizes: tuple[int, ...], steps: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
        return sorted(
            tuple(sum(i * s for i, s in zip(index, operand, strict=True)) for operand in steps)
            for index in product(*map(range, sizes))
        )

    assert visited(merged, strides) == visited(shape, tuple(operands))


def test_coalescing_needs_every_operand() -> None:
    assert coalesce_dimensions((4, 3), [(4, 16), (4, 16)]) == ((12,), ((4,), (4,)))
    assert coalesce_dimensions((4, 3), [(4, 16), (4, 0)])[0] == (4, 3)
    assert coalesce_dimensions((2, 3), [(8, 16)]) == ((6,), ((8,),))
    assert coalesce_dimensions((4, 1, 3), [(4, 999, 16)])[0] == (12,)
    assert coalesce_dimensions((4, 3), [(4, 16), (0, 0)])[0] == (12,)


def test_32bit_offsets_reach_every_byte() -> None:
    assert not fits_32bit((8, 1 << 30), [(1 << 30, 1)])
    assert fits_32bit((INT32_MAX,), [(1,)]) and not fits_32bit((INT32_MAX + 1,), [(0,)])


@pytest.mark.parametrize(
    ("operands", "expected"),
    [([(int32, 2), (float64, 1)], float64), ([(int8, 2), (int64, 1)], int8), ([(float16, 2), (float32, 0)], float16),
     ([(bool_, 2), (int64, 0)], int64), ([(int32, 2), (float32, 0)], float32), ([(uint8, 2), (bool_, 1)], uint8),
     ([(float64, 2), (complex128, 0)], complex128), ([(float32, 2), (float64, 2)], float64), ([(int64, 0)], int64),
     ([(bool_, 2), (int8, 1), (float32, 0)], float32)],
)  # fmt: skip
def test_three_classes_of_operands(operands: list, expected: object) -> None:  # type: ignore[type-arg]
    assert common_dtype(operands) is expected
