"""Convolutions and their gradients against sums over windows, whatever the layout, the threads and the values."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls.functions import ops
from gaugeblock.operators.networks import convolution as module
from hypothesis import given
from hypothesis import strategies as st


def convolved(source: Any, weight: Any, bias: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """The sums in float64, one output after the other."""
    dims, kernel = source.ndim - 2, weight.shape[2:]
    wide = np.pad(source.astype(np.float64), [(0, 0), (0, 0), *[(padding, padding)] * dims])
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(wide.shape[2:], kernel, strict=True)]
    result = np.empty((source.shape[0], weight.shape[0], *counts))
    inputs, outputs = weight.shape[1], weight.shape[0] // groups
    for sample, channel, *place in np.ndindex(result.shape):
        first = channel // outputs * inputs
        begins = [p * stride for p in place]
        window = tuple(slice(b, b + dilation * k, dilation) for b, k in zip(begins, kernel, strict=True))
        part = wide[(sample, slice(first, first + inputs), *window)]
        result[(sample, channel, *place)] = (part * weight[channel]).sum() + bias[channel]
    return result


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1), (3, 1, 2, 2)])
def test_sums_over_windows(dims: int, dtype: str, options: tuple[int, int, int, int]) -> None:
    random, groups = np.random.default_rng(dims), options[3]
    source = random.standard_normal((2, 4, *(7, 6, 5)[:dims])).astype(dtype)
    weight = random.standard_normal((6, 4 // groups, *(3, 2, 2)[:dims])).astype(dtype)
    bias = random.standard_normal(6).astype(dtype)
    function = getattr(ops, f"conv{dims}d")
    for added in (np.zeros(6, dtype), bias):
        wanted = convolved(source, weight, added, *options)
        given = gb.from_numpy(added) if added.any() else None
        found = [function(gb.from_numpy(source), gb.from_numpy(weight), given, *options) for _ in range(3)]
        assert np.allclose(found[0].numpy(), wanted, rtol=1e-5, atol=1e-5)
        assert all(gb.equal(found[0], again) for again in found[1:])


def test_padding_is_multiplied_too() -> None:
    source, weight = gb.ones(1, 1, 2, 2), gb.full((1, 1, 3, 3), float("inf"))
    for _ in range(2):
        assert ops.conv2d(source, weight, None, 1, 1).isnan().all()


def test_operands_that_do_not_lie_row_major() -> None:
    source, weight = gb.arange(32.0).reshape(1, 2, 4, 4), gb.arange(8.0).reshape(1, 2, 2, 2)
    plain = ops.conv2d(source, weight)
    for other in (source.transpose(2, 3).contiguous().transpose(2, 3), source.to(memory_format=gb.channels_last)):
        for _ in range(2):
            assert gb.allclose(ops.conv2d(other, weight), plain)


INF, NAN = float("inf"), float("nan")


def test_what_lies_around_the_input_of_a_transposed_convolution_is_no_operand() -> None:
    source, weight = gb.ones(1, 1, 2, 2), gb.ones(1, 1, 3, 3)
    weight[0, 0, 0, 0] = INF
    expected = [[INF, INF, 2.0, 1.0], [INF, INF, 4.0, 2.0], [2.0, 4.0, 4.0, 2.0], [1.0, 2.0, 2.0, 1.0]]
    assert ops.conv_transpose2d(source, weight).tolist() == [[expected]]


def test_a_weight_that_sees_no_infinite_element_has_a_finite_gradient() -> None:
    source, weight = gb.ones(1, 1, 4, 6), gb.ones(1, 1, 3, 3, requires_grad=True)
    source[0, 0, 0, 0], source[0, 0, 3, 5] = INF, NAN
    ops.conv2d(source, weight).sum().backward()
    assert weight.grad is not None
    found = weight.grad.flatten().tolist()
    assert found[:-1] == [INF, *[8.0] * 7]
    assert found[-1] != found[-1]


Setting = tuple[int, tuple[int, int, int], list[tuple[int, int, int, int, int, int]], bool, bool]


@st.composite
def settings_of_convolutions(draw: st.DrawFn) -> Setting:
    """Groups; samples, channels and outputs of a group; size, window, stride, padding, dilation and surplus by dim."""
    groups = draw(st.integers(1, 3))
    counts = draw(st.tuples(st.integers(1, 9), st.integers(1, 6), st.integers(1, 6)))
    dims = []
    for _ in range(draw(st.integers(1, 3))):
        window, stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
        padding = draw(st.integers(0, 2))
        least = max(1, dilation * (window - 1) + 1 - 2 * padding)
        size = draw(st.integers(least, least + 9))
        dims.append((size, window, stride, padding, dilation, draw(st.integers(0, stride - 1))))
    return groups, counts, dims, draw(st.booleans()), draw(st.booleans())


def _spread(source: Any, weight: Any, dims: list[Any], groups: int) -> Any:
    """A transposed convolution by adding up every product where it belongs."""
    sizes = [(n - 1) * s + d * (k - 1) + 1 + surplus for n, k, s, _, d, surplus in dims]
    inputs, outputs = source.shape[1] // groups, weight.shape[1]
    wide = np.zeros((source.shape[0], outputs * groups, *sizes))
    for sample, channel, *place in np.ndindex(source.shape):
        group = channel // inputs
        reached = tuple(
            slice(p * s, p * s + d * (k - 1) + 1, d) for p, (_, k, s, _, d, _) in zip(place, dims, strict=True)
        )
        part = wide[(sample, slice(group * outputs, (group + 1) * outputs), *reached)]
        part += source[(sample, channel, *place)] * weight[channel]
    cut = tuple(slice(p, size - p) for size, (_, _, _, p, _, _) in zip(sizes, dims, strict=True))
    return wide[(slice(None), slice(None), *cut)]


def _values(random: Any, shape: tuple[int, ...], backwards: bool) -> Any:
    """An array of whole numbers, so that sums are exact in every order; its dims lie backwards if wanted."""
    values = random.integers(-8, 9, shape).astype(np.float32)
    return gb.from_numpy(np.asfortranarray(values) if backwards else values)


@given(settings_of_convolutions(), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
def test_any_setting(setting: Setting, seed: int, threads: int) -> None:
    groups, (samples, channels, outputs), dims, transposed, backwards = setting
    random = np.random.default_rng(seed)
    sizes, windows, *options = zip(*dims, strict=True)
    stride, padding, dilation, surplus = map(list, options)
    surplus = surplus if transposed else [0] * len(dims)
    lead = (channels * groups, outputs) if transposed else (outputs * groups, channels)
    weight = _values(random, (*lead, *windows), backwards)
    if transposed:
        low = [(n - 1) * s + d * (k - 1) + 1 - 2 * p for n, k, s, p, d, _ in dims]
        if min(low) < 1:
            padding = [0] * len(dims)
            dims = [(n, k, s, 0, d, extra) for n, k, s, _, d, extra in dims]
    source = _values(random, (samples, channels * groups, *sizes), backwards)
    source.requires_grad_()
    weight.requires_grad_()
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        found = ops.convolution(source, weight, None, stride, padding, dilation, transposed, surplus, groups)
        grad = _values(random, tuple(found.shape), False)
        slopes = gb.autograd.grad(found, (source, weight), grad)
    finally:
        gb.set_num_threads(before)
    arrays = [one.detach().numpy().astype(np.float64) for one in (source, weight, grad, found)]
    if transposed:
        wanted = _spread(arrays[0], arrays[1], dims, groups)
        assert np.array_equal(arrays[3], wanted)
    # A convolution is linear in both: <grad, conv(y, w)> is <y, gx> for any y, and <grad, conv(x, v)> is <v, gw>.
    others = [_values(random, tuple(one.shape), False) for one in (source, weight)]
    for k, pair in enumerate(((others[0], weight.detach()), (source.detach(), others[1]))):
        moved = ops.convolution(*pair, None, stride, padding, dilation, transposed, surplus, groups).numpy()
        products = (others[k].numpy() * slopes[k].numpy(), arrays[2] * moved)
        assert products[0].astype(np.float64).sum() == products[1].astype(np.float64).sum()


def test_nothing_is_written_beyond_the_scratch_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def guarded(sizes: tuple[int, ...], *options: Any) -> gb.Tensor:
        whole = gb.full((sizes[0] + 64,), 77, dtype=gb.int64)
        taken.append(whole)
        return whole[32:-32]

    monkeypatch.setattr(module, "empty_tensor", guarded)
    for stride, kernel, groups in ((1, 3, 1), (2, 3, 2), (3, 1, 1), (1, 5, 4)):
        source, weight = gb.rand(5, 4, 13, 11), gb.rand(8, 4 // groups, kernel, kernel, requires_grad=True)
        source.requires_grad_()
        ops.conv2d(source, weight, None, stride, 1, 1, groups).sum().backward()
    assert len(taken) >= 12
    assert all((one[:32] == 77).all() and (one[-32:] == 77).all() for one in taken)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    source, weight, grad = (gb.randn(size) for size in ((9, 12, 20, 21), (10, 12, 3, 3), (9, 10, 10, 11)))
    source.requires_grad_()
    weight.requires_grad_()
    before, found = gb.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            gb.set_num_threads(threads)
            result = ops.conv2d(source, weight, None, 2, 1)
            found.append((result, *gb.autograd.grad(result, (source, weight), grad)))
    finally:
        gb.set_num_threads(before)
    assert all(gb.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_strides_far_beyond_the_window_cost_no_memory() -> None:
    source = gb.ones(1, 1, 3)
    assert ops.conv1d(source, gb.ones(1, 1, 3), None, 10**9, 1).tolist() == [[[2.0]]]
    spread = ops.conv_transpose1d(source[:, :, :2], gb.ones(1, 1, 3), gb.ones(1), 5000)
    assert spread.shape == (1, 1, 5003)
    assert spread[0, 0, 2:6].tolist() == [2.0, 1.0, 1.0, 1.0]
    assert spread.sum().item() == 5003 + 6


def test_a_window_without_places_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"kernel size should be greater than zero, but got \[0, 3\]"):
        ops.conv2d(gb.ones(1, 1, 3, 3), gb.ones(1, 1, 0, 3))
