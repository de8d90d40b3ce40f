"""Slopes of sampled functions by differences, and integrals by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.dtype import DEFAULTS, bool_
from ...core.errors import wrap_dim, wrap_dims
from ...core.promotion import promote_types
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..invoke import apply


def _slopes(self: Tensor, spacing: Number | Sequence[Any], dims: Sequence[int] | None, edge_order: int) -> Any:
    """A tensor for each dim; `spacing` is one number, or has a number or a tensor of coordinates for each.

    Raises RuntimeError for edge orders other than 1 and 2, sizes that are too small and spacings that do not fit.
    """
    meta = self.meta
    if meta.dtype is bool_ or meta.dtype.name == "uint8":
        raise RuntimeError(f"torch.gradient does not support {meta.dtype.name} input")
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
    results = []
    for place, step in zip(places, spacing, strict=True):
        size = meta.sizes[place]
        if size <= edge_order:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if isinstance(step, Tensor) and step.meta.sizes != (size,):
            raise RuntimeError(
                f"torch.gradient expected each tensor of spacing to have as many elements as the dim, {size}, got "
                f"sizes {list(step.meta.sizes)}"
            )
        kind = dtype
        if isinstance(step, Tensor):
            own = step.meta.dtype
            kind = promote_types(meta.dtype, DEFAULTS.dtype if own.kind < 2 else own)
        result, target = outline(meta.sizes, kind, meta.device)
        if target is not None:
            array = np.moveaxis(_wide(values(self)), place, -1)
            points = _wide(values(step)) if isinstance(step, Tensor) else np.arange(size) * step
            with np.errstate(all="ignore"):
                target[...] = np.moveaxis(_differences(array, points, edge_order), -1, place)
        results.append(result)
    return tuple(results)


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _differences(f: Array, x: Array, edge_order: int) -> Array:
    """The slopes along the last dim: second order inside, of `edge_order` at both ends."""
    h = np.diff(x)
    found = np.empty(f.shape, np.result_type(f, x))
    if f.shape[-1] > 2:
        a, b = h[:-1], h[1:]
        found[..., 1:-1] = (
            f[..., 2:] * a * a - f[..., :-2] * b * b + f[..., 1:-1] * (b * b - a * a)
        ) / (a * b * (a + b))
    if edge_order == 1:
        found[..., 0] = (f[..., 1] - f[..., 0]) / h[0]
        found[..., -1] = (f[..., -1] - f[..., -2]) / h[-1]
        return found
    for end, near, far, a, b in ((0, 1, 2, h[0], h[1]), (-1, -2, -3, -h[-1], -h[-2])):
        found[..., end] = (a + b) / (a * b) * f[..., near] - a / (b * (a + b)) * f[..., far]
        found[..., end] -= (2 * a + b) / (a * (a + b)) * f[..., end]
    return found


def gradient_scalarint(
    self: Tensor, *, spacing: Number | Sequence[Any] | None = None, dim: int | None = None, edge_order: int = 1
) -> Any:
    """Slopes along one dim or all, with points one distance apart, or each with its own distance."""
    return _slopes(self, 1 if spacing is None else spacing, None if dim is None else (dim,), edge_order)


def gradient_array(
    self: Tensor, *, dim: Sequence[int], spacing: Number | Sequence[Any] = 1, edge_order: int = 1
) -> Any:
    """Slopes along dims, with points one distance apart, or each with its own distance."""
    return _slopes(self, spacing, dim, edge_order)


gradient_scalarrayint = gradient_tensorarrayint = gradient_scalarint
gradient_scalararray = gradient_scalarrayarray = gradient_tensorarray = gradient_array


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


def _integral(
    operator: str, y: Tensor, dim: int, x: Tensor | None, dx: Number, finish: Callable[[Tensor, int], Tensor]
) -> Tensor | None:
    """Return what `finish` makes of the areas between neighbouring points, twice as large; None for no points."""
    place = _checked(operator, y, dim, x)
    if not y.meta.sizes[place]:
        return None
    right, left = _neighbours(y, place)
    areas = apply("add.Tensor", left, right)
    if x is not None:
        areas = apply("mul.Tensor", areas, _widths(operator, y, x, place) if x.meta.ndim else apply("sub.Tensor", x, x))
    return apply("mul.Scalar", finish(areas, place), dx * 0.5)


def _trapezoid(y: Tensor, dim: int, x: Tensor | None, dx: Number) -> Tensor:
    found = _integral("trapezoid", y, dim, x, dx, lambda areas, place: apply("sum.dim_IntList", areas, (place,)))
    if found is not None:
        return found
    place = wrap_dim("trapezoid", dim, y.meta.ndim)
    sizes = tuple(size for d, size in enumerate(y.meta.sizes) if d != place)
    dtype = DEFAULTS.dtype if y.meta.dtype.kind < 2 else y.meta.dtype
    return apply("zeros", sizes, dtype=dtype, device=y.meta.device)


def trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` over the points `x`; 0 for no points.

    Raises RuntimeError for bool and for points that do not go with `y`, IndexError for a dim out of range.
    """
    return _trapezoid(y, dim, x, 1)


def trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The integral of `y` along `dim` with points `dx` apart; 0 for no points. Raises as trapezoid of points."""
    return _trapezoid(y, dim, None, dx)


trapz_x, trapz_dx = trapezoid_x, trapezoid_dx


def _running(y: Tensor, dim: int, x: Tensor | None, dx: Number) -> Tensor:
    found = _integral("cumulative_trapezoid", y, dim, x, dx, partial(apply, "cumsum"))
    return apply("clone", y) if found is None else found


def cumulative_trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The running integrals of `y` along `dim`, one fewer than points. Raises as trapezoid."""
    return _running(y, dim, x, 1)


def cumulative_trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    """The running integrals of `y` along `dim` with points `dx` apart. Raises as trapezoid."""
    return _running(y, dim, None, dx)
