"""Further random distributions: moments, reproducibility, refused arguments; and gradients of sampled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

COUNT = 20000
DRAWS: list[tuple[Callable[[], Any], float, float]] = [
    (lambda: gb.empty(COUNT).geometric_(0.25), 4, 0.15),
    (lambda: gb.empty(COUNT).log_normal_(0.0, 0.5), 1.1331, 0.03),
    (lambda: gb.poisson(gb.full((COUNT,), 3.0)), 3, 0.06),
    (lambda: gb.binomial(gb.full((COUNT,), 10.0), gb.tensor(0.3)), 3, 0.06),
    (lambda: gb.normal(gb.full((COUNT,), 2.0), 3.0), 2, 0.1),
    (lambda: gb.normal(1.0, gb.full((COUNT,), 2.0)), 1, 0.07),
    (lambda: gb.normal(gb.zeros(COUNT, 1), gb.tensor([1.0, 2.0])), 0, 0.06),
    (lambda: gb.normal(5.0, 1.0, (COUNT,), dtype=gb.float64), 5, 0.04),
    (lambda: gb.empty(COUNT).cauchy_(3.0, 0.5).median(), 3, 0.05),
]


@pytest.mark.parametrize("number", range(len(DRAWS)))
def test_means_and_seeds(number: int) -> None:
    draw, mean, distance = DRAWS[number]
    gb.manual_seed(7)
    first = draw()
    gb.manual_seed(7)
    assert (draw() == first).all().item()
    assert abs(first.mean().item() - mean) < distance
    generator = gb.Generator().manual_seed(3)
    assert gb.poisson(gb.ones(4), generator).tolist() == gb.poisson(gb.ones(4), gb.Generator().manual_seed(3)).tolist()
    assert generator.initial_seed() == 3


def test_shapes_and_dtypes() -> None:
    assert gb.normal(gb.zeros(2, 1), gb.ones(3, dtype=gb.float64)).dtype is gb.float32
    assert gb.normal(gb.zeros(2, dtype=gb.complex64), 1.0).dtype is gb.complex64
    assert gb.normal(0.0, gb.ones(2, 3), out=gb.empty(0)).shape == (2, 3)
    assert gb.empty(3, dtype=gb.int32).geometric_(0.5).min().item() >= 1
    assert gb.binomial(gb.tensor([4.0, 5.0]), gb.tensor([0.0, 1.0])).tolist() == [0, 5]
    assert gb.poisson(gb.empty(2, 3, device="meta")).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.ones(2).cauchy_(0, 0), RuntimeError, "sigma > 0.0"),
        (lambda: gb.ones(2).log_normal_(0, 0), RuntimeError, "std > 0.0"),
        (lambda: gb.ones(2).geometric_(1), RuntimeError, "in \\(0, 1\\)"),
        (lambda: gb.poisson(gb.tensor([-1.0])), RuntimeError, "non-negative"),
        (lambda: gb.binomial(gb.ones(2, dtype=gb.int64), gb.ones(2)), ValueError, "floating-point"),
        (lambda: gb.normal(gb.ones(2), -gb.ones(2)), RuntimeError, "all elements of std"),
        (lambda: gb.normal(0.0, -1.0, (2,)), RuntimeError, "std >= 0.0"),
        (lambda: gb.gradient(gb.ones(1)), RuntimeError, "edge_order"),
        (lambda: gb.gradient(gb.ones(4), edge_order=3), RuntimeError, "only supports"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_gradients() -> None:
    x = gb.tensor([1, 2, 4, 8])
    assert gb.gradient(x)[0].tolist() == [1, 1.5, 3, 4]
    assert gb.gradient(x, spacing=2)[0].tolist() == [0.5, 0.75, 1.5, 2]
    assert gb.gradient(x, spacing=[gb.tensor([0.0, 1.0, 3.0, 4.0])])[0].tolist() == pytest.approx([1, 1, 3, 4])
    assert gb.gradient(x.double() ** 2, edge_order=2)[0].tolist() == pytest.approx([-1.5, 7.5, 30, 66])
    rows, columns = gb.gradient(x.view(2, 2).double())
    assert rows.tolist() == [[3, 6], [3, 6]] and columns.tolist() == [[1, 1], [4, 4]]
    assert gb.gradient(x.view(2, 2), dim=1)[0].tolist() == columns.tolist()


def test_operands_of_drawn_numbers_are_on_one_device() -> None:
    here, nowhere = gb.ones(2), gb.ones(2, device="meta")
    for name in ("normal", "binomial"):
        for operands in ((here, nowhere), (nowhere, here)):
            with pytest.raises(RuntimeError, match=rf"{name}\(\): Expected all tensors to be on the same device"):
                getattr(gb, name)(*operands)
    assert gb.normal(nowhere, gb.tensor(1.0)).is_meta and gb.normal(here, gb.tensor(1.0)).shape == (2,)
