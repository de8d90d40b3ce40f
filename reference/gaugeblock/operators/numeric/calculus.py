"""Slopes of sampled functions by differences, and integrals by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.dtype import DEFAULTS, DType, bool_, complex64, complex128, float32, float64
from ...core.errors import wrap_dim, wrap_dims
from ...core.promotion import promote_types
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..complex_half import refuse_held_only
from ..composition import Part, composite


@composite
def gradient(
    part: Part, self: Tensor, *, spacing: Number | Sequence[Any] | None = None, dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> Any:  # fmt: skip
    """Slopes along each dim, or all, as a tuple; `spacing` is one number, or has for each dim a number or a tensor of
    coordinates.

    Raises RuntimeError for edge orders other than 1 and 2, sizes that are too small and spacings that do not fit.
    """
    dims = (dim,) if isinstance(dim, int) else dim
    spacing = 1 if spacing is None else spacing
    meta = self.meta
    if meta.dtype is bool_ or meta.dtype.name == "uint8":
        raise RuntimeError(f"torch.gradient does not support {meta.dtype.name} input")
    refuse_held_only("gradient", meta.dtype)
    places = wrap_dims("torch.gradient", tuple(range(meta.ndim)) if dims is None else tuple(dims), meta.ndim)
    if places and not meta.ndim:
        raise IndexError(f"torch.gradient: a 0-dim tensor has no dim {places[0]}")
    if not isinstance(spacing, (list, tuple)):
        spacing = [spacing] * len(places)
    if len(spacing) != len(places):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(places)}, got "
            f"{len(spacing)} values"
        )
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    dtype = DEFAULTS.dtype if meta.dtype.kind < 2 else meta.dtype
    if not dtype.is_complex and any(isinstance(step, complex) for step in spacing):
        raise RuntimeError(f"torch.gradient expected real spacing for {meta.dtype.name} input, got {list(spacing)}")
    slopes = [_slope(part, self, place, step, dtype, edge_order) for place, step in zip(places, spacing, strict=True)]
    return tuple(slopes)


def _slope(part: Part, self: Tensor, place: int, step: Number | Tensor, dtype: DType, edge_order: int) -> Tensor:
    """The slopes along one dim, in double precision until the end."""
    size = self.meta.sizes[place]
    if size <= edge_order:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    wide = complex128 if dtype.is_complex else float64
    if isinstance(step, Tensor):
        if step.meta.sizes != (size,):
            raise RuntimeError(
                f"torch.gradient expected each tensor of spacing to have as many elements as the dim, {size}, got "
                f"sizes {list(step.meta.sizes)}"
            )
        own = step.meta.dtype
        dtype = promote_types(self.meta.dtype, DEFAULTS.dtype if own.kind < 2 else own)
        points = part("to.dtype", step, complex128 if own.is_complex else float64)
        distances = part("sub.Tensor", *_neighbours(part, points, 0))
    else:
        distances = part("full", (size - 1,), step, dtype=wide, device=self.meta.device)
    along = part("view", distances, (size - 1, *(1 for _ in range(self.meta.ndim - place - 1))))
    found = _differences(part, part("to.dtype", self, wide), along, place, edge_order)
    return part("to.dtype", found, dtype)


def _differences(part: Part, f: Tensor, h: Tensor, place: int, edge_order: int) -> Tensor:
    """The slopes of `f` at points `h` apart: second order inside, of `edge_order` at both ends."""
    last = f.meta.sizes[place] - 2
    steps = part("div.Tensor", part("sub.Tensor", *_neighbours(part, f, place)), h)
    ends = [part("narrow", steps, place, k, 1) for k in (0, last)]
    if not last:
        return part("cat", ends, place)
    after, before = _neighbours(part, h, 0)
    share = part("div.Tensor", before, part("add.Tensor", before, after))
    right, left = _neighbours(part, steps, place)
    inside = _between(part, left, right, share)
    if edge_order == 2:
        shares = (part("neg", share), part("rsub.Scalar", share, 2))
        for side, k in enumerate((0, last - 1)):
            near, far = (part("narrow", one, place, k, 1) for one in (left, right))
            ends[side] = _between(part, near, far, part("narrow", shares[side], 0, k, 1))
    return part("cat", [ends[0], inside, ends[1]], place)


def _between(part: Part, left: Tensor, right: Tensor, share: Tensor) -> Tensor:
    """The value at `share` of the way from left to right."""
    kept = part("mul.Tensor", left, part("rsub.Scalar", share, 1))
    return part("add.Tensor", kept, part("mul.Tensor", right, share))


def _checked(operator: str, y: Tensor, dim: int, x: Tensor | None = None) -> int:
    if not y.meta.ndim:
        raise IndexError(f"{operator}(): Dimension specified as {dim} but tensor has no dimensions")
    place = wrap_dim(operator, dim, y.meta.ndim)
    for tensor, name in ((y, "y"), (x, "x")):
        if tensor is not None and tensor.meta.dtype is bool_:
            raise RuntimeError(f"{operator}: received a bool input for `{name}`, but bool is not supported")
    return place


def _neighbours(part: Part, y: Tensor, place: int) -> tuple[Tensor, Tensor]:
    size = y.meta.sizes[place]
    return part("narrow", y, place, 1, size - 1), part("narrow", y, place, 0, size - 1)


def _widths(part: Part, operator: str, y: Tensor, x: Tensor, place: int) -> Tensor:
    """The distances of neighbouring points, shaped to go with `y`."""
    if x.meta.ndim == 1:
        count = x.meta.numel
        if count != y.meta.sizes[place]:
            raise RuntimeError(
                f"{operator}: There must be one `x` value for each sample point, got {count} for a dim of size "
                f"{y.meta.sizes[place]}"
            )
        steps = part("sub.Tensor", *_neighbours(part, x, 0))
        return part("reshape", steps, (count - 1, *(1 for _ in range(y.meta.ndim - place - 1))))
    if x.meta.ndim < y.meta.ndim:
        x = part("reshape", x, (*(1 for _ in range(y.meta.ndim - x.meta.ndim)), *x.meta.sizes))
    return part("sub.Tensor", *_neighbours(part, x, place))


def _areas(part: Part, operator: str, y: Tensor, place: int, x: Tensor | None) -> Tensor:
    """The areas between neighbouring points, twice as large."""
    right, left = _neighbours(part, y, place)
    areas = part("add.Tensor", left, right)
    if x is not None:
        widths = _widths(part, operator, y, x, place) if x.meta.ndim else part("sub.Tensor", x, x)
        areas = part("mul.Tensor", areas, widths)
    return areas


UNROUNDED = (float32, float64, complex64, complex128)
"""Dtypes in which the two ends may be added up apart from the other points."""


@composite
def trapezoid(part: Part, y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` over the points `x`, or points `dx` apart; 0 for no points. Raises RuntimeError
    for bool and for points that do not go with `y`, IndexError for a dim out of range."""
    place = _checked("trapezoid", y, dim, x)
    size = y.meta.sizes[place]
    if x is None and size > 1 and y.meta.dtype in UNROUNDED:
        # Every point but the two ends belongs to two areas.
        inner = part("sum.dim_IntList", part("narrow", y, place, 1, size - 2), (place,))
        ends = part("add.Tensor", *[part("select.int", y, place, end) for end in (0, size - 1)])
        return part("mul.Scalar", part("add.Tensor", inner, ends, alpha=0.5), dx)
    if size:
        return part("mul.Scalar", part("sum.dim_IntList", _areas(part, "trapezoid", y, place, x), (place,)), dx * 0.5)
    sizes = tuple(size for d, size in enumerate(y.meta.sizes) if d != place)
    dtype = DEFAULTS.dtype if y.meta.dtype.kind < 2 else y.meta.dtype
    return part("zeros", sizes, dtype=dtype, device=y.meta.device)


@composite
def cumulative_trapezoid(
    part: Part, y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1
) -> Tensor:
    """The running integrals of `y` along `dim`, one fewer than points. Raises as trapezoid."""
    place = _checked("cumulative_trapezoid", y, dim, x)
    if not y.meta.sizes[place]:
        return part("clone", y)
    return part("mul.Scalar", part("cumsum", _areas(part, "cumulative_trapezoid", y, place, x), place), dx * 0.5)
