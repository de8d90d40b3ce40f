"""Whether a Python number fits a dtype, where an operator must not wrap it, and whether tensors share memory."""

from __future__ import annotations

import math

from ..core.dtype import FLOAT8, DType, float8_e5m2, int64
from ..core.limits import finfo, iinfo
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn
from ..iteration.overlap import PARTIAL_OVERLAP, Overlap, extent_of, internal_overlap, pair_overlap
from ..iteration.tensor_iterator import Number
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE

REAL = frozenset({int, float})
LARGEST_HALF = 65504.0
"""Numbers up to this size fit every floating dtype that computes."""


WITHOUT_INFINITY = FLOAT8 - {float8_e5m2}


def check_fits(operator: str, value: Number, dtype: DType) -> None:
    """RuntimeError when `value` is outside the finite range of `dtype`, or infinite for a dtype without infinity;
    negative ints wrap in unsigned dtypes."""
    if dtype.kind == 0:
        return
    if dtype.kind == 2 and value.__class__ in REAL and -LARGEST_HALF <= value <= LARGEST_HALF and dtype.computes:  # type: ignore[operator]
        return
    if not _fits(value, dtype):
        raise RuntimeError(f"{operator}(): value cannot be converted to type {dtype.name} without overflow: {value!r}")


def whole_number(operator: str, value: Number) -> int:
    """Return `value` truncated to an int64. Raises RuntimeError for NaN, infinities and numbers out of range."""
    if not _fits(value.real, int64):
        raise RuntimeError(f"{operator}(): value cannot be converted to type int64 without overflow: {value!r}")
    return math.trunc(value.real)


def real_number(operator: str, value: Number) -> float:
    """Return `value` as a float. Raises RuntimeError for a complex number with an imaginary part."""
    if isinstance(value, complex) and value.imag:
        raise RuntimeError(f"{operator}(): value cannot be converted to type double without overflow: {value!r}")
    return float(value.real)


def check_number(operator: str, argument: str, value: Number) -> Number:
    """Return `value`. Raises OverflowError for an int that fits neither int64 nor uint64."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        problem = "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        raise OverflowError(f"{operator}(): {problem}: argument '{argument}' must fit 64 bits, got {value}")
    return value


def _fits(value: Number, dtype: DType) -> bool:
    if isinstance(value, complex):
        if not dtype.is_complex:
            return value.imag == 0 and _fits(value.real, dtype)
        part = dtype.to_real()
        return _fits(value.real, part) and _fits(value.imag, part)
    if dtype.kind == 1:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        limits = iinfo(dtype)
        wraps = not dtype.is_signed and not isinstance(value, float)
        return (-limits.max if wraps else limits.min) <= value <= limits.max
    if isinstance(value, float) and not math.isfinite(value):
        return not math.isinf(value) or dtype not in WITHOUT_INFINITY
    return abs(value) <= finfo(dtype.to_real()).max


def stored_number(operator: str, value: Number, dtype: DType, lazy: int = 0) -> Number:
    """`value` as it goes into memory of `dtype`: checked to fit, truncated for ints, truth for bool."""
    check_fits(operator, value, dtype)
    if dtype.kind == 2 and not lazy and value.__class__ in REAL:
        return value
    if lazy & CONJUGATE:
        value = complex(value).conjugate()
    if lazy & NEGATIVE:
        # Of a whole zero too: the stored one has a sign.
        value = -(value if isinstance(value, complex) else float(value))
    if dtype.kind == 0:
        return bool(value)
    if dtype.kind == 1:
        whole = int(value.real)
        return whole - (1 << 64) if whole >= 1 << 63 else whole
    return value.real if dtype.kind == 2 and isinstance(value, complex) else value


def check_implemented(operator: str, dtype: DType, implemented: bool) -> None:
    """Raise NotImplementedError unless the operator is `implemented` for the dtype."""
    if not implemented:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[dtype.name]}'")


def check_scalar_type(where: str, wanted: DType, found: DType, of: str = "") -> None:
    """Raise RuntimeError unless the dtype found is the one wanted; `of` says of what."""
    if found is not wanted:
        names = UPSTREAM_NAMES[wanted.name], UPSTREAM_NAMES[found.name]
        raise RuntimeError(f"{where}: expected scalar type {names[0]} but found {names[1]}{of}")


def check_keeps_sizes(operator: str, sizes: tuple[int, ...], common: tuple[int, ...]) -> None:
    """Raise RuntimeError unless the sizes of what is written are those of all operands broadcast, `common`."""
    if common != sizes:
        shown = f"output with shape {list(sizes)} doesn't match the broadcast shape {list(common)}"
        raise RuntimeError(f"{operator}(): {shown}")


def check_no_overlap(written: Tensor, *read: Tensor) -> None:
    """Raise RuntimeError when a tensor that is read shares memory, even all of it, with the one written to."""
    for one in read:
        if one.storage_impl is written.storage_impl:
            verdict = pair_overlap(extent_of(written), extent_of(one))
            if one is written or verdict is Overlap.PARTIAL or verdict is Overlap.FULL:
                raise RuntimeError(PARTIAL_OVERLAP)


def warn_of_internal_overlap(operator: str, written: Tensor) -> None:
    """Warn when an indexed fill writes to a tensor whose indices share memory."""
    if internal_overlap(written.meta.sizes, written.meta.strides) is Overlap.YES:
        warn(f"Use of {operator} on expanded tensors is deprecated; clone() the tensor before writing to it")
