"""Sorting, searching and comparing."""

from __future__ import annotations

import gaugeblock as gb
import pytest

NAN = float("nan")


def plain(values: object) -> str:
    return str(values)


def test_nan_is_last_ascending_and_first_descending() -> None:
    x = gb.tensor([3.0, NAN, 1.0, -0.0, 0.0])
    result = gb.sort(x)
    assert plain(result.values.tolist()) == "[-0.0, 0.0, 1.0, 3.0, nan]"
    assert result.indices.tolist() == [3, 4, 2, 0, 1]
    assert plain(x.sort(descending=True)[0].tolist()) == "[nan, 3.0, 1.0, -0.0, 0.0]"


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64"])
def test_stable_in_both_directions(dtype: str) -> None:
    x = gb.tensor([1, 0, 1, 0, 1]).to(getattr(gb, dtype))
    assert x.argsort(stable=True).tolist() == [1, 3, 0, 2, 4]
    assert x.argsort(descending=True, stable=True).tolist() == [0, 2, 4, 1, 3]


def test_dims_and_small_tensors() -> None:
    x = gb.tensor([[3, 1], [2, 5]])
    assert x.sort(0)[0].tolist() == x.msort().tolist() == [[2, 1], [3, 5]]
    assert x.t().sort()[1].tolist() == [[1, 0], [0, 1]]
    assert [part.tolist() for part in gb.tensor(5).sort()] == [5, 0]
    assert gb.zeros(0).sort()[1].tolist() == []
    with pytest.raises(IndexError):
        x.sort(2)
    with pytest.raises(RuntimeError, match="complex"):
        gb.tensor([1j]).sort()


def test_topk_and_kthvalue() -> None:
    x = gb.tensor([1.0, NAN, 2.0])
    assert plain(x.topk(2)[0].tolist()) == "[nan, 2.0]"
    assert x.topk(2, largest=False)[1].tolist() == [0, 2]
    assert gb.tensor([[3, 1, 2]]).kthvalue(2, keepdim=True)[1].tolist() == [[2]]
    assert [part.item() for part in gb.tensor([3, 1, 2]).kthvalue(3)] == [3, 0]
    for call in (lambda: x.topk(4), lambda: x.topk(-1), lambda: x.kthvalue(0), lambda: gb.tensor([True]).topk(1)):
        with pytest.raises(RuntimeError):
            call()


def test_sort_into_given_tensors() -> None:
    values, indices = gb.empty(0), gb.empty(0, dtype=gb.int64)
    result = gb.sort(gb.tensor([2.0, 1.0]), out=(values, indices))
    assert result.values is values and result.indices is indices
    assert values.tolist() == [1, 2] and indices.tolist() == [1, 0]


def test_unique() -> None:
    x = gb.tensor([3, 1, 2, 1])
    assert x.unique().tolist() == [1, 2, 3]
    assert [part.tolist() for part in gb.unique(x, return_inverse=True, return_counts=True)] == [
        [1, 2, 3], [2, 0, 1, 0], [2, 1, 1],
    ]  # fmt: skip
    assert [part.tolist() for part in gb.unique(gb.tensor([[3, 1, 3]]), dim=1, return_counts=True)] == [
        [[1, 3]], [1, 2],
    ]  # fmt: skip
    assert len(gb.unique(gb.tensor([NAN, NAN]))) == 2


def test_binary_search() -> None:
    steps = gb.tensor([1, 3, 5])
    assert gb.searchsorted(steps, gb.tensor([[3, 4]])).tolist() == [[1, 2]]
    assert gb.searchsorted(steps, gb.tensor([3, 4]), right=True).tolist() == [2, 2]
    assert gb.searchsorted(gb.tensor([[1, 3], [2, 4]]), gb.tensor([[3], [3]])).tolist() == [[1], [1]]
    assert gb.bucketize(gb.tensor([3.5]), steps, out_int32=True).dtype is gb.int32
    with pytest.raises(RuntimeError, match="boundaries"):
        gb.searchsorted(gb.ones(2, 3), gb.ones(3, 1))
    assert gb.isin(gb.tensor([1, 2]), gb.tensor([2.0])).tolist() == [False, True]
    assert gb.isin(gb.tensor([NAN]), gb.tensor([NAN]), invert=True).tolist() == [True]


def test_equal_and_allclose() -> None:
    x = gb.tensor([1.0, float("inf")])
    assert x.equal(x.clone()) and x.equal(x.to(gb.float64)) and not x.equal(x[:1])
    nan = gb.tensor([NAN])
    assert not nan.equal(nan) and not nan.allclose(nan) and nan.allclose(nan, equal_nan=True)
    assert x.allclose(x * 1.000001) and not x.allclose(-x) and not x.allclose(x + gb.tensor([0.1, 0.0]))
    assert x.allclose(x + gb.tensor([0.1, 0.0]), atol=0.2)
    with pytest.raises(RuntimeError, match="did not match"):
        x.allclose(x.to(gb.float64))
    with pytest.raises(RuntimeError, match="rtol"):
        x.allclose(x, rtol=-1)


@pytest.mark.parametrize(("columns", "order"), [(4, ("sort", "topk")), (6, ("topk", "sort"))])
def test_results_of_one_operator_do_not_lie_as_those_of_another(columns: int, order: tuple[str, str]) -> None:
    """sort keeps the order of strides, topk gives its results row by row, whichever is called first."""
    x = gb.arange(5 * columns, dtype=gb.float64).view(5, columns).t()
    wanted = {"sort": (1, columns), "topk": (5, 1)}
    for name in order * 2:
        values, indices = gb.sort(x, 0) if name == "sort" else gb.topk(x, columns, 0)
        assert (values.stride(), indices.stride()) == (wanted[name], wanted[name]), name


def test_kept_calls_of_one_value_along_a_dim() -> None:
    x = gb.tensor([[[3.0, 1.0], [2.0, 5.0], [4.0, 0.0]]])
    for _ in range(3):
        values, indices = gb.kthvalue(x, 2, 1)
        assert (values.tolist(), indices.tolist()) == ([[3.0, 1.0]], [[0, 0]])
        values, indices = gb.kthvalue(x, 1, 1, keepdim=True)
        assert (values.tolist(), indices.tolist()) == ([[[2.0, 0.0]]], [[[1, 2]]])
        assert gb.median(x, 2)[0].tolist() == [[1.0, 2.0, 0.0]]
        assert gb.mode(gb.tensor([1, 2, 2]), 0)[0].tolist() == 2


def test_unique_gives_what_is_asked_for() -> None:
    x = gb.tensor([[3, 1], [3, 2]])
    for _ in range(2):
        assert gb.unique(x).tolist() == [1, 2, 3]
        assert [one.tolist() for one in gb.unique(x, return_counts=True)] == [[1, 2, 3], [1, 1, 2]]
        assert [one.tolist() for one in gb.unique(x, return_inverse=True)] == [[1, 2, 3], [[2, 0], [2, 1]]]
