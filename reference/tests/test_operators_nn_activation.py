"""Activation functions: values, NaN and infinities, dtypes, in-place and out= forms, refusals."""

from __future__ import annotations

import math
import pickle
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import pytest

X = [-3.0, -1.0, -0.0, 0.5, 2.0]
VALUES: dict[str, tuple[Any, list[float]]] = {
    "relu6": (F.relu6, [0.0, 0.0, 0.0, 0.5, 2.0]),
    "hardtanh": (F.hardtanh, [-1.0, -1.0, 0.0, 0.5, 1.0]),
    "elu": (lambda x: F.elu(x, 2.0), [-1.900425863264272, -1.2642411176571153, 0.0, 0.5, 2.0]),
    "celu": (lambda x: F.celu(x, 2.0), [-1.5537396797031404, -0.7869386805747332, 0.0, 0.5, 2.0]),
    "selu": (F.selu, [-1.670568728767112, -1.1113307378125628, 0.0, 0.5253504936777402, 2.101401974710961]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), [-0.75, -0.25, 0.0, 0.5, 2.0]),
    "gelu": (F.gelu, [-0.0040496940948902835, -0.15865525393145705, 0.0, 0.34573123063700656, 1.9544997361036416]),
    "gelu tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        [-0.003637392081773019, -0.1588080093917233, 0.0, 0.34571400982514394, 1.954597694087775],
    ),
    "silu": (F.silu, [-0.14227761953270035, -0.2689414213699951, 0.0, 0.3112296656009273, 1.7615941559557646]),
    "mish": (F.mish, [-0.14564746127562458, -0.3034014613741089, 0.0, 0.37524521130489513, 1.9439589595339946]),
    "softplus": (F.softplus, [0.04858735157374196, 0.3132616875182228, 0.6931471805599453, 0.9740769841801067,
                              2.1269280110429727]),
    "softshrink": (F.softshrink, [-2.5, -0.5, 0.0, 0.0, 1.5]),
    "hardshrink": (F.hardshrink, [-3.0, -1.0, 0.0, 0.0, 2.0]),
    "hardsigmoid": (F.hardsigmoid, [0.0, 1 / 3, 0.5, 3.5 / 6, 5 / 6]),
    "hardswish": (F.hardswish, [0.0, -1 / 3, 0.0, 1.75 / 6, 10 / 6]),
    "logsigmoid": (F.logsigmoid, [-3.048587351573742, -1.3132616875182228, -0.6931471805599453, -0.47407698418010663,
                                  -0.1269280110429726]),
    "threshold": (lambda x: F.threshold(x, 0.5, 7.0), [7.0, 7.0, 7.0, 7.0, 2.0]),
    "softsign": (F.softsign, [-0.75, -0.5, 0.0, 1 / 3, 2 / 3]),
    "tanhshrink": (F.tanhshrink, [-2.0049452463132697, -0.23840584404423515, 0.0, 0.03788284273999025,
                                  1.0359724199241831]),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    function, expected = VALUES[name]
    for dtype, bound in ((gb.float64, 1e-14), (gb.float32, 4e-7), (gb.float16, 1e-3), (gb.bfloat16, 8e-3)):
        result = function(gb.tensor(X, dtype=dtype))
        assert result.dtype is dtype
        assert result.double().tolist() == pytest.approx(expected, rel=bound, abs=bound)
    strided = gb.tensor([[x, 9.0] for x in X], dtype=gb.float64)[:, 0]
    assert function(strided).tolist() == pytest.approx(expected, rel=1e-14, abs=1e-14)
    assert function(gb.empty(2, 0, device="meta")).shape == (2, 0)


@pytest.mark.parametrize("name", VALUES)
def test_nan_stays(name: str) -> None:
    assert math.isnan(VALUES[name][0](gb.tensor([math.nan])).item())


def test_infinities() -> None:
    ends = gb.tensor([math.inf, -math.inf])
    for function in (F.gelu, F.silu, F.mish):
        high, low = function(ends).tolist()
        assert high == math.inf
        assert math.isnan(low)
    assert F.logsigmoid(ends).tolist() == [0.0, -math.inf]
    assert F.softplus(ends).tolist() == [math.inf, 0.0]


def test_integers_are_clipped() -> None:
    x = gb.tensor([-7, 3, 9], dtype=gb.int8)
    assert F.hardtanh(x, -1.5, 4.9).tolist() == [-1, 3, 4]
    assert F.relu6(x).tolist() == [0, 3, 6]
    assert F.threshold(x, 3, 5).tolist() == [5, 5, 9]


def test_in_place_and_out() -> None:
    x = gb.tensor(X)
    assert F.leaky_relu(x, 0.5, inplace=True) is x
    assert x.tolist() == [-1.5, -0.5, 0.0, 0.5, 2.0]
    assert gb.celu_(x) is x
    out = gb.empty(2)
    with pytest.warns(UserWarning, match="resized"):
        assert gb.nn.operators.silu(x, out=out) is out
    assert out.shape == (5,)
    with pytest.raises(RuntimeError, match="Found dtype"):
        gb.nn.operators.elu(x, out=gb.empty(5, dtype=gb.float64))


def test_gates_and_slopes_per_channel() -> None:
    x = gb.tensor([[1.0, -2.0, 0.0, math.inf]])
    assert F.glu(x).tolist() == [[0.5, -2.0]]
    slanted = F.prelu(gb.tensor([[-1.0, -1.0], [3.0, -2.0]]), gb.tensor([0.5, 2.0]))
    assert slanted.tolist() == [[-0.5, -2.0], [3.0, -4.0]]
    noise = gb.empty(4)
    y = gb.nn.operators.rrelu_with_noise(gb.tensor([-1.0, -2.0, 3.0, 0.0]), noise, 0.25, 0.5, True)
    slopes = noise.tolist()
    assert slopes[2] == 1.0
    assert all(0.25 <= slope <= 0.5 for slope in slopes[:2])
    assert y.tolist() == pytest.approx([-slopes[0], -2 * slopes[1], 3.0, 0.0])
    assert F.rrelu(gb.tensor([-3.0]), 0.25, 0.75).tolist() == [-1.5]


def test_softmax_of_many_kinds() -> None:
    x = gb.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert F.softmin(x, 1)[0].tolist() == pytest.approx([0.7310585786300049, 0.2689414213699951])
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert F.softmax(x).tolist() == F.softmax(x, 1).tolist()
    hard = F.gumbel_softmax(x, hard=True)
    assert hard.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert set(hard.round().flatten().tolist()) <= {0.0, 1.0}


def test_refusals() -> None:
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val"):
        F.hardtanh(gb.zeros(2), 2.0, 1.0)
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh, got 'exp'"):
        F.gelu(gb.zeros(2), approximate="exp")
    with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
        F.hardtanh(gb.zeros(2, dtype=gb.uint8))
    with pytest.raises(AttributeError, match="no attribute 'gelo'"):
        getattr(F, "gelo")  # noqa: B009


def test_functions_are_pickled_by_name() -> None:
    for function in (F.relu, F.dropout2d, F.mse_loss, F.max_pool2d, F.pad):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__module__ == "gaugeblock.nn.functional"


@pytest.mark.parametrize(("dtype", "low"), [(gb.float32, -106.0), (gb.float64, -750.0)], ids=str)
def test_silu_is_exact_to_the_end(dtype: Any, low: float) -> None:
    x = gb.cat([gb.linspace(low, 20.0, 5000, dtype=dtype), gb.tensor([1e-30, -1e-30, 1e30, -1e30], dtype=dtype)])
    wide = [math.exp(min(v, 0.0)) / (1 + math.exp(-abs(v))) * v for v in x.tolist()]
    unit, least = (2.0**-23, 2.0**-149) if dtype is gb.float32 else (2.0**-52, 2.0**-1074)
    assert all(
        abs(found - exact) <= max(1.01 * unit * abs(exact), 1.01 * least)
        if dtype is gb.float32
        else found == pytest.approx(exact, rel=8 * unit, abs=900 * least)
        for found, exact in zip(F.silu(x).tolist(), wide, strict=True)
    )
    ends = F.silu(gb.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0], dtype=dtype)).tolist()
    assert ends[0] == math.inf and math.isnan(ends[1]) and math.isnan(ends[2])
    assert [math.copysign(1.0, end) for end in ends[3:]] == [1.0, -1.0]
