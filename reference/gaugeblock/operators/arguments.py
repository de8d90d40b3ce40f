"""The arguments that all factories take: sizes, dtype, layout, device, out."""

from __future__ import annotations

from typing import Any

from ..core.dtype import DEFAULTS, DType, bool_, float64, int64
from ..core.errors import check_ints, type_error
from ..core.layout import Layout, strided
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.tensor import Tensor

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
            return check_ints(operator, "size", sizes)
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


def tensor_argument(operator: str, name: str, position: int, value: Any) -> Tensor:
    """`value` if it is a tensor, else TypeError naming the argument."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{operator}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value


def tensors_argument(operator: str, values: Any) -> tuple[Tensor, ...]:
    """The tensors given one by one, or as one list or tuple; TypeError naming the place of anything else."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for place, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(f"{operator}(): expected Tensor as element {place}, but got {type(value).__name__}")
    return tuple(values)
