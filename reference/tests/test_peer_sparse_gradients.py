"""Gradients through sparse tensors beside PyTorch's, embeddings with sparse gradients, and what optimizers do."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain(grad: Any) -> Any:
    layout = str(grad.layout).rpartition(".")[2]
    return layout, (grad if layout == "strided" else grad.to_dense()).tolist()


def check_same(run: Callable[[Any], Sequence[Any]]) -> None:
    """Check that the leaves of a run have PyTorch's gradients: dtype, layout, sizes and elements. Calls that PyTorch
    cannot differentiate are skipped: ours may be able to."""
    try:
        expected = run(torch)
    except (RuntimeError, TypeError, AttributeError):
        pytest.skip("PyTorch has no gradient here")
    for leaf, other in zip(run(gb), expected, strict=True):
        assert (leaf.grad is None) == (other.grad is None)
        if leaf.grad is not None:
            assert str(leaf.grad.dtype).rpartition(".")[2] == str(other.grad.dtype).rpartition(".")[2]
            assert tuple(leaf.grad.shape) == tuple(other.grad.shape)
            (layout, found), (other_layout, wanted) = plain(leaf.grad), plain(other.grad)
            assert layout == other_layout
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


LEAF = """
to_dense: a.to_dense().sum() | weighted: (a.to_dense() * f).sum() | all: a.to_dense(masked_grad=False).sum()
sum: (a + a).to_dense().sum() | alpha: a.add(a, alpha=3).to_dense().sum() | scaled: (a * 3).to_dense().sum()
difference: (a - a * 2).to_dense().sum() | product: (a * f).to_dense().sum() | left: (3 * a).to_dense().sum()
quotient: (a / 4).to_dense().sum() | transpose: a.t().to_dense().sum() | total: a.sum()
values: a.coalesce().values().sum() | squares: (a.coalesce().values() ** 2).sum() | mm: torch.mm(a, w).sum()
sparse_mm: torch.sparse.mm(a, w).sum() | matmul: (a @ w).sum() | both: torch.sparse.mm(a, b).to_dense().sum()
row_sums: torch.sparse.sum(a, 1).to_dense().sum() | clone: a.clone().to_dense().sum()
double: a.double().to_dense().sum() | neg: (-a).to_dense().sum()
mask: w.t().sparse_mask(a.detach()).to_dense().sum() + a.sum()
""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("text", [one for one in LEAF if one])
def test_gradients_of_sparse_leaves(text: str) -> None:
    def run(lib: Any) -> Any:
        a = lib.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3)).requires_grad_()
        w = lib.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        f = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = lib.sparse_coo_tensor([[0, 1, 2], [1, 0, 1]], [1.0, 2.0, 3.0], (3, 2))
        names = {"a": a, "w": w, "f": f, "b": b, "torch": lib}
        eval(text.partition(": ")[2], names).backward()
        return plain(a.grad), None if w.grad is None else plain(w.grad)

    assert run(gb) == run(torch)


CALLS = """
lib.stack([a, a * 2]) | lib.stack([a, a * 2], 2) | a[0, 1] | a.unbind()[1] | a.to("cpu", lib.float64) | a.norm()
a.to(lib.float64) | a.type_as(lib.ones(1).double()) | a / lib.tensor(2.0) | a * lib.tensor(2.0) | a.div(4) | a.pow(2)
a.square() | a.half() | a.t() | a.mT | a.transpose(0, 1) | a.permute(1, 0) | a @ lib.ones(2) | a @ a | lib.eye(2) @ a
a.to_sparse() | a.to_sparse_csr() | a.to_sparse_csc() | a.to_sparse_bsr((1, 1)) | a.to_sparse(1) | a.coalesce()
a.to_dense() | a.to_dense(masked_grad=False) | lib.sparse.sum(a) | lib.sparse.sum(a, 0) | a.sum()
a.sum(dtype=lib.float64) | a.log1p()
a - lib.eye(2).to_sparse() | a + lib.eye(2) | lib.eye(2) * a | a * a | a * a.detach() | a + a.t() | 2 * a | -a | a.abs()
a.clone() | a.relu() | a.frac() | a.rad2deg() | a.sparse_mask(a.detach()) | lib.addmm(lib.eye(2), a, lib.ones(2, 2))
lib.sparse.softmax(a, 1) | lib.sparse.log_softmax(a, 0) | a.conj() | a.resolve_conj() | (a * 2j).real
lib.sparse.mm(a, w, "mean") | lib.sparse.mm(a, w, "amax") | a.swapaxes(0, 1) | a.movedim(0, 1) | a.index_select(0, i)
lib.addmv(w[0], a, w[1]) | a.angle() | a[1] | a.unbind()[0]
lib.bmm(lib.stack([a, a]), lib.ones(2, 2, 3)) | a / t | a * t | lib.sparse.sampled_addmm(a, w, w, alpha=2, beta=3)
""".strip().replace("\n", " | ").split(" | ")
MADE = {
    "coordinates": lambda lib: lib.tensor([[0, 0.5], [0.25, 1.0]]).to_sparse(),
    "rows": lambda lib: lib.tensor([[0, 0.5], [0.25, 1.0]]).to_sparse_csr(),
    "hybrid": lambda lib: lib.tensor([[[0.0, 0], [0.5, 1]], [[0.25, 1], [0, 0]]]).to_sparse(2),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("text", CALLS)
def test_weighted_gradients_of_calls(text: str, made: str) -> None:
    def run(lib: Any) -> Any:
        a, t = MADE[made](lib).requires_grad_(), lib.tensor(4.0, requires_grad=True)
        w = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        found = eval(text, {"lib": lib, "a": a, "t": t, "w": w, "i": lib.tensor([1, 1, 0])})
        found = found if found.layout is lib.strided else found.to_dense()
        (found * lib.arange(1.0, 1 + found.numel()).reshape(found.shape)).sum().backward()
        return a, t, w

    check_same(run)


COMPLEX = """
a * f | a * 2j | a * (1 + 2j) | a / 2j | a @ w | lib.sparse.mm(a, w) | lib.mm(a, w) | lib.mv(a, w[:, 0]) | w.t() @ a.t()
lib.addmm(lib.ones(2, 2), a, w, alpha=2j) | a + a * 1j | a.add(a, alpha=1j) | a.sub(a, alpha=1j) | a * a.detach()
a.t() | a.abs() | a.sin() | a.square() | a.sum() | lib.sparse.sum(a, 0) | a.conj() | a.conj_physical() | a.adjoint()
a ** 2 | a.to(lib.complex128) | lib.bmm(lib.stack([a, a]), lib.stack([w, w])) | a.sgn() | a / lib.tensor(2j)
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("text", COMPLEX)
def test_gradients_through_complex_numbers(text: str, real: bool, form: str) -> None:
    def run(lib: Any) -> Any:
        a = lib.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0] if real else [1 + 1j, 2 - 1j], (2, 3))
        a = getattr(a, form)().detach().requires_grad_()
        w = lib.tensor([[1.0, 2], [3, 4], [5, 6]] if real else [[1 + 1j, 2], [3, 4j], [5, 6 - 2j]], requires_grad=True)
        found = eval(text, {"lib": lib, "a": a, "w": w, "f": lib.tensor([[1.0, 2j, 3], [4, 5, 6 + 1j]])})
        found = found if found.layout is lib.strided else found.to_dense()
        (found * (1 + 0.5j)).sum().abs().backward()
        return a, w

    check_same(run)


WRITES = """
a.clone().mul_(2) | a.clone().add_(a) | a.clone().add_(b, alpha=2) | a.clone().sub_(a, alpha=3) | a.clone().div_(2)
a.clone().neg_() | a.clone().t_() | a.clone().transpose_(0, 1) | w.clone().add_(a) | w.clone().add_(a, alpha=2)
w.clone().sub_(a) | w.clone().t().add_(a) | b.clone().add_(a) | b.clone().mul_(t) | a.clone().mul_(t)
a.clone().div_(t) | a.clone().mul_(w) | b.clone().copy_(a) | a.clone().zero_() | a.detach().clone().add_(a)
a.clone().relu_() | a.clone().abs_() | (a * 2).mul_(a) | a.clone().mul_(a) | a.clone().mul_(2).add_(a).neg_()
a.clone().floor_() | w[:1].clone().add_(b.narrow_copy(0, 0, 1)) | w.clone().sub_(b)
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("text", WRITES)
def test_gradients_through_writes(text: str, form: str) -> None:
    def run(lib: Any) -> Any:
        a = getattr(lib.tensor([[0, 0.5], [0.25, 1.0]]), form)().requires_grad_()
        b = lib.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse()
        w, t = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), lib.tensor(4.0, requires_grad=True)
        found = eval(text, {"lib": lib, "a": a, "b": b, "w": w, "t": t})
        found = found if found.layout is lib.strided else found.to_dense()
        (found * lib.arange(1.0, 1 + found.numel()).reshape(found.shape)).sum().backward()
        return a, w, t

    check_same(run)


def test_writes_that_cannot_be_recorded_are_refused() -> None:
    leaf = gb.eye(2).to_sparse().requires_grad_()
    for write in (lambda: leaf.mul_(2), lambda: leaf.sin_(), lambda: gb.eye(2, requires_grad=True).add_(leaf)):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
            write()
    with pytest.raises(NotImplementedError, match="sparse_resize_: such a write to a sparse tensor is not recorded"):
        leaf.clone().sparse_resize_((3, 3), 2, 0)
    with pytest.raises(RuntimeError, match="can't be cast"):
        gb.eye(2, dtype=gb.int64).to_sparse().add_(leaf)
    kept = leaf.clone()
    square = kept * kept
    kept.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.to_dense().sum().backward()


DENSE = """
coordinates: x.to_sparse().to_dense() * f | values: x.to_sparse().values() ** 2 | sum: x.to_sparse().sum()
rows: torch.sparse.sum(x.to_sparse(), 0).to_dense() | hybrid: x.to_sparse(1).to_dense() * f
csr: x.to_sparse_csr().to_dense() * f | csr_values: x.to_sparse_csr().values() ** 2 | csr_mm: x.to_sparse_csr() @ f
mask: x.sparse_mask(s).to_dense() * f | product: (x * s).to_dense() * f | mixed: (x + s) * f
""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("text", [one for one in DENSE if one])
def test_gradients_of_strided_leaves(text: str) -> None:
    def run(lib: Any) -> Any:
        x = lib.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
        names = {"x": x, "f": lib.tensor([[1.0, 2.0], [3.0, 4.0]]), "s": lib.eye(2).to_sparse(), "torch": lib}
        eval(text.partition(": ")[2], names).sum().backward()
        return plain(x.grad)

    assert run(gb) == run(torch)


def test_gradient_of_operators_on_values() -> None:
    a = gb.sparse_coo_tensor([[1, 1, 0]], [0.25, 0.25, 1.0], (3,)).requires_grad_()
    a.sin().to_dense().sum().backward()
    assert a.grad.indices().tolist() == [[0, 1]]
    assert a.grad.values().tolist() == gb.tensor([1.0, 0.5]).cos().tolist()


def test_steps_with_sparse_rows_are_not_recorded() -> None:
    x, s = gb.ones(2, 2).requires_grad_(), gb.eye(2).to_sparse()
    with gb.no_grad():
        x.add_(s)
    assert x.tolist() == [[2.0, 1.0], [1.0, 2.0]] and x.is_leaf


def looked_up(lib: Any, **options: Any) -> Any:
    table = lib.nn.Embedding(4, 2, sparse=True, **options)
    with lib.no_grad():
        table.weight.copy_(lib.arange(8.0).reshape(4, 2))
    return table


Steps = list[Callable[[Any, Any], Any]]
STEPS: dict[str, Steps] = {
    "once": [lambda lib, e: e(lib.tensor([1, 2, 1]))],
    "twice": [lambda lib, e: e(lib.tensor([1, 2, 1])), lambda lib, e: e(lib.tensor([[0, 3]]))],
    "strided later": [lambda lib, e: e(lib.tensor([1])), lambda lib, e: e.weight * 2],
    "strided first": [lambda lib, e: e.weight * 2, lambda lib, e: e(lib.tensor([1]))],
    "in one pass": [lambda lib, e: e(lib.tensor([0])).sum() + e(lib.tensor([1])).sum() + (e.weight * 2).sum()],
    "empty": [lambda lib, e: e(lib.zeros(0, dtype=lib.int64))],
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("padding", [None, 1])
def test_gradients_of_embeddings(name: str, padding: int | None) -> None:
    def run(lib: Any) -> Any:
        table = looked_up(lib, padding_idx=padding)
        for step in STEPS[name]:
            step(lib, table).sum().backward()
        return plain(table.weight.grad)

    assert run(gb) == run(torch)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.5}, {"momentum": 0.5, "nesterov": True}])
def test_sgd_steps_with_sparse_gradients(options: dict[str, Any]) -> None:
    def run(lib: Any) -> Any:
        table = looked_up(lib)
        optimizer = lib.optim.SGD(table.parameters(), lr=0.5, **options)
        for indices in ([1, 2, 1], [0]):
            optimizer.zero_grad()
            table(lib.tensor(indices)).sum().backward()
            optimizer.step()
        return table.weight.tolist()

    assert run(gb) == run(torch)


def test_what_optimizers_and_lookups_refuse() -> None:
    table = looked_up(gb)
    table(gb.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        gb.optim.Adam(table.parameters()).step()
    with pytest.raises(RuntimeError, match="add\\(sparse, dense\\) is not supported"):
        gb.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.1).step()
    by_count = looked_up(gb, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        by_count(gb.tensor([1])).sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 1])
def test_gradients_of_bags(mode: str, padding: int | None) -> None:
    def run(lib: Any, offsets: list[int], indices: list[int]) -> Any:
        weight = lib.arange(8.0).reshape(4, 2).requires_grad_()
        given = (lib.tensor(part, dtype=lib.int64) for part in (indices, offsets))
        bags = lib.nn.functional.embedding_bag(
            next(given), weight, next(given), mode=mode, sparse=True, padding_idx=padding
        )
        (bags * lib.arange(1.0, 1 + bags.numel()).reshape(bags.shape)).sum().backward()
        return plain(weight.grad)

    for offsets, indices in (([0, 2], [1, 2, 1, 3]), ([0, 0, 3], [0, 0, 1]), ([0], [1, 1])):
        assert run(gb, offsets, indices) == run(torch, offsets, indices)
