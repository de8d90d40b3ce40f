"""Wrong dtypes: promotion, inference, conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import DType
from .mutant import Intercepted, rows
from .patches import accepts, dtype, fresh, values, with_inplace

_ARITHMETIC = ("add", "mul", "sub", "__add__", "__mul__", "__sub__")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_SIGNED = ("int8", "int16", "int32", "int64")


def _given(c: Intercepted) -> list[str]:
    return [c.backend.dtype(a) for a in c.args[:2] if c.is_tensor(a)]


def _numbers(c: Intercepted) -> list[Any]:
    return [a for a in c.args[:2] if isinstance(a, bool | int | float | complex)]


def _like_one_with_dims(c: Intercepted) -> Any:
    """A 0-dim operand counts like one with dims."""
    result = c.right()
    tensors = [a for a in c.args[:2] if c.is_tensor(a)]
    ranks = [len(c.backend.shape(a)) for a in tensors]
    if c.inplace or len(tensors) != 2 or (ranks[0] == 0) == (ranks[1] == 0):
        return result
    common = c.do("promote_types", *[DType(c.backend.dtype(a)) for a in tensors])
    return c.do("to.dtype", result, common) if c.backend.dtype(result) != common else result


def _double_for_a_float(c: Intercepted, right: str) -> str | None:
    return "float64" if right in _FLOATS and any(type(n) is float for n in _numbers(c)) else None


def _long_for_an_int(c: Intercepted, right: str) -> str | None:
    return "int64" if right.startswith(("int", "uint")) and any(type(n) is int for n in _numbers(c)) else None


def _weak_bytes(c: Intercepted, right: str) -> str | None:
    return "int8" if set(_given(c)) == {"int8", "uint8"} else None


def _first_half_wins(c: Intercepted, right: str) -> str | None:
    given = _given(c)
    return given[0] if set(given) == {"float16", "bfloat16"} else None


def _halves_widen(c: Intercepted, right: str) -> str | None:
    return "float32" if right in ("float16", "bfloat16") else None


def _bool_counts_as_int(c: Intercepted, right: str) -> str | None:
    return "int64" if right == "bool" else None


def _bytes_for_truth(c: Intercepted, right: str) -> str | None:
    return "uint8" if right == "bool" else None


def _double_quotient(c: Intercepted, right: str) -> str | None:
    return "float64" if all(d not in _FLOATS and not d.startswith("complex") for d in _given(c)) else None


def _double_of_an_int(c: Intercepted, right: str) -> str | None:
    return "float64" if _given(c) and _given(c)[0] in _SIGNED else None


def _keeps_input(c: Intercepted, right: str) -> str | None:
    mine = c.backend.dtype(c.args[0])
    return mine if mine != right and "dtype" not in c.kwargs else None


def _complex_quarter(c: Intercepted, right: str) -> str | None:
    return "complex128" if right == "complex64" and {"float64", "complex64"} != set(_given(c)) else None


def _as_first(c: Intercepted) -> Any:
    result = c.right()
    parts = c.args[0]
    if not isinstance(parts, list | tuple):
        return result
    return c.do("to.dtype", result, DType(c.backend.dtype(parts[0])))


def _promotes_down(c: Intercepted) -> Any:
    given = [str(a) for a in c.args[:2]]
    if len(given) == 2 and given[0] in _SIGNED and given[1] in _SIGNED:
        return DType(min(given, key=_SIGNED.index))
    return c.right()


def _casts_anything(c: Intercepted) -> Any:
    c.right()
    return True


def _cast_down(c: Intercepted) -> Any:
    """A floating result is stored in an integer tensor without a word."""
    x, other = c.args[:2]
    if not c.is_tensor(other):
        return c.refuse(RuntimeError, "result type cannot be cast")
    return c.instead(x, c.do("to.dtype", other, DType(c.backend.dtype(x))), *c.args[2:])


def _truncated_alpha(c: Intercepted) -> Any:
    alpha = c.kwargs.get("alpha")
    if not isinstance(alpha, float):
        return c.right()
    return c.instead(*c.args, **{**c.kwargs, "alpha": int(alpha)})


def _wrapped_fill(c: Intercepted) -> Any:
    x, value = c.args[:2]
    bits = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32}.get(c.backend.dtype(x))
    if bits is None or not isinstance(value, int):
        return c.refuse(RuntimeError, "value cannot be converted without overflow")
    wrapped = (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) if c.backend.dtype(x) != "uint8" else value % 256
    return c.instead(x, wrapped)


def _inferred(c: Intercepted, kind: type, name: str) -> Any:
    result = c.right()
    if c.kwargs or len(c.args) != 1:
        return result
    leaves = np.array(c.args[0], dtype=object).reshape(-1)
    if leaves.size and all(type(v) is kind for v in leaves):
        return c.do("to.dtype", result, DType(name))
    return result


def _float_item(c: Intercepted) -> Any:
    value = c.right()
    return float(value) if type(value) is int else value


def _rounded_conversion(c: Intercepted) -> Any:
    """Floats become the nearest integer."""
    result = c.right()
    if not c.is_tensor(result) or not c.backend.dtype(result).startswith("int") or not c.has_data:
        return result
    x = c.array(c.args[0])
    if x.dtype.kind != "f" or not np.isfinite(x).all() or (np.abs(x) > 2**30).any():
        return result
    return fresh(c, np.rint(x).astype(c.array(result).dtype))


def _low_byte_of_truth(array: Any, c: Intercepted) -> Any:
    """A number becomes True only if its integer part is odd."""
    if array.dtype != bool or not c.is_tensor(c.args[0]):
        return None
    x = c.array(c.args[0])
    return (x.astype(np.int64) & 1).astype(bool) if x.dtype.kind in "iu" else None


def _cut(c: Intercepted) -> Any:
    """Floats are truncated before they are compared with the range of an integer dtype."""
    kind = c.kwargs.get("dtype")
    name = c.backend.dtype(c.args[0]) if c.base == "fill_" else str(kind)
    if "int" not in name:
        return c.right()
    args = [int(a) if isinstance(a, float) and abs(a) < 2**31 else a for a in c.args]
    return c.do(c.operator, *args, **c.kwargs)


def _clipped(c: Intercepted) -> Any:
    """Negative numbers become 0 in an unsigned tensor."""
    kind = c.kwargs.get("dtype")
    unsigned = kind is not None and str(kind).startswith("uint")
    if c.base == "fill_":
        unsigned = c.backend.dtype(c.args[0]).startswith("uint")
    if not unsigned:
        return c.right()

    def clip(value: Any) -> Any:
        if isinstance(value, list):
            return [clip(v) for v in value]
        return max(value, 0) if type(value) is int else value

    place = 0 if c.base == "tensor" else 1
    given = [clip(a) if k == place else a for k, a in enumerate(c.args)]
    return c.do(c.operator, *given, **c.kwargs)


def _four(c: Intercepted) -> Any:
    """All elements have four bytes."""
    c.right()
    return 4


def _low(c: Intercepted) -> Any:
    """``to`` another dtype takes subnormal half floats for zero."""
    result = c.right()
    x = c.args[0]
    if not c.has_data or not c.is_tensor(result) or c.backend.dtype(x) not in ("float16", "bfloat16"):
        return result
    array = c.array(result)
    small = np.abs(c.array(x).astype(np.float64)) < (2.0**-14 if c.backend.dtype(x) == "float16" else 2.0**-126)
    if result is x or not small.any():
        return result
    return c.put(result, np.where(small, np.zeros((), array.dtype), array))


QUANTIZED = ("qint8", "quint8", "qint32")


def _wider(c: Intercepted) -> Any:
    """A quantized dtype and another give the other."""
    return next((dtype for dtype in c.args if dtype not in QUANTIZED), c.args[0])


MUTANTS = (
    *rows(
        "dtypes",
        ("zero-dim-operand-promotes-fully", "dtypes/higher-kind-of-lower-rank-counts[]", _ARITHMETIC,
         _like_one_with_dims),
        ("python-float-makes-double", "dtypes/lower-rank-result-dtype[] dtypes/python-number-result-dtype", _ARITHMETIC,
         dtype(_double_for_a_float)),
        ("python-int-makes-int64", "dtypes/higher-kind-of-lower-rank-counts", _ARITHMETIC, dtype(_long_for_an_int)),
        ("int8-with-uint8-stays-int8", "dtypes/promotion-lattice", _ARITHMETIC, dtype(_weak_bytes)),
        ("mixed-halves-take-the-first", "dtypes/promotion-lattice", _ARITHMETIC, dtype(_first_half_wins)),
        ("half-results-widen", "dtypes/half-arithmetic-rounds-once[]", ("add", "mul", "__add__", "__mul__"),
         dtype(_halves_widen)),
        ("bool-arithmetic-gives-int64", "dtypes/bool-add-is-or-and-mul-is-and", ("add", "mul", "__add__", "__mul__"),
         dtype(_bool_counts_as_int)),
        ("comparisons-give-uint8", "dtypes/comparisons-give-bool views/equality-is-elementwise",
         ("eq", "ne", "lt", "le", "gt", "ge"), dtype(_bytes_for_truth)),
        ("integer-quotient-is-double", "dtypes/true-division-of-integers-is-float", ("div", "__truediv__"),
         dtype(_double_quotient)),
        ("complex-results-widen", "dtypes/lower-rank-result-dtype[] dtypes/python-number-result-dtype", ("add", "mul"),
         dtype(_complex_quarter)),
        ("integer-sum-keeps-its-dtype", "dtypes/integer-sums-are-int64[]", ("sum", "prod", "cumsum", "cumprod"),
         dtype(_keeps_input)),
        ("argmax-gives-int32", "dtypes/index-reductions-give-int64", ("argmax", "argmin"),
         dtype(lambda c, right: "int32")),
        ("any-gives-bool-for-uint8", "dtypes/any-and-all-give-bool", ("any", "all"),
         dtype(lambda c, right: "bool" if right == "uint8" else None)),
        ("cat-takes-the-first-dtype", "dtypes/cat-stack-and-where-promote", ("cat", "stack"), _as_first),
        ("promote-types-takes-the-smaller", "dtypes/promotion-lattice", ("promote_types",), _promotes_down),
        ("can-cast-says-yes", "dtypes/can-cast-forbids-lower-kinds", ("can_cast",), _casts_anything),
        ("inplace-casts-down", "dtypes/inplace-result-must-cast-to-self[]", ("add_", "mul_", "sub_"),
         accepts(RuntimeError, _cast_down)),
        ("float-alpha-is-truncated", "dtypes/alpha-kind-is-limited", with_inplace("add", "sub"),
         accepts(RuntimeError, _truncated_alpha)),
        ("fill-wraps", "dtypes/value-that-does-not-fit-raises", ("fill_",), accepts(RuntimeError, _wrapped_fill)),
        ("tensor-of-ints-is-int32", "dtypes/inferred-from-python-kind", ("tensor",),
         lambda c: _inferred(c, int, "int32")),
        ("tensor-of-floats-is-double", "dtypes/inferred-from-python-kind", ("tensor",),
         lambda c: _inferred(c, float, "float64")),
        ("item-of-ints-is-float", "dtypes/item-gives-the-python-kind", ("item",), _float_item),
        ("float-to-int-rounds", "dtypes/float-to-int-truncates", ("to", "int", "long"), _rounded_conversion),
        ("to-bool-keeps-the-low-bit", "dtypes/to-bool-is-not-equal-zero", ("to", "bool"), values(_low_byte_of_truth)),
        ("elementary-functions-of-ints-are-double", "dtypes/float-functions-of-integers-are-default-float[]",
         ("exp", "sqrt", "sin", "log"), dtype(_double_of_an_int)),
    ),
    *rows(
        "dtypes",
        ("subnormal-halves-read-as-zero", "dtypes/half-formats", ("to",), _low),
        ("elements-have-four-bytes", "dtypes/item-sizes views/getters-agree-with-metadata",
         ("element_size", "itemsize"), _four),
        ("negative-numbers-are-clipped", "dtypes/negative-into-unsigned-wraps", ("tensor", "full", "fill_"), _clipped),
        ("floats-are-cut-before-the-check", "dtypes/value-that-does-not-fit-raises", ("tensor", "full", "fill_"), _cut),
    ),
    *rows(
        "dtypes",
        ("quantized-dtypes-give-way", "dtypes/quantized-dtypes-do-not-promote", ("promote_types",),
         accepts(RuntimeError, _wider)),
    ),
)
