"""Overloads that take numbers or tensors for the same argument, and the rules of their out=."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


def _x() -> Any:
    return gb.tensor([1.0, 2.0, 3.0])


VALUES: list[tuple[Any, Any]] = [
    (lambda: gb.max(_x(), gb.tensor(2)), [2.0, 2.0, 3.0]),
    (lambda: _x().min(gb.tensor([2, 2, 2])), [1.0, 2.0, 2.0]),
    (lambda: gb.max(_x(), gb.tensor(2.0), out=gb.empty(0)), [2.0, 2.0, 3.0]),
    (lambda: gb.searchsorted(_x(), 2.5), 2),
    (lambda: gb.bucketize(2, _x(), right=True), 2),
    (lambda: gb.isin(gb.tensor([1, 2]), 2), [False, True]),
    (lambda: gb.isin(gb.tensor([1, 2]), 2, invert=True), [True, False]),
    (lambda: gb.isin(2, gb.tensor([1, 2])), True),
    (lambda: gb.norm(gb.tensor([3.0, 4.0]), None), 5.0),
    (lambda: gb.tensor([3.0, 4.0]).norm("fro"), 5.0),
    (lambda: gb.norm(gb.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc"), 7.0),
    (lambda: gb.norm(gb.tensor([3.0, -4.0]), 1, 0, True, out=gb.empty(1)), [7.0]),
    (lambda: gb.zeros(3).index_fill(0, gb.tensor([1]), gb.tensor(2)), [0.0, 2.0, 0.0]),
    (lambda: _x().scatter_(0, gb.tensor([0, 2, 2]), gb.tensor([5.0, 6.0, 7.0]), reduce="add"), [6.0, 2.0, 16.0]),
    (lambda: gb.scatter(_x(), 0, gb.tensor([2, 2]), 4, reduce="multiply"), [1.0, 2.0, 48.0]),
    (lambda: [part.tolist() for part in gb.arange(4).tensor_split(gb.tensor([1, 3]))], [[0], [1, 2], [3]]),
    (lambda: gb.arange(4).narrow(0, gb.tensor(1), 2), [1, 2]),
    (lambda: gb.xlogy(gb.tensor([0.0, 2.0]), 1), [0.0, 0.0]),
    (lambda: gb.xlogy(0, _x()), [0.0, 0.0, 0.0]),
    (lambda: [part.item() for part in gb.var_mean(_x(), False)], [gb.tensor(2 / 3).item(), 2.0]),
    (lambda: [part.tolist() for part in gb.std_mean(_x(), 0, unbiased=True, keepdim=True)], [[1.0], [2.0]]),
    (lambda: gb.divide(_x(), 2, rounding_mode="floor"), [0.0, 1.0, 1.0]),
    (lambda: gb.tensor([1, 2]).masked_scatter(gb.tensor([[True], [False]]), gb.tensor([8, 9])), [[8, 9], [1, 2]]),
    (lambda: gb.nonzero(gb.tensor([0, 5]), out=gb.empty(0, dtype=gb.int64)), [[1]]),
    (lambda: gb.gather(_x(), 0, gb.tensor([], dtype=gb.uint8)), []),
    (lambda: gb.diff(_x(), 0, prepend=_x()), [1.0, 2.0, 3.0]),
    (lambda: gb.all(gb.tensor([1, 2]), out=gb.tensor(0, dtype=gb.uint8)), 1),
    (lambda: gb.rand(2, requires_grad=True).requires_grad, True),
]


@pytest.mark.parametrize(("call", "expected"), VALUES)
def test_value(call: Any, expected: Any) -> None:
    found = call()
    assert (found.tolist() if isinstance(found, gb.Tensor) else found) == expected


def test_scans_and_products_compute_in_the_dtype_of_out() -> None:
    halves = gb.tensor([0.5, 0.5])
    assert gb.cumsum(halves, 0, out=gb.tensor([3, 3])).tolist() == [0, 0]
    assert gb.prod(gb.tensor([-8.5, 2.0]), 0, out=gb.tensor(3)).item() == -16
    tenths = gb.tensor([0.0, 0.1, 0.3], dtype=gb.float16)
    assert gb.var(tenths, 0, out=gb.empty(())).item() == pytest.approx(tenths.float().var().item(), rel=1e-6)
    with pytest.raises(NotImplementedError):
        gb.cumsum(halves, 0, out=gb.tensor([True, True]))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum"])
def test_out_has_the_dtype_that_was_asked_for(name: str) -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(gb, name)(_x(), 0, dtype=gb.float64, out=gb.empty(3) if name == "cumsum" else gb.empty(()))


def _gather(x: Any) -> Any:
    return gb.gather(x, 0, gb.tensor([2, 1, 0]), out=x)


def _cat(x: Any) -> Any:
    return gb.cat([x[:0], x], out=x)


@pytest.mark.parametrize("call", [_gather, _cat, lambda x: gb.masked_select(x, x > 0, out=x)])
def test_out_is_not_an_input_where_places_move(call: Any) -> None:
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        call(_x())


ERRORS: list[tuple[Any, type[Exception]]] = [
    (lambda: gb.isin(1, 2), TypeError),
    (lambda: gb.isin(_x(), True), RuntimeError),
    (lambda: gb.rsub(2, _x()), TypeError),
    (lambda: gb.searchsorted(_x().view(1, 3), 2), RuntimeError),
    (lambda: gb.norm(_x(), "max"), RuntimeError),
    (lambda: gb.norm(_x(), out=gb.empty((), dtype=gb.float64)), RuntimeError),
    (lambda: gb.zeros(3).index_fill_(0, gb.tensor([1]), gb.tensor([1])), RuntimeError),
    (lambda: gb.zeros(3).masked_fill(gb.tensor(True), gb.tensor(1j)), RuntimeError),
    (lambda: gb.zeros(3, dtype=gb.uint8).masked_fill(gb.tensor(True), gb.tensor(300.0)), RuntimeError),
    (lambda: gb.scatter(_x(), 0, gb.tensor([0]), 1.0, reduce="max"), RuntimeError),
    (lambda: gb.arange(4).tensor_split(gb.tensor([1], dtype=gb.int32)), RuntimeError),
    (lambda: gb.arange(4).narrow(0, gb.tensor([1]), 2), RuntimeError),
    (lambda: gb.stack([_x()], out=gb.empty(0, dtype=gb.int64)), TypeError),
    (lambda: gb.aminmax(gb.empty(0, 3), dim=0), IndexError),
    (lambda: gb.randn(3, dtype=gb.float64, out=gb.empty(3)), RuntimeError),
    (lambda: gb.randint(0, 3, (3,), requires_grad=True), RuntimeError),
    (lambda: _x().nonzero(out=gb.empty(0, dtype=gb.int64)), TypeError),
]


@pytest.mark.parametrize(("call", "error"), ERRORS)
def test_error(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
