"""Normalizations: values, statistics, running statistics, layouts, mixed dtypes, empty inputs, refusals."""

from __future__ import annotations

import math

import gaugeblock as gb
import gaugeblock.nn.functional as F
import pytest

X = [[1.0, 2.0, 3.0, 6.0], [0.0, 0.0, 0.0, 0.0]]


def test_layer_norm_values() -> None:
    mean, deviation = 3.0, 1 / math.sqrt(3.5 + 0.5)
    expected = [(x - mean) * deviation for x in X[0]]
    for dtype, bound in ((gb.float64, 1e-15), (gb.float32, 1e-6), (gb.bfloat16, 1e-2)):
        result, means, inverse = gb.native_layer_norm(gb.tensor(X, dtype=dtype), [4], None, None, 0.5)
        assert result[0].double().tolist() == pytest.approx(expected, rel=bound)
        assert result[1].tolist() == [0.0] * 4
        assert means.shape == inverse.shape == (2, 1)
        assert means.dtype is inverse.dtype is dtype
        assert inverse[0].item() == pytest.approx(deviation, rel=bound)
    weight, bias = gb.tensor([1.0, 2.0, 3.0, 4.0]), gb.tensor([0.5, 0.0, 0.0, -0.5])
    scaled = F.layer_norm(gb.tensor(X), (4,), weight, bias, 0.5)
    assert scaled[0].tolist() == pytest.approx([-0.5, -1.0, 0.0, 5.5])
    assert F.layer_norm(gb.tensor(X), (4,), None, bias, 0.5)[1].tolist() == [0.5, 0.0, 0.0, -0.5]


def test_layer_norm_of_large_means() -> None:
    x = gb.tensor([[1e6 + 1, 1e6 + 2, 1e6 + 3, 1e6 + 6]])
    assert F.layer_norm(x, (4,), eps=0.5)[0].tolist() == pytest.approx([-1.0, -0.5, 0.0, 1.5], abs=1e-6)


def test_layer_norm_of_other_layouts() -> None:
    base = gb.arange(24.0).reshape(2, 3, 4)
    turned = base.permute(2, 0, 1)
    assert F.layer_norm(turned, (2, 3)).tolist() == F.layer_norm(turned.contiguous(), (2, 3)).tolist()
    assert F.layer_norm(turned, (2, 3)).is_contiguous()
    for _ in range(3):  # the first call is planned, the next ones are kept
        assert F.layer_norm(gb.tensor([[1.0, 2.0], [3.0, 5.0]]).t(), (2,), eps=0.0).tolist() == [[-1.0, 1.0]] * 2
    assert F.layer_norm(gb.ones(1).expand(2, 3), (3,)).tolist() == [[0.0] * 3] * 2
    result, mean, inverse = gb.native_layer_norm(gb.empty(2, 0), [0], None, None, 1e-5)
    assert (result.shape, mean.shape, inverse.shape) == ((2, 0), (2, 1), (2, 1))
    assert F.layer_norm(gb.empty(3, 4, device="meta"), (4,)).device.type == "meta"
    assert math.isnan(F.layer_norm(gb.tensor([1.0, math.nan]), (2,))[0].item())


def test_half_with_wide_parameters() -> None:
    x = gb.tensor(X, dtype=gb.bfloat16)
    result, mean, _ = gb.native_layer_norm(x, [4], gb.ones(4), gb.zeros(4), 0.5)
    assert (result.dtype, mean.dtype) == (gb.bfloat16, gb.float32)
    with pytest.raises(RuntimeError, match="mixed dtype"):
        F.layer_norm(gb.ones(2, 4, dtype=gb.float64), (4,), gb.ones(4))


def test_batch_norm_in_training() -> None:
    x = gb.tensor([[[1.0, 3.0]], [[5.0, 7.0]]])
    mean, variance = gb.zeros(1), gb.ones(1)
    result = F.batch_norm(x, mean, variance, training=True, momentum=0.5, eps=0.0)
    assert result.flatten().tolist() == pytest.approx([v / math.sqrt(5) for v in (-3, -1, 1, 3)])
    assert mean.tolist() == [2.0]
    assert variance.item() == pytest.approx(0.5 + 0.5 * 20 / 3)
    _, saved, inverse = gb.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    assert saved.tolist() == [4.0]
    assert inverse.item() == pytest.approx(1 / math.sqrt(5))


def test_batch_norm_outside_training() -> None:
    x = gb.tensor([[1.0, 10.0], [3.0, 30.0]])
    given = gb.tensor([1.0, 10.0]), gb.tensor([4.0, 100.0])
    result = F.batch_norm(x, *given, gb.tensor([2.0, 1.0]), gb.tensor([0.0, 5.0]), eps=0.0)
    assert result.tolist() == [[0.0, 5.0], [2.0, 7.0]]
    assert given[0].tolist() == [1.0, 10.0]
    _, mean, inverse = gb.native_batch_norm(x, None, None, *given, False, 0.1, 0.0)
    assert mean.shape == inverse.shape == (0,)
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        F.batch_norm(x, None, None)
    with pytest.raises(RuntimeError, match="running_mean must be defined"):
        gb.native_batch_norm(x, None, None, None, None, False, 0.1, 1e-5)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(x[:1], *given, training=True)


def test_channels_last_is_kept() -> None:
    x = gb.randn(2, 3, 4, 5).contiguous(memory_format=gb.channels_last)
    for result in (F.batch_norm(x, None, None, training=True), F.group_norm(x, 3)):
        assert result.stride() == x.stride()
    assert F.group_norm(x, 3).flatten().tolist() == pytest.approx(F.group_norm(x.contiguous(), 3).flatten().tolist())


def test_groups_and_instances() -> None:
    x = gb.tensor([[[1.0, 3.0], [5.0, 7.0], [2.0, 2.0], [4.0, 4.0]]])
    grouped = F.group_norm(x, 2, gb.tensor([1.0, 1.0, 2.0, 2.0]), eps=0.0)
    assert grouped[0, :2].flatten().tolist() == pytest.approx([v / math.sqrt(5) for v in (-3, -1, 1, 3)])
    assert grouped[0, 2:].flatten().tolist() == [-2.0, -2.0, 2.0, 2.0]
    assert gb.native_group_norm(x, None, None, 1, 4, 2, 2, 0.0)[1].tolist() == [[4.0, 3.0]]
    alone = F.instance_norm(x, eps=0.0)
    assert alone[0, 0].tolist() == [-1.0, 1.0]
    mean, variance = gb.zeros(4), gb.ones(4)
    F.instance_norm(x, mean, variance, momentum=1.0)
    assert mean.tolist() == [2.0, 6.0, 2.0, 4.0]
    assert variance.tolist() == [2.0, 2.0, 0.0, 0.0]
    assert F.group_norm(gb.empty(0, 4, 2), 2).shape == (0, 4, 2)


def test_two_batches_of_one_layer_are_differentiated() -> None:
    mean, variance, weight = gb.zeros(2), gb.ones(2), gb.ones(2, requires_grad=True)
    x = gb.tensor([[1.0, 5.0], [3.0, 1.0]])
    first, second = (F.batch_norm(v, mean, variance, weight, training=True, momentum=0.5, eps=0.0) for v in (x, 2 * x))
    (first[0] + second[1]).sum().backward()
    assert mean.tolist() == [2.5, 3.75]
    assert weight.grad.tolist() == [0.0, 0.0]


def test_instance_norm_in_use_writes_nothing() -> None:
    x, mean, variance = gb.arange(12.0).view(3, 2, 2), gb.tensor([0.5]).expand(2), gb.tensor([4.0]).expand(2)
    found = F.instance_norm(x, mean, variance, use_input_stats=False, eps=0.0)
    assert found.flatten().tolist() == [(v - 0.5) / 2 for v in range(12)]
    assert mean._version == variance._version == 0


def test_root_mean_square() -> None:
    x = gb.tensor([[3.0, 4.0], [0.0, 0.0]])
    root = math.sqrt(12.5)
    assert F.rms_norm(x, (2,), eps=0.0)[0].tolist() == pytest.approx([3 / root, 4 / root])
    assert F.rms_norm(x, (2,), gb.tensor([2.0, 0.5]))[1].tolist() == [0.0, 0.0]
    result, inverse = gb._fused_rms_norm(x.bfloat16(), [2], None, None)
    assert (result.dtype, inverse.dtype, inverse.shape) == (gb.bfloat16, gb.float32, (2, 1))


def test_along_channels() -> None:
    x = gb.tensor([[[1.0], [2.0], [4.0]]])
    assert F.normalize(gb.tensor([[3.0, 4.0]])).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    response = F.local_response_norm(x, 2, alpha=2.0, beta=1.0, k=1.0)
    assert response.flatten().tolist() == pytest.approx([1 / 2, 2 / 6, 4 / 21])


def test_planned_layer_norms_agree_with_the_general_path() -> None:
    x = gb.tensor([[1.0, 3.0], [2.0, 2.0]], requires_grad=True)
    weight, bias = gb.tensor([2.0, 1.0], requires_grad=True), gb.tensor([1.0, 0.0])
    for _ in range(4):
        assert gb.layer_norm(x, (2,), weight, bias, 3.0).tolist() == [[0, 0.5], [1, 0]]
        for pair in ((weight, None), (None, bias), (None, None)):
            for eps in (3.0, 3):
                normal, mean, inverse = gb.native_layer_norm(x, (2,), *pair, eps)
                scale, shift = (1.0 if pair[0] is None else weight), (0.0 if pair[1] is None else bias)
                plain = gb.tensor([[-0.5, 0.5], [0.0, 0.0]])
                gb.testing.assert_close(normal, plain * scale + shift)
                gb.testing.assert_close((mean, inverse), (gb.tensor([[2.0], [2.0]]), gb.tensor([[0.5], [3**-0.5]])))
        turned = x.detach().t().contiguous().t()
        assert gb.native_layer_norm(turned, (2,), weight, bias, 3.0)[0].tolist() == [[0, 0.5], [1, 0]]
        assert gb.native_layer_norm(gb.empty(0, 2), (2,), weight, bias, 3.0)[0].shape == (0, 2)
