"""``out=`` of sparse tensors, sizes that change in place, and products that stay sparse."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


def matrix() -> Any:
    return gb.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))


def test_out_takes_sizes_and_elements_and_shares_nothing() -> None:
    s, out = matrix(), gb.zeros(1, 1, dtype=gb.float64).to_sparse()
    version = out._version
    assert gb.add(s, s, alpha=-2, out=out) is out
    assert out.to_dense().tolist() == [[0.0, 0.0, -3.0], [-4.0, 0.0, -5.0]] and out.dtype is gb.float64
    assert out._version > version
    out._values().fill_(9.0)
    out._indices().fill_(0)
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]


def test_out_may_be_an_operand() -> None:
    s = matrix()
    assert gb.mul(s, s, out=s).to_dense().tolist() == [[0.0, 0.0, 9.0], [16.0, 0.0, 25.0]]
    assert gb.add(s, s, out=s).to_dense().tolist() == [[0.0, 0.0, 18.0], [32.0, 0.0, 50.0]]


def test_strided_out_is_resized() -> None:
    with pytest.warns(UserWarning, match="resized"):
        found = gb.mm(matrix(), gb.ones(3, 2), out=gb.ones(3))
    assert found.tolist() == [[3.0, 3.0], [9.0, 9.0]]


def test_out_of_another_kind_is_refused() -> None:
    s = matrix()
    for out, message in (
        (gb.zeros(2, 3), r"add\(\): the result has layout sparse_coo, and out= has layout strided"),
        (s.to_sparse_csr(), "out= has layout sparse_csr"),
        (s.int(), r"add\(\): result type Float can't be cast to the desired output type Int"),
        (s.to("meta"), "Expected out tensor to be on device cpu, but it is on meta"),
    ):
        before = repr(out)
        with pytest.raises(RuntimeError, match=message):
            gb.add(s, s, out=out)
        assert repr(out) == before
    with pytest.raises(TypeError, match="argument 'out'"):
        gb.add(s, s, out=[])


def test_dense_blocks_grow_with_zeros() -> None:
    h = gb.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    assert h.sparse_resize_((4, 3), 1, 1) is h
    assert h.to_dense().tolist() == [[1.0, 2.0, 0.0], [0.0] * 3, [3.0, 4.0, 0.0], [0.0] * 3]
    with pytest.raises(RuntimeError, match=r"shrinking the size of dense dimensions \(from \[3\] to \[2\]\)"):
        h.sparse_resize_((4, 2), 1, 1)
    with pytest.raises(RuntimeError, match="negative"):
        h.sparse_resize_and_clear_((4, -2), 1, 1)
    with pytest.raises(TypeError, match="argument 'sparse_dim'"):
        h.sparse_resize_((4, 3), 1.5, 1)
    assert h.sparse_resize_and_clear_((2, 2, 2), 2, 1)._nnz() == 0 and h.shape == (2, 2, 2) and h.dense_dim() == 1


def test_products_that_stay_sparse_have_gradients() -> None:
    values, dense = gb.tensor([3.0, 4.0, 5.0], requires_grad=True), gb.ones(3, 2, requires_grad=True)
    s = gb.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], values, (3, 3))
    made = gb.smm(s, dense)
    assert made._indices().tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]] and made._values().tolist() == [3.0, 3.0, 9.0, 9.0]
    (made.to_dense().sum() + gb.hspmm(s, dense).to_dense().sum()).backward()
    assert values.grad.tolist() == [4.0, 4.0, 4.0]
    assert dense.grad.tolist() == [[8.0, 8.0], [0.0, 0.0], [16.0, 16.0]]


def test_errors_name_the_function_that_was_called() -> None:
    for name in ("spmm", "dsmm", "hsmm", "saddmm"):
        with pytest.raises(TypeError, match=rf"^{name}\(\) missing"):
            getattr(gb, name)()
    with pytest.raises(TypeError, match="argument 'dtype' must be"):
        gb.zeros_like(gb.ones(1), dtype={"float": 32})
