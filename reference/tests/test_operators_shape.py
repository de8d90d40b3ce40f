"""Joining, flipping and repeating."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


def matrix() -> Any:
    return gb.arange(6).view(2, 3)


def test_cat() -> None:
    x = matrix()
    assert gb.cat([x, x.flip(0)]).tolist() == [[0, 1, 2], [3, 4, 5], [3, 4, 5], [0, 1, 2]]
    assert gb.cat((x, x[:, :1]), dim=-1).tolist() == [[0, 1, 2, 0], [3, 4, 5, 3]]
    assert gb.concat([gb.zeros(0), x.t()]).tolist() == x.t().tolist()
    assert gb.cat([gb.ones(1, dtype=gb.int32), gb.ones(1, dtype=gb.float16)]).dtype is gb.float16
    assert gb.cat([gb.zeros(2, 0), gb.zeros(3, 0)]).shape == (5, 0)
    assert gb.cat([gb.ones(1, 2, 2, 2).contiguous(memory_format=gb.channels_last)] * 2).stride() == (8, 1, 4, 2)


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ([], ValueError, "non-empty list"),
        ([(2, 3), (2, 4)], RuntimeError, "Sizes of tensors must match except in dimension 0. Expected size 3"),
        ([(2,), (2, 2)], RuntimeError, "same number of dimensions"),
        ([()], RuntimeError, "zero-dimensional tensor \\(at position 0\\)"),
    ],
)
def test_cat_errors(tensors: list[tuple[int, ...]], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gb.cat([gb.zeros(sizes) for sizes in tensors])


def test_stack_and_its_kin() -> None:
    x, y = gb.tensor([1, 2]), gb.tensor([3, 4])
    assert gb.stack([x, y]).tolist() == [[1, 2], [3, 4]]
    assert gb.stack([x, y], -1).tolist() == [[1, 3], [2, 4]]
    assert gb.hstack([gb.tensor(0), x]).tolist() == [0, 1, 2]
    assert gb.vstack([x, y]).tolist() == [[1, 2], [3, 4]]
    assert gb.dstack([x, y]).tolist() == [[[1, 3], [2, 4]]]
    with pytest.raises(RuntimeError, match="equal size, but got \\[2\\] at entry 0 and \\[1\\] at entry 1"):
        gb.stack([x, y[:1]])
    with pytest.raises(IndexError):
        gb.stack([x, y], 2)


def test_roll_flip_rot90() -> None:
    x = matrix()
    assert x.roll(1).tolist() == [[5, 0, 1], [2, 3, 4]]
    assert x.roll((1, -1), (0, 1)).tolist() == [[4, 5, 3], [1, 2, 0]]
    assert x.t().roll(1).tolist() == [[5, 0], [3, 1], [4, 2]]
    assert x.t().roll((5, -1, 1), (0, 1, 0)).tolist() == x.t().roll(1, 1).tolist() == [[3, 0], [4, 1], [5, 2]]
    five = gb.arange(32).reshape(2, 2, 2, 2, 2)
    assert five.roll((1,) * 5, (0, 1, 2, 3, 4)).tolist() == five.flip(0, 1, 2, 3, 4).tolist()
    last = gb.zeros(2, 3, 4, 5).contiguous(memory_format=gb.channels_last)
    assert last.roll((1, 2), (1, 3)).stride() == last.stride() and last.roll(3, 1).stride() == (60, 20, 5, 1)
    assert x.flip(0, 1).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert x.fliplr().tolist() == [[2, 1, 0], [5, 4, 3]]
    assert x.flipud().tolist() == [[3, 4, 5], [0, 1, 2]]
    assert x.rot90().tolist() == [[2, 5], [1, 4], [0, 3]]
    assert x.rot90(-1).tolist() == [[3, 0], [4, 1], [5, 2]]
    assert x.rot90(2, (0, 1)).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert x.t().flip(0).stride() == (1, 3)
    for call in (lambda: x.flip(0, 0), lambda: x.roll((1,), (0, 1)), lambda: x.rot90(1, (0, 0)), lambda: x[0].fliplr()):
        with pytest.raises(RuntimeError):
            call()


def test_results_are_copies() -> None:
    x = matrix()
    for result in (x.flip(0), x.roll(0), x.repeat(1, 1), x.tile(1), x.rot90(0), gb.cat([x]), x.tril(5)):
        result.fill_(9)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_repeating() -> None:
    x = gb.tensor([1, 2])
    assert x.repeat(2, 2).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]
    assert x.repeat(0).shape == (0,)
    assert gb.tile(gb.tensor([[1], [2]]), (2,)).tolist() == [[1, 1], [2, 2]]
    assert x.repeat_interleave(2).tolist() == [1, 1, 2, 2]
    assert matrix().repeat_interleave(gb.tensor([1, 0, 2]), 1).tolist() == [[0, 2, 2], [3, 5, 5]]
    assert gb.repeat_interleave(gb.tensor([1, 0, 2])).tolist() == [0, 2, 2]
    with pytest.raises(RuntimeError, match="can not be smaller"):
        matrix().repeat(2)
    with pytest.raises(RuntimeError, match="negative"):
        x.repeat_interleave(-1)
    with pytest.raises(RuntimeError, match="same size as input"):
        matrix().repeat_interleave(gb.tensor([1, 2]), 1)


def test_triangles_diagonals_differences() -> None:
    x = matrix()
    assert x.tril().tolist() == [[0, 0, 0], [3, 4, 0]]
    assert x.triu(1).tolist() == [[0, 1, 2], [0, 0, 5]]
    assert x.diag(1).tolist() == [1, 5]
    assert gb.diag(gb.tensor([1, 2]), -1).tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert gb.diff(gb.tensor([1, 4, 9]), 2).tolist() == [2]
    assert gb.diff(gb.tensor([True, False])).tolist() == [True]
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        x[0].tril()


def test_meta_gives_sizes_without_data() -> None:
    x = gb.empty(2, 3, device="meta")
    assert gb.cat([x, x], 1).shape == (2, 6)
    assert x.roll(1, 0).shape == (2, 3)
    assert x.repeat(2, 1).shape == (4, 3)
    assert (x @ gb.empty(3, 4, device="meta")).shape == (2, 4)
