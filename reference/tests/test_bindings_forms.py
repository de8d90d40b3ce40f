"""Forms of a call: tensors one by one or in a list, out= of functions only, tuples of parts."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


@pytest.mark.parametrize(
    "parts",
    [
        gb.arange(4).split(2),
        gb.arange(4).split([1, 3]),
        gb.arange(4).chunk(2),
        gb.arange(4).tensor_split(2),
        gb.arange(4).tensor_split((1, 2)),
        gb.arange(4).unbind(),
        gb.meshgrid(gb.arange(2), indexing="ij"),
        gb.broadcast_tensors(gb.arange(2)),
    ],
)
def test_parts_come_in_a_tuple(parts: Any) -> None:
    assert type(parts) is tuple


def test_tensors_one_by_one_or_in_a_list() -> None:
    row, column = gb.arange(3), gb.arange(2)
    assert [grid.tolist() for grid in gb.meshgrid(column, row, indexing="ij")] == [
        [[0, 0, 0], [1, 1, 1]],
        [[0, 1, 2], [0, 1, 2]],
    ]
    assert [tuple(grid.shape) for grid in gb.meshgrid([row, column], indexing="xy")] == [(2, 3), (2, 3)]
    assert gb.meshgrid(row, column, indexing="xy")[0].tolist() == [[0, 1, 2], [0, 1, 2]]
    listed = gb.broadcast_tensors([column.view(2, 1), row])
    single = gb.broadcast_tensors(column.view(2, 1), row)
    assert [tuple(tensor.shape) for tensor in single] == [tuple(tensor.shape) for tensor in listed] == [(2, 3), (2, 3)]
    with pytest.raises(TypeError):
        gb.broadcast_tensors(row, 1)


@pytest.mark.parametrize("name", ["exp", "sum", "gather", "add", "sort"])
def test_methods_take_no_out(name: str) -> None:
    x = gb.ones(2)
    arguments = {"gather": (0, gb.tensor([0, 1])), "add": (1,)}.get(name, ())
    with pytest.raises(TypeError):
        getattr(x, name)(*arguments, out=gb.empty(2))


def test_out_picks_the_overload_that_writes() -> None:
    out = gb.empty(())
    assert gb.std(gb.tensor([1.0, 3.0]), out=out) is out
    assert round(out.item(), 5) == 1.41421


@pytest.mark.parametrize(
    "call",
    [
        lambda out: gb.ones(2, dtype=gb.int32, out=out),
        lambda out: gb.full((2,), 1, dtype=gb.int64, out=out),
        lambda out: gb.arange(2, dtype=gb.int64, out=out),
        lambda out: gb.linspace(0, 1, 2, dtype=gb.float64, out=out),
        lambda out: gb.eye(2, dtype=gb.float64, out=out),
    ],
)
def test_factories_refuse_an_out_of_another_dtype(call: Any) -> None:
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        call(gb.empty(2, dtype=gb.float32))


def test_ranges_keep_the_shape_of_an_out_with_room_for_them() -> None:
    out = gb.empty(2, 3)
    assert gb.arange(6.0, out=out).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert tuple(gb.linspace(0, 1, 4, out=out).shape) == (4,)


def test_integer_spaces_cut_their_bounds_first() -> None:
    assert gb.linspace(4.9, 0, 5, dtype=gb.int32).tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(RuntimeError):
        gb.linspace(float("nan"), 3, 4, dtype=gb.int32)


def test_sizes_by_keyword() -> None:
    x = gb.arange(6)
    assert (x.view(size=(2, 3)).shape, x.view(dtype=gb.int32).shape) == ((2, 3), (12,))
    assert x.reshape(shape=(3, 2)).permute(dims=(1, 0)).expand(size=(4, 2, 3)).shape == (4, 2, 3)
    assert x.repeat(repeats=(2,)).flip(dims=[0]).shape == (12,) and x.clone().resize_(size=[2]).shape == (2,)
    for call in (lambda: x.view(6, size=(2, 3)), lambda: x.reshape(6, shape=6), lambda: x.permute(0, dims=(0,))):
        with pytest.raises(TypeError):
            call()
