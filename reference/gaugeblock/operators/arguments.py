"""The arguments that all factories take: sizes, dtype, layout, device, out."""

from __future__ import annotations

from typing import Any

from ..core.dtype import DEFAULTS, DType, bool_, float64, int64
from ..core.errors import check_int, type_error
from ..core.layout import Layout, strided
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.array_view import array_of
from ..tensor.metadata import resize_
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version

_PYTHON_DTYPES: dict[Any, DType] = {bool: bool_, int: int64, float: float64}


def dtype_argument(operator: str, dtype: Any) -> DType | None:
    """`dtype` as a DType; Python's bool, int and float stand for bool, int64 and float64. Raises TypeError."""
    if dtype is None or type(dtype) is DType:
        return dtype
    known = _PYTHON_DTYPES.get(dtype) if isinstance(dtype, type) else None
    if known is None:
        if dtype is complex:
            return DEFAULTS.complex_dtype
        type_error(operator, "dtype", dtype, "a dtype")
    return known


def sizes_argument(operator: str, sizes: tuple[Any, ...], keyword: Any = None) -> tuple[int, ...]:
    """The sizes of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``. Raises TypeError for none and for non-ints."""
    if not sizes:
        if keyword is None:
            raise TypeError(f'{operator}() missing 1 required positional arguments: "size"')
        sizes = (keyword,)
    if len(sizes) == 1:
        first = sizes[0]
        if isinstance(first, (tuple, list)):
            sizes = tuple(first)
    for size in sizes:
        if type(size) is not int:
            return tuple([check_int(operator, "size", size) for size in sizes])
    return sizes


def check_layout(operator: str, layout: Layout | None) -> None:
    """Raise RuntimeError unless `layout` is strided."""
    if layout is not None and layout is not strided:
        raise RuntimeError(f"{operator}(): argument 'layout' must be strided, got {layout!r}")


def check_out_dtype(dtype: DType | None, out: Tensor) -> None:
    """RuntimeError when a factory is asked for a dtype other than that of its out=."""
    if dtype is not None and isinstance(out, Tensor) and out.geometry.dtype is not dtype:
        raise RuntimeError(
            f"dtype {UPSTREAM_NAMES[dtype.name]} does not match dtype of out parameter "
            f"({UPSTREAM_NAMES[out.geometry.dtype.name]})"
        )


def into(operator: str, out: Tensor | None, result: Tensor, dtype: DType | None = None) -> Tensor:
    """`result`, or `out` resized and filled with it. Raises TypeError when `out` is no tensor, RuntimeError when its
    dtype is not the one that was asked for."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        type_error(operator, "out", out, "Tensor")
    check_out_dtype(dtype_argument(operator, dtype), out)
    if out.geometry.sizes != result.geometry.sizes:
        resize_(out, result.geometry.sizes)
    if out.geometry.numel and out.geometry.device.type == "cpu":
        array_of(out)[...] = array_of(result)
    bump_version(out)
    return out
