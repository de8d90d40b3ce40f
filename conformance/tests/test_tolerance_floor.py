"""The error bounds must be tight: zeros, a constant and the input itself are no result of any operator."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_conformance import values
from gaugeblock_conformance.backend import Array, numpy_dtype
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.oracles.agreement import expect_pointwise
from gaugeblock_conformance.oracles.pointwise import compute_dtype, expected, operators_with_oracle, result_dtype
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_spec import operators

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COUNT = 60


def _elementary() -> list[tuple[str, str]]:
    """Operators of the table with a float result, by dtype."""
    rows = operators.load()
    return [
        (name, dtype)
        for name in operators_with_oracle()
        for dtype in _FLOATS
        if dtype in rows[name].dtypes and "Scalar" not in str(rows[name].schema) and result_dtype(name, dtype) == dtype
    ]


def _arrays(name: str, dtype: str) -> list[Array]:
    """Operands within the domain of the operator, of many sizes and both signs where it has them."""
    row = operators.load()[name]
    schema = str(row.schema)
    count = schema.count("Tensor ") + schema.count("Tensor? ")
    arrays = []
    for k in range(count):
        data = np.concatenate([values.table(dtype, kind)[k : k + 20].astype(np.float64) for kind in ("finite", "unit")])
        data = np.concatenate([data, values.table(dtype, "positive").astype(np.float64), np.linspace(1.1, 3.3, 7)])
        limits = list(row.domain.values())[k : k + 1]
        if limits:
            low = limits[0].low if limits[0].low is not None else -np.inf
            high = limits[0].high if limits[0].high is not None else np.inf
            data = data[(data >= low) & (data <= high) & ~np.isin(data, limits[0].exclude)]
        arrays.append(np.resize(np.roll(data, 3 * k), _COUNT).astype(numpy_dtype(dtype)))
    if name == "nan_to_num":
        arrays[0][::7] = np.nan
    if schema.count("condition"):
        arrays[0] = np.arange(_COUNT) % 3 == 0
    return arrays


def _numbers(name: str) -> dict[str, int | str]:
    return {"round.decimals": {"decimals": 1}, "div.Tensor_mode": {"rounding_mode": "floor"}}.get(name, {})


def _refused(name: str, dtype: str, arrays: list[Array], candidate: Array) -> bool:
    s = Session(NumpyBackend("cpu"))
    y = s.tensor(candidate)
    try:
        expect_pointwise(s, y, name, arrays, compute_dtype(name, dtype), **_numbers(name))
    except ConformanceError:
        return True
    return False


@pytest.mark.parametrize(("name", "dtype"), _elementary())
def test_wrong_results_are_refused(name: str, dtype: str) -> None:
    arrays = _arrays(name, dtype)
    want = expected(name, arrays, dtype, **_numbers(name))
    assert not _refused(name, dtype, arrays, want)
    finite = want[np.isfinite(want) & (want != 0)]
    assert _refused(name, dtype, arrays, np.zeros_like(want)), "zeros pass"
    assert _refused(name, dtype, arrays, np.full_like(want, finite[0])), "a constant passes"
    for array in arrays:
        if array.dtype == want.dtype:
            assert _refused(name, dtype, arrays, array), "the input itself passes"


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in _elementary() if pair[1] in ("float32", "float64")])
def test_relative_error_of_a_thousandth_is_refused(name: str, dtype: str) -> None:
    arrays = _arrays(name, dtype)
    want = expected(name, arrays, dtype, **_numbers(name))
    with np.errstate(all="ignore"):
        assert _refused(name, dtype, arrays, np.asarray(want * np.array(1.001, want.dtype)))


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in _elementary() if pair[1] in ("float32", "float64")])
def test_one_wrong_element_at_the_end_is_refused(name: str, dtype: str) -> None:
    arrays = _arrays(name, dtype)
    size = np.abs(expected(name, arrays, dtype, **_numbers(name)))
    last = np.flatnonzero((size > 0) & (size < 1000))[:1]
    arrays = [np.append(a[:50], a[last]) for a in arrays]
    want = expected(name, arrays, dtype, **_numbers(name))
    want[-1] += 1
    assert _refused(name, dtype, arrays, want)
