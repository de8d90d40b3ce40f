"""What a pointwise operator of the operator table must return, and how far a result may be from it.

    expected("add.Tensor", [x, y], "float32", alpha=2)

The operands are converted to the dtype of the computation, the formula is evaluated exactly or in higher precision, and
the result is rounded once to the dtype that the operator's row names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import Argument, parse

from ..backend import Array, numpy_dtype
from ..values import COMPLEX as COMPLEX_DTYPES
from ..values import FLOATS, HALVES, LARGEST
from .complex_numbers import COMPLEX, by_parts
from .conversion import cast, component
from .integers import BOOLEAN, INTEGER, DivisionByZero, wrap
from .near import OracleFailed
from .reals import EXACT, NATIVE, WIDE

_WIDER: dict[str, Any] = {
    "float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "float64": np.longdouble,
    "complex64": np.complex128, "complex128": np.clongdouble,
}  # fmt: skip
_SMALLEST = {name: float(np.finfo(name).smallest_normal) for name in ("float32", "float64")}
# Operators that take a complex number for two floats.
_BY_PARTS = frozenset({"nan_to_num"})
# Arguments that are no operands: they stay Python values.
_PLAIN = frozenset(["rounding_mode", "equal_nan", "decimals", "rtol", "atol", "nan", "posinf", "neginf"])


@cache
def operators_with_oracle() -> tuple[str, ...]:
    """Names of the table's pointwise rows that :func:`expected` knows."""
    rows = operators.load().values()
    return tuple(row.name for row in rows if row.family == "pointwise" and _known(row.base_name))


@cache
def has_oracle(operator: str) -> bool:
    """Return whether a row is one of :func:`operators_with_oracle`."""
    return operator in operators_with_oracle()


def _known(base: str) -> bool:
    return any(base in table for table in (INTEGER, BOOLEAN, EXACT, WIDE, NATIVE, COMPLEX))


def compute_dtype(operator: str, dtype: str) -> str:
    """The dtype in which the operator computes for operands whose common dtype is ``dtype``."""
    row = operators.load()[operator]
    if row.promotion == "int_to_float" and dtype not in FLOATS and dtype not in COMPLEX_DTYPES:
        return "float32"
    return "int64" if row.result == "with_int" and dtype == "bool" else dtype


def result_dtype(operator: str, dtype: str) -> str:
    """The dtype that comes out for operands whose common dtype is ``dtype``."""
    kind = operators.load()[operator].result
    if kind in ("bool", "int64"):
        return kind
    computed = compute_dtype(operator, dtype)
    return component(computed) if kind == "real" else computed


def expected(operator: str, arrays: Sequence[Array | None], dtype: str, **numbers: Any) -> Array:
    """The correct result of ``operator`` for the tensor operands ``arrays`` (None for one left out), in schema order.

    ``dtype`` is the operands' common dtype (numbers counted in); integers become float32 where the operator is a float
    function. ``numbers`` are the other arguments by their schema names; those left out have their defaults. For
    float16 and bfloat16 a number counts as a float32.

    Raises:
        LookupError: no oracle for this operator and dtype (see :func:`operators_with_oracle`).
        DivisionByZero: an integer divisor is zero, so that the call must raise.
        OracleFailed: the oracle raises anything else.
    """
    computed = compute_dtype(operator, dtype)
    row = operators.load()[operator]
    operands = _operands(operator, arrays, computed, numbers)
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(_evaluate(operator, row.base_name, operands, computed, numbers))
        except (DivisionByZero, LookupError):
            raise
        except Exception as error:
            raise OracleFailed(operator, error) from error
        return cast(result, result_dtype(operator, dtype))


def bound(operator: str, arrays: Sequence[Array | None], dtype: str, **numbers: Any) -> float | Array:
    """How far a result may be from :func:`expected`.

    A number is in units in the last place of the result; an array holds absolute errors, for sums whose terms may
    cancel.
    """
    row = operators.load()[operator]
    result = result_dtype(operator, dtype)
    ulp = float(row.ulp.get(result, 0.0))
    if result in HALVES and row.half.truncation == "free" and numbers.get("rounding_mode") == "trunc":
        return np.asarray(_half_trunc(operator, arrays, dtype, numbers))
    if row.ulp_scale != "terms" or result not in _WIDER:
        return ulp
    if row.base_name in ("add", "sub", "rsub"):
        if numbers.get("alpha", 1) in (1, -1):
            return 0.0
        ulp = max(ulp, 1.0)
    given = _operands(operator, arrays, compute_dtype(operator, dtype), numbers)
    operands: list[Any] = [None if v is None else np.abs(_widen(np.asarray(v), result)) for v in given]
    with np.errstate(all="ignore"):
        scale = np.maximum(_terms(row.base_name, operands), np.abs(expected(operator, arrays, dtype, **numbers)))
        largest = LARGEST["float32" if result in HALVES else component(result)]
        if row.overflow == "product":
            first = operands[3] * operands[1]
            scale = np.maximum(scale, np.where(first > largest, np.inf, 0))
        if row.overflow == "difference":
            scale = np.maximum(scale, np.where(operands[0] + operands[1] > largest, np.inf, 0))
        if row.overflow == "rounded_term" and result in HALVES:
            # The term with alpha may be rounded to a half float, and overflow there.
            scale = np.where(scale > LARGEST[result], np.inf, scale)
        # Each part of a complex number may be off by as much.
        limit = ulp * spacing(scale, component(result)) * (2**0.5 if result in COMPLEX_DTYPES else 1)
        if row.overflow == "product":
            # A first product below the normal numbers has lost bits, which the next step makes larger.
            step = component(result) if component(result) == "float64" else "float32"
            lost = np.where(first < _SMALLEST[step], spacing(np.zeros(()), step), 0.0)
            limit = limit + (lost * operands[2] if row.base_name == "addcmul" else lost / operands[2])
        # A term that overflows may meet an infinity of the other sign: nothing is promised there.
        return np.asarray(np.where(scale > largest, np.inf, limit))


def _half_trunc(operator: str, arrays: Sequence[Array | None], dtype: str, numbers: dict[str, Any]) -> Any:
    """A half float quotient may be rounded to half or to float32 before it is cut."""
    with np.errstate(all="ignore"):
        a, b = (v.astype(np.float32) for v in _operands(operator, arrays, dtype, numbers)[:2])
        rounded, wide = (cast(np.trunc(q.astype(np.float64)), dtype) for q in (cast(a / b, dtype), a / b))
        return np.asarray(np.nan_to_num(np.abs(rounded.astype(np.float64) - wide), posinf=0, neginf=0))


def zero_sign_is_free(operator: str) -> bool:
    """Return whether the sign of a zero result is nobody's business."""
    return operators.load()[operator].signed_zero == "free"


def spacing(magnitude: Array, dtype: str) -> Any:
    """The distance between neighbours of a real float dtype at ``magnitude`` (0 where it is not finite)."""
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    lowest = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}[dtype]
    finite = np.where(np.isfinite(magnitude), magnitude, 0).astype(np.longdouble)
    _, exponent = np.frexp(finite)
    exponent = np.where(finite == 0, lowest, np.maximum(exponent - 1, lowest))
    return np.asarray(np.where(np.isfinite(magnitude), np.ldexp(np.longdouble(1), exponent - digits), 0))


def _evaluate(operator: str, base: str, operands: list[Any], dtype: str, numbers: dict[str, Any]) -> Any:
    if dtype in FLOATS and (operator in NATIVE or base in NATIVE):
        return NATIVE[operator if operator in NATIVE else base](dtype, *operands)
    if dtype in COMPLEX_DTYPES and base in _BY_PARTS:
        return by_parts(NATIVE[base], dtype, *operands)
    if dtype in COMPLEX_DTYPES:
        return _formula(COMPLEX, base, dtype)(*[_widen(v, dtype) for v in operands])
    if dtype in FLOATS:
        if base in ("add", "sub", "rsub") and numbers.get("alpha", 1) == 1 and dtype == "float64":
            return WIDE[base](*operands[:2], np.float64(1))
        if base in EXACT:
            kind = np.float64
            return EXACT[base](*[_as(v, kind) for v in operands])
        return _formula(WIDE, base, dtype)(*[_widen(v, dtype) for v in operands])
    return _formula(BOOLEAN if dtype == "bool" else INTEGER, base, dtype)(*operands)


def _formula(table: Any, base: str, dtype: str) -> Any:
    if base not in table:
        raise LookupError(f"no oracle for operator {base} on {dtype}")
    return table[base]


def _widen(value: Any, dtype: str) -> Any:
    return _as(value, _WIDER[dtype])


def _as(value: Any, kind: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype == np.bool_:
        return value
    return value.astype(kind)


@cache
def _arguments(operator: str) -> tuple[Argument, ...]:
    return parse(str(operators.load()[operator].schema)).arguments


def _operands(operator: str, arrays: Sequence[Array | None], dtype: str, numbers: dict[str, Any]) -> list[Any]:
    left = iter(arrays)
    operands: list[Any] = []
    unknown = set(numbers) - {argument.name for argument in _arguments(operator)}
    if unknown:
        raise LookupError(f"{operator} has no argument {', '.join(sorted(unknown))}")
    for argument in _arguments(operator):
        if argument.type.startswith("Tensor"):
            array = next(left, None)
            as_it_is = array is None or argument.name == "condition"
            operands.append(array if as_it_is else cast(np.asarray(array), dtype))
        else:
            value: Any = numbers[argument.name] if argument.name in numbers else argument.default_value  # noqa: SIM401
            operands.append(value if argument.name in _PLAIN or value is None else number(value, dtype))
    return operands


def number(value: complex | float | bool, dtype: str) -> Any:
    """A Python number as an operand of a computation in ``dtype`` (0-dim; for half floats a float32)."""
    target = numpy_dtype(dtype if dtype not in ("float16", "bfloat16") else "float32")
    if target.kind in "iub" and not isinstance(value, complex):
        return np.array(wrap(int(value), target), dtype=target)
    with np.errstate(over="ignore"):
        return np.array(value, dtype=np.complex128 if target.kind == "c" else np.float64).astype(target)


def _terms(base: str, operands: list[Any]) -> Any:
    """The largest of the terms that are added up (of absolute values)."""
    if base in ("add", "sub"):
        a, b, alpha = operands
        return np.maximum(a, alpha * b)
    if base == "rsub":
        a, b, alpha = operands
        return np.maximum(b, alpha * a)
    if base == "lerp":
        a, b, weight = operands
        return np.maximum(a, weight * (a + b))
    a, b, c, value = operands
    return np.maximum(a, value * b * c if base == "addcmul" else value * b / c)
