"""Functions of the standard that make arrays."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..core.device import Device, as_device
from ..core.dtype import DType
from ..interop.as_tensor import asarray as engine_asarray
from ..interop.dlpack_import import from_dlpack as engine_from_dlpack
from ..tensor.tensor import Tensor
from .data_types import Scalar
from .operands import WIDE, bad_value, check_array, unsigned

Place = Device | str | None
Shape = int | tuple[int, ...]


def _sizes(shape: Shape) -> Any:
    return (shape,) if isinstance(shape, int) else shape


def asarray(obj: Any, /, *, dtype: DType | None = None, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return an array of an array, a number, nested sequences of numbers, or a buffer; a copy only where it is needed,
    always with `copy`, and never (ValueError) with ``copy=False``."""
    if device is None and isinstance(obj, Tensor):
        device = obj.meta.device
    made: Tensor = engine_asarray(obj, dtype=dtype, device=device, copy=copy)
    return made


def from_dlpack(x: Any, /, *, device: Place = None, copy: bool | None = None) -> Tensor:
    """Return an array on the memory of another library's. Raises BufferError for what cannot be described."""
    return engine_from_dlpack(x, device=None if device is None else as_device(device), copy=copy)


def empty(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array whose elements are undefined."""
    return ops.empty(_sizes(shape), dtype=dtype, device=device)  # type: ignore[no-any-return]


def zeros(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of zeros."""
    return ops.zeros(_sizes(shape), dtype=dtype, device=device)  # type: ignore[no-any-return]


def ones(shape: Shape, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array of ones."""
    return ops.ones(_sizes(shape), dtype=dtype, device=device)  # type: ignore[no-any-return]


def full(shape: Shape, fill_value: Scalar, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array whose elements are all `fill_value`; its kind gives the dtype if there is none."""
    return ops.full(_sizes(shape), fill_value, dtype=dtype, device=device)  # type: ignore[no-any-return]


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array with the shape of `x` whose elements are undefined."""
    return ops.empty_like(check_array("empty_like", "x", x), dtype=dtype, device=device)  # type: ignore[no-any-return]


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return zeros with the shape of `x`."""
    return ops.zeros_like(check_array("zeros_like", "x", x), dtype=dtype, device=device)  # type: ignore[no-any-return]


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return ones with the shape of `x`."""
    return ops.ones_like(check_array("ones_like", "x", x), dtype=dtype, device=device)  # type: ignore[no-any-return]


def full_like(x: Tensor, /, fill_value: Scalar, *, dtype: DType | None = None, device: Place = None) -> Tensor:
    """Return an array with the shape of `x` whose elements are all `fill_value`."""
    check_array("full_like", "x", x)
    return ops.full_like(x, fill_value, dtype=dtype, device=device)  # type: ignore[no-any-return]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: Place = None
) -> Tensor:
    """Return a matrix with ones on the diagonal `k` places above the main one, and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    made = ops.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        ops.diagonal(made, k).fill_(1)
    return made  # type: ignore[no-any-return]


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: DType | None = None, device: Place = None
) -> Tensor:
    """Return numbers from `start` (0 with one argument) to below `stop`; none if `step` leads away from it. Raises
    ValueError for a step of 0."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        bad_value("arange", "step", step, "other than 0")
    if dtype is None:
        integers = all(isinstance(one, int) for one in (start, stop, step))
        dtype = dtypes.int64 if integers else dtypes.DEFAULTS.dtype
    if ceil((stop - start) / step) <= 0:
        return ops.empty((0,), dtype=dtype, device=device)  # type: ignore[no-any-return]
    if dtype in WIDE:
        signed = [_as_signed(one) for one in (start, stop, step)]
        return unsigned(ops.arange(*signed, dtype=dtypes.int64, device=device), dtype)  # type: ignore[no-any-return]
    return ops.arange(start, stop, step, dtype=dtype, device=device)  # type: ignore[no-any-return]


def _as_signed(number: float) -> float:
    return number - (1 << 64) if number >= 1 << 63 else number


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: DType | None = None, device: Place = None,
    endpoint: bool = True,
) -> Tensor:  # fmt: skip
    """Return `num` evenly spaced numbers from `start` to `stop`, which is left out without `endpoint`."""
    if dtype is None:
        complexes = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtypes.DEFAULTS.complex_dtype if complexes else dtypes.DEFAULTS.dtype
    if not endpoint and num:
        return ops.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1].clone()  # type: ignore[no-any-return]
    return ops.linspace(start, stop, num, dtype=dtype, device=device)  # type: ignore[no-any-return]


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """Return the coordinate matrices of 1-D arrays."""
    return list(ops.meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices whose elements above the diagonal `k` are zero."""
    return ops.tril(check_array("tril", "x", x), k)  # type: ignore[no-any-return]


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return matrices whose elements below the diagonal `k` are zero."""
    return ops.triu(check_array("triu", "x", x), k)  # type: ignore[no-any-return]
