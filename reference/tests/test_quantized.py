"""Quantized tensors: integers, rounding, quantizers of views, errors, copies."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LIMITS = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}
VIEWS = {
    "t": lambda x: x.t(), "row": lambda x: x[1], "column": lambda x: x[:, 1], "rows": lambda x: x[1:],
    "steps": lambda x: x[:, ::2], "flat": lambda x: x.reshape(-1), "expand": lambda x: x.expand(2, *x.shape),
    "diagonal": lambda x: x.diagonal(), "unfold": lambda x: x.unfold(1, 2, 1), "new dim": lambda x: x.unsqueeze(1),
    "none": lambda x: x[2:2], "pairs": lambda x: x.view(2, 6), "strided": lambda x: x.as_strided((2, 2), (4, 1), 1),
}  # fmt: skip


def matrix() -> gb.Tensor:
    return gb.arange(12.0).view(3, 4) / 4 - 1


def per_channel(axis: int, dtype: str = "qint8") -> gb.Tensor:
    count = matrix().shape[axis]
    scales = gb.tensor([0.5, 0.25, 0.125, 1.0][:count])
    return gb.quantize_per_channel(matrix(), scales, gb.tensor([0, 1, 2, 3][:count]), axis, getattr(gb, dtype))


def test_halves_go_to_even_after_the_zero_point() -> None:
    x = gb.tensor([0.5, 1.5, 2.5, -0.5])
    assert gb.quantize_per_tensor(x, 1.0, 0, gb.qint8).int_repr().tolist() == [0, 2, 2, 0]
    assert gb.quantize_per_tensor(x, 1.0, 1, gb.qint8).int_repr().tolist() == [2, 2, 4, 0]


def test_values_outside_are_clamped() -> None:
    x = gb.tensor([1e30, -1e30, gb.inf, -gb.inf, 3e9, -3e9])
    for name, (low, high) in LIMITS.items():
        q = gb.quantize_per_tensor(x, 1.0, 0, getattr(gb, name))
        assert q.int_repr().tolist() == [high, low] * 3
        assert low <= gb.quantize_per_tensor(gb.tensor([gb.nan]), 1.0, 0, getattr(gb, name)).int_repr().item() <= high


def single(value: Fraction) -> float:
    """The float32 nearest to an exact value."""
    near = np.float32(float(value))
    beside = (near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf)))
    even = [int(one.view(np.uint32)) % 2 for one in beside]
    return float(min(zip(beside, even, strict=True), key=lambda p: (abs(Fraction(float(p[0])) - value), p[1]))[0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=40), st.floats(2.0**-6, 8, width=32),
    st.integers(0, 127), st.sampled_from(["qint8", "quint8", "qint32"]),
)  # fmt: skip
def test_integers_are_those_of_the_rule(values: list[float], scale: float, zero_point: int, name: str) -> None:
    inverse, (low, high) = Fraction(float(np.float32(1) / np.float32(scale))), LIMITS[name]
    expected = []
    for value in values:
        product = Fraction(value) * inverse
        whole = single(product + zero_point if name != "qint32" else Fraction(single(product)) + zero_point)
        expected.append(min(max(round(whole), low), high))
    q = gb.quantize_per_tensor(gb.tensor(values), scale, zero_point, getattr(gb, name))
    assert q.int_repr().tolist() == expected
    back = [float(np.float32(one - zero_point) * np.float32(scale)) for one in expected]
    assert q.dequantize().tolist() == back


@pytest.mark.parametrize("name", VIEWS)
def test_views_keep_the_quantizer(name: str) -> None:
    view = VIEWS[name]
    for q in (gb.quantize_per_tensor(matrix(), 0.25, 3, gb.quint8), per_channel(0), per_channel(1, "qint32")):
        assert view(q).is_quantized
        assert gb.equal(view(q).dequantize(), view(q.dequantize()))
        assert gb.equal(view(q).int_repr(), view(q.int_repr()))


def test_channels_move_with_the_dims() -> None:
    q = per_channel(1)
    assert (q.qscheme(), q.q_per_channel_axis()) == (gb.per_channel_affine, 1)
    assert q.t().q_per_channel_axis() == 0
    assert q[:, 2].qscheme() is gb.per_tensor_affine and q[:, 2].q_scale() == 0.125
    assert q[:, ::2].q_per_channel_scales().tolist() == [0.5, 0.125]
    assert q.q_per_channel_scales().dtype is gb.float64 and q.q_per_channel_zero_points().dtype is gb.int64
    assert gb.equal(q.t().contiguous().dequantize(), q.dequantize().t())
    with pytest.raises(RuntimeError, match="do not lie along one dim"):
        q.view(2, 6).q_per_channel_axis()
    with pytest.raises(RuntimeError, match="got one of per_tensor_affine"):
        q[:, 2].q_per_channel_scales()
    with pytest.raises(RuntimeError, match="got one of per_channel_affine"):
        q.q_scale()


def test_elements_are_written_quantized() -> None:
    q = gb.quantize_per_tensor(gb.zeros(2, 3), 0.5, 0, gb.qint8)
    q[0] = 1.3
    q[1, 1] = gb.tensor(-2.0)
    q[:, 2].copy_(gb.tensor([9.0, -9.0]))
    assert q.int_repr().tolist() == [[3, 3, 18], [0, -4, -18]]
    assert q[1, 1].item() == -2.0 and float(q[0, 0]) == 1.5
    channels = per_channel(0)
    channels.fill_(1.0)
    assert channels.int_repr().tolist() == [[2] * 4, [5] * 4, [10] * 4]


def test_copies() -> None:
    q, other = (gb.quantize_per_tensor(matrix(), scale, 1, gb.qint8) for scale in (0.25, 1.0))
    assert gb.equal(q, q.clone()) and not gb.equal(q, other)
    assert gb.equal(gb.empty_like(q).copy_(q), q)
    assert q.clone().copy_(other).q_scale() == 1.0
    with pytest.raises(RuntimeError, match="a view keeps its quantizer"):
        q.clone()[0].copy_(other[0])
    for made in (copy.deepcopy(q), pickle.loads(pickle.dumps(q)), copy.copy(q)):
        assert gb.equal(made, q) and made.q_zero_point() == 1
    first, second = copy.deepcopy([q, q[0]])
    first.fill_(0.0)
    assert second.dequantize().tolist() == [0.0] * 4
    assert gb.equal(pickle.loads(pickle.dumps(per_channel(0))), per_channel(0))


def test_text() -> None:
    assert str(gb.quantize_per_tensor(gb.tensor([1.0, 2.5]), 0.5, 3, gb.quint8)) == (
        "tensor([1.0000, 2.5000], size=(2,), dtype=gaugeblock.quint8,\n"
        "       quantization_scheme=gaugeblock.per_tensor_affine, scale=0.5, zero_point=3)"
    )
    assert "axis=1" in repr(per_channel(1))
    assert str(gb.quantize_per_tensor(gb.empty(0), 0.5, 3, gb.qint8)).startswith("tensor([], size=(0,)")


Q = gb.quantize_per_tensor(gb.tensor([[1.0, 2.0]]), 0.5, 3, gb.qint8)
ERRORS = [
    (NotImplementedError, lambda: Q + Q), (NotImplementedError, lambda: Q * 2), (NotImplementedError, lambda: -Q),
    (NotImplementedError, lambda: Q.sum()), (NotImplementedError, lambda: Q @ Q.t()),
    (NotImplementedError, lambda: gb.ones(2) + Q), (NotImplementedError, lambda: gb.ones(2).q_scale()),
    (NotImplementedError, lambda: gb.quantize_per_tensor(Q, 0.5, 3, gb.qint8)), (TypeError, lambda: Q.numpy()),
    (RuntimeError, lambda: Q.requires_grad_()), (BufferError, lambda: Q.__dlpack__()),
    (RuntimeError, lambda: Q.to(gb.float32)), (RuntimeError, lambda: gb.ones(2).to(gb.qint8)),
    (RuntimeError, lambda: gb.zeros(2, dtype=gb.qint8)), (RuntimeError, lambda: gb.ones(1, 2).copy_(Q)),
    (RuntimeError, lambda: gb.promote_types(gb.qint8, gb.float32)),
    (TypeError, lambda: gb.quantize_per_tensor(gb.ones(1), "a", 0, gb.qint8)),
    (TypeError, lambda: gb.quantize_per_tensor(gb.ones(1), 1.0, 0.5, gb.qint8)),
    (RuntimeError, lambda: gb.quantize_per_tensor(gb.ones(1), 1.0, 0, gb.int8)),
    (RuntimeError, lambda: gb.quantize_per_tensor(gb.ones(1).double(), 1.0, 0, gb.qint8)),
    (RuntimeError, lambda: gb.quantize_per_channel(gb.ones(2), gb.ones(1), gb.zeros(1).long(), 0, gb.qint8)),
    (RuntimeError, lambda: gb.quantize_per_channel(gb.ones(2), gb.ones(2), gb.zeros(2), 0, gb.qint8)),
    (RuntimeError, lambda: gb.quantize_per_channel(gb.ones(2), gb.ones(2), gb.zeros(2).long(), 1, gb.qint8)),
    (RuntimeError, lambda: gb.quantize_per_channel(gb.ones(2), gb.zeros(2), gb.zeros(2).long(), 0, gb.qint8)),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(ERRORS)))
def test_errors(place: int) -> None:
    kind, call = ERRORS[place]
    with pytest.raises(kind):
        call()


@pytest.mark.parametrize("scale", [0.0, -1.0, gb.nan, gb.inf, 1e-46, 1e39])
def test_scales_are_positive_and_finite(scale: float) -> None:
    with pytest.raises(RuntimeError, match="positive and finite"):
        gb.quantize_per_tensor(gb.ones(1), scale, 0, gb.qint8)


@pytest.mark.parametrize("name", LIMITS)
def test_zero_points_are_within_the_limits(name: str) -> None:
    low, high = LIMITS[name]
    for zero_point in (low, high):
        assert gb.quantize_per_tensor(gb.ones(1), 1.0, zero_point, getattr(gb, name)).q_zero_point() == zero_point
    for zero_point in (low - 1, high + 1):
        with pytest.raises(RuntimeError, match="bound"):
            gb.quantize_per_tensor(gb.ones(1), 1.0, zero_point, getattr(gb, name))


def test_several_tensors_at_once() -> None:
    made = gb.quantize_per_tensor([gb.ones(2), gb.ones(3)], gb.tensor([0.5, 0.25]), gb.tensor([0, 1]), gb.quint8)
    assert [one.int_repr().tolist() for one in made] == [[2, 2], [5, 5, 5]]
    assert [one.tolist() for one in gb.dequantize(made)] == [[1.0, 1.0], [1.0, 1.0, 1.0]]


def test_fake_quantize_passes_gradients_within_the_limits() -> None:
    x = gb.tensor([-100.0, -1.0, 0.25, 3.0, 100.0, gb.nan], requires_grad=True)
    y = gb.fake_quantize_per_tensor_affine(x, 0.5, 3, -128, 127)
    assert y.tolist() == [-65.5, -1.0, 0.0, 3.0, 62.0, -65.5]
    (grad,) = gb.autograd.grad(y.sum(), x, create_graph=True)
    assert grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    z = gb.tensor([[1.3, 300.0], [1.3, -9.0]], requires_grad=True)
    scales, zero_points = gb.tensor([0.5, 0.25]), gb.tensor([0, 1], dtype=gb.int32)
    w = gb.fake_quantize_per_channel_affine(z, scales, zero_points, 0, 0, 255)
    w.sum().backward()
    assert w.tolist() == [[1.5, 127.5], [1.25, -0.25]]
    assert z.grad.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_fake_quantize_errors() -> None:
    x = gb.ones(2)
    with pytest.raises(RuntimeError, match="zero_point must be between"):
        gb.fake_quantize_per_tensor_affine(x, 0.5, 300, 0, 255)
    with pytest.raises(RuntimeError, match="less than or equal"):
        gb.fake_quantize_per_tensor_affine(x, 0.5, 3, 255, 0)
    with pytest.raises(NotImplementedError, match="only for floats"):
        gb.fake_quantize_per_tensor_affine(x.long(), 0.5, 3, 0, 255)
    with pytest.raises(RuntimeError, match="must be a 1-D tensor of"):
        gb.fake_quantize_per_channel_affine(x, gb.ones(2), gb.zeros(2).long(), 0, 0, 255)
    with pytest.raises(IndexError):
        gb.fake_quantize_per_channel_affine(x, gb.ones(2), gb.zeros(2, dtype=gb.int32), 1, 0, 255)
