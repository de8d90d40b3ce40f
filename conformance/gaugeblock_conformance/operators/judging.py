"""What a call must give: dtypes by the rules of its row, elements by an oracle within the row's error bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array, DType, dtype_name, numpy_dtype
from ..oracles.conversion import cast, component
from ..oracles.making import Unfilled
from ..oracles.near import Claim, Near, OracleFailed, Such, Undefined, Unjudged
from ..oracles.pointwise import operators_with_oracle, spacing
from ..oracles.promotion import FLOAT, KIND, WIDTH_TWIN
from ..oracles.sums import TERMS
from ..oracles.totals import mean_square
from ..session import Handle, Session
from ..values import COMPLEX, FLOATS, HALVES, LARGEST
from .calls import OperatorCall, schema_arguments
from .nearness import dtype_of_kind, judge_near, judge_such
from .places import expect_places
from .tables import UNITS, oracle_of

# Numbers that terms are multiplied by: those of the absolute terms have no sign either.
_FACTORS = frozenset({"alpha", "beta"})
# Families whose rows convert to the dtype asked for before they add.
_CONVERTED = frozenset({"reduction", "scan", "sort"})


def expected(call: OperatorCall) -> Any:
    """What the oracle gives: an array, a Python value, or a list or tuple of arrays; for a pointwise row without one
    the sizes and dtype alone. Raises Unjudged where nothing is said of any element, LookupError for any other row
    without an oracle, OracleFailed where the oracle raises anything else."""
    if "expected" not in call.known:
        try:
            want = _evaluated(call, absolute=False)
        except Exception as error:
            if isinstance(error, Unjudged) or type(error) is LookupError:
                raise
            raise OracleFailed(call.operator, error) from error
        if isinstance(want, Near) and want.open and want.free.all() and want.free.size:
            raise Undefined(next(name for name, mask in want.open.items() if mask.any()))
        call.known["expected"] = want
    return call.known["expected"]


def _evaluated(call: OperatorCall, absolute: bool, ones: bool = False) -> Any:
    """Return what the oracle gives for the call; ``absolute`` for absolute values of its operands and factors, ``ones``
    for ones in their place."""
    found = oracle_of(call.operator)
    if found is None and call.row.family == "pointwise" and len(parse(call.row.schema).returns) == 1:
        sizes = np.broadcast_shapes(*[case.sizes for case in call.tensors])
        return Unfilled(sizes, result_dtype(call, np.zeros(0, numpy_dtype(call.dtype))))
    if found is None:
        raise LookupError(f"no oracle for {call.operator}")
    oracle, wide = found
    if "no_elements" in call.row.open and any(0 in case.sizes for case in call.tensors):
        raise Undefined("no_elements")
    given = call.values()
    if call.dtype in HALVES and call.row.half.refuses(given):
        raise Unjudged("half floats have no such result")
    if absolute:
        oracle = UNITS.get(call.operator) or TERMS.get(call.operator, oracle)
    values = [_operand(call, name, value, wide) for name, value in given.items()]
    if absolute and call.operator not in UNITS:
        values = [abs(v) if name in _FACTORS else _absolute(v) for name, v in zip(given, values, strict=True)]
    if ones:
        values = [1 if name in _FACTORS else _ones(v) for name, v in zip(given, values, strict=True)]
    lift = _is_lifted(call)
    if lift:
        values = [v.reshape(1) if isinstance(v, np.ndarray) and not v.ndim else v for v in values]
    with np.errstate(all="ignore"):
        result = oracle(*values)
    if not lift:
        return result
    return tuple(_dropped(v) for v in result) if isinstance(result, tuple) else _dropped(result)


def _is_lifted(call: OperatorCall) -> bool:
    return call.row.dimless == "lifted" and bool(call.tensors) and not call.tensors[0].sizes


def _dropped(result: Any) -> Any:
    if isinstance(result, Near):
        open_ = {name: _dropped(mask) for name, mask in result.open.items()}
        return replace(result, value=_dropped(result.value), scale=_dropped(result.scale), open=open_)
    if isinstance(result, Such):
        return replace(result, sizes=tuple(() if n == (1,) else n for n in result.sizes), claims=_lifted(result))
    return result.reshape(()) if isinstance(result, np.ndarray) and result.shape == (1,) else result


def _lifted(such: Such) -> Callable[..., Iterable[Claim]]:
    """The claims of results that have lost their only dim."""
    return lambda *found: such.claims(*[y.reshape(sizes) for y, sizes in zip(found, such.sizes, strict=True)])


def _operand(call: OperatorCall, name: str, value: Any, wide: bool) -> Any:
    if isinstance(value, list):
        return [_operand(call, name, v, wide) for v in value]
    if not isinstance(value, np.ndarray):
        number = isinstance(value, int | float | complex) and not isinstance(value, bool)
        scalar = number and _scalar_type(call.operator, name)
        dtype = call.tensors[0].dtype if call.row.promotion == "same" and call.tensors else call.dtype
        if call.row.promotion == "int_to_float" and KIND[dtype] < FLOAT:
            dtype = "float32"
        whole = KIND[dtype] < FLOAT or KIND[call.dtype] < FLOAT
        to_cast = wide and scalar and whole and call.row.result != "double"
        return widened(cast(np.asarray(value), dtype)) if to_cast else value
    if name in _promoted(call):
        to_float = call.row.promotion == "int_to_float" and KIND[call.dtype] < FLOAT
        value = cast(value, "float32" if to_float else call.dtype)
    asked = call.arguments.get("dtype")
    if isinstance(asked, DType) and value.dtype.kind != "b" and call.row.family in _CONVERTED:
        value = cast(value, asked)
    return widened(value) if wide else value


def _is_wide(operator: str) -> bool:
    """Return whether the oracle computes wide."""
    found = oracle_of(operator)
    return found is not None and found[1]


@cache
def _scalar_type(operator: str, name: str) -> bool:
    return any(a.name == name and a.type == "Scalar" for a in schema_arguments(operator))


def _promoted(call: OperatorCall) -> list[str]:
    """Operands that are converted to the common dtype first."""
    if call.row.promotion not in ("default", "int_to_float"):
        return []
    return [name for name, value in call.arguments.items() if not isinstance(value, int | float | complex | bool)]


def widened(array: Array) -> Array:
    """Floats as long double, complex numbers as pairs of it, everything else as it is."""
    name = dtype_name(array.dtype)
    if name in COMPLEX:
        return array.astype(np.clongdouble)
    return array.astype(np.longdouble) if name in FLOATS else array


def result_dtype(call: OperatorCall, want: Array, place: int = 0) -> str:
    """The dtype of the result ``want``, which is the one at ``place`` where there are several."""
    kind, dtype = call.row.result, call.dtype
    asked = call.arguments.get("dtype")
    first = call.tensors[0].dtype if call.tensors else ""
    if isinstance(asked, DType):
        return component(asked) if kind == "real" else str(asked)
    if call.arguments.get("out_int32"):
        return "int32"
    if call.row.name == "view_as_complex":
        return dtype_name(want.dtype)
    if kind in ("bool", "int64"):
        return kind
    if kind == "double":
        return "complex128" if dtype in COMPLEX else "float64"
    if kind == "complex":
        return WIDTH_TWIN.get(dtype if KIND[dtype] >= FLOAT else "float32", dtype)
    if kind == "value_index":
        return "int64" if place else first
    if kind == "real":
        return dtype if want.dtype.kind == "c" else component(dtype)
    if kind == "truth":
        return "uint8" if dtype == "uint8" else "bool"
    if kind == "sum":
        return "int64" if KIND[dtype] < FLOAT else dtype
    if kind == "input":
        if place and want.dtype.kind in "bi":
            return dtype_name(want.dtype)
        return call.row.half.factors if first in HALVES and place and call.row.half.factors else first
    if kind == "argument" and first:
        return call.arguments["other"].dtype if "other" in call.arguments else first
    if kind in ("float", "inferred", "argument"):
        return "float32" if want.dtype == np.longdouble else dtype_name(want.dtype)
    return "float32" if call.row.promotion == "int_to_float" and KIND[dtype] < FLOAT else dtype


def judge(s: Session, call: OperatorCall, result: Any) -> None:
    """Expect ``result`` to be what the row of the operator says."""
    want = expected(call)
    if isinstance(want, Such):
        judge_such(s, call, result, want, widened)
    elif isinstance(want, list | tuple):
        parts = s.parts(result, len(want))
        for place, (part, array) in enumerate(zip(parts, want, strict=True)):
            if array is not None:
                judge_one(s, call, part, array, place, parts[0])
    elif isinstance(want, Unfilled):
        s.expect_shape(result, want.sizes)
        asked = call.arguments.get("dtype")
        s.expect_dtype(result, str(asked) if isinstance(asked, DType) else want.dtype or call.tensors[0].dtype)
    elif isinstance(want, np.ndarray | np.generic | Near):
        judge_one(s, call, result, want, 0, result)
    else:
        s.expect(result, want, f"{call.operator}'s answer")


def judge_one(s: Session, call: OperatorCall, y: Handle, want: Any, place: int, values: Handle) -> None:
    """Expect one tensor of the result, ``values`` being the first."""
    scale = None
    if isinstance(want, Near) and want.units is None:
        want, scale = want.value, np.asarray(want.scale)
    if isinstance(want, Near):
        named = dtype_of_kind(call, want.kind) if want.kind else result_dtype(call, np.asarray(want.value), place)
        judge_near(s, y, want, named)
        return
    want = np.asarray(want)
    dtype = result_dtype(call, want, place)
    s.expect_shape(y, want.shape)
    s.expect_dtype(y, dtype)
    if not s.has_data:
        return
    row, ulp = call.row, call.row.ulp.get(dtype)
    free = row.signed_zero == "free" or dtype in COMPLEX
    if row.ties == "any" and place == (row.result == "value_index"):
        expect_places(s, call, y, want)
    elif dtype in (*FLOATS, *COMPLEX) and want.dtype.kind in "fc" and ulp is None and _is_wide(row.name):
        # Without a bound of the row, a few roundings of the largest sum of terms.
        terms = _evaluated(call, absolute=True)
        scale = np.maximum(np.abs(terms[place] if isinstance(terms, tuple) else terms), np.abs(want))
        judge_near(s, y, Near(want, scale), dtype)
    elif not ulp or dtype not in (*FLOATS, *COMPLEX) or want.dtype.kind not in "fc":
        s.expect_values(y, cast(want, dtype), signed_zero=not free)
    elif row.ulp_scale == "result":
        s.expect_values(y, cast(want, dtype), ulp=ulp, signed_zero=False)
    else:
        s.expect_close(y, want, *_bound(call, want, dtype, ulp, place, scale))


def _bound(
    call: OperatorCall, want: Array, dtype: str, ulp: float, place: int, largest_term: Array | None
) -> tuple[Array, Array]:
    """``ulp`` units of the sum of all terms' absolute values, which is the operator on absolute values, or of the
    largest of them; and where numbers overflow on the way, so that the result may be anything."""
    if call.row.ulp_scale == "terms":
        largest = max((_largest_of(case.array) for case in call.tensors), default=0.0)
        scale = np.maximum(np.abs(want), largest)
        if largest_term is not None:
            scale = np.maximum(scale, largest_term)
    else:
        sums = _squares(call) if call.row.base_name.startswith(("var", "std")) else _evaluated(call, absolute=True)
        scale = np.maximum(np.abs(sums[place] if isinstance(sums, tuple) else sums), np.abs(want))
    with np.errstate(all="ignore"):
        units = np.maximum(ulp, _terms(call, want, place)) if _rounds_each_addition(call.row, dtype) else ulp
        limit = units * spacing(scale, component(dtype)) * (2**0.5 if dtype in COMPLEX else 1)
        limit = limit + _lost_by_alpha(call, want, dtype, place)
        # The sum that a mean is taken of is not its unit, but overflows as well (erratum S-43).
        if call.row.overflow == "sum":
            total = _total(call)
            scale = np.maximum(scale, total if total > LARGEST[component(dtype)] else 0.0)
        over = np.asarray(scale > LARGEST[component(dtype)])
        return np.asarray(np.where(over, np.inf, limit)), over & np.isfinite(scale)


def _rounds_each_addition(row: operators.Operator, dtype: str) -> bool:
    """Return whether each addition of a sum may round. Half floats are added in float32 and rounded once."""
    return row.ulp_scale == "sum" and dtype not in HALVES


def _terms(call: OperatorCall, want: Array, place: int) -> Array:
    """Return the number of terms in the sum of each element: the result of the operator on ones, or, for a reduction,
    the size of its largest operand divided by the size of the result."""
    if call.row.family == "reduction" or call.operator in UNITS:
        return np.asarray(max(case.array.size for case in call.tensors) / max(want.size, 1))
    counts = _evaluated(call, absolute=True, ones=True)
    return np.asarray(np.abs(counts[place] if isinstance(counts, tuple) else counts))


def _lost_by_alpha(call: OperatorCall, want: Array, dtype: str, place: int) -> Array | float:
    """Return how far a matrix product may be off because an operand was multiplied by alpha first: a subnormal product
    has lost bits, and the other operand makes that larger. An outer product is computed in its own dtype."""
    if call.row.family != "linalg" or "alpha" not in call.arguments:
        return 0.0
    own = component(dtype)
    smallest = spacing(np.zeros(()), own if own == "float64" or call.row.base_name == "addr" else "float32")
    largest = max(_largest_of(case.array) for case in call.tensors)
    return np.asarray(smallest * largest * _terms(call, want, place) * (2 if dtype in COMPLEX else 1))


def _total(call: OperatorCall) -> float:
    """The sum of the absolute values of all elements that are numbers."""
    return float(np.nansum(np.abs(widened(call.tensors[0].array)).astype(np.float64)))


def _squares(call: OperatorCall) -> Any:
    """The units of a variance and of the mean beside it."""
    x = widened(call.tensors[0].array)
    x = x if x.ndim else x.reshape(1)
    given = call.values()
    correction = given.get("correction", int(given.get("unbiased", True)))
    arguments = (given.get("dim"), 1 if correction is None else correction, bool(given.get("keepdim")))
    units = tuple(mean_square(root, x, *arguments) for root in (call.row.base_name.startswith("std"), True))
    units = tuple(unit if call.tensors[0].sizes else unit.reshape(()) for unit in units)
    return units if call.row.base_name.endswith("mean") else units[0]


def _largest_of(array: Array) -> float:
    with np.errstate(all="ignore"):
        sizes = np.abs(widened(array)).astype(np.float64)
        return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def _ones(value: Any) -> Any:
    if isinstance(value, list):
        return [_ones(v) for v in value]
    return np.ones_like(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fc" else value


def _absolute(value: Any) -> Any:
    if isinstance(value, list):
        return [_absolute(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return np.abs(value)
    return abs(value) if isinstance(value, float | complex) else value


@cache
def judged_operators() -> tuple[str, ...]:
    """Rows that :func:`judge` can judge."""
    elsewhere = operators_with_oracle()
    return tuple(name for name in operators.load() if name not in elsewhere and oracle_of(name) is not None)
