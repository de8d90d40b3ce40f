"""dtypes of the standard, promotion between them, and functions over dtypes."""

from __future__ import annotations

from typing import Any

from ..core import dtype as dtypes
from ..core import limits
from ..core.device import Device, as_device
from ..core.dtype import BY_NAME, DType
from ..core.errors import type_error
from ..core.promotion import promote_types
from ..tensor.tensor import Tensor

Scalar = bool | int | float | complex

NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip
"""The dtypes of the standard."""

KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
"""Kind of dtypes -> the names of those in it."""


def common_dtype(first: DType, second: DType) -> DType:
    """Return the dtype that two promote to. Raises TypeError for int64 with uint64, which no integer dtype holds.

    Of mixed kinds, which the standard leaves open, the dtype of the higher kind is the result, as in PyTorch.
    """
    if first is second:
        return first
    if first.category == second.category == "int" and first.is_signed != second.is_signed:
        signed, unsigned = (first, second) if first.is_signed else (second, first)
        width = max(signed.itemsize, 2 * unsigned.itemsize)
        if width > 8:
            raise TypeError(f"{first.name} and {second.name} do not promote: no integer dtype holds the values of both")
        return BY_NAME[f"int{8 * width}"]
    if first.category == second.category == "int":
        return first if first.itemsize > second.itemsize else second
    if first.kind == second.kind:
        return promote_types(first, second)
    low, high = (first, second) if first.kind < second.kind else (second, first)
    return promote_types(low, high) if low.is_floating_point else high


def dtype_of_scalar(value: Scalar, beside: DType) -> DType:
    """Return the dtype that a Python number beside an array of dtype `beside` has."""
    kind = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2 if isinstance(value, float) else 3
    if kind <= beside.kind:
        return beside
    if kind == 3 and beside.is_floating_point:
        return beside.to_complex()
    defaults = (dtypes.bool_, dtypes.int64, dtypes.DEFAULTS.dtype, dtypes.DEFAULTS.complex_dtype)
    return defaults[kind]


def result_type(*arrays_and_dtypes: Tensor | DType | Scalar) -> DType:
    """Return the dtype that arrays, dtypes and Python numbers promote to. Raises ValueError when there is neither array
    nor dtype, TypeError for other objects."""
    found: DType | None = None
    scalars: list[Scalar] = []
    for item in arrays_and_dtypes:
        if isinstance(item, (bool, int, float, complex)):
            scalars.append(item)
            continue
        if not isinstance(item, (Tensor, DType)):
            type_error("result_type", "arrays_and_dtypes", item, "arrays, dtypes and Python numbers")
        one = item.meta.dtype if isinstance(item, Tensor) else item
        found = one if found is None else common_dtype(found, one)
    if found is None:
        raise ValueError("result_type(): at least one array or dtype is needed")
    for scalar in scalars:
        found = dtype_of_scalar(scalar, found)
    return found


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Return whether `from_` promotes to `to`."""
    source = from_.meta.dtype if isinstance(from_, Tensor) else from_
    if not isinstance(source, DType):
        type_error("can_cast", "from_", source, "an array or a dtype")
    if not isinstance(to, DType):
        type_error("can_cast", "to", to, "dtype")
    if source.kind != to.kind and not (source.is_floating_point and to.is_complex):
        return False
    try:
        return common_dtype(source, to) is to
    except TypeError:
        return False


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether `dtype` is a dtype, in a kind such as "integral", or in one of several. Raises ValueError for an
    unknown kind."""
    if not isinstance(dtype, DType):
        type_error("isdtype", "dtype", dtype, "dtype")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str):
        type_error("isdtype", "kind", kind, "a dtype, the name of a kind, or a tuple of these")
    if kind not in KINDS:
        raise ValueError(f"isdtype(): argument 'kind' must be one of {', '.join(KINDS)}, got {kind!r}")
    return dtype.name in KINDS[kind]


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Device | str | None = None) -> Tensor:
    """Return `x` converted to `dtype`, on `device`; without `copy`, `x` itself where nothing changes. Raises TypeError
    for complex to real."""
    if not isinstance(x, Tensor):
        type_error("astype", "x", x, "Tensor")
    if not isinstance(dtype, DType):
        type_error("astype", "dtype", dtype, "dtype")
    if x.meta.dtype.is_complex and not (dtype.is_complex or dtype is dtypes.bool_):
        raise TypeError(f"astype(): {x.meta.dtype.name} is not converted to {dtype.name}; use real() or imag()")
    there = x.meta.device if device is None else as_device(device)
    result: Tensor = x.to(there, dtype, copy=copy)  # type: ignore[attr-defined]
    return result


class _FloatLimits(limits.FloatLimits):
    """Limits of a real floating dtype."""

    __slots__ = ()
    dtype: Any


class _IntLimits(limits.IntLimits):
    """Limits of an integer dtype."""

    __slots__ = ()
    dtype: Any


def _dtype_of(function: str, given: Any) -> DType:
    dtype = given.meta.dtype if isinstance(given, Tensor) else given
    if not isinstance(dtype, DType):
        type_error(function, "type", given, "a dtype or an array")
    return dtype


def finfo(type: DType | Tensor, /) -> limits.FloatLimits:
    """Return the limits of a floating dtype, or of a complex dtype's components: bits, eps, max, min, smallest_normal,
    dtype. Raises TypeError for other dtypes."""
    dtype = _dtype_of("finfo", type)
    if dtype.kind < 2:
        raise TypeError(f"finfo() requires a floating point dtype, got {dtype!r}; use iinfo for integers")
    found = _FloatLimits(dtype.to_real())
    found.dtype = dtype.to_real()
    return found


def iinfo(type: DType | Tensor, /) -> limits.IntLimits:
    """Return the limits of an integer dtype: bits, max, min, dtype. Raises TypeError for other dtypes."""
    dtype = _dtype_of("iinfo", type)
    if dtype.category != "int":
        raise TypeError(f"iinfo() requires an integer dtype, got {dtype!r}; use finfo for floating point dtypes")
    found = _IntLimits(dtype)
    found.dtype = dtype
    return found
