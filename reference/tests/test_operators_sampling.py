"""grid_sample on a small image: what each mode reads, and what lies outside of the image."""

from __future__ import annotations

from math import inf, nan

import gaugeblock as gb
import pytest

IMAGE = [[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]
PADDINGS = ("zeros", "border", "reflection")


def sampled(places: list[list[float]], mode: str, padding: str, align: bool, dtype: str = "float64") -> list[float]:
    """Return what the places (x, y) of the image show."""
    kind = getattr(gb, dtype)
    image = gb.tensor(IMAGE, dtype=kind).reshape((1, 1, 2, 3))
    grid = gb.tensor(places, dtype=kind).reshape((1, 1, len(places), 2))
    found: list[float] = gb.nn.functional.grid_sample(image, grid, mode, padding, align).reshape((-1,)).tolist()
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("mode", "align", "places", "want"),
    [
        ("bilinear", True, [[-1, -1], [1, 1], [0, 0], [-0.5, -1], [0, 0.5]], [1, 32, 9, 1.5, 12.5]),
        ("bilinear", False, [[0, -0.5], [0, 0], [0, 0.5]], [2, 9, 16]),
        ("nearest", True, [[-0.75, -1], [0.25, -1], [0.75, 1], [0, 0.5]], [1, 2, 32, 16]),
        ("bicubic", True, [[-1, -1], [0, 1], [1, 1]], [1, 16, 32]),
    ],
)
def test_places_inside(mode: str, align: bool, places: list[list[float]], want: list[float], dtype: str) -> None:
    assert sampled(places, mode, "zeros", align, dtype) == want


@pytest.mark.parametrize(
    ("padding", "align", "want"),
    [
        ("zeros", True, [0.5, 0.0, 0.0]), ("border", True, [1.0, 1.0, 32.0]), ("reflection", True, [1.5, 2.0, 16.0]),
        ("border", False, [1.0, 1.0, 32.0]), ("reflection", False, [1.25, 2.0, 16.0]),
    ],
)  # fmt: skip
def test_places_outside(padding: str, align: bool, want: list[float]) -> None:
    y = 1.0 if align else 0.5
    places = [[-1.5, -y], [-2.0, -y], [2.0, y]]
    assert sampled(places, "bilinear", padding, align) == want


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_nan_is_the_first_place_of_images_with_a_border(mode: str, align: bool) -> None:
    y = 1.0 if align else 0.5
    assert sampled([[nan, y]], mode, "border", align) == [8.0]
    assert sampled([[nan, y]], mode, "reflection", align) == [8.0]
    assert sampled([[inf, y], [-inf, y]], mode, "border", align) == [32.0, 8.0]
    assert sampled([[nan, y]], "nearest", "zeros", align) == [0.0]


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_views_are_read_like_their_copies(mode: str, padding: str) -> None:
    image = gb.arange(2 * 3 * 4 * 5, dtype=gb.float64).reshape((5, 4, 3, 2)).permute((3, 2, 1, 0))
    grid = gb.linspace(-1.25, 1.25, 2 * 2 * 3 * 2, dtype=gb.float64).reshape((2, 3, 2, 2)).transpose(2, 3)
    want = gb.nn.functional.grid_sample(image.contiguous(), grid.contiguous(), mode, padding, False)
    got = gb.nn.functional.grid_sample(image, grid, mode, padding, False)
    assert got.shape == (2, 3, 3, 2)
    assert got.is_contiguous()
    assert got.equal(want)


def test_volumes() -> None:
    image = gb.arange(8, dtype=gb.float64).reshape((1, 1, 2, 2, 2))
    grid = gb.tensor([[0.0, 0.0, 0.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]], dtype=gb.float64).reshape((1, 1, 1, 3, 3))
    assert gb.nn.functional.grid_sample(image, grid, align_corners=True).reshape((-1,)).tolist() == [3.5, 1.0, 4.0]
    rounded = gb.nn.functional.grid_sample(image, grid, "nearest", align_corners=True)
    assert rounded.reshape((-1,)).tolist() == [0.0, 1.0, 4.0]


def test_out_and_empty_results() -> None:
    image, out = gb.tensor(IMAGE).reshape((1, 1, 2, 3)), gb.empty(1, 1, 1, 2)
    grid = gb.tensor([[[[-1.0, -1.0], [1.0, 1.0]]]])
    assert gb.ops.aten.grid_sampler_2d.out(image, grid, 0, 0, True, out=out) is out
    assert out.tolist() == [[[[1.0, 32.0]]]]
    assert gb.nn.functional.grid_sample(image, grid[:, :0], align_corners=True).shape == (1, 1, 0, 2)
