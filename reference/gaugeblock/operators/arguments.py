"""Arguments that many operators take: the options of a new tensor, sizes, tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..core.device import PLACING, Device
from ..core.dtype import DEFAULTS, DType, bool_, float64, int64
from ..core.errors import check_ints, type_error
from ..core.layout import Layout, strided
from ..core.promotion import UPSTREAM_NAMES
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor

D = TypeVar("D")
_PYTHON_DTYPES: dict[Any, DType] = {bool: bool_, int: int64, float: float64}


def as_dtype(value: Any) -> DType | None:
    """Return the dtype that `value` is or stands for, as Python's bool, int, float and complex do; None for others."""
    if isinstance(value, DType):
        if value.quantized:
            raise RuntimeError(f"argument 'dtype' {value} needs a scale and a zero point: use quantize_per_tensor()")
        return value
    if value is complex:
        return DEFAULTS.complex_dtype
    return _PYTHON_DTYPES.get(value) if isinstance(value, type) else None


def dtype_argument(operator: str, dtype: D) -> D:
    """Return `dtype` as a DType, None for None. Raise TypeError for what is no dtype."""
    if dtype is None or type(dtype) is DType:
        return dtype
    return as_dtype(dtype) or type_error(operator, "dtype", dtype, "dtype")  # type: ignore[return-value]


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "dtype": as_dtype,
    "layout": lambda value: value if isinstance(value, Layout) else None,
    "device": lambda value: Device(value) if isinstance(value, (Device, str)) else None,
    "pin_memory": lambda value: value if isinstance(value, bool) else None,
}
"""Option of a new tensor -> what makes of a value what kernels take; it returns None for a value of a wrong type."""
SHOWN = {"pin_memory": "bool"}
"""Options whose type has another name than they have."""


def tensor_options(operator: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the options of a new tensor as kernels take them, and whether it is to require gradients.

    Options that are None are left out; the device is then the thread's default one. Raise TypeError for other names
    and for values of other types.
    """
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name not in OPTIONS and name != "requires_grad":
            raise TypeError(f"{operator}() got an unexpected keyword argument '{name}'")
        if name in OPTIONS and value is not None:
            options[name] = OPTIONS[name](value)
            if options[name] is None:
                type_error(operator, name, value, SHOWN.get(name, name))
    if SPECIAL:
        options.setdefault("device", PLACING.load(".default_device").get_default_device())
    return options, bool(given.get("requires_grad"))


def sizes_argument(operator: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return sizes that are given one by one or in one tuple or list. Raise TypeError for anything but ints."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    return check_ints(operator, "size", sizes)


def check_layout(operator: str, layout: Layout | None) -> None:
    """Raise RuntimeError unless `layout` is strided."""
    if layout is not None and layout is not strided:
        raise RuntimeError(f"{operator}(): argument 'layout' must be strided, got {layout!r}")


def check_out_dtype(dtype: DType | None, out: Tensor) -> None:
    """RuntimeError when a factory is asked for a dtype other than that of its out=."""
    if dtype is not None and isinstance(out, Tensor) and out.meta.dtype is not dtype:
        raise RuntimeError(
            f"dtype {UPSTREAM_NAMES[dtype.name]} does not match dtype of out parameter "
            f"({UPSTREAM_NAMES[out.meta.dtype.name]})"
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
