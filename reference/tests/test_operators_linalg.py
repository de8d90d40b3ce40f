"""Linear algebra: determinants, and what every operator of the family asks of its operands."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest

A = gb.tensor([[2.0, 1.0], [4.0, 5.0]])


def test_determinants() -> None:
    assert gb.linalg.det(A).item() == pytest.approx(6)
    assert gb.det(gb.stack([A, A.t()])[:, ::1]).tolist() == pytest.approx([6, 6])
    assert gb.det(gb.tensor([[1j, 2], [0, 1]])).item() == pytest.approx(1j)
    assert gb.det(gb.zeros(0, 0)).item() == 1
    assert gb.det(gb.zeros(3, 0, 0)).tolist() == [1, 1, 1]
    sign, logarithm = gb.slogdet(-A[:1, :1])
    assert (sign.item(), logarithm.item()) == (-1, pytest.approx(math.log(2)))
    assert gb.linalg.slogdet(gb.zeros(2, 2)).logabsdet.item() == -math.inf
    assert math.isnan(gb.logdet(gb.tensor([[-1.0]])).item())


def test_lazily_conjugate_and_expanded_operands() -> None:
    z = gb.tensor([[1j, 2], [0, 1 + 1j]]).conj()
    assert gb.det(z).item() == pytest.approx(-1j - 1)
    assert gb.det(A.expand(3, 2, 2)).tolist() == pytest.approx([6, 6, 6])


@pytest.mark.parametrize("function", [gb.linalg.det, gb.linalg.slogdet, gb.logdet, gb.det])
def test_what_is_refused(function: Any) -> None:
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        function(gb.ones(2))
    with pytest.raises(RuntimeError, match="2 by 3 matrices"):
        function(gb.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        function(gb.ones(2, 2, dtype=gb.int64))
    with pytest.raises(NotImplementedError, match="Half"):
        function(gb.ones(2, 2, dtype=gb.float16))


def test_meta_has_the_sizes_of_cpu() -> None:
    x = gb.empty(4, 3, 3, device="meta", dtype=gb.complex64)
    assert gb.det(x).shape == (4,)
    assert [(t.shape, t.dtype) for t in gb.slogdet(x)] == [((4,), gb.complex64), ((4,), gb.float32)]


def test_kron() -> None:
    x, y = gb.tensor([[1, 2], [3, 4]]), gb.tensor([1.0, 10.0])
    assert gb.kron(x, y).tolist() == [[1, 10, 2, 20], [3, 30, 4, 40]]
    assert gb.kron(y, x.t()).tolist() == [[1, 3, 10, 30], [2, 4, 20, 40]]
    assert x.kron(x[:1, :0]).shape == (2, 0)
    assert gb.kron(gb.tensor(3), x[0]).tolist() == [3, 6]
    assert gb.kron(gb.tensor([True]), gb.tensor([True, False])).tolist() == [True, False]


def test_names_of_the_namespaces() -> None:
    assert "det" in dir(gb.linalg) and "namespace" not in dir(gb.linalg)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = gb.linalg.no_such_thing
    assert issubclass(gb.linalg.LinAlgError, RuntimeError)
