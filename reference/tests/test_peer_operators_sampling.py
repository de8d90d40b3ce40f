"""Grids, antialiased resampling and the loss of unaligned labels on random cases, against PyTorch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Default grid_sample")


def _agree(call: Callable[..., Any], *arrays: np.ndarray[Any, Any], off: float) -> None:
    want = call(torch, *[torch.from_numpy(array) for array in arrays]).numpy()
    got = call(gb, *[gb.from_numpy(array) for array in arrays]).numpy()
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=off, atol=off)


@pytest.mark.parametrize("case", range(40))
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode: str, padding: str, case: int) -> None:
    draw, rng = random.Random(case), np.random.default_rng(case)
    volume = mode != "bicubic" and draw.random() < 0.4
    sizes = [draw.choice((1, 2, 3, 5)) for _ in range(3 if volume else 2)]
    batch, align = draw.choice((1, 2)), draw.random() < 0.5
    image = rng.standard_normal((batch, 2, *sizes))
    grid = rng.uniform(-2, 2, (batch, *([2] if volume else []), 3, 4, len(sizes)))
    if not volume:  # PyTorch reads the last place of a volume for NaN, against its page
        grid.reshape(-1)[:: draw.choice((3, 7, 1000))] = np.nan
    _agree(lambda m, x, g: m.nn.functional.grid_sample(x, g, mode, padding, align), image, grid, off=1e-11)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 1, 5), (2, 1, 2, 3, 1)])
def test_affine_grid(size: tuple[int, ...], align: bool) -> None:
    dims = len(size) - 2
    theta = np.random.default_rng(dims).standard_normal((2, dims, dims + 1))
    _agree(lambda m, x: m.nn.functional.affine_grid(x, size, align), theta, off=1e-13)


@pytest.mark.parametrize("case", range(60))
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
def test_interpolation_of_floats_and_bytes(antialias: bool, mode: str, case: int) -> None:
    draw, rng = random.Random(case), np.random.default_rng(case)
    own = [draw.choice((1, 2, 3, 5, 8, 13)) for _ in range(2)]
    sizes = [draw.choice((1, 2, 3, 5, 8, 13)), draw.choice((2, 3, 5, 8, 13))]
    options = {"mode": mode, "antialias": antialias, "align_corners": draw.random() < 0.5}

    def resized(module: Any, x: Any) -> Any:
        return module.nn.functional.interpolate(x, size=sizes, **options)

    _agree(resized, rng.standard_normal((2, 3, *own)), off=1e-12)
    _agree(resized, rng.integers(0, 256, (2, 3, *own)).astype(np.uint8), off=0)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
def test_interpolation_by_factors_that_keep_a_size(antialias: bool, mode: str) -> None:
    image = np.random.default_rng(1).standard_normal((1, 2, 3, 4))
    for factors in ((1.3, 1.2), (1.3, 2.0), (2.0, 1.2), (0.7, 1.2)):
        _agree(
            lambda m, x, by=factors: m.nn.functional.interpolate(x, scale_factor=by, mode=mode, antialias=antialias),
            image, off=1e-12,
        )  # fmt: skip


@pytest.mark.parametrize("case", range(60))
def test_ctc_loss(case: int) -> None:
    draw, rng = random.Random(case), np.random.default_rng(case)
    time, batch, classes, longest = (draw.choice(options) for options in ((1, 3, 6), (1, 3), (2, 4), (1, 3)))
    logs = rng.standard_normal((time, batch, classes))
    blank = draw.randrange(classes)
    targets = rng.integers(0, classes, (batch, longest))
    targets[targets == blank] = (blank + 1) % classes
    times = tuple(draw.randint(0, time) for _ in range(batch))
    lengths = tuple(draw.randint(0, longest) for _ in range(batch))
    if draw.random() < 0.5:
        targets = np.concatenate([targets[k, :n] for k, n in enumerate(lengths)])
    reduction, forgiven = draw.choice(("none", "mean", "sum")), draw.random() < 0.5
    _agree(
        lambda m, x, t: m.nn.functional.ctc_loss(x, t, times, lengths, blank, reduction, forgiven), logs, targets,
        off=1e-11,
    )  # fmt: skip
