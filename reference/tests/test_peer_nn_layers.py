"""Modules beside torch.nn's: constructors, repr, state dicts, results in both modes, and errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.nn.function_layers import LAYERS

torch: Any = pytest.importorskip("torch")

MADE: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Linear": (lambda nn: nn.Linear(4, 3), (2, 4)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, padding="same", dilation=2, groups=2, bias=False), (2, 4, 9)),
    "Conv2d": (lambda nn: nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 7, 6)),
    "reflected": (lambda nn: nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), (1, 2, 5, 4)),
    "circular": (lambda nn: nn.Conv1d(2, 2, 4, padding="same", padding_mode="circular"), (1, 2, 7)),
    "Conv3d": (lambda nn: nn.Conv3d(2, 2, 2), (1, 2, 3, 3, 3)),
    "LayerNorm": (lambda nn: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(4, bias=False), (2, 4)),
    "LayerNorm without parameters": (lambda nn: nn.LayerNorm(4, 1e-3, False), (2, 4)),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), (2, 4)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (2, 4, 5)),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), (3, 4)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, momentum=None), (2, 3, 4, 4)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(2, affine=False), (2, 2, 3, 3, 3)),
    "BatchNorm without statistics": (lambda nn: nn.BatchNorm1d(4, track_running_stats=False), (3, 4)),
    "nested": (
        lambda nn: nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.GELU()), nn.ModuleList([nn.ReLU()]).pop(0)),
        (2, 4),
    ),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2, padding=1), (1, 2, 5, 5)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2, 1), (1, 2, 5, 5)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, 1)), (1, 2, 5, 5)),
    **{
        name: ((lambda nn, name=name: getattr(nn, name)()), (2, 4))
        for name in """ReLU ReLU6 GELU Tanh Sigmoid SiLU Mish ELU CELU SELU LeakyReLU Softplus Softsign Softshrink
        Hardshrink Tanhshrink Hardtanh Hardswish Hardsigmoid LogSigmoid GLU Identity""".split()
    },
}  # fmt: skip


def copied(peer: Any) -> gb.Tensor:
    return gb.from_numpy(np.array(peer.detach().numpy()))


@pytest.mark.parametrize("name", MADE)
def test_modules_are_those_of_the_peer(name: str) -> None:
    make, sizes = MADE[name]
    torch.manual_seed(1)
    own, peer = make(gb.nn), make(torch.nn)
    state = peer.state_dict()
    assert [(key, tuple(value.shape)) for key, value in own.state_dict().items()] == [
        (key, tuple(value.shape)) for key, value in state.items()
    ]
    assert repr(own) == repr(peer)
    own.load_state_dict({key: copied(value) for key, value in state.items()})
    for training in (True, True, False):
        own.train(training), peer.train(training)
        x = torch.randn(sizes)
        np.testing.assert_allclose(own(copied(x)).detach().numpy(), peer(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    for key, value in peer.state_dict().items():
        np.testing.assert_allclose(own.state_dict()[key].numpy(), value.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_constructors_have_the_parameters_of_the_peer(name: str) -> None:
    theirs = inspect.signature(getattr(torch.nn, name).__init__).parameters.values()
    wanted = [(one.name, one.default) for one in theirs if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
    older = ("min_value", "max_value")  # deprecated
    own = [(one.name, one.default) for one in getattr(gb.nn, name).signature.parameters.values()]
    assert own == [pair for pair in wanted if pair[0] not in older]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda nn: nn.Conv2d(2, 4, 3, groups=3), lambda nn: nn.Conv2d(3, 4, 3, groups=3),
        lambda nn: nn.Conv2d(2, 4, 3, padding="x"), lambda nn: nn.GroupNorm(3, 4),
        lambda nn: nn.Conv1d(2, 4, 3, 2, "same"), lambda nn: nn.Conv2d(2, 2, 3, padding_mode="x"),
        lambda nn: nn.Sequential(1), lambda nn: nn.ModuleList([1]), lambda nn: nn.ModuleDict({"a": 1}),
        lambda nn: nn.Sequential(nn.ReLU())[1], lambda nn: nn.Conv2d(2, 4, 3, groups=0),
    ],
)  # fmt: skip
def test_errors_are_of_the_peers_class(wrong: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, TypeError, IndexError, KeyError)) as theirs:
        wrong(torch.nn)
    with pytest.raises(type(theirs.value)):
        wrong(gb.nn)
