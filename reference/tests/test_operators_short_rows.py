"""Padding, resampling, pooling and shuffles of short rows, one or many, against NumPy and slow formulas."""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import numpy as np
import pytest

SIZES = [(1, 1, 3, 2), (40, 3, 4, 3), (2, 2, 5, 40)]
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _numbers(sizes: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(sizes).round(1)


def _layouts(values: Any) -> list[Any]:
    """Tensors of the values: row-major, turned, and with an offset."""
    turned = gb.from_numpy(np.ascontiguousarray(values.T)).permute(*range(values.ndim)[::-1])
    return [gb.from_numpy(values), turned, gb.from_numpy(np.concatenate([values, values], -1))[..., values.shape[-1] :]]


@pytest.mark.parametrize(("sizes", "mode"), [*product(SIZES, MODES)])
def test_padding(sizes: tuple[int, ...], mode: str) -> None:
    values = _numbers(sizes)
    expected = np.pad(values, [(0, 0), (0, 0), (2, 1), (0, 1)], MODES[mode])
    for x in _layouts(values):
        found = F.pad(x, [0, 1, 2, 1], mode)
        assert found.is_contiguous() and np.array_equal(found.numpy(), expected)


def test_padding_in_circles() -> None:
    x = gb.tensor([[[1.0, 2.0, 3.0]]], dtype=gb.float64, requires_grad=True)
    assert F.pad(x, [2, 1], "circular").tolist() == [[[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]]]
    assert F.pad(x, [-1, 2], "circular").tolist() == [[[2.0, 3.0, 2.0, 3.0]]]
    for pad, expected in (([2, 1], [2.0, 2.0, 2.0]), ([-1, 2], [0.0, 2.0, 2.0]), ([0, 0], [1.0, 1.0, 1.0])):
        (grad,) = gb.autograd.grad(F.pad(x, pad, "circular").sum(), x)
        assert grad.tolist() == [[expected]]
    wide = gb.randn(2, 3, 4, dtype=gb.float64, requires_grad=True)
    assert gb.autograd.gradcheck(lambda t: F.pad(t, [3, -1], "circular"), (wide,))


@pytest.mark.parametrize(("sizes", "wanted"), [*product(SIZES, [(5, 3), (2, 7), (6, 80)])])
def test_nearest_elements(sizes: tuple[int, ...], wanted: tuple[int, int]) -> None:
    values = _numbers(sizes)
    rows, columns = (np.arange(new) * old // new for old, new in zip(sizes[2:], wanted, strict=True))
    for x in _layouts(values):
        found = F.interpolate(x, wanted, mode="nearest")
        assert np.array_equal(found.numpy(), values[:, :, rows][..., columns])


def _largest(window: list[tuple[float, int]]) -> tuple[float, int]:
    """The first of the largest elements with its place, of NaN the last."""
    best, at = window[0]
    for value, place in window[1:]:
        if value > best or math.isnan(value):
            best, at = value, place
    return best, at


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation"), [
    ((1, 1, 4, 6), (2, 2), (2, 2), (0, 0), (1, 1)), ((30, 2, 5, 4), (2, 3), (1, 2), (1, 1), (1, 1)),
    ((3, 1, 7, 7), (3, 3), (2, 2), (1, 0), (1, 2)), ((2, 1, 9, 9), (4, 4), (1, 3), (2, 0), (1, 1)),
])  # fmt: skip
def test_largest_elements_of_windows(
    sizes: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    values = _numbers(sizes)
    values[np.random.default_rng(1).random(sizes) < 0.05] = math.nan
    height, width = sizes[2:]
    for x in _layouts(values):
        found, places = F.max_pool2d(x, kernel, stride, padding, dilation, return_indices=True)
        for n, c, row, column in np.ndindex(*found.shape):
            spots = [
                (row * stride[0] - padding[0] + i * dilation[0], column * stride[1] - padding[1] + j * dilation[1])
                for i, j in np.ndindex(*kernel)
            ]
            inside = [(i, j) for i, j in spots if 0 <= i < height and 0 <= j < width]
            best, at = _largest([(values[n, c, i, j], i * width + j) for i, j in inside])
            assert places[n, c, row, column].item() == at
            assert np.array_equal(found[n, c, row, column].item(), best, equal_nan=True)
        alone = F.max_pool2d(x, kernel, stride, padding, dilation)
        assert np.array_equal(alone.numpy(), found.numpy(), equal_nan=True)


def test_channels_and_pixels_change_places_and_back() -> None:
    x = gb.arange(24.0).view(1, 4, 2, 3).requires_grad_()
    shuffled = F.pixel_shuffle(x, 2)
    assert shuffled[0, 0].tolist()[:2] == [[0.0, 6.0, 1.0, 7.0, 2.0, 8.0], [12.0, 18.0, 13.0, 19.0, 14.0, 20.0]]
    assert F.pixel_unshuffle(shuffled, 2).tolist() == x.tolist()
    assert gb.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0.0, 12.0, 6.0, 18.0]
    weights = gb.arange(24.0)
    for call in (lambda t: F.pixel_shuffle(t, 2), lambda t: gb.channel_shuffle(t, 2)):
        (grad,) = gb.autograd.grad((call(x).flatten() * weights).sum(), x)
        assert np.array_equal(call(grad).numpy().ravel(), weights.numpy())


@pytest.mark.parametrize("sizes", [(50, 6, 2), (2, 6, 40), (3, 6)])
def test_groups_without_weights(sizes: tuple[int, ...]) -> None:
    values = _numbers(sizes)
    groups = values.reshape(sizes[0], 3, -1)
    expected = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    for x in _layouts(values):
        assert np.allclose(F.group_norm(x, 3).numpy(), expected.reshape(sizes))
    options = sizes[0], 6, math.prod(sizes[2:]), 3, 0.5
    result, mean, inverse = gb.native_group_norm(gb.from_numpy(values), None, None, *options)
    assert mean.shape == inverse.shape == (sizes[0], 3) and np.allclose(mean.numpy(), groups.mean(-1))
    assert np.allclose(inverse.numpy(), 1 / np.sqrt(groups.var(-1) + 0.5)) and result.shape == sizes


@pytest.mark.parametrize("align", [True, False])
def test_grids_of_affine_maps(align: bool) -> None:
    maps = _numbers((2, 2, 3))
    theta = gb.from_numpy(maps).requires_grad_()
    for _ in range(3):
        grid = F.affine_grid(theta, [2, 1, 3, 4], align_corners=align)
        steps = [np.linspace(-1, 1, n) * (1 if align else (n - 1) / n) for n in (3, 4)]
        places = np.stack([*np.meshgrid(*steps, indexing="ij")[::-1], np.ones((3, 4))], -1)
        assert np.allclose(grid.detach().numpy(), np.einsum("hwk,bck->bhwc", places, maps))
        (grad,) = gb.autograd.grad(grid.sum(), theta)
        assert np.allclose(grad.numpy(), np.broadcast_to(places.sum((0, 1)), (2, 2, 3)))


@pytest.mark.parametrize(("rows", "order", "turned"), [*product([5, 400], [1.0, 2.0, math.inf], [False, True])])
def test_rows_of_a_table_are_shortened_once(rows: int, order: float, turned: bool) -> None:
    values, named = _numbers((rows, 4)) * 3, [1, 3, 1]
    norms = np.linalg.norm(values, order, 1)
    expected = values.copy()
    for row in {*named}:
        expected[row] *= min(1.0, 2.0 / (norms[row] + 1e-7)) if norms[row] > 2.0 else 1.0
    for count in (1, rows):  # so many indices that the table is gone through as a whole, too
        table = gb.from_numpy(values.copy() if not turned else np.ascontiguousarray(values.T).copy())
        table = table.t() if turned else table
        version = table._version
        assert gb.embedding_renorm_(table, gb.tensor(named * count), 2.0, order) is table
        assert np.allclose(table.numpy(), expected, rtol=1e-12) and table._version == version + 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8"])
@pytest.mark.parametrize(("mode", "sizes", "wanted"), [
    ("bilinear", (3, 4), (5, 6)), ("bilinear", (4, 4), (4, 9)), ("bicubic", (5, 5), (7, 3)),
    ("bilinear", (2, 3), (2, 3)),
])  # fmt: skip
def test_many_small_images_are_enlarged_as_single_ones_are(
    dtype: str, mode: str, sizes: tuple[int, int], wanted: tuple[int, int]
) -> None:
    random = np.random.default_rng(0)
    images = gb.from_numpy(random.random((4, 9, *sizes)).astype("float32") * 200).to(getattr(gb, dtype))
    columns = images.contiguous(memory_format=gb.channels_last)
    enlarged = functools.partial(F.interpolate, size=wanted, mode=mode)
    single = [enlarged(images[i : i + 1, j : j + 1]) for i in range(4) for j in range(9)]
    expected = gb.cat(single).reshape(4, 9, *wanted)
    for _ in range(3):
        assert gb.equal(enlarged(images), expected) and enlarged(images).is_contiguous()
        assert gb.equal(enlarged(images.transpose(0, 1)), expected.transpose(0, 1))
        assert gb.equal(enlarged(columns), expected)
        assert enlarged(columns).is_contiguous(memory_format=gb.channels_last)
