"""Compressed tensors beside PyTorch's, and beside loops over their rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

torch = pytest.importorskip("torch")

MATRIX = [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
PARTS = [0, 1, 3], [2, 0, 2], [1.0, 2.0, 3.0]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain(found: Any) -> Any:
    if hasattr(found, "layout"):
        layout = str(found.layout).rpartition(".")[2]
        dense = found if layout == "strided" else found.to_dense()
        return layout, str(found.dtype).rpartition(".")[2], tuple(found.shape), dense.detach().tolist()
    return found


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return next(kind for kind in (TypeError, IndexError, RuntimeError) if isinstance(error, kind))


CALLS = """
c._nnz() | c.sparse_dim() | c.dense_dim() | c.is_sparse | c.is_sparse_csr | c.indices() | c.coalesce()
c._indices() | c.crow_indices() | c.col_indices() | c.values() | c.ccol_indices() | c.stride() | c.is_contiguous()
c.contiguous() | c.numpy() | c.view(-1) | c.t() | c.t().t() | c + c | c + d | d + c | c * 2 | c * c | c * d | d * c
c + 1 | c @ d.t() | d.t() @ c | c @ c.t() | c @ lib.ones(3) | c @ lib.ones(2) | c @ d | c.sum() | c.sum(1)
c.sum(1, keepdim=True) | c.neg() | c.abs() | c.sin() | c.cos() | c[0] | c[0, 2] | c.select(1, 0) | c.clone()
c.to(lib.float64) | c.zero_() | lib.zeros_like(c) | lib.addmm(lib.ones(2, 2), c, d.t()) | c.to_sparse()
c.to_sparse_csc() | c.to_sparse_bsr((1, 3)) | c.to_dense() | d.to_sparse_csc() | d.to_sparse_csc().ccol_indices()
d.to_sparse_csc().row_indices() | d.to_sparse_csc().t() | d.to_sparse_bsr((1, 3)).values()
d.to_sparse_bsr((1, 3)).t() | d.to_sparse_bsr((2, 2)) | d.to_sparse_bsr((0, 1)) | d.to_sparse_bsc((2, 1))
d.to_sparse_bsc((2, 1)).values() | lib.zeros(0, 3).to_sparse_csr() | lib.stack([d, d]).to_sparse_csr()
lib.stack([d, d]).to_sparse_csr()[0] | lib.stack([d, lib.eye(2, 3)]).to_sparse_csr()
lib.stack([d, d]).to_sparse_csr(dense_dim=1) | lib.stack([d, d]).to_sparse_csr().transpose(0, 1)
lib.stack([d, d]).to_sparse_csr().transpose(1, 2) | lib.zeros(2, 3, layout=lib.sparse_csr) | u.to_sparse_csr()
lib.sparse_csr_tensor(*p) | lib.sparse_csr_tensor(*p, (2, 3)) | lib.sparse_csr_tensor(*p, (2, 4), dtype=lib.float64)
lib.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [[1.0], [2.0], [3.0]], (2, 3, 1))
lib.sparse_csr_tensor([[0, 1], [0, 1]], [[0], [1]], [[1.0], [2.0]])
lib.sparse_csr_tensor([1, 1, 3], [2, 0, 2], [1.0, 2.0, 3.0], (2, 3), check_invariants=True)
lib.sparse_csr_tensor([0, 4, 3], [2, 0, 2], [1.0, 2.0, 3.0], (2, 3), check_invariants=True)
lib.sparse_csr_tensor([0, 1, 3], [2, 0, 3], [1.0, 2.0, 3.0], (2, 3), check_invariants=True)
lib.sparse_csr_tensor([0, 1, 3], [2, 0, 0], [1.0, 2.0, 3.0], (2, 3), check_invariants=True)
lib.sparse_compressed_tensor(*p, (2, 3), layout=lib.sparse_csr) | lib.sparse_compressed_tensor(*p, (2, 3))
lib.sparse_compressed_tensor(*p, (2, 3), layout=lib.strided)
lib.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0])
lib.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]], (2, 4))
lib.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]])
lib.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]], (2, 5), check_invariants=True)
lib.sparse_bsc_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]])
c.angle() | c.unbind()[1] | c.unbind(1)[2] | d.to_sparse_csc().unbind()[0] | list(c)[1] | c.fill_(3) | c.nbytes
lib.full_like(c, 2).values() | c.new_zeros(2, 2) | c.new_zeros(2) | c.swapaxes(0, 1) | c.movedim(0, 1)
c.to_sparse_coo() | lib.addmv(d[:, 0], c, d[0], beta=2, alpha=3) | lib.ones(2, 2).addmm_(c, d.t(), beta=2, alpha=3)
c.addmm_(c, lib.eye(3).to_sparse_csr()) | lib.tensor(c) | lib.tensor(c, dtype=lib.float64) | c[1] | c[-1] | c[2]
lib.sparse.mm(c, d.t(), "sum") | lib.sparse.mm(c, d.t(), "mean") | lib.sparse.mm(c, d.t(), reduce="amax")
lib.sparse.mm(c, d.t(), "amin") | lib.sparse.mm(c, d.t(), "least") | lib.sparse.mm(c, c, "sum")
lib.sparse.mm(lib.zeros(2, 3).to_sparse_csr(), d.t(), "amax") | lib.sparse.mm(c, d, "mean") | (c @ (-c).t() + c @ c.t())
(c + (-c))._nnz() | (c @ lib.tensor([[1.0], [0.0], [-0.8]]).to_sparse_csr())._nnz()
""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("text", [one for one in CALLS if one])
def test_calls_beside_pytorch(text: str) -> None:
    def run(lib: Any) -> Any:
        d = lib.tensor(MATRIX)
        u = lib.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 3))
        return outcome(lambda: eval(text, {"lib": lib, "d": d, "c": d.to_sparse_csr(), "u": u, "p": PARTS}))

    assert run(gb) == run(torch)


@given(data=hs.data())
def test_products_in_every_form(data: hs.DataObject) -> None:
    rows, inner, cols = (data.draw(hs.integers(0, 6)) for _ in range(3))
    numbers = hs.sampled_from((0.0, 0.0, 1.0, -2.0))
    x, y = (
        np.array(data.draw(hs.lists(numbers, min_size=n * m, max_size=n * m))).reshape(n, m)
        for n, m in ((rows, inner), (inner, cols))
    )
    want = (x @ y).tolist()
    left, right = gb.from_numpy(x), gb.from_numpy(y)
    for form in ("to_sparse", "to_sparse_csr", "to_sparse_csc"):
        first = getattr(left, form)()
        assert (first @ right).tolist() == want
        assert (left @ getattr(right, form)()).tolist() == want
        assert (first @ getattr(right, form)()).to_dense().tolist() == want


def test_wrong_parts_are_told_and_read_no_foreign_memory() -> None:
    wrong_pointers = gb.sparse_csr_tensor([0, 9, 3], *PARTS[1:], (2, 3))
    wrong_columns = gb.sparse_csr_tensor([0, 1, 3], [2, 0, 9], [1.0, 2.0, 3.0], (2, 3))
    for call in (lambda x: x.to_dense(), lambda x: x @ gb.ones(3, 2), lambda x: x + x):
        with pytest.raises(RuntimeError, match="crow_indices must begin with 0, end with nnz"):
            call(wrong_pointers)
        with pytest.raises((IndexError, RuntimeError)):
            call(wrong_columns)
    with pytest.raises(RuntimeError, match="must have the same dtype, but got Int and Long"):
        gb.sparse_csr_tensor(gb.tensor([0, 1], dtype=gb.int32), gb.tensor([0]), gb.tensor([1.0]))
    with pytest.raises(RuntimeError, match="at least two sparse dims"):
        gb.ones(3).to_sparse_csr()


def test_int32_indices_stay() -> None:
    x = gb.sparse_csr_tensor(*[gb.tensor(part, dtype=gb.int32) for part in PARTS[:2]], gb.tensor(PARTS[2]), (2, 3))
    for made in (x, x.clone(), x * 2, x.t().t(), x.double()):
        assert made.crow_indices().dtype is made.col_indices().dtype is gb.int32
    assert (x @ gb.eye(3)).tolist() == [[0.0, 0.0, 1.0], [2.0, 0.0, 3.0]]
