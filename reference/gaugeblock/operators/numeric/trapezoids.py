"""Integrals by the trapezoidal rule: trapezoid, trapz and cumulative_trapezoid."""

from __future__ import annotations

from ...core.dtype import DEFAULTS, bool_
from ...core.errors import wrap_dim
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..invoke import apply


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


def _empty(y: Tensor, place: int) -> Tensor:
    sizes = tuple(size for d, size in enumerate(y.meta.sizes) if d != place)
    dtype = DEFAULTS.dtype if y.meta.dtype.kind < 2 else y.meta.dtype
    return apply("zeros", sizes, dtype=dtype, device=y.meta.device)


def _total(sums: Tensor, place: int, scale: Number) -> Tensor:
    return apply("mul.Scalar", apply("sum.dim_IntList", sums, (place,)), scale)


def trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` over the points `x`; 0 for no points.

    Raises RuntimeError for bool and for points that do not go with `y`, IndexError for a dim out of range.
    """
    place = _checked("trapezoid", y, dim, x)
    if not y.meta.sizes[place]:
        return _empty(y, place)
    widths = x if not x.meta.ndim else _widths("trapezoid", y, x, place)
    if not x.meta.ndim:
        widths = apply("sub.Tensor", x, x)
    right, left = _neighbours(y, place)
    return _total(apply("mul.Tensor", apply("add.Tensor", left, right), widths), place, 0.5)


def trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` with points `dx` apart; 0 for no points. Raises as trapezoid of points."""
    place = _checked("trapezoid", y, dim)
    if not y.meta.sizes[place]:
        return _empty(y, place)
    right, left = _neighbours(y, place)
    return _total(apply("add.Tensor", left, right), place, dx * 0.5)


trapz_x = trapezoid_x
trapz_dx = trapezoid_dx


def cumulative_trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The running integrals of `y` along `dim`, one fewer than points. Raises as trapezoid."""
    place = _checked("cumulative_trapezoid", y, dim, x)
    if not y.meta.sizes[place]:
        return apply("clone", y)
    widths = _widths("cumulative_trapezoid", y, x, place) if x.meta.ndim else apply("sub.Tensor", x, x)
    right, left = _neighbours(y, place)
    areas = apply("mul.Tensor", apply("add.Tensor", left, right), widths)
    return apply("mul.Scalar", apply("cumsum", areas, place), 0.5)


def cumulative_trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The running integrals of `y` along `dim` with points `dx` apart. Raises as trapezoid."""
    place = _checked("cumulative_trapezoid", y, dim)
    if not y.meta.sizes[place]:
        return apply("clone", y)
    right, left = _neighbours(y, place)
    return apply("mul.Scalar", apply("cumsum", apply("add.Tensor", left, right), place), dx * 0.5)
