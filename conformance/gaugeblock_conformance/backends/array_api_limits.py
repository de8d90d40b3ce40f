"""What the array API standard leaves open, by values: calls that a namespace may answer in any way are not judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import DType, Unsupported, numpy_dtype

# Arguments whose dtypes are not those of the elements that are computed with.
_ASIDE = frozenset({"condition", "index", "indices", "mask"})
_KINDS = "biufc"
# Reductions whose results have the default integer dtype where the operand's is smaller.
_ACCUMULATING = frozenset({"sum", "prod", "cumsum", "cumprod"})
# Elements of an array that every machine can hold.
_LARGEST = 2**31
_DIMS = ("dim", "dims", "dim0", "dim1", "axis0", "axis1", "start_dim", "end_dim", "source", "destination")


def check(backend: Any, operator: str, bound: Mapping[Any, Any], kinds: str) -> None:
    """Raise Unsupported for a call that the standard says nothing about; ``bound`` are its arguments by name."""
    arrays = {name: value for name, value in _flat(bound) if backend.is_array(value)}
    names = {name: backend.dtype(value) for name, value in arrays.items() if str(name).split("/")[0] not in _ASIDE}
    row = operators.load().get(operator)
    for dtype in names.values():
        if kind_of(dtype) not in kinds or (row is not None and dtype not in row.dtypes):
            raise Unsupported(operator, f"not offered for {dtype}")
    if len(set(names.values())) > 1:
        raise Unsupported(operator, "operands of several dtypes follow rules of the library's own")
    _check_numbers(backend, operator, bound, bound.get("dtype") or next(iter(names.values()), None))
    dims = [bound[name] for name in _DIMS if name in bound]
    if any(d not in (None, ()) for d in dims) and any(not backend.shape(a) for a in arrays.values()):
        raise Unsupported(operator, "arrays without dims have no axes")
    if "dtype" in bound and not arrays and bound["dtype"] is None and not backend.defaults_fit:
        raise Unsupported(operator, "the library has default dtypes of its own")
    short = any(kind_of(dtype) == "i" and dtype != "int64" for dtype in names.values())
    if operator.split(".")[0] in _ACCUMULATING and bound.get("dtype") is None and short and not backend.integers_fit:
        raise Unsupported(operator, "the library has a default integer of its own")
    if operator.split(".")[0] in _ACCUMULATING and bound.get("dtype") is not None and kind_of(bound["dtype"]) == "b":
        raise Unsupported(operator, "sums and products are of numbers")
    if operator.startswith("fft_") and "float64" in names.values() and "complex128" not in backend.dtypes:
        raise Unsupported(operator, "the library has no complex128")
    limit = _LIMITS.get(operator.split(".")[0].strip("_"))
    reason = None if limit is None else limit(backend, *bound.values())
    if reason is not None:
        raise Unsupported(operator, reason)


def kind_of(name: str) -> str:
    """The letter of b u i f c for a dtype of the spec."""
    return "f" if name == "bfloat16" else numpy_dtype(name).kind


def _flat(bound: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    found = []
    for name, value in bound.items():
        if isinstance(value, tuple | list):
            found += [(f"{name}/{k}", item) for k, item in enumerate(value)]
        else:
            found.append((name, value))
    return found


_NUMBERS = frozenset({"other", "self", "exponent", "min", "max", "fill_value", "value", 0, 1})


def _check_numbers(backend: Any, operator: str, bound: Mapping[Any, Any], dtype: str | None) -> None:
    """A number beside an array must be of no higher kind, and one that its dtype holds."""
    if dtype is None:
        return
    kind = kind_of(dtype)
    for name, value in bound.items():
        if name not in _NUMBERS or type(value) not in (bool, int, float, complex):
            continue
        mine = {bool: "b", int: "i", float: "f", complex: "c"}[type(value)]
        if (_KINDS.index(mine) > _KINDS.index("i" if kind == "u" else kind)) or (mine == "b" and kind != "b"):
            raise Unsupported(operator, f"a {type(value).__name__} beside {dtype} follows rules of the library's own")
        if mine == "i" and kind in "ui":
            range_ = np.iinfo(numpy_dtype(dtype))
            if not range_.min <= value <= range_.max:
                raise Unsupported(operator, f"{value} beside {dtype}: what does not fit is left open")


def _is_whole(backend: Any, value: Any) -> bool:
    return (kind_of(backend.dtype(value)) if backend.is_array(value) else "i" if type(value) is int else "f") in "ui"


def _values(backend: Any, value: Any) -> Any:
    return backend.to_numpy(value) if backend.is_array(value) else np.asarray(value)


def _divisor(backend: Any, x: Any, y: Any) -> str | None:
    if backend.divides_by_zero or not _is_whole(backend, x):
        return None
    bottom = _values(backend, y)
    if not np.all(bottom):
        return "division of integers by zero is left open"
    if backend.overflows_quotients:
        return None
    lowest = np.any(bottom == -1) and np.any(_values(backend, x) == np.iinfo(_values(backend, x).dtype).min)
    return "the smallest integer divided by -1 is left open" if lowest else None


def _shift(backend: Any, x: Any, y: Any) -> str | None:
    array = x if backend.is_array(x) else y
    counts, bits = _values(backend, y), 8 * numpy_dtype(backend.dtype(array)).itemsize
    return "shifts by the width and more are left open" if np.any((counts < 0) | (counts >= bits)) else None


def _clip(backend: Any, x: Any, low: Any, high: Any) -> str | None:
    if low is None or high is None:
        return "neither bound is given" if low is high else None
    with np.errstate(all="ignore"):
        ordered = np.all(_values(backend, low) <= _values(backend, high))
    return None if ordered else "bounds out of order are left open"


def _not_empty(backend: Any, x: Any, *rest: Any) -> str | None:
    return "the extreme of nothing is left open" if 0 in backend.shape(x) else None


def _conversion(backend: Any, x: Any, dtype: DType, *rest: Any) -> str | None:
    source, target = kind_of(backend.dtype(x)), kind_of(dtype)
    if source == "c" and target not in "c":
        return "complex numbers become no others"
    if source == "f" and target in "uib":
        values = backend.to_numpy(x).astype(np.float64)
        if target == "b":
            return None if np.all(np.isfinite(values)) else "NaN and infinity as bools are left open"
        range_ = np.iinfo(numpy_dtype(dtype))
        inside = (np.trunc(values) >= float(range_.min)) & (np.trunc(values) < float(range_.max) + 1)
        return None if np.all(inside) else "floats that the integers do not hold are left open"
    return None


def _take(backend: Any, x: Any, dim: int, index: Any) -> str | None:
    size = backend.shape(x)[dim] if -len(x.shape) <= dim < len(x.shape) else 0
    places = _values(backend, index)
    if places.ndim != 1 or places.dtype.kind not in "ui":
        return "indices of one dim alone"
    return None if np.all((places >= 0) & (places < size)) else "indices outside are left open"


def _condition(backend: Any, condition: Any, *rest: Any) -> str | None:
    return None if backend.dtype(condition) == "bool" else "conditions are bools"


def _no_negative(backend: Any, x: Any, dims: Any) -> str | None:
    return "dims are not counted from the end" if any(d < 0 for d in dims) else None


def _short(backend: Any, x: Any, *rest: Any) -> str | None:
    long = kind_of(backend.dtype(x)) in "fc" and int(np.prod(backend.shape(x))) > backend.longest_sum
    return "how long sums of floats are accumulated is left open" if long else None


def _memory(backend: Any, size: Any, *rest: Any) -> str | None:
    large = not backend.refuses_sizes and prod(size) > _LARGEST
    return "how large an array may be is left open" if large else None


def _has_dims(backend: Any, x: Any) -> str | None:
    return None if backend.shape(x) else "an array without dims has no places"


def _lines(backend: Any, arrays: Any, *rest: Any) -> str | None:
    return None if all(len(backend.shape(x)) == 1 for x in arrays) else "grids are made of arrays of one dim"


def _one_axis(backend: Any, x: Any, indices: Any, dim: Any = None, *rest: Any) -> str | None:
    return "places along no axis are left open" if dim is None else None


def _from_the_end(backend: Any, x: Any, y: Any, dim: int = -1) -> str | None:
    return None if dim < 0 else "the axis is counted from the end"


def _in_a_line(backend: Any, sequence: Any, *rest: Any) -> str | None:
    return None if len(backend.shape(sequence)) == 1 else "what is searched has one dim"


def _no_wildcard(backend: Any, x: Any, size: Any) -> str | None:
    return "sizes of -1 are not known" if any(n < 0 for n in size) else None


def _same_ranks(backend: Any, arrays: Any, dim: int) -> str | None:
    return None if len({len(backend.shape(x)) for x in arrays}) == 1 else "all arrays have one number of dims"


def _symmetric(backend: Any, x: Any, *rest: Any) -> str | None:
    values = _values(backend, x)
    square = values.ndim >= 2 and values.shape[-1] == values.shape[-2]
    symmetric = not square or np.array_equal(values, values.swapaxes(-1, -2).conj())
    return None if symmetric else "matrices that are not symmetric are left open"


def _two_factors(backend: Any, x: Any, mode: str = "reduced") -> str | None:
    return None if mode in ("reduced", "complete") else f"mode {mode!r} is not known"


_LIMITS: dict[str, Callable[..., str | None]] = {
    "floor_divide": _divisor,
    "remainder": _divisor,
    "floordiv": _divisor,
    "mod": _divisor,
    "bitwise_left_shift": _shift,
    "bitwise_right_shift": _shift,
    "lshift": _shift,
    "rshift": _shift,
    "clamp": _clip,
    "amax": _not_empty,
    "amin": _not_empty,
    "max": _not_empty,
    "min": _not_empty,
    "argmax": _not_empty,
    "argmin": _not_empty,
    "to": _conversion,
    "index_select": _take,
    "where": _condition,
    "permute": _no_negative,
    "sum": _short,
    "mean": _short,
    "zeros": _memory,
    "ones": _memory,
    "full": _memory,
    "empty": _memory,
    "linalg_eigvalsh": _symmetric,
    "linalg_cholesky": _symmetric,
    "linalg_qr": _two_factors,
    "linalg_cross": _from_the_end,
    "linalg_vecdot": _from_the_end,
    "nonzero": _has_dims,
    "argwhere": _has_dims,
    "broadcast_to": _no_wildcard,
    "cat": _same_ranks,
    "meshgrid": _lines,
    "take_along_dim": _one_axis,
    "searchsorted": _in_a_line,
}
