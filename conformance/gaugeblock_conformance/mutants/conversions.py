"""Wrong dtypes and values where numbers, bools and tensors become one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, DType
from .mutant import Intercepted, rows
from .patches import accepts, floating, values

_REDUCED = ("sum", "prod", "cumsum", "cumprod")


def _one_element_is_a_number(c: Intercepted) -> Any:
    """An operand with one element promotes like one without dims."""
    result = c.right()
    tensors = [a for a in c.args[:2] if c.is_tensor(a)]
    if c.inplace or len(tensors) != 2:
        return result
    shapes = [tuple(c.backend.shape(a)) for a in tensors]
    if (shapes[0] == (1,)) == (shapes[1] == (1,)) or () in shapes:
        return result
    single = 0 if shapes[0] == (1,) else 1
    flat = [c.do("as_strided", a, (), (), c.backend.storage_offset(a)) if k == single else a
            for k, a in enumerate(tensors)]  # fmt: skip
    common = c.do("result_type", *flat)
    return c.do("to.dtype", result, common) if c.backend.dtype(result) not in (common, "bool") else result


def _cast_after(c: Intercepted) -> Any:
    """``dtype=`` converts the result, not the elements."""
    wanted = c.kwargs.get("dtype")
    if not isinstance(wanted, DType):
        return c.right()
    kwargs = {k: v for k, v in c.kwargs.items() if k != "dtype"}
    return c.do("to.dtype", c.instead(*c.args, **kwargs), wanted)


def _raw_bytes(array: Array, c: Intercepted) -> Array | None:
    """A bool's byte is taken for its value."""
    x = c.args[0]
    if not c.is_tensor(x) or c.backend.dtype(x) != "bool" or array.dtype.kind not in "iuf":
        return None
    return c.array(c.do("view.dtype", x, DType("uint8"))).astype(array.dtype)


def _equal_bytes(c: Intercepted) -> Any:
    x, y = c.args[:2]
    if not c.has_data or c.backend.dtype(x) != c.backend.dtype(y) or c.backend.shape(x) != c.backend.shape(y):
        return c.right()
    return c.array(x).tobytes() == c.array(y).tobytes()


def _near_infinity(array: Array, c: Intercepted) -> Array | None:
    """isclose takes everything for close to an infinity."""
    tensors = [c.array(a) for a in c.args[:2]]
    if array.dtype != bool or not all(map(floating, tensors)):
        return None
    infinite = np.logical_or(np.isinf(tensors[0]), np.isinf(tensors[1]))
    return array | (infinite & ~np.isnan(tensors[0]) & ~np.isnan(tensors[1]))


def _negative_zero_sum(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if not floating(array) or not x.size or not ((x == 0) & np.signbit(x)).all():
        return None
    return -np.abs(array)


def _int_item(c: Intercepted) -> Any:
    value = c.right()
    return int(value) if type(value) is bool else value


def _nan_is_false(c: Intercepted) -> Any:
    x = c.args[0]
    return bool(c.right()) and not (c.has_data and bool(np.isnan(c.array(x)).any()) if _real(c, x) else False)


def _real(c: Intercepted, x: Any) -> bool:
    return c.is_tensor(x) and c.backend.dtype(x) in ("float16", "bfloat16", "float32", "float64")


def _promoted_product(c: Intercepted) -> Any:
    """Matrices of two dtypes are multiplied in the common one."""
    a, b = c.args[:2]
    common = c.do("promote_types", DType(c.backend.dtype(a)), DType(c.backend.dtype(b)))
    if c.backend.dtype(a) == c.backend.dtype(b):
        return c.refuse(RuntimeError, "shapes do not fit")
    return c.do(c.operator, c.do("to.dtype", a, common), c.do("to.dtype", b, common))


def _rounded_assignment(c: Intercepted) -> Any:
    x, index, value = c.args[:3]
    if not isinstance(value, float) or not c.backend.dtype(x).startswith("int") or value != value or abs(value) > 100:
        return c.right()
    return c.instead(x, index, round(value))


def _ones_of_nothing(array: Array, c: Intercepted) -> Array | None:
    inner = c.backend.shape(c.args[0])[-1:]
    return np.ones_like(array) if tuple(inner) == (0,) else None


def _through_float(array: Array, c: Intercepted) -> Array | None:
    """Integer powers computed in doubles."""
    if c.inplace or array.dtype.kind not in "iu" or not all(c.is_tensor(a) for a in c.args[:2]):
        return None
    a, b = (c.array(x).astype(np.float64) for x in c.args[:2])
    found = np.power(a, b)
    limit = 2.0 ** (8 * array.dtype.itemsize - 1)
    return np.where(np.abs(found) < limit, found, limit - 1).astype(array.dtype)


MUTANTS = (
    *rows(
        "dtypes",
        ("one-element-counts-as-a-number", "dtypes/one-element-tensor-is-not-a-scalar", ("add", "mul"),
         _one_element_is_a_number),
        ("dtype-argument-converts-the-result", "dtypes/dtype-argument-casts-before-reducing", _REDUCED, _cast_after),
        ("odd-bool-bytes-are-numbers", "dtypes/odd-bool-bytes-read-as-true", ("to", "int", "float"),
         values(_raw_bytes)),
        ("item-of-bool-is-int", "dtypes/item-gives-the-python-kind", ("item",), _int_item),
        ("matrix-product-promotes", "dtypes/matmul-needs-equal-dtypes", ("mm", "matmul"),
         accepts(RuntimeError, _promoted_product)),
        ("assigned-floats-are-rounded", "views/basic-assignment-casts", ("__setitem__",), _rounded_assignment),
    ),
    *rows(
        "values",
        ("equal-compares-bytes", "dtypes/nan-differs-from-itself operators/equal-compares-sizes-and-elements",
         ("equal",), _equal_bytes),
        ("everything-is-close-to-infinity", "dtypes/isclose-of-nan-and-inf", ("isclose",), values(_near_infinity)),
        ("sum-of-negative-zeros-is-negative", "dtypes/sum-of-negative-zeros", ("sum",), values(_negative_zero_sum)),
        ("nan-is-false", "views/truth-needs-one-element", ("__bool__",), _nan_is_false),
    ),
    *rows(
        "empties and errors",
        ("product-over-nothing-is-one", "views/matmul-over-zero-size-gives-zeros kernels/empty-products-are-zero",
         ("mm", "matmul"), values(_ones_of_nothing)),
    ),
    *rows(
        "numerics",
        ("integer-power-goes-through-double", "dtypes/integer-power", ("pow",), values(_through_float)),
    ),
)
