"""Optimizers: steps, states and errors, as literals and compared with PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.optim import SGD, Adagrad, Adam, AdamW, Optimizer, SparseAdam

GRADIENTS = (1.0, -2.0, 0.5)


def trained(module: Any, name: str, **options: Any) -> tuple[list[float], Any]:
    """Return the parameter [1, 2] after three steps, and the optimizer."""
    p = module.tensor([1.0, 2.0], requires_grad=True)
    optimizer = getattr(module.optim, name)([p], **options)
    for gradient in GRADIENTS:
        p.grad = module.tensor([gradient, 2 * gradient])
        optimizer.step()
    return p.tolist(), optimizer


def test_sgd_steps() -> None:
    assert trained(gb, "SGD", lr=0.5)[0] == [1.25, 2.5]
    # Momentum 0.5: buffers 1, -1.5, -0.25 and twice that.
    values, optimizer = trained(gb, "SGD", lr=0.5, momentum=0.5)
    assert values == [1.375, 2.75]
    assert next(iter(optimizer.state.values()))["momentum_buffer"].tolist() == [-0.25, -0.5]


def test_adam_first_step_is_the_learning_rate() -> None:
    p = gb.tensor([1.0, -3.0], requires_grad=True)
    p.grad = gb.tensor([0.01, -50.0])
    optimizer = Adam([p], lr=0.25, eps=0.0)
    optimizer.step()
    assert p.tolist() == pytest.approx([0.75, -2.75], rel=1e-6)
    assert optimizer.state[p]["step"].item() == 1.0


def test_adamw_shrinks_parameters_without_gradient_of_the_decay() -> None:
    p = gb.tensor([4.0], requires_grad=True)
    p.grad = gb.tensor([0.0])
    AdamW([p], lr=0.5, weight_decay=0.25).step()
    assert p.tolist() == [3.5]


def test_adagrad_divides_by_the_root_of_all_squares_so_far() -> None:
    p = gb.tensor([1.0, 1.0], requires_grad=True)
    optimizer = Adagrad([p], lr=1.0, eps=0.0)
    for gradient, values in (([3.0, -2.0], [0.0, 2.0]), ([4.0, 0.0], [-0.8, 2.0])):
        p.grad = gb.tensor(gradient)
        optimizer.step()
        assert p.tolist() == pytest.approx(values)
    assert optimizer.state[p]["sum"].tolist() == [25.0, 4.0]


def sparse_gradient(module: Any, scale: float) -> Any:
    """Return a gradient of rows 2 (twice) and 0 of four; row 2 is [3, 3] and row 0 [4, -4], times ``scale``."""
    values = [[1.0 * scale, 2.0 * scale], [4.0 * scale, -4.0 * scale], [2.0 * scale, scale]]
    return module.sparse_coo_tensor(module.tensor([[2, 0, 2]]), module.tensor(values), (4, 2))


def sparsely_trained(module: Any, name: str, **options: Any) -> tuple[list[list[float]], Any]:
    """Return a parameter of ones after three steps with sparse gradients, one of them empty, and the optimizer."""
    p = module.ones(4, 2, requires_grad=True)
    optimizer = getattr(module.optim, name)([p], **options)
    empty = module.sparse_coo_tensor(module.zeros((1, 0), dtype=module.int64), module.zeros((0, 2)), (4, 2))
    for gradient in (sparse_gradient(module, 1.0), empty, sparse_gradient(module, -0.5)):
        p.grad = gradient
        optimizer.step()
    return p.tolist(), optimizer


def test_sparse_gradients_change_their_rows_alone() -> None:
    p = gb.ones(4, 2, requires_grad=True)
    p.grad = sparse_gradient(gb, 1.0)
    SparseAdam([p], lr=0.25, eps=1e-12).step()
    assert p.tolist() == [[0.75, 1.25], [1.0, 1.0], [0.75, 0.75], [1.0, 1.0]]
    Adagrad([p], lr=0.25, eps=0.0).step()
    assert p.tolist() == [[0.5, 1.5], [1.0, 1.0], [0.5, 0.5], [1.0, 1.0]]


def test_optimizers_refuse_gradients_of_the_other_kind() -> None:
    p = gb.ones(4, 2, requires_grad=True)
    p.grad = gb.ones(4, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        SparseAdam([p]).step()
    p.grad = sparse_gradient(gb, 1.0)
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam"):
        Adam([p]).step()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        Adagrad([p], weight_decay=0.1).step()
    assert p.tolist() == [[1.0, 1.0]] * 4


def test_closure_runs_with_recording_on_and_its_loss_is_returned() -> None:
    p = gb.tensor([3.0], requires_grad=True)
    optimizer = SGD([p], lr=0.1)

    def closure() -> gb.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with gb.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert p.tolist() == pytest.approx([2.4])


def test_zero_grad() -> None:
    p = gb.tensor([3.0], requires_grad=True)
    q = gb.tensor([3.0], requires_grad=True)
    (p * p).sum().backward()
    optimizer = SGD([p, q])
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is kept and p.grad.tolist() == [0.0] and q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


def test_groups_have_options_of_their_own() -> None:
    p, q = (gb.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = SGD([{"params": [p], "lr": 0.5}, {"params": q}], lr=0.25)
    p.grad = q.grad = gb.tensor([1.0])
    optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.75)
    assert "Parameter Group 1\n    dampening: 0" in repr(optimizer)


def test_state_dict_round_trip() -> None:
    _, optimizer = trained(gb, "Adam", lr=0.1)
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["params"] == [0]
    assert sorted(saved["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]
    p = gb.tensor([5.0, 6.0], dtype=gb.float64, requires_grad=True)
    other = Adam([p])
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.1
    assert other.state[p]["exp_avg"].dtype is gb.float64 and other.state[p]["step"].dtype is gb.float32
    assert other.state[p]["exp_avg"].tolist() == pytest.approx(saved["state"][0]["exp_avg"].tolist())


def _leaf() -> gb.Tensor:
    return gb.tensor([1.0, 2.0], requires_grad=True)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda p: SGD([]), ValueError, "params is an empty list"),
    (lambda p: SGD(p), TypeError, "not a Tensor"),
    (lambda p: SGD([p * 1]), ValueError, "not a leaf"),
    (lambda p: SGD([3]), TypeError, "params must be tensors, not int"),
    (lambda p: SGD([p], lr=-1), ValueError, "lr must be at least 0, got -1"),
    (lambda p: SGD([p], nesterov=True), ValueError, "nesterov needs momentum > 0"),
    (lambda p: SGD([{"params": [p]}, {"params": p}]), ValueError, "already in another group"),
    (lambda p: SGD([{"lr": 3}]), KeyError, "no entry 'params'"),
    (lambda p: SGD([p]).add_param_group(3), TypeError, "param_group must be a dict, not int"),
    (lambda p: SGD([p]).add_param_group({"params": {p}}), TypeError, "must be ordered, got a set"),
    (lambda p: SGD([p], differentiable=True), NotImplementedError, "differentiable=True is not supported"),
    (lambda p: Adam([p], betas=(1, 0.5)), ValueError, r"betas\[0\] must be in \[0, 1\), got 1"),
    (lambda p: Adam([p], eps=float("nan")), ValueError, "eps must be at least 0, got nan"),
    (lambda p: Adam([p], lr=gb.ones(2)), ValueError, "a tensor for lr must have one element"),
    (lambda p: SparseAdam([p], lr=0), ValueError, r"SparseAdam\(\): lr must be above 0, got 0"),
    (lambda p: SparseAdam([p], betas=(0.5, 2)), ValueError, r"SparseAdam\(\): betas\[1\] must be in \[0, 1\), got 2"),
    (lambda p: Adagrad([p], lr_decay=-1), ValueError, r"Adagrad\(\): lr_decay must be at least 0, got -1"),
    (lambda p: Optimizer([p], {}).step(), NotImplementedError, "does not define update"),
    (lambda p: SGD([p]).load_state_dict({"state": {}, "param_groups": []}), ValueError, "0 parameter groups were"),
    (
        lambda p: SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [1, 2]}]}),
        ValueError,
        r"groups of \[2\] parameters were given, the optimizer has groups of \[1\]",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_wrong_arguments_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(_leaf())


def test_a_parameter_twice_in_a_group_warns() -> None:
    p = _leaf()
    with pytest.warns(UserWarning, match="is in the group more than once"):
        SGD([p, p])


SGD_OPTIONS = [
    {"lr": 0.1, "momentum": m, "dampening": d, "weight_decay": w, "nesterov": n, "maximize": x}
    for m, d, w, n, x in itertools.product((0, 0.9), (0, 0.3), (0, 0.2), (False, True), (False, True))
    if not n or (m and not d)
]
ADAM_OPTIONS = [
    {"lr": 0.1, "betas": b, "eps": 1e-3, "weight_decay": w, "amsgrad": a, "maximize": x}
    for b, w, a, x in itertools.product(((0.9, 0.999), (0.5, 0.0)), (0, 0.2), (False, True), (False, True))
]


ADAGRAD_OPTIONS = [
    {"lr": 0.1, "lr_decay": d, "weight_decay": w, "initial_accumulator_value": i, "eps": 1e-3, "maximize": x}
    for d, w, i, x in itertools.product((0, 0.5), (0, 0.2), (0, 2), (False, True))
]


@pytest.mark.parametrize(
    ("name", "options"),
    [*(("SGD", o) for o in SGD_OPTIONS), *((name, o) for name in ("Adam", "AdamW") for o in ADAM_OPTIONS),
     *(("Adagrad", o) for o in ADAGRAD_OPTIONS)],
)
def test_peer_steps_agree(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    (one, mine), (other, theirs) = trained(gb, name, **options), trained(torch, name, **options)
    assert one == pytest.approx(other, rel=1e-5)
    saved, expected = mine.state_dict(), theirs.state_dict()
    assert saved["param_groups"] == expected["param_groups"]
    assert {key: value.tolist() for key, value in saved["state"].get(0, {}).items()} == {
        key: pytest.approx(value.tolist(), rel=1e-5) for key, value in expected["state"].get(0, {}).items()
    }


SPARSE_OPTIONS = [
    *(("SparseAdam", {"lr": 0.1, "betas": b, "maximize": x}) for b in ((0.9, 0.99), (0, 0.5)) for x in (False, True)),
    *(("Adagrad", o) for o in ADAGRAD_OPTIONS if not o["weight_decay"]),
    *(("SGD", o) for o in SGD_OPTIONS if not (o["momentum"] or o["weight_decay"] or o["dampening"])),
]


@pytest.mark.parametrize(("name", "options"), SPARSE_OPTIONS)
def test_peer_steps_agree_for_sparse_gradients(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    (one, mine), (other, theirs) = sparsely_trained(gb, name, **options), sparsely_trained(torch, name, **options)
    assert np.array(one) == pytest.approx(np.array(other), rel=1e-5)
    saved, expected = mine.state_dict(), theirs.state_dict()
    assert saved["param_groups"] == expected["param_groups"]
    state, peer = (one["state"].get(0, {}) for one in (saved, expected))
    assert state.keys() == peer.keys()
    for key, value in state.items():
        assert np.array(value) == pytest.approx(np.array(peer[key]), rel=1e-5)


def test_peer_adagrad_steps_agree_for_complex_parameters() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for module in (gb, torch):
        p = module.tensor([1 + 1j, 2 - 1j], requires_grad=True)
        optimizer = module.optim.Adagrad([p], lr=0.5, initial_accumulator_value=0.5)
        for factor in (1, -2j):
            p.grad = module.tensor([0.5 - 2j, 1 + 0j]) * factor
            optimizer.step()
        found.append((p.tolist(), optimizer.state[p]["sum"].tolist()))
    assert np.array(found[0]) == pytest.approx(np.array(found[1]), rel=1e-5)
