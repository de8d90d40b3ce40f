"""Convolutions, patches, pooling, padding and resampling: values, options, layouts, dtypes, refusals."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import pytest


def image(height: int, width: int) -> Any:
    return gb.arange(1.0, height * width + 1).reshape(1, 1, height, width)


def test_conv1d_options() -> None:
    x, w = gb.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), gb.tensor([[[1.0, 0.0, -1.0]]])
    assert F.conv1d(x, w).tolist() == [[[-2.0, -2.0, -2.0]]]
    assert F.conv1d(x, w, gb.tensor([10.0]), padding=1, stride=2).tolist() == [[[8.0, 8.0, 14.0]]]
    assert F.conv1d(x, w, dilation=2).tolist() == [[[-4.0]]]
    assert F.conv1d(x, w, padding="same").tolist() == [[[-2.0, -2.0, -2.0, -2.0, 4.0]]]
    assert F.conv1d(x, gb.tensor([[[1.0, 1.0]]]), padding="same").tolist() == [[[3.0, 5.0, 7.0, 9.0, 5.0]]]
    assert F.conv1d(x, w, padding="valid").shape == (1, 1, 3)
    assert F.conv1d(x[0], w).tolist() == [[-2.0, -2.0, -2.0]]


def test_conv2d_groups_and_layouts() -> None:
    x = gb.cat([image(3, 3), image(3, 3) * 10], 1)
    w = gb.tensor([[[[1.0, 1.0], [1.0, 1.0]]], [[[0.0, 0.0], [0.0, 1.0]]]])
    expected = [[[12.0, 16.0], [24.0, 28.0]], [[50.0, 60.0], [80.0, 90.0]]]
    assert F.conv2d(x, w, groups=2)[0].tolist() == expected
    turned = x.contiguous(memory_format=gb.channels_last)
    result = F.conv2d(turned, w, groups=2)
    assert result[0].tolist() == expected
    assert result.is_contiguous(memory_format=gb.channels_last)
    for dtype in (gb.float16, gb.bfloat16, gb.int32, gb.complex64):
        found = F.conv2d(x.to(dtype), w.to(dtype), groups=2)
        assert found.dtype is dtype
        assert found[0].to(gb.float32 if dtype is not gb.complex64 else dtype).tolist() == expected
    assert F.conv2d(x.to("meta"), w.to("meta"), groups=2).shape == (1, 2, 2, 2)


def test_conv_of_large_batches_in_blocks() -> None:
    x, w = gb.ones(3, 8, 300, 301), gb.ones(2, 8, 3, 3)
    result = F.conv2d(x, w)
    assert result.shape == (3, 2, 298, 299)
    assert result.min().item() == result.max().item() == 72.0


def test_transposed() -> None:
    x, w = gb.tensor([[[1.0, 2.0]]]), gb.tensor([[[1.0, 10.0, 100.0]]])
    assert F.conv_transpose1d(x, w).tolist() == [[[1.0, 12.0, 120.0, 200.0]]]
    assert F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1).tolist() == [[[10.0, 102.0, 20.0, 200.0]]]
    assert F.conv_transpose2d(gb.ones(1, 2, 2, 2), gb.ones(2, 3, 2, 2))[0, 0].tolist() == [
        [2.0, 4.0, 2.0], [4.0, 8.0, 4.0], [2.0, 4.0, 2.0],
    ]  # fmt: skip


def test_linear_maps() -> None:
    w, b = gb.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), gb.tensor([0.5, 0.0, -1.0])
    assert F.linear(gb.tensor([1.0, 1.0]), w, b).tolist() == [3.5, 7.0, 0.0]
    for _ in range(3):  # the first call is planned, the next ones are kept
        assert F.linear(gb.eye(2), w, b).tolist() == [[1.5, 3.0, -1.0], [2.5, 4.0, 0.0]]
        assert F.linear(gb.eye(2), w, gb.tensor(0.5)).tolist() == [[1.5, 3.5, 0.5], [2.5, 4.5, 1.5]]
    assert F.linear(gb.ones(2, 2, 2), w).shape == (2, 2, 3)
    assert F.linear(gb.ones(1, 2).bfloat16(), w.bfloat16(), b.bfloat16()).tolist() == [[3.5, 7.0, 0.0]]
    form = F.bilinear(gb.tensor([[1.0, 2.0]]), gb.tensor([[3.0, 1.0]]), gb.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
    assert form.tolist() == [[5.0]]


def test_patches() -> None:
    columns = F.unfold(image(3, 3), 2)
    assert columns.tolist() == [[[1, 2, 4, 5], [2, 3, 5, 6], [4, 5, 7, 8], [5, 6, 8, 9]]]
    assert F.fold(columns, (3, 3), 2).tolist() == [[[[1, 4, 3], [8, 20, 12], [7, 16, 9]]]]
    turned = F.unfold(image(3, 3).transpose(2, 3), 2, stride=2, padding=1)
    assert turned.tolist() == [[[0, 0, 0, 5], [0, 0, 2, 8], [0, 4, 0, 6], [1, 7, 3, 9]]]
    assert turned._base is None and turned.is_contiguous()


def test_max_pooling() -> None:
    values, places = F.max_pool2d(image(4, 4), 2, return_indices=True)
    assert values.tolist() == [[[[6.0, 8.0], [14.0, 16.0]]]]
    assert places.tolist() == [[[[5, 7], [13, 15]]]]
    assert F.max_pool2d(-image(3, 3), 3, stride=2, padding=1).tolist() == [[[[-1.0, -2.0], [-4.0, -5.0]]]]
    assert F.max_pool1d(gb.tensor([[1.0, 5.0, 2.0, 4.0, 3.0]]), 2, ceil_mode=True).tolist() == [[5.0, 4.0, 3.0]]
    assert F.max_pool1d(gb.tensor([[1, 5, 2, 4]], dtype=gb.float32), 2, 1, dilation=2).tolist() == [[2.0, 5.0]]
    found, where = F.max_pool2d(gb.tensor([[[1.0, math.nan, math.nan, 2.0]]]), (1, 4), return_indices=True)
    assert math.isnan(found.item())
    assert where.item() == 2
    assert F.max_unpool2d(values, places, 2).sum().item() == 44.0
    with pytest.raises(RuntimeError, match="Found an invalid max index: 99"):
        F.max_unpool2d(values, places * 0 + 99, 2)


def test_of_equal_elements_the_first_is_named_and_of_nan_the_last() -> None:
    ties = gb.tensor([[[0.0, 7.0, 7.0], [7.0, 0.0, 7.0], [7.0, 7.0, 0.0]]])
    assert F.max_pool2d(ties, 3, return_indices=True)[1].item() == 1
    assert F.max_pool2d(ties.transpose(1, 2), (3, 2), 1, return_indices=True)[1].tolist() == [[[1, 1]]]
    lost = ties.masked_fill(ties == 0, math.nan)
    assert F.max_pool2d(lost, 3, return_indices=True)[1].item() == 8
    assert F.adaptive_max_pool2d(lost, (1, 2), return_indices=True)[1].tolist() == [[[4, 8]]]
    low = gb.full((1, 2, 2), -math.inf)
    assert F.max_pool2d(low, 3, 1, 1, return_indices=True)[1].tolist() == [[[0, 0], [0, 0]]]


def test_windows_that_take_several_loops_or_lie_in_the_padding() -> None:
    line = gb.arange(40.0).remainder(23).reshape(1, 1, 40)
    values, places = F.max_pool1d(line, 25, 15, return_indices=True)
    assert values.tolist() == [[[22.0, 22.0]]]
    assert places.tolist() == [[[22, 22]]]
    assert F.avg_pool1d(line, 25, 15)[0, 0].tolist() == [line[0, 0, :25].mean().item(), line[0, 0, 15:].mean().item()]
    values, places = F.max_pool2d(gb.ones(1, 1, 1), (1, 2), 1, (0, 1), 2, return_indices=True)
    assert values.tolist() == [[[-math.inf]]]
    assert places.tolist() == [[[1]]]
    parts = F.adaptive_avg_pool1d(gb.arange(11.0).reshape(1, 11), 4)
    assert parts.tolist() == [[1.0, 3.5, 6.5, 9.0]]


def test_average_pooling() -> None:
    assert F.avg_pool2d(image(4, 4), 2).tolist() == [[[[3.5, 5.5], [11.5, 13.5]]]]
    x = gb.tensor([[2.0, 4.0, 6.0]])
    assert F.avg_pool1d(x, 3, 1, 1).tolist() == [[2.0, 4.0, pytest.approx(10 / 3)]]
    assert F.avg_pool1d(x, 3, 1, 1, count_include_pad=False).tolist() == [[3.0, 4.0, 5.0]]
    assert F.avg_pool2d(image(2, 2), 2, divisor_override=1).tolist() == [[[[10.0]]]]
    assert F.avg_pool1d(x, 2, 2, ceil_mode=True).tolist() == [[3.0, 6.0]]
    assert F.adaptive_avg_pool1d(gb.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2).tolist() == [[2.0, 4.0]]
    assert F.adaptive_avg_pool2d(image(2, 4), (None, 2)).tolist() == [[[[1.5, 3.5], [5.5, 7.5]]]]
    largest, where = F.adaptive_max_pool2d(image(3, 3), 2, return_indices=True)
    assert largest.tolist() == [[[[5.0, 6.0], [8.0, 9.0]]]]
    assert where.tolist() == [[[[4, 5], [7, 8]]]]
    assert F.lp_pool1d(gb.tensor([[3.0, 4.0]]), 2.0, 2).tolist() == [[5.0]]


def test_padding() -> None:
    x = gb.tensor([[[1.0, 2.0, 3.0]]])
    assert F.pad(x, (1, 2), value=9.0).tolist() == [[[9.0, 1.0, 2.0, 3.0, 9.0, 9.0]]]
    assert F.pad(x, (-1, 1)).tolist() == [[[2.0, 3.0, 0.0]]]
    assert F.pad(x, (2, 1), mode="reflect").tolist() == [[[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]]
    assert F.pad(x, (1, 2), mode="replicate").tolist() == [[[1.0, 1.0, 2.0, 3.0, 3.0, 3.0]]]
    assert F.pad(x, (1, 2), mode="circular").tolist() == [[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]]
    assert F.pad(x, (2, -2), mode="reflect").tolist() == [[[3.0, 2.0, 1.0]]]
    assert F.pad(x, (-1, 2), mode="replicate").tolist() == [[[2.0, 3.0, 3.0, 3.0]]]
    turned = gb.stack([image(3, 3)[0], -image(3, 3)[0]], 1).contiguous(memory_format=gb.channels_last)
    around = F.pad(turned, (1, 0, 0, 1), mode="reflect")
    assert around.is_contiguous(memory_format=gb.channels_last)
    assert around[0, 1].tolist() == [[-2, -1, -2, -3], [-5, -4, -5, -6], [-8, -7, -8, -9], [-5, -4, -5, -6]]
    assert gb.constant_pad_nd(gb.tensor([True]), [1, 0], 1).tolist() == [True, True]
    with pytest.raises(NotImplementedError, match="Unrecognised padding mode mirror"):
        F.pad(x, (1, 1), mode="mirror")


def test_shuffling_and_resampling() -> None:
    x = gb.arange(16.0).reshape(1, 4, 2, 2)
    mixed = F.pixel_shuffle(x, 2)
    assert mixed[0, 0, 0].tolist() == [0.0, 4.0, 1.0, 5.0]
    assert F.pixel_unshuffle(mixed, 2).tolist() == x.tolist()
    assert F.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0.0, 8.0, 4.0, 12.0]
    line = gb.tensor([[[0.0, 4.0]]])
    assert F.interpolate(line, size=4).tolist() == [[[0.0, 0.0, 4.0, 4.0]]]
    assert F.interpolate(line, size=4, mode="linear", align_corners=False).tolist() == [[[0.0, 1.0, 3.0, 4.0]]]
    assert F.interpolate(line, scale_factor=1.5, mode="linear", align_corners=True).tolist() == [[[0.0, 2.0, 4.0]]]
    turned = gb.stack([image(2, 3)[0], -image(2, 3)[0]], 1).contiguous(memory_format=gb.channels_last)
    for size, rows in (((4, 3), [0, 0, 1, 1]), ((3, 3), [0, 0, 1]), ((2, 3), [0, 1])):
        larger = F.interpolate(turned, size=size)
        assert larger.tolist() == turned.index_select(2, gb.tensor(rows)).tolist()
        assert larger.is_contiguous(memory_format=gb.channels_last)
    assert F.interpolate(gb.arange(6.0).reshape(1, 1, 6), size=3).tolist() == [[[0.0, 2.0, 4.0]]]
    half = F.interpolate(line.half(), size=4, mode="linear")
    assert half.dtype is gb.float16
    assert half.tolist() == [[[0.0, 1.0, 3.0, 4.0]]]
    assert F.interpolate(image(2, 2), size=(1, 1), mode="area").item() == 2.5
    assert F.interpolate(gb.ones(1, 1, 3, 3), size=5, mode="bicubic").flatten().tolist() == pytest.approx([1.0] * 25)
    with pytest.raises(ValueError, match="only one of size or scale_factor"):
        F.interpolate(line, 2, 2.0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: F.conv2d(gb.ones(1, 2, 3, 3), gb.ones(1, 3, 2, 2)), "to have 3 channels, but got 2"),
        (lambda: F.conv2d(gb.ones(1, 2, 3, 3), gb.ones(1, 2, 4, 4)), "Kernel size can't be greater"),
        (lambda: F.conv2d(gb.ones(1, 2, 3, 3), gb.ones(1, 2, 2, 2), stride=(1, 2, 3)), "list of 2 values"),
        (lambda: F.conv2d(gb.ones(3, 3), gb.ones(1, 1, 2, 2)), "Expected 3D"),
        (lambda: F.max_pool2d(gb.ones(1, 1, 3, 3), 2, padding=2), "at most half"),
        (lambda: F.avg_pool1d(gb.ones(1, 3), 4), "Output size is too small"),
        (lambda: F.fold(gb.ones(1, 4, 3), (3, 3), 2), "expected size of input's dimension 2"),
    ],
)
def test_refusals(call: Any, error: str) -> None:
    with pytest.raises(RuntimeError, match=error):
        call()
