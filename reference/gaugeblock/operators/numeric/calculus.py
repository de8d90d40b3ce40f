"""Slopes of sampled functions by differences, and integrals by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.dtype import DEFAULTS, DType, bool_, complex128, float64
from ...core.errors import wrap_dim, wrap_dims
from ...core.promotion import promote_types
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..complex_half import refuse_complex32
from ..invoke import apply


def gradient(
    self: Tensor, *, spacing: Number | Sequence[Any] | None = None, dim: int | Sequence[int] | None = None,
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
    refuse_complex32("gradient", meta.dtype)
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
    return tuple([_slope(self, place, step, dtype, edge_order) for place, step in zip(places, spacing, strict=True)])


def _slope(self: Tensor, place: int, step: Number | Tensor, dtype: DType, edge_order: int) -> Tensor:
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
        points = apply("to.dtype", step, complex128 if own.is_complex else float64)
        distances = apply("sub.Tensor", *_neighbours(points, 0))
    else:
        distances = apply("full", (size - 1,), step, dtype=wide, device=self.meta.device)
    along = apply("view", distances, (size - 1, *(1 for _ in range(self.meta.ndim - place - 1))))
    found = _differences(apply("to.dtype", self, wide), along, place, edge_order)
    return apply("to.dtype", found, dtype)


def _differences(f: Tensor, h: Tensor, place: int, edge_order: int) -> Tensor:
    """The slopes of `f` at points `h` apart: second order inside, of `edge_order` at both ends."""
    last = f.meta.sizes[place] - 2
    steps = apply("div.Tensor", apply("sub.Tensor", *_neighbours(f, place)), h)
    ends = [apply("narrow", steps, place, k, 1) for k in (0, last)]
    if not last:
        return apply("cat", ends, place)
    after, before = _neighbours(h, 0)
    share = apply("div.Tensor", before, apply("add.Tensor", before, after))
    right, left = _neighbours(steps, place)
    inside = _between(left, right, share)
    if edge_order == 2:
        shares = (apply("neg", share), apply("rsub.Scalar", share, 2))
        for side, k in enumerate((0, last - 1)):
            near, far = (apply("narrow", part, place, k, 1) for part in (left, right))
            ends[side] = _between(near, far, apply("narrow", shares[side], 0, k, 1))
    return apply("cat", [ends[0], inside, ends[1]], place)


def _between(left: Tensor, right: Tensor, share: Tensor) -> Tensor:
    """The value at `share` of the way from left to right."""
    kept = apply("mul.Tensor", left, apply("rsub.Scalar", share, 1))
    return apply("add.Tensor", kept, apply("mul.Tensor", right, share))


def _checked(operator: str, y: Tensor, dim: int, x: Tensor | None = None) -> int:
    if not y.meta.ndim:
        raise IndexError(f"{operator}(): Dimension specified as {dim} but tensor has no dimensions")
    place = wrap_dim(operator, dim, y.meta.ndim)
    for tensor, name in ((y, "y"), (x, "x")):
        if tensor is not None and tensor.meta.dtype is bool_:
            raise RuntimeError(f"{operator}: received a bool input for `{name}`, but bool is not supported")
    return place


def _neighbours(y: Tensor, place: int) -> tuple[Tensor, Tensor]:
    size = y.meta.sizes[place]
    return apply("narrow", y, place, 1, size - 1), apply("narrow", y, place, 0, size - 1)


def _widths(operator: str, y: Tensor, x: Tensor, place: int) -> Tensor:
    """The distances of neighbouring points, shaped to go with `y`."""
    if x.meta.ndim == 1:
        count = x.meta.numel
        if count != y.meta.sizes[place]:
            raise RuntimeError(
                f"{operator}: There must be one `x` value for each sample point, got {count} for a dim of size "
                f"{y.meta.sizes[place]}"
            )
        steps = apply("sub.Tensor", *_neighbours(x, 0))
        return apply("reshape", steps, (count - 1, *(1 for _ in range(y.meta.ndim - place - 1))))
    if x.meta.ndim < y.meta.ndim:
        x = apply("reshape", x, (*(1 for _ in range(y.meta.ndim - x.meta.ndim)), *x.meta.sizes))
    return apply("sub.Tensor", *_neighbours(x, place))


def _areas(operator: str, y: Tensor, place: int, x: Tensor | None) -> Tensor:
    """The areas between neighbouring points, twice as large."""
    right, left = _neighbours(y, place)
    areas = apply("add.Tensor", left, right)
    if x is not None:
        areas = apply("mul.Tensor", areas, _widths(operator, y, x, place) if x.meta.ndim else apply("sub.Tensor", x, x))
    return areas


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` over the points `x`, or points `dx` apart; 0 for no points. Raises RuntimeError
    for bool and for points that do not go with `y`, IndexError for a dim out of range."""
    place = _checked("trapezoid", y, dim, x)
    if y.meta.sizes[place]:
        return apply("mul.Scalar", apply("sum.dim_IntList", _areas("trapezoid", y, place, x), (place,)), dx * 0.5)
    sizes = tuple(size for d, size in enumerate(y.meta.sizes) if d != place)
    dtype = DEFAULTS.dtype if y.meta.dtype.kind < 2 else y.meta.dtype
    return apply("zeros", sizes, dtype=dtype, device=y.meta.device)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The running integrals of `y` along `dim`, one fewer than points. Raises as trapezoid."""
    place = _checked("cumulative_trapezoid", y, dim, x)
    if not y.meta.sizes[place]:
        return apply("clone", y)
    return apply("mul.Scalar", apply("cumsum", _areas("cumulative_trapezoid", y, place, x), place), dx * 0.5)
