"""The stride laws against models that enumerate addresses."""

from __future__ import annotations

from itertools import product
from math import prod

from gaugeblock.core.memory_format import channels_last_3d
from gaugeblock.tensor import tensor_meta as laws
from hypothesis import given
from hypothesis import strategies as st

Ints = tuple[int, ...]

sizes_of_any_rank = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def strided(draw: st.DrawFn) -> tuple[Ints, Ints]:
    """Sizes and strides: permuted and gapped row-major ones, stride 0, and arbitrary small ones."""
    sizes = draw(sizes_of_any_rank)
    if draw(st.booleans()):
        return sizes, tuple(draw(st.lists(st.integers(0, 12), min_size=len(sizes), max_size=len(sizes))))
    order = draw(st.permutations(range(len(sizes))))
    strides = [0] * len(sizes)
    step = draw(st.integers(1, 2))
    for dim in order:
        strides[dim] = step
        step *= max(sizes[dim], 1) * draw(st.sampled_from((1, 1, 2)))
    return sizes, tuple(strides)


def addresses(sizes: Ints, strides: Ints) -> list[int]:
    """The element offsets in row-major order of the indices."""
    return [
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*[range(size) for size in sizes])
    ]


@given(sizes_of_any_rank)
def test_default_strides_count_the_later_elements(sizes: Ints) -> None:
    strides = laws.default_strides(sizes)
    assert len(strides) == len(sizes)
    for dim, stride in enumerate(strides):
        assert stride == prod(max(size, 1) for size in sizes[dim + 1 :])
    assert addresses(sizes, strides) == list(range(prod(sizes)))


@given(strided())
def test_contiguity_is_row_major_without_gaps(case: tuple[Ints, Ints]) -> None:
    sizes, strides = case
    assert laws.is_contiguous(sizes, strides) == (addresses(sizes, strides) == list(range(prod(sizes))))


@given(strided())
def test_dense_means_each_offset_once(case: tuple[Ints, Ints]) -> None:
    sizes, strides = case
    found = sorted(addresses(sizes, strides))
    assert laws.is_non_overlapping_and_dense(sizes, strides) == (found == list(range(len(found))))


@given(strided())
def test_extent_is_one_past_the_last_offset(case: tuple[Ints, Ints]) -> None:
    sizes, strides = case
    assert laws.extent(sizes, strides) == max(addresses(sizes, strides), default=-1) + 1


def factorings(numel: int, ndim: int) -> list[Ints]:
    """All sizes of `ndim` dims with that numel."""
    if not ndim:
        return [()] if numel == 1 else []
    parts = [part for part in range(1, numel + 1) if numel % part == 0]
    return [(part, *rest) for part in parts for rest in factorings(numel // part, ndim - 1)]


def solvable(offsets: list[int], sizes: Ints) -> bool:
    """Whether any strides at all give these offsets in order."""
    if not offsets or offsets == [0]:
        return True
    steps = laws.default_strides(sizes)
    guess = tuple(offsets[step] - offsets[0] if size > 1 else 0 for size, step in zip(sizes, steps, strict=True))
    return addresses(sizes, guess) == [offset - offsets[0] for offset in offsets]


@given(strided(), st.integers(0, 4), st.data())
def test_view_strides_exist_when_some_strides_do(case: tuple[Ints, Ints], ndim: int, data: st.DataObject) -> None:
    sizes, strides = case
    numel = prod(sizes)
    if not numel:
        new = data.draw(st.permutations((0, 2, 3)).map(tuple))
        expected = strides if sizes == new else laws.default_strides(new)
        assert laws.view_strides(sizes, strides, new) == expected
        return
    choices = factorings(numel, ndim)
    if not choices:
        return
    new = data.draw(st.sampled_from(choices))
    found = laws.view_strides(sizes, strides, new)
    if found is not None:
        assert addresses(new, found) == addresses(sizes, strides)
    else:
        overlapping = len(set(addresses(sizes, strides))) < numel
        assert overlapping or not solvable(addresses(sizes, strides), new)


@given(strided(), st.data())
def test_broadcast_strides_repeat(case: tuple[Ints, Ints], data: st.DataObject) -> None:
    sizes, strides = case
    lead = data.draw(st.lists(st.integers(1, 3), max_size=2))
    new = (*lead, *[data.draw(st.integers(0, 3)) if size == 1 else size for size in sizes])
    result = laws.broadcast_strides(sizes, strides, new)
    expected = [
        sum(
            (i if size != 1 else 0) * stride for i, size, stride in zip(index[len(lead) :], sizes, strides, strict=True)
        )
        for index in product(*[range(size) for size in new])
    ]
    assert addresses(new, result) == expected
    for old, stride, size, step in zip(sizes, strides, new[len(lead) :], result[len(lead) :], strict=True):
        assert step == (stride if old == size else 0)


@given(strided())
def test_preserved_format_is_dense_and_keeps_what_is_dense(case: tuple[Ints, Ints]) -> None:
    sizes, strides = case
    kept = laws.preserve_format_strides(sizes, strides)
    assert laws.is_non_overlapping_and_dense(sizes, kept)
    if laws.is_non_overlapping_and_dense(sizes, strides):
        assert kept == strides
    else:
        assert sorted(laws.reorder_dimensions(sizes, [strides])) == list(range(len(sizes)))


PRESERVED: list[tuple[Ints, Ints, Ints]] = [
    ((3, 4), (8, 2), (4, 1)),
    ((4, 3), (2, 8), (1, 4)),
    ((4, 3), (0, 1), (3, 1)),
    ((2, 3, 4), (0, 4, 1), (12, 4, 1)),
    ((2, 3), (1, 1), (1, 2)),
    ((3, 2), (1, 1), (2, 1)),
    ((2, 0, 3), (5, 7, 9), (5, 7, 9)),
    ((2, 3, 4), (24, 2, 6), (12, 1, 3)),
]


def test_preserved_format_of_gapped_tensors() -> None:
    for sizes, strides, expected in PRESERVED:
        assert laws.preserve_format_strides(sizes, strides) == expected, (sizes, strides)


def test_channels_last() -> None:
    assert laws.channels_last_strides((2, 3, 4, 5)) == (60, 1, 15, 3)
    assert laws.channels_last_strides((2, 3, 4, 5, 6), channels_last_3d) == (360, 1, 90, 18, 3)
    assert laws.is_channels_last((2, 3, 4, 5), (60, 1, 15, 3))
    assert not laws.is_channels_last((2, 3, 4, 5), (60, 20, 5, 1))
    assert not laws.is_channels_last((2, 3), (3, 1))
