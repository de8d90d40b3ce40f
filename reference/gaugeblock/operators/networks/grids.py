"""Sampling of images and volumes at places that a grid names, and grids of affine maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from math import prod
from typing import Any, NamedTuple

from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import bool_, int64
from ...iteration.tensor_iterator import TensorIterator
from ...kernels.sampling import BICUBIC, CUBIC, NEAREST, REFLECTION, ZEROS, Sampling, cubic_weights, sampling_kernel
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..arrays import check_same_device
from ..composition import Part, composite
from ..invoke import apply, apply_for_many
from ..loop_plan import LoopPlan, longest_first
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable
from .calls import check_dtype

MOST_PLACES = 1 << 14
"""Places of an image whose numbers are kept for later calls."""


def _checked(operator: str, input: Tensor, grid: Tensor, mode: int, padding: int) -> TensorMeta:
    """Return the meta of the result. Raise RuntimeError for sizes, dtypes and options that do not fit."""
    own, given = input.meta.sizes, grid.meta.sizes
    device = check_same_device(operator, input, grid)
    check_scalar_type(f"{operator}()", input.meta.dtype, grid.meta.dtype)
    if len(own) not in (4, 5) or len(given) != len(own):
        raise RuntimeError(
            f"{operator}(): expected {max(len(own), 4)}D input and grid with same number of dimensions, but got input "
            f"with sizes {list(own)} and grid with sizes {list(given)}"
        )
    if own[0] != given[0]:
        raise RuntimeError(
            f"{operator}(): expected grid and input to have same batch size, but got input with sizes {list(own)} and "
            f"grid with sizes {list(given)}"
        )
    if given[-1] != len(own) - 2:
        raise RuntimeError(
            f"{operator}(): expected grid to have size {len(own) - 2} in last dimension, but got grid with sizes "
            f"{list(given)}"
        )
    for dim in range(2, len(own)):
        if own[dim] <= 0:
            raise RuntimeError(
                f"{operator}(): expected input to have non-empty spatial dimensions, but input has sizes {list(own)} "
                f"with dimension {dim} being empty"
            )
    for name, number in (("interpolation_mode", mode), ("padding_mode", padding)):
        if number not in range(3):
            raise RuntimeError(f"{operator}(): {name} must be 0, 1 or 2, got {number}")
    if mode == BICUBIC and len(own) == 5:
        raise RuntimeError(f"{operator}(): bicubic interpolation only supports 4D input")
    check_dtype(operator, input)
    return contiguous_meta((*own[:2], *given[1:-1]), input.meta.dtype, device)


class Tap(NamedTuple):
    """Whole places along one dim that are read, how much of each, and how that changes with the place."""

    places: Any
    weight: Any
    slope: Any


Along = tuple[list[Tap], Any]
"""The taps along one dim, and the derivative of the sampled place by the coordinate that names it."""


def _inside(places: Any, size: int, padding: int, align: bool) -> tuple[Any, Any]:
    """Return places moved into the image, NaN to the first, and the direction they move in: 0 beyond its border."""
    turn: Any = apply("ones_like", places)
    if padding == ZEROS:
        return places, turn
    if padding == REFLECTION:
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if not span:
            return apply("zeros_like", places), apply("zeros_like", places)
        off = (places - low).abs()
        extra, odd = off.fmod(span), (off / span).floor() % 2 == 1
        turn = apply("where.ScalarSelf", (places < low) != odd, -1.0, turn)
        places = apply("where.self", odd, span - extra + low, extra + low)
    behind = places > 0
    return places.masked_fill(~behind, 0).clamp(max=size - 1), turn.masked_fill(~(behind & (places < size - 1)), 0)


def _cubic_slopes(t: Any) -> tuple[Any, Any, Any, Any]:
    """Return how the weights of the four neighbours change with the place."""

    def near(x: Any) -> Any:
        return (3 * (CUBIC + 2) * x - 2 * (CUBIC + 3)) * x

    def far(x: Any) -> Any:
        return (3 * CUBIC * x - 10 * CUBIC) * x + 8 * CUBIC

    return far(t + 1), near(t), -near(1 - t), -far(2 - t)


def _taps(share: Any, size: int, mode: int, padding: int, align: bool) -> Along:
    """Return what is read for numbers from -1 to 1, which go from corner to corner (`align`) or from edge to edge."""
    scale = (size - 1) / 2 if align else size / 2
    real = (share + 1) / 2 * (size - 1) if align else ((share + 1) * size - 1) / 2
    known = real.detach()
    if mode == BICUBIC:
        low = known.floor()
        moved = [_inside(low + (k - 1), size, padding, align)[0] for k in range(4)]
        return [*map(Tap, moved, cubic_weights(real - low), _cubic_slopes(real - low))], scale
    place, turn = _inside(known, size, padding, align)
    one: Any = apply("ones_like", place)
    if mode == NEAREST:
        return [Tap(place.round(), one, apply("zeros_like", one))], scale
    low = place.floor()
    part = place - low + turn * (real - known) if real.meta.has_autograd else place - low
    return [Tap(low, 1 - part, -one), Tap(low + 1, part, one)], turn * scale


def taps_of_grid(grid: Any, sizes: Sequence[int], mode: int, padding: int, align: bool) -> list[Along]:
    """Return what a grid [batch, places..., numbers] reads along each dim of images, for the places one by one."""
    # The last of a place's numbers counts along the first dim.
    shares = [grid.select(-1, len(sizes) - 1 - k).flatten(1) for k in range(len(sizes))]
    return [_taps(share, size, mode, padding, align) for share, size in zip(shares, sizes, strict=True)]


def corners(found: list[Along], sizes: Sequence[int]) -> Iterator[tuple[tuple[Tap, ...], Any, Any]]:
    """Each combination of taps, its elements in row-major images with one channel, and which are within these."""
    for taps in product(*(taps for taps, _ in found)):
        known: Any = apply("ones_like", taps[0].places, dtype=bool_)
        index: Any = apply("zeros_like", taps[0].places, dtype=int64)
        for tap, size in zip(taps, sizes, strict=True):
            known = known & (tap.places >= 0) & (tap.places < size)
        for tap, size in zip(taps, sizes, strict=True):
            index = index * size + tap.places.masked_fill(~known, 0).to(int64)
        yield taps, index.unsqueeze(1), known.unsqueeze(1)


def _sampler(operator: str) -> Any:
    @plannable
    def sample(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor | Planned[Tensor]:
        meta = _checked(operator, input, grid, interpolation_mode, padding_mode)
        if meta.device is not cpu or not meta.numel:
            return new_like(meta)
        how = Sampling(interpolation_mode, padding_mode, align_corners, meta.ndim - 2)
        key = (operator, grid.meta, how)
        return recalled(input.meta.plans, key, _sampling, meta, input.meta, grid.meta, how).planned(input, grid)

    return sample


def _sampling(made: TensorMeta, image: TensorMeta, grid: TensorMeta, how: Sampling) -> LoopPlan:
    """Return the plan of the one kernel, whose rows are along the longest dim of the places."""
    plan, dims = LoopPlan([image, grid], [made]), how.dims
    result, seen, named = plan.results[0], *plan.inputs
    shape = (made.sizes[0], *made.sizes[2:])
    strides = [
        (result.strides[0], *result.strides[2:]), (seen.strides[0], *(0,) * dims), named.strides[:-1],
    ]  # fmt: skip
    found = TensorIterator.restrided(shape, strides, [made.dtype] * 3).dims or [(1, 0, 0, 0)]
    rows = longest_first(found)
    sizes = map(float, image.sizes[2:])
    numbers = *sizes, *seen.strides[2:], image.sizes[1], result.strides[1], seen.strides[1], named.strides[-1]
    extent = sum(size * step for size, step in zip(image.sizes, seen.strides, strict=True))
    kernel = long_call(how.corners * made.numel, sampling_kernel(how, made.dtype, extent >= 1 << 31))
    plan.kernel(kernel, [result, seen, named], (*numbers, len(rows), *chain.from_iterable(zip(*rows, strict=True))))
    return plan


grid_sampler_2d, grid_sampler_3d = _sampler("grid_sampler_2d"), _sampler("grid_sampler_3d")


@composite
def grid_sampler(
    part: Part, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """input [batch, channels, sizes...] at the places of grid [batch, out sizes..., numbers from -1 to 1].

    Modes 0 bilinear, 1 nearest, 2 bicubic; outside lie 0 zeros, 1 the border, 2 the image reflected. Raises
    RuntimeError for sizes and dtypes that do not fit.
    """
    _checked("grid_sampler", input, grid, interpolation_mode, padding_mode)
    name = f"grid_sampler_{input.meta.ndim - 2}d"
    return part(name, input, grid, interpolation_mode, padding_mode, align_corners)


def _steps(meta: TensorMeta, count: int, align: bool) -> Tensor:
    """Numbers from -1 to 1, of corners or of middles, with the dtype and device of a meta; 0 for a single one."""
    options = {"dtype": meta.dtype, "device": meta.device}
    if count <= 1:
        return apply("zeros", (max(count, 0),), **options)
    steps = apply("linspace", -1, 1, count, **options)
    return steps if align else apply("mul.Scalar", steps, (count - 1) / count)


def _places(meta: TensorMeta, sizes: tuple[int, ...], align: bool) -> Tensor:
    """Return the numbers of all places of an image of these sizes, each with a 1 behind them, in rows."""
    along = apply_for_many("meshgrid.indexing", [_steps(meta, count, align) for count in sizes], indexing="ij")
    places = apply("stack", [*along[::-1], apply("ones_like", along[0])], -1)
    return apply("reshape", places, (prod(sizes), len(sizes) + 1))


@composite
def affine_grid_generator(part: Part, theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """For each matrix of theta [batch, n, n + 1] the grid of the map it stands for, over an image of these sizes.
    Raises RuntimeError for sizes of other than 4 or 5 dims, and for matrices that do not fit."""
    if len(size) not in (4, 5):
        raise RuntimeError(
            f"affine_grid_generator(): AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, got "
            f"{len(size)}d"
        )
    batch, spatial = size[0], tuple(size[2:])
    if prod(spatial) <= MOST_PLACES:
        places = part.constant(_places(theta.meta, spatial, align_corners))
    else:
        places = part.run(_places, theta.meta, spatial, align_corners)
    rows = part("expand", places, (batch, *places.meta.sizes))
    return part("view", part("bmm", rows, part("transpose.int", theta, 1, 2)), (batch, *spatial, len(spatial)))
