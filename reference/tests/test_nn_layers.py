"""Modules of nn: containers, layers with parameters, and layers of one function."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock import nn
from gaugeblock.nn import functional as F
from gaugeblock.nn.function_layers import LAYERS


def filled(module: Any, **values: Any) -> Any:
    """The module with parameters of these values."""
    for name, value in values.items():
        getattr(module, name).data.copy_(gb.tensor(value))
    return module


def test_sequential_runs_its_modules_in_turn() -> None:
    double = filled(nn.Linear(1, 1), weight=[[2.0]], bias=[1.0])
    m = nn.Sequential(double, nn.ReLU(), nn.Flatten(0))
    assert m(gb.tensor([[1.0], [-3.0]])).tolist() == [3.0, 0.0]
    assert [*m.state_dict()] == ["0.weight", "0.bias"]
    assert (len(m), m[0], m[-1], [*m[1:]]) == (3, double, m[2], [m[1], m[2]])
    named = nn.Sequential({"first": double, "second": nn.Tanh()})
    assert [*named.state_dict()] == ["first.weight", "first.bias"]
    assert named.second is named[1] and named[:1].first is double
    named[1] = nn.Identity()
    assert named(gb.tensor([[1.0]])).item() == 3.0
    del m[1]
    assert [type(one).__name__ for one in m] == ["Linear", "Flatten"]
    assert len(m + named) == 4
    with pytest.raises(IndexError, match="index 2 is out of range"):
        m[2]
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Sequential(3)


def test_lists_and_dicts_register_their_modules() -> None:
    m = nn.ModuleList([nn.Linear(1, 2), nn.Linear(2, 1)])
    m.append(nn.ReLU()).insert(0, nn.Tanh())
    assert [type(one).__name__ for one in m] == ["Tanh", "Linear", "Linear", "ReLU"]
    assert [*m.state_dict()] == ["1.weight", "1.bias", "2.weight", "2.bias"]
    assert m[1] in m and nn.Tanh() not in m
    assert type(m.pop()).__name__ == "ReLU" and len(m) == 3
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"
    d = nn.ModuleDict({"a": nn.Linear(1, 1)})
    d["b"] = nn.ReLU()
    d.update([("c", nn.Tanh())])
    assert ([*d], len(d), "b" in d, type(d.pop("c")).__name__) == (["a", "b", "c"], 3, True, "Tanh")
    assert [*d.state_dict()] == ["a.weight", "a.bias"]
    with pytest.raises(KeyError):
        d["z"]
    with pytest.raises(TypeError, match="modules"):
        nn.ModuleList(3)  # type: ignore[arg-type]


def test_convolutions_of_golden_values() -> None:
    x = gb.arange(9.0).reshape(1, 1, 3, 3)
    m = filled(nn.Conv2d(1, 1, 2, bias=False), weight=[[[[1.0, 0.0], [0.0, -1.0]]]])
    assert m(x).tolist() == [[[[-4.0, -4.0], [-4.0, -4.0]]]]
    line = gb.tensor([[[1.0, 2.0, 3.0]]])
    ones = {"weight": [[[1.0, 1.0, 1.0]]], "bias": [0.5]}
    expected = {
        "zeros": [3.5, 6.5, 5.5], "reflect": [5.5, 6.5, 7.5], "replicate": [4.5, 6.5, 8.5], "circular": [6.5, 6.5, 6.5],
    }  # fmt: skip
    for mode, values in expected.items():
        assert filled(nn.Conv1d(1, 1, 3, padding=1, padding_mode=mode), **ones)(line).tolist() == [[values]]
        assert filled(nn.Conv1d(1, 1, 3, padding="same", padding_mode=mode), **ones)(line).tolist() == [[values]]
    assert filled(nn.Conv1d(1, 1, 3, padding="valid"), **ones)(line).tolist() == [[[6.5]]]
    assert nn.Conv3d(2, 4, (1, 2, 3), groups=2)(gb.zeros(1, 2, 3, 3, 3)).shape == (1, 4, 3, 2, 1)
    bound = 1 / math.sqrt(4 // 2 * 9)
    weight = nn.Conv2d(4, 8, 3, groups=2).weight
    assert weight.shape == (8, 2, 3, 3) and 0.9 * bound < weight.abs().max().item() <= bound


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": 0}, "groups must be a positive integer"),
        ({"groups": 3}, "in_channels must be divisible by groups"),
        ({"padding": "full"}, "Invalid padding string 'full'"),
        ({"padding_mode": "ones"}, "padding_mode must be one of"),
        ({"padding": "same", "stride": 2}, "padding='same' is not supported for strided convolutions"),
    ],
)
def test_wrong_convolutions(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        nn.Conv2d(2, 4, 3, **options)


def test_embedding_reads_rows() -> None:
    m = filled(nn.Embedding(3, 2, padding_idx=0), weight=[[9.0, 9.0], [1.0, 2.0], [3.0, 4.0]])
    found = m(gb.tensor([[2, 0], [1, 2]]))
    assert found.tolist() == [[[3.0, 4.0], [9.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]]]
    found.sum().backward()
    assert m.weight.grad.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert nn.Embedding(3, 2, padding_idx=-1).weight[2].tolist() == [0.0, 0.0]
    frozen = nn.Embedding.from_pretrained(gb.ones(2, 3))
    assert not frozen.weight.requires_grad and frozen(gb.tensor([1])).tolist() == [[1.0, 1.0, 1.0]]
    with pytest.raises(ValueError, match="Padding_idx must be within num_embeddings"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match="2-dimensional"):
        nn.Embedding.from_pretrained(gb.ones(2))


def test_normalizations_scale_and_shift() -> None:
    x = gb.tensor([[1.0, 3.0], [2.0, 6.0]])
    m = filled(nn.LayerNorm(2, eps=0.0), weight=[2.0, 1.0], bias=[0.0, 10.0])
    assert m(x).tolist() == [[-2.0, 11.0], [-2.0, 11.0]]
    assert nn.GroupNorm(1, 2, eps=0.0)(x).tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    assert nn.RMSNorm(2, eps=0.0)(gb.tensor([3.0, 3.0])).tolist() == [1.0, 1.0]
    plain = nn.LayerNorm((2,), elementwise_affine=False)
    assert plain.weight is None and not [*plain.parameters()]
    with pytest.raises(ValueError, match="must be divisible by num_groups"):
        nn.GroupNorm(2, 3)


def test_batch_norm_keeps_running_statistics() -> None:
    m, x = nn.BatchNorm1d(1, eps=0.0, momentum=0.5), gb.tensor([[1.0], [3.0]])
    assert m(x).tolist() == [[-1.0], [1.0]]
    assert (m.running_mean.tolist(), m.running_var.tolist(), m.num_batches_tracked.item()) == ([1.0], [1.5], 1)
    m.eval()
    assert m(gb.tensor([[1.0]])).tolist() == [[0.0]]
    assert [*m.state_dict()] == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    whole = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 3.0):
        whole(gb.full((2, 1), value))
    assert whole.running_mean.tolist() == [2.0]
    untracked = nn.BatchNorm2d(3, affine=False, track_running_stats=False).eval()
    assert untracked(gb.randn(2, 3, 4, 4)).mean().abs().item() < 1e-6
    with pytest.raises(ValueError, match=r"expected 4D input \(got 2D input\)"):
        nn.BatchNorm2d(3)(gb.zeros(2, 3))


def test_layers_of_one_function_call_it_with_their_options() -> None:
    x = gb.tensor([[-1.0, 2.0], [0.5, -3.0]])
    assert nn.LeakyReLU(0.5)(x).tolist() == [[-0.5, 2.0], [0.5, -1.5]]
    assert nn.Softmax(1)(x).tolist() == F.softmax(x, 1).tolist()
    assert nn.MaxPool1d(2)(x).tolist() == [[2.0], [0.5]]
    weights = gb.tensor([1.0, 3.0])
    loss = nn.CrossEntropyLoss(weights, label_smoothing=0.1)
    target = gb.tensor([1, 0])
    assert loss(x, target).item() == F.cross_entropy(x, target, weights, label_smoothing=0.1).item()
    assert [*loss.state_dict()] == ["weight"]
    dropped = nn.Dropout(1.0)
    assert dropped(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert dropped.eval()(x).tolist() == x.tolist()
    for wrong in (lambda: nn.ReLU(1, 2), lambda: nn.MaxPool2d(), lambda: nn.Softmax(axis=1)):
        with pytest.raises(TypeError, match=r"(ReLU|MaxPool2d|Softmax)\(\): "):
            wrong()


def test_all_names_of_the_table_are_classes_of_nn() -> None:
    for name in LAYERS:
        made = getattr(nn, name)
        assert (made.__name__, made.__module__, issubclass(made, nn.Module)) == (name, "gaugeblock.nn", True)
        assert name in dir(nn)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        nn.Nothing  # noqa: B018


def test_a_network_learns() -> None:
    gb.manual_seed(0)
    m = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(16, 2))  # fmt: skip
    optimizer, loss_of = gb.optim.SGD(m.parameters(), lr=0.1), nn.CrossEntropyLoss()
    x, target = gb.randn(8, 1, 4, 4), gb.arange(8) % 2
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = loss_of(m(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
