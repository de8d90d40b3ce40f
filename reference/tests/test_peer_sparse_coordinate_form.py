"""Sparse tensors in coordinate form, beside PyTorch's: parts, errors, text, copies, pickles, operators."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

torch = pytest.importorskip("torch")

INDICES, VALUES = [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0]
REPEATED = [[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def sparse(lib: Any, parts: tuple[Any, Any] = (INDICES, VALUES), size: tuple[int, ...] = (2, 3)) -> Any:
    return lib.sparse_coo_tensor(*parts, size)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives as plain lists, or the class of its exception."""
    try:
        return plain(call())
    except Exception as error:
        return next(kind for kind in (TypeError, IndexError, RuntimeError) if isinstance(error, kind))


def plain(found: Any) -> Any:
    if hasattr(found, "is_sparse") and not callable(found.is_sparse):
        layout = str(found.layout).rpartition(".")[2]
        dense = found if layout == "strided" else found.to_dense()
        return layout, str(found.dtype).rpartition(".")[2], tuple(found.shape), dense.detach().tolist()
    return tuple(map(plain, found)) if isinstance(found, (tuple, list)) else found


CALLS = """
s._nnz() | s.sparse_dim() | s.dense_dim() | s.is_coalesced() | u.is_coalesced() | s.is_sparse | s.is_sparse_csr
u.coalesce() | u.coalesce().indices() | u.coalesce().values() | u.indices() | u.values() | u._values() | d.indices()
d.coalesce() | s.crow_indices() | s.numel() | s.dim() | s.size() | s.stride() | s.is_contiguous() | s.contiguous()
s.view(-1) | s.reshape(-1) | s.numpy() | s.tolist() | s.data_ptr() | s.untyped_storage() | s.nbytes | s[0] | s[:, 1]
s[0, 2] | s[0:1] | s[None] | s[lib.tensor([0])] | s.select(0, 5) | s.select(3, 0) | u.select(0, 0) | h.select(1, 0)
s.index_select(0, lib.tensor([1, 0])) | s.unbind() | s.T | s.mT | s.t() | h.t() | h.transpose(0, 1)
s.permute(1, 0) | s.permute(0, 0) | s.unsqueeze(0) | s.squeeze() | s.expand(2, 2, 3) | s.clone() | s.detach()
s.to(lib.float64) | s.int() | s.half() | s.bool() | s.cpu() is s | s.zero_() | s + s | s + d | d + s | s + 1 | 1 + s
s - s | s - d | d - s | s.add(s, alpha=2) | s + lib.zeros(3).to_sparse() | s.int() + s | s * d | d * s | s * s
s * u | s * 2 | 2 * s | s * lib.ones(3) | s * lib.tensor(2.0) | s / 2 | s / d | s // 2 | s ** 2 | s ** 0 | 2 ** s
s.mul_(2) | s.mul_(d) | s.add_(s) | s.add_(d) | d.clone().add_(u, alpha=2) | s.copy_(u) | s.copy_(d)
d.clone().copy_(s) | s.fill_(1) | s.neg_() | s.mm(d.t()) | s @ d.t() | s @ d.t()[:, 0] | d.t() @ s | s @ s.t()
s.mm(s) | s.mm(d) | s @ lib.ones(2) | lib.mv(s, lib.ones(3)) | lib.addmm(lib.ones(2, 2), s, d.t(), beta=2, alpha=3)
lib.sparse.mm(s, d.t()) | lib.sparse.addmm(lib.ones(2, 2), s, d.t()) | lib.sparse.softmax(s, 0).values().mul(999).int()
lib.sparse.softmax(u, 1) | lib.sparse.log_softmax(h, 1).values().mul(99).int() | lib.sparse.softmax(s, 2)
lib.sparse.softmax(d, 0) | s.conj() is s
(s * 1j).conj() | (s * 1j).conj().is_conj() | (s * 1j).adjoint() | (s * 1j).conj().resolve_conj()
lib.bmm(lib.stack([d, d]).to_sparse(), lib.stack([d.t(), d.t()])) | s.sum() | s.sum(0) | s.sum(1, keepdim=True)
s.sum((0, 1)) | lib.sparse.sum(s) | lib.sparse.sum(h, 0) | lib.sparse.sum(h, 1) | lib.sparse.sum(d)
s.sum(dtype=lib.float64) | s.norm() | s.any() | s.all() | s.mean() | s == s | u.abs() | u.sqrt() | u.sin()
u.relu() | u.neg() | u.isnan() | u.floor() | u.square() | u.tanh() | s.cos() | s.exp() | s.sigmoid()
s.reciprocal() | s.clamp(0, 1) | lib.zeros_like(s) | lib.ones_like(s) | lib.zeros(2, 3, layout=lib.sparse_coo)
lib.ones(2, 3, layout=lib.sparse_coo) | lib.cat([s, s]) | lib.cat([s, s], 1) | lib.cat([s, d]) | lib.stack([s, s])
d.sparse_mask(u) | s.sparse_mask(s) | d.to_sparse(1) | d.to_sparse(0) | d.to_sparse(3) | d.to_sparse(-1)
s.to_sparse(1) | lib.tensor(5.0).to_sparse() | lib.tensor(0.0).to_sparse() | lib.empty(0, 3).to_sparse()
s.to_dense(lib.float64) | d.to_sparse(layout=lib.strided) | d.to_sparse(blocksize=(1, 1)) | s.item() | bool(s)
len(s) | list(s) | s.type_as(s.double()) | lib.sparse_coo_tensor([[0, -1]], [1.0, 2.0])
lib.sparse_coo_tensor([[0, 1, 2]], [1.0, 2.0]) | lib.sparse_coo_tensor((2, 3))
lib.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,), check_invariants=True) | lib.sparse_coo_tensor([0, 1], [1.0, 2.0])
lib.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3)) | lib.sparse_coo_tensor([[0.5, 1.0]], [1.0, 2.0], (3,))
lib.sparse_coo_tensor([[0, 1]], 3.0, (2,)) | lib.sparse_coo_tensor([[0, 1]], [1.0, 2.0], 3)
lib.sparse_coo_tensor([[], []], [], (2, 2))
lib.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True)
lib.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), dtype=lib.int32) | lib.is_floating_point(s) | s.is_same_size(d)
lib.smm(s, d.t()) | s.smm(d.t()) | lib.smm(d, d.t()) | lib.smm(s, s) | lib.smm(s, d) | lib.hspmm(s, d.t())
lib.hsmm(u, d.t()) | lib.hspmm(s, d) | e.sspaddmm(s, d.t()) | lib.sspaddmm(e, u, d.t(), beta=2, alpha=3)
lib.saddmm(e, s, d.t(), beta=0) | lib.sspaddmm(s, s, d.t()) | lib.spmm(s, d.t()) | lib.dsmm(s, d.t())
lib.smm(s, d.t())._indices() | lib.hspmm(s, d.t())._values() | lib.sspaddmm(e, s, d.t())._values()
lib.smm(s, d.t()).is_coalesced() | s.sparse_resize_((4, 5), 2, 0) | s.sparse_resize_((1, 3), 2, 0)
s.sparse_resize_((2, 3, 1), 2, 1) | s.sparse_resize_((2, 3), 1, 1) | s.sparse_resize_((2, 3), 1, 0)
e.zero_().sparse_resize_((4, 5, 6), 1, 2) | h.sparse_resize_((3, 1), 1, 1) | s.sparse_resize_and_clear_((2, 7), 1, 1)
s.sparse_resize_and_clear_((2, 7), 1, 0) | d.sparse_resize_((2, 3), 2, 0) | e.zero_().resize_as_sparse_(s)
lib.resize_as_sparse_(s, e) | s.narrow_copy(0, 1, 1) | s.narrow_copy(1, 0, 1) | h.narrow_copy(1, 0, 1)
s.narrow_copy(0, 1, 2) | lib.add(s, s, out=e) | e.add(e, alpha=2) | lib.add(d, s, out=d.clone()) | lib.neg(s, out=e)
lib.add(s, s, out=d) | lib.neg(d, out=e) | lib.neg(s, out=d)
lib.add(s, s, out=e.int()) | lib.add(s, s, out=e.double())
lib.mul(s, s, out=s) | lib.sub(s, u, out=e) | lib.sqrt(s, out=e) | lib.sin(u, out=e) | lib.pow(s, 2, out=e)
lib.div(s, 2, out=e) | lib.mul(s, 2, out=e) | lib.isnan(s, out=e.bool()) | lib.mm(s, d.t(), out=lib.zeros(5))
lib.addmm(lib.ones(2, 2), s, d.t(), out=lib.zeros(2, 2)) | lib.mm(s.to_sparse_csr(), d.t(), out=lib.zeros(2, 2))
lib.add(s.to_sparse_csr(), s.to_sparse_csr(), out=e.to_sparse_csr()) | lib.add(s.requires_grad_(), s, out=e)
lib.add(s, s, out=e.requires_grad_()) | s.to_sparse_coo() is s | d.to_sparse_coo() | (s * 1j).imag | s.imag
s.swapaxes(0, 1) | s.movedim(0, 1) | s.movedim((0, 1), (1, 0)) | h.movedim(0, 1) | s.new_zeros(2, 2) | s.new_empty(2)
lib.nn.functional.embedding(lib.tensor([1, 0]), s) | lib.nn.functional.embedding(lib.tensor([[1, 0]]), s)
lib.tensor(s) | lib.tensor(s, dtype=lib.float64)
lib.tensor(s, requires_grad=True).requires_grad | lib.tensor(u)._nnz()
d.clone().addmm_(s, lib.ones(3, 3), beta=2, alpha=3) | d.addmm_(s, d) | s.index_select(1, lib.tensor([2, 0, 2]))
u.index_select(0, lib.tensor([0, 0])) | u.index_select(1, lib.tensor([1])) | h.index_select(1, lib.tensor([1, 1]))
s.index_select(0, lib.tensor([5])) | (e @ -e)._nnz() | (e + -e)._nnz()
""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("text", [one for one in CALLS if one])
def test_calls_beside_pytorch(text: str) -> None:
    def run(lib: Any) -> Any:
        names = {
            "lib": lib, "s": sparse(lib), "u": sparse(lib, REPEATED), "d": sparse(lib).to_dense(),
            "h": lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
            "e": lib.tensor([[0.0, 5.0], [1.0, 0.0]]).to_sparse(),
        }  # fmt: skip
        return outcome(lambda: eval(text, names))

    assert run(gb) == run(torch)


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: sparse(lib), lambda lib: sparse(lib).half(), lambda lib: sparse(lib).requires_grad_(),
        lambda lib: lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
        lambda lib: lib.zeros(2, 3).to_sparse(), lambda lib: lib.tensor([[1 + 2j, 0]]).to_sparse(),
        lambda lib: lib.tensor([True, False]).to_sparse(), lambda lib: lib.tensor([[1e-10, 5.0]]).to_sparse(),
        lambda lib: lib.arange(60).reshape(6, 10).to_sparse(),
        lambda lib: sparse(lib).to_dense().to_sparse_csr(), lambda lib: sparse(lib).to_dense().to_sparse_bsr((1, 3)),
        lambda lib: sparse(lib).to_dense().to_sparse_csc().to(lib.float16),
    ],
)  # fmt: skip
def test_text_is_pytorchs_but_for_the_name(make: Callable[[Any], Any]) -> None:
    shown = " ".join(repr(make(gb)).replace("gaugeblock.", "torch.").split())
    assert shown == " ".join(repr(make(torch)).split())


def test_copies_and_pickles() -> None:
    x = sparse(gb, REPEATED).requires_grad_()
    x.note = "kept"
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert plain(made) == plain(x) and made.requires_grad and made.note == "kept" and not made.is_coalesced()
        assert made._values().data_ptr() != x._values().data_ptr()
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(x * 2)


def test_parts_are_shared_and_zeroed_apart() -> None:
    v = gb.tensor([1.0, 2.0])
    x = gb.sparse_coo_tensor([[0, 1]], v, (2,))
    y = x.detach()
    v.mul_(10)
    assert y.to_dense().tolist() == [10.0, 20.0]
    x.zero_()
    assert x._nnz() == 0 and y._nnz() == 2


def test_invariants_are_switched() -> None:
    check = gb.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0"):
            gb.sparse_coo_tensor([[5]], [1.0], (3,))
        with check(enable=False):
            wrong = gb.sparse_coo_tensor([[5]], [1.0], (3,))
    assert check(True)(check.is_enabled)() and not check.is_enabled()
    with pytest.raises(IndexError, match="index 5 is out of bounds for sparse dim 0 of size 3"):
        wrong.to_dense()
    with pytest.raises(IndexError, match="out of bounds"):
        gb.zeros(3).add_(wrong)


def test_every_dtype_goes_there_and_back() -> None:
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split():
        dtype = getattr(gb, name)
        x = gb.tensor([[0, 1], [1, 0]]).to(dtype)
        for made in (x.to_sparse(), x.to_sparse_csr(), x.to_sparse_csc(), x.to_sparse_bsr((1, 2))):
            assert made.dtype is dtype and gb.equal(made.to_dense(), x), name
        twice = gb.sparse_coo_tensor([[1, 1]], gb.tensor([1, 1]).to(dtype), (2,))
        assert twice.to_dense()[1].item() == (True if name == "bool" else 2), name


def test_strided_views_are_taken_as_they_are() -> None:
    base = gb.arange(24.0).reshape(4, 6)
    for x in (base.t(), base[::2, 1::2], base[1].expand(3, 6)):
        assert gb.equal(x.to_sparse().to_dense(), x)
        made = gb.sparse_coo_tensor(gb.arange(len(x)).unsqueeze(0), x, x.shape)
        assert gb.equal(made.to_dense(), x)


def test_sparse_layouts_are_loaded_when_they_are_needed() -> None:
    shown = "print('gaugeblock.sparse' in sys.modules)"
    code = f"import sys, gaugeblock as gb; gb.ones(2).sum(); {shown}; gb.ones(2).to_sparse(); {shown}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
