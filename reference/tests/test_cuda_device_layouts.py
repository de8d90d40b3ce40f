"""Sparse and quantized tensors on the simulated CUDA device: what the CPU gives, where the tensors are; and on meta."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gc.collect()
    assert gb.cuda.memory_allocated() == 0
    gb.cuda.use_driver(None)


def operands(device: str) -> dict[str, Any]:
    """Return a matrix with repeated indices, one in row form, a hybrid one, and strided tensors."""
    a = gb.tensor([[0.5, -1.0, 2.0], [3.0, 0.0, -2.5]], device=device)
    u = gb.sparse_coo_tensor([[0, 1, 0], [2, 0, 2]], [1.0, -2.0, 4.0], (2, 3), device=device)
    h = gb.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], (3, 2), device=device)
    i = gb.tensor([1, 0, 1], device=device)
    return {"gb": gb, "a": a, "u": u, "c": u.to_sparse_csr(), "h": h, "i": i}


RESULTS = """
u | u.coalesce() | u.to_dense() | u.t() | c | c.to_sparse() | c.t() | h.to_dense() | a.to_sparse() | a.to_sparse(1)
a.to_sparse_csr() | a.to_sparse_csc() | a.to_sparse_bsr((1, 3)) | u.sum() | u.sum(0) | u.sum((0, 1)) | h.sum(1)
c.sum() | c.sum(1, keepdim=True) | u + u | u - u * 2 | a + u | a + c | c + c | u * u | u * a | c * a | u / 2 | u ** 2
u.relu() | u.sin() | c.abs() | u.isnan() | u @ a.t() | a.t() @ u | u.t() @ u | c @ a.t() | u @ a[0] | c @ a[0]
gb.addmm(a[:, :2], u, a.t(), beta=2, alpha=3) | gb.cat([u, u], 1) | gb.stack([u, u]) | u[1] | h[0] | u.unsqueeze(0)
u.index_select(0, i) | a.sparse_mask(u.coalesce()) | a.sparse_mask(c) | gb.sparse.softmax(u, 1) | u.transpose(0, 1)
gb.sparse.sampled_addmm(c, a[:, :2], a[:2]) | gb.sparse.spdiags(a, i[:2], (3, 3)) | u.clone().mul_(3) | u.norm()
u.clone().add_(u) | a.clone().add_(u, alpha=2) | a.clone().sub_(u) | u.clone().t_() | u.clone().zero_()
c.clone().zero_() | gb.zeros_like(u).copy_(u.coalesce()) | u.to(gb.float64) | c.to(gb.int32)
gb.bmm(gb.stack([u, u]), gb.stack([a.t()] * 2))
gb.zeros((2, 3), layout=gb.sparse_csr, device=a.device) | gb.empty((2, 3), layout=gb.sparse_coo, device=a.device)
gb.quantize_per_tensor(a, 0.5, 3, gb.qint8) | gb.quantize_per_tensor(a, 0.5, 3, gb.quint8)[1:].dequantize()
gb.quantize_per_channel(a, a[:1, :1].abs().repeat(1, 3)[0] + 1, i, 1, gb.quint8).t()
gb.quantize_per_tensor(a, 0.5, 3, gb.qint32).int_repr()
gb.quantize_per_tensor(a, 0.5, 3, gb.qint8).fill_(2.0) | gb.quantize_per_tensor(a, 0.5, 3, gb.qint8).copy_(a + 1)
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("expression", RESULTS)
def test_results_agree_with_the_cpu(expression: str) -> None:
    found = eval(expression, operands("cuda"))
    wanted = eval(expression, operands("cpu"))
    assert found.device == gb.device("cuda", 0)
    assert found.layout is wanted.layout and found.dtype is wanted.dtype
    assert repr(found.cpu()) == repr(wanted)


GRADIENTS = """
(s @ a.t()).square().sum() | (a.t() @ s).sum() | gb.sparse.mm(s, a.t()).exp().sum() | s.to_dense().prod() | s.sum()
(s * a).to_dense().sum() | (s + s * 2).coalesce().values().sum() | (a + s).cos().sum() | s.t().to_dense()[0].sum()
gb.cat([s, s]).to_dense().sum() | s[0].to_dense().square().sum() | s.sin().coalesce().values().sum()
gb.sparse.softmax(s, 1).coalesce().values().square().sum() | s.to_sparse_csr().to_dense().sum()
s.to("cpu").to_dense().sum() | s.index_select(0, i).to_dense().sum() | s.to(gb.float64).to_dense().sum()
gb.sparse_coo_tensor(s._indices(), s._values() * 2, (2, 3)).to_dense().square().sum() + s.sum()
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients_agree_with_the_cpu(expression: str) -> None:
    found = []
    for device in ("cuda", "cpu"):
        names = operands(device)
        leaf = names["s"] = names["u"].requires_grad_()
        names["a"] = dense = names["a"].requires_grad_()
        eval(expression, names).backward()
        for one in (leaf, dense):
            assert one.grad is None or one.grad.device == one.device
        found.append([None if one.grad is None else one.grad.cpu().to_dense() for one in (leaf, dense)])
    for here, there in zip(*found, strict=True):
        assert (here is None) is (there is None)
        assert here is None or gb.allclose(here, there)


def test_rows_of_an_embedding_are_stepped_on_the_device() -> None:
    weight = gb.nn.Embedding(4, 2, sparse=True).to("cuda").weight
    before = weight.detach().cpu()
    gb.nn.functional.embedding(gb.tensor([1, 3, 1], device="cuda"), weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad.device == weight.device
    gb.optim.SGD([weight], lr=0.5).step()
    steps = gb.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.5, 0.5]])
    assert gb.allclose(weight.detach().cpu(), before - steps)


def test_calls_in_inference_mode() -> None:
    names = operands("cuda")
    with gb.inference_mode():
        made = names["u"] @ names["a"].t()
        assert made.is_inference() and made.tolist() == (operands("cpu")["u"] @ operands("cpu")["a"].t()).tolist()
        grown = names["u"].clone().add_(names["u"])
        assert grown.cpu().to_dense().tolist() == (operands("cpu")["u"] * 2).to_dense().tolist()
        assert gb.quantize_per_tensor(names["a"], 0.5, 3, gb.qint8).dequantize().is_inference()


def test_tensors_on_two_devices_are_refused() -> None:
    names = operands("cuda")
    message = "on the same device, but found at least two devices, cuda:0 and "
    with pytest.raises(RuntimeError, match=message + "cpu"):
        names["u"] @ gb.ones(3, 2)
    with pytest.raises(RuntimeError, match=message + "cpu"):
        gb.ones(2, 3, device="cuda").add_(names["u"].cpu())
    with pytest.raises(RuntimeError, match=message + "cuda:1"):
        names["u"] + names["u"].to("cuda:1")


def test_indices_go_where_the_values_are() -> None:
    made = gb.sparse_coo_tensor(gb.tensor([[0, 1]]), gb.tensor([1.0, 2.0], device="cuda"), check_invariants=True)
    assert made.device == made._indices().device == gb.device("cuda", 0) and made.shape == (2,)
    csr = gb.sparse_csr_tensor([0, 1, 2], [1, 0], gb.tensor([1.0, 2.0], device="cuda"), check_invariants=True)
    assert csr.crow_indices().device == csr.device == gb.device("cuda", 0) and csr.shape == (2, 2)
    with pytest.raises(RuntimeError, match="found negative index -1 for dim 0"):
        gb.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,), device="cuda", check_invariants=True)


def test_text_names_the_device_once() -> None:
    assert repr(gb.sparse_coo_tensor([[1]], [2.0], (3,), device="cuda:1")) == (
        "tensor(indices=tensor([[1]]),\n       values=tensor([2.]),\n"
        "       device='cuda:1', size=(3,), nnz=1, layout=gaugeblock.sparse_coo)"
    )
    assert repr(gb.quantize_per_tensor(gb.ones(2, device="cuda"), 0.5, 1, gb.qint8)) == (
        "tensor([1., 1.], device='cuda:0', size=(2,), dtype=gaugeblock.qint8,\n"
        "       quantization_scheme=gaugeblock.per_tensor_affine, scale=0.5, zero_point=1)"
    )


def test_quantized_tensors_go_to_the_device_and_back() -> None:
    channels = gb.quantize_per_channel(gb.eye(3), gb.tensor([0.5, 0.25, 2.0]), gb.tensor([0, 1, 2]), 0, gb.quint8)
    for q in (gb.quantize_per_tensor(gb.eye(3), 0.5, 3, gb.qint8), channels, channels.t(), channels[1:, 1]):
        there = q.cuda()
        assert there.device.type == "cuda" and there.qscheme() is q.qscheme() and there.cpu().equal(q)
        assert there.stride() == q.to("cpu", copy=True).stride()
    assert there is there.to("cuda") and there.is_quantized
    with pytest.raises(RuntimeError, match=r"does not become gaugeblock\.float32 by to"):
        there.to("cpu", gb.float32)


def test_copies_pickles_and_files_keep_the_device() -> None:
    u = operands("cpu")["u"]
    channels = gb.quantize_per_channel(gb.eye(2), gb.tensor([0.5, 0.25]), gb.tensor([0, 1]), 0, gb.quint8)
    for here in (u, u.to_sparse_csr(), gb.quantize_per_tensor(gb.eye(2), 0.5, 1, gb.qint8), channels):
        there, file = here.cuda(), io.BytesIO()
        gb.save(there, file)
        made = [copy.deepcopy(there), pickle.loads(pickle.dumps(there)), gb.load(io.BytesIO(file.getvalue()))]
        assert [repr(one.cpu()) for one in made] == [repr(here)] * 3
        assert {one.device for one in made} == {gb.device("cuda", 0)}
        assert repr(gb.load(io.BytesIO(file.getvalue()), map_location="cpu")) == repr(here)


META = """
u.to("meta") | c.to("meta") | gb.zeros((2, 3), layout=gb.sparse_csr, device="meta") | m.t() | m.clone() | m.sum()
m + m | m.coalesce() | m.indices() | m.values() | gb.zeros_like(m) | m.transpose(0, 1) | m.to(gb.float64) | m.detach()
m * 2 | gb.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), device="meta") | m.relu() | m.permute(1, 0) | gb.sparse.sum(m)
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("expression", META)
def test_meta_tensors_have_sizes_alone(expression: str) -> None:
    names = operands("cpu")
    names["m"] = names["u"].coalesce()
    wanted = eval(expression.replace('"meta"', '"cpu"'), names)
    names["m"] = names["u"].to("meta")
    found = eval(expression, names)
    assert found.device.type == "meta" and found.layout is wanted.layout and found.dtype is wanted.dtype
    if expression not in ("m.indices()", "m.values()"):
        assert found.shape == wanted.shape


def test_meta_tensors_have_no_elements_to_read() -> None:
    m = gb.eye(2).to_sparse().to("meta")
    assert m._nnz() == 0 and m.is_coalesced()
    assert repr(m) == (
        "tensor(indices=tensor(..., size=(2, 0)),\n       values=tensor(..., size=(0,)),\n"
        "       device='meta', size=(2, 2), layout=gaugeblock.sparse_coo)"
    )
    for call in (lambda: m.to("cpu"), lambda: m.to_dense(), lambda: m @ m, lambda: m[0]):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError, match="quantized tensors are on the CPU and on CUDA devices"):
        gb.quantize_per_tensor(gb.ones(2), 0.5, 1, gb.qint8).to("meta")
