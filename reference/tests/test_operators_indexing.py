"""Indexing with tensors, lists and masks: results, places of the new dims, assignment, errors."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs


def cube() -> Any:
    return gb.arange(24).view(2, 3, 4)


READS: list[tuple[Any, tuple[int, ...], Any]] = [
    (([0, 1], [1, 2]), (2, 4), [[4, 5, 6, 7], [20, 21, 22, 23]]),
    ((0, slice(None), [0, 1]), (3, 2), [[0, 1], [4, 5], [8, 9]]),
    (([0, 1], slice(None), [0, 1]), (2, 3), [[0, 4, 8], [13, 17, 21]]),
    ((slice(None), [0, 1], [0, 1]), (2, 2), [[0, 5], [12, 17]]),
    ((slice(None), 1, [-1]), (2, 1), [[7], [19]]),
    ((Ellipsis, [3]), (2, 3, 1), [[[3], [7], [11]], [[15], [19], [23]]]),
    ((None, [1], 0, 0), (1, 1), [[12]]),
    (([0], None, [1], 0), (1, 1), [[4]]),
    ((range(2), 0, 0), (2,), [0, 12]),
    (([True, False], 0), (1, 4), [[0, 1, 2, 3]]),
    (([], 0), (0, 4), []),
    ((1, True, 0, 0), (1,), [12]),
    ((False, 0), (0, 3, 4), []),
]


@pytest.mark.parametrize(("index", "sizes", "expected"), READS, ids=[repr(index) for index, *_ in READS])
def test_reading(index: Any, sizes: tuple[int, ...], expected: Any) -> None:
    result = cube()[index]
    assert tuple(result.shape) == sizes
    assert result.tolist() == expected


def test_result_is_a_copy() -> None:
    x = gb.arange(4)
    y = x[[0, 1]]
    y.fill_(9)
    assert x.tolist() == [0, 1, 2, 3]
    assert x[x > 1].tolist() == [2, 3]
    assert x[x > 1]._base is None


def test_strided_source_is_read_in_logical_order() -> None:
    x = cube().permute(2, 0, 1)
    assert x[[3, 0], 1].tolist() == [[15, 19, 23], [12, 16, 20]]
    assert x[x > 20].tolist() == [21, 22, 23]
    assert gb.zeros(1).expand(3)[[0, 2]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "float32", "complex64"])
def test_every_item_size(dtype: str) -> None:
    x = gb.tensor([0, 1, 1, 0]).to(getattr(gb, dtype))
    assert [complex(v) for v in x[gb.tensor([2, -4, 1])].tolist()] == [1, 0, 1]
    x[[0]] = 1
    assert complex(x[0].item()) == 1


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_index_dtypes(dtype: str) -> None:
    assert gb.arange(3)[gb.tensor([2, 0], dtype=getattr(gb, dtype))].tolist() == [2, 0]


def test_uint8_is_a_deprecated_mask() -> None:
    with pytest.warns(UserWarning, match="uint8 is deprecated"):
        assert gb.arange(3)[gb.tensor([1, 0, 1], dtype=gb.uint8)].tolist() == [0, 2]


def test_list_of_sequences_is_a_deprecated_tuple() -> None:
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert cube()[[[0, 1], [0, 1]]].tolist() == [[0, 1, 2, 3], [16, 17, 18, 19]]


def test_numpy_indices() -> None:
    assert gb.arange(3)[np.array([2, 0])].tolist() == [2, 0]
    assert gb.arange(3)[np.array([True, False, True])].tolist() == [0, 2]
    assert gb.arange(3)[np.int64(1)].item() == 1


ERRORS: list[tuple[Any, type[Exception], str]] = [
    ([2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ([-3], IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    (([0], [0], [0], [0]), IndexError, "too many indices"),
    (([0, 1], [0, 1, 2]), IndexError, "could not be broadcast together with shapes \\[2\\], \\[3\\]"),
    (np.array([True, False, True]), IndexError, "The shape of the mask \\[3\\] at index 0"),
    (np.array([0.0]), IndexError, "must be long, int, byte or bool"),
    (np.array([0], dtype=np.int8), IndexError, "must be long, int, byte or bool"),
    (([0], slice(None, None, -1)), ValueError, "step must be greater than zero"),
    ({}, IndexError, "only integers, slices"),
]


@pytest.mark.parametrize(("index", "error", "message"), ERRORS, ids=[repr(index) for index, *_ in ERRORS])
def test_errors(index: Any, error: type[Exception], message: str) -> None:
    x = cube()
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error, match=message):
        x[index] = 0
    assert x._version == 0


def test_assigning_numbers_and_tensors() -> None:
    x = gb.zeros(2, 3)
    x[[0, 1], [1, 2]] = gb.tensor([[5.0, 7.0]])
    x[:, [0]] = 2
    assert x.tolist() == [[2, 5, 0], [2, 0, 7]]
    x[x > 4] = 1.5
    assert x.tolist() == [[2, 1.5, 0], [2, 0, 1.5]]
    x[True] = gb.tensor([[[1.0], [3.0]]])
    assert x.tolist() == [[1, 1, 1], [3, 3, 3]]
    x.t()[[0, 2]] = gb.tensor([8.0, 9.0])
    assert x.tolist() == [[8, 1, 8], [9, 3, 9]]


def test_repeated_places_keep_the_last_value_or_add_up() -> None:
    x = gb.zeros(2)
    x[[0, 0, 0]] = gb.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [3, 0]
    x.index_put_((gb.tensor([1, 1]),), gb.tensor([1.0, 2.0]), accumulate=True)
    assert x.tolist() == [3, 3]
    assert x.index_put((gb.tensor([0]),), gb.tensor(5.0)).tolist() == [5, 3]
    assert x.tolist() == [3, 3]


def test_assignment_counts_once_even_when_it_writes_nothing() -> None:
    x = gb.zeros(3)
    x[[0, 1]] = 1
    x[x > 5] = 1
    x[[]] = 1
    assert x._version == 3


def test_dtypes_must_match_except_for_one_number_under_a_mask() -> None:
    x = gb.zeros(3)
    for value in (gb.tensor(1), gb.tensor([1.0], dtype=gb.float64)):
        with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
            x[[0]] = value
    x[x == 0] = gb.tensor(2.0, dtype=gb.float64)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="without overflow"):
        gb.zeros(2, dtype=gb.int8)[[0]] = 1000


def test_value_shapes_and_overlap() -> None:
    x = gb.arange(4)
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[3\] cannot be broadcast to .* shape \[2\]"):
        x[[0, 1]] = gb.arange(3)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[[0, 1]] = x[1:3]
    with pytest.raises(TypeError, match="can't assign a list"):
        x[[0, 1]] = [1, 2]
    assert x.tolist() == [0, 1, 2, 3] and x._version == 0


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([1, 2], [1.0, 2.0]), ([-1, 0], [3.0, 0.0]), ([True, False, True, False], [0.0, 2.0]), ([3] * 70, [3.0] * 70),
        ([], []),
    ],
)  # fmt: skip
def test_lists(index: Any, expected: Any) -> None:
    x = gb.arange(4.0)
    assert [x[index].tolist() for _ in range(3)] == [expected] * 3
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        x[[0, 4]]
    with pytest.raises(IndexError):
        x[[0.5]]
    with pytest.raises(IndexError, match="mask"):
        x[[True, False]]


def test_take_counts_from_the_end_too() -> None:
    x = gb.arange(6.0).view(2, 3).t()
    for _ in range(2):
        assert gb.take(x, gb.tensor([[0, 5], [1, 2]])).tolist() == [[0.0, 5.0], [3.0, 1.0]]
        assert gb.take(x, gb.tensor([-1, 1])).tolist() == [5.0, 3.0]
        assert gb.take(x, gb.tensor(2)).tolist() == 1.0
        assert gb.zeros(2, 2).put(gb.tensor([-1, 0]), gb.tensor([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 1.0]]
        with pytest.raises(IndexError, match="tried to access index 6 on a tensor of 6 elements"):
            gb.take(x, gb.tensor([6]))


ROWS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_rows_are_put_alike_by_kept_calls() -> None:
    x, rows = gb.tensor(ROWS), gb.tensor([[8.0, 8.0], [9.0, 9.0]])
    for _ in range(3):
        for places, wanted in (
            ([0, 2], [[8.0, 8.0], [2.0, 3.0], [9.0, 9.0]]),
            ([1, 1], [[0.0, 1.0], [9.0, 9.0], [4.0, 5.0]]),
            ([-1, 0], [[9.0, 9.0], [2.0, 3.0], [8.0, 8.0]]),
        ):
            index, copy = gb.tensor(places), x.clone()
            assert x.index_put((index,), rows).tolist() == wanted and x.tolist() == ROWS
            copy[index] = rows
            assert copy.tolist() == wanted and copy._version == 1
            assert copy.index_put_([index], rows).tolist() == wanted and copy._version == 2
        added = x.index_put((gb.tensor([1, 1]),), rows, accumulate=True)
        assert added.tolist() == [[0.0, 1.0], [19.0, 20.0], [4.0, 5.0]]
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
            x[gb.tensor([0, 3])] = rows
        assert x.tolist() == ROWS and x._version == 0


def test_rows_that_share_the_memory_of_their_destination_are_refused() -> None:
    x = gb.tensor(ROWS)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="single memory location"):
            x.index_put_((gb.tensor([0, 1]),), x[1:])
        assert x.tolist() == ROWS


def test_bounds_of_slices_are_not_compared() -> None:
    class Bound:
        def __index__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]

    x = gb.arange(6).view(2, 3)
    assert x[:, Bound() :].tolist() == [[1, 2], [4, 5]]
    assert x[:, : Bound()].tolist() == [[0], [3]]
    assert x[:, :: gb.tensor(2)].tolist() == [[0, 2], [3, 5]]
    assert x[:, 2:1].shape == (2, 0) and x[:, :].tolist() == x.tolist()


PLACES = hs.lists(hs.integers(-3, 2), min_size=0, max_size=5)


@given(
    ndim=hs.integers(1, 4), rows=hs.integers(1, 3), turned=hs.booleans(), nested=hs.booleans(), data=hs.data(),
    number=hs.sampled_from([0.0, 1.0, -2.5, float("nan"), 200.0]), whole=hs.booleans(),
)  # fmt: skip
def test_vectors_of_places_beside_numpy(
    ndim: int, rows: int, turned: bool, nested: bool, number: float, whole: bool, data: Any
) -> None:
    """Repeated, since the second call is one that has been kept."""
    array = np.arange(3.0**ndim).reshape((3,) * ndim)
    x = gb.from_numpy(array.copy())
    if turned and ndim > 1:
        array, x = array.swapaxes(0, 1), x.transpose(0, 1)
    listed = np.asarray(data.draw(PLACES), np.int64)
    count = min(rows, ndim)
    places = [listed, np.roll(listed, 1), listed[::-1].copy()][:count]
    if nested:
        places = [one.reshape(1, -1) for one in places]
    before = (slice(None),) * data.draw(hs.integers(0, ndim - count)) if whole else ()
    index, given_index = (*before, *places), (*before, *map(gb.from_numpy, places))
    for _ in range(2):
        np.testing.assert_array_equal(x[given_index].numpy(), array[index])
    if len({place % 3 for place in listed}) < listed.size:
        return  # which of several values a place gets is not defined
    taken = array[index]
    for value in (number, np.arange(float(taken.size)).reshape(taken.shape), taken[..., -1:] * 2):
        for _ in range(2):
            target, expected = x.clone(), array.copy()
            version = target._version
            expected[index] = value
            target[given_index] = value if isinstance(value, float) else gb.from_numpy(np.array(value))
            np.testing.assert_array_equal(target.numpy(), expected)
            assert target._version == version + 1


def test_no_index_at_all() -> None:
    x = gb.arange(6.0).view(2, 3)
    for _ in range(2):
        assert x[()].tolist() == x.tolist()
        assert gb.ops.aten.index(x, [None, None]).tolist() == x.tolist()
        y = x.clone()
        y[()] = 1.0
        assert y.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("index", [(0, 3), (3, 0), (0, -4), (-4, 0)])
def test_places_outside_are_named(index: tuple[int, int]) -> None:
    x, (i, j) = gb.zeros(3, 3), [gb.tensor([1, place]) for place in index]
    wrong = next(place for place in index if place)
    for _ in range(3):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension {index.index(wrong)} with"):
            x[i, j]
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension {index.index(wrong)} with"):
            x[i, j] = 1.0
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            x[gb.tensor([0, wrong])] = 1.0
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            x[:, gb.tensor([0, wrong])]
    assert x.tolist() == [[0.0] * 3] * 3
