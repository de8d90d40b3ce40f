"""Calls that no oracle judges, and elements that it leaves open: the rows of the operator table name all of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import DType, numpy_dtype
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.coverage import swept
from gaugeblock_conformance.operators.drawing import draw
from gaugeblock_conformance.operators.judging import expected
from gaugeblock_conformance.operators.plan import Plan
from gaugeblock_conformance.operators.wishes import CODE_LENGTH
from gaugeblock_conformance.oracles.judged import CONDITIONS
from gaugeblock_conformance.oracles.near import Near, Refused, Undefined, Unjudged
from gaugeblock_spec import operators

_CALLS = 24
# Conditions that other tests look at: of pointwise rows, and of results that are read from old memory.
_ELSEWHERE = {*CONDITIONS, "old_memory"}


def _tensor(values: Any, dtype: str = "float32") -> TensorCase:
    array = np.asarray(values, numpy_dtype(dtype))
    strides = tuple(step // array.itemsize for step in np.ascontiguousarray(array).strides)
    return TensorCase(dtype, array.shape, strides, literal=tuple(array.reshape(-1).tolist()))


def _call(operator: str, dtype: str = "float32", **arguments: Any) -> OperatorCall:
    return OperatorCall(operator, arguments, dtype)


_SQUARE = [[1.0, 0.0], [0.0, 0.5]]
# Calls that meet a condition which drawn ones meet too seldom.
RARE: list[tuple[str, OperatorCall]] = [
    ("at_the_tolerance", _call("linalg_matrix_rank", self=_tensor(_SQUARE), tol=0.5)),
    ("at_the_tolerance", _call("linalg_matrix_rank.atol_rtol_float", input=_tensor(_SQUARE), atol=0.5)),
    ("at_the_tolerance", _call("linalg_matrix_rank.atol_rtol_tensor", input=_tensor(_SQUARE), atol=_tensor(0.5))),
    ("at_the_tolerance", _call("linalg_pinv", self=_tensor(_SQUARE), rcond=0.5)),
    ("at_the_tolerance", _call("pinverse", self=_tensor(_SQUARE), rcond=0.5)),
    ("at_the_tolerance", _call("linalg_pinv.atol_rtol_float", self=_tensor(_SQUARE), rtol=0.5)),
    ("at_the_tolerance", _call("linalg_pinv.atol_rtol_tensor", self=_tensor(_SQUARE), rtol=_tensor(0.5))),
    ("no_variance", _call("corrcoef", self=_tensor([[3.0, 3.0], [1.0, 2.0]]))),
    ("cancelling_squares", _call("rms_norm", "complex64", input=_tensor([1, 1j], "complex64"), normalized_shape=(2,),
                                 eps=0.5)),
    ("cancelling_squares", _call("_fused_rms_norm", "complex64", input=_tensor([1, 1j], "complex64"),
                                 normalized_shape=(2,), eps=0.5)),
    ("another_element_size", _call("view_copy.dtype", self=_tensor([1.0, 2.0]), dtype=DType("float64"))),
    ("no_bins", _call("histogram.bins_tensor", self=_tensor([1.0]), bins=_tensor([0.0]))),
    ("nothing_computed", _call("chain_matmul", "bool", matrices=[_tensor([[True]], "bool")])),
    *(("no_elements", _call(name, self=_tensor([]))) for name in ("median", "nanmedian")),
    *(("no_signals", _call(name, self=_tensor(np.zeros((0, 2))), dim=-1))
      for name in ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft")),
    *(("no_signals", _call(f"fft_{name}{dims}", self=_tensor(np.zeros((0, 2, 2))), dim=(1, 2)))
      for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for dims in "2n"),
    *(("empty_matrix", _call(name, self=_tensor(np.zeros((0, 3))), ord=1)) for name in ("linalg_norm", "linalg_matrix_norm")),
    ("empty_matrix", _call("linalg_cond", self=_tensor(np.zeros((0, 0))))),
    ("empty_matrix", _call("linalg_cond.p_str", self=_tensor(np.zeros((0, 0))), p="fro")),
    ("empty_slices", _call("unique_dim", self=_tensor(np.zeros((2, 0))), dim=0)),
    ("empty_slices", _call("unique_consecutive", self=_tensor(np.zeros((2, 0))), dim=0)),
    *(("no_places", _call(f"{name}.{by}", "int32", y=_tensor([], "int32"), **{by: _tensor([], "int32") if by == "x" else 1}))
      for name in ("trapezoid", "trapz", "cumulative_trapezoid") for by in ("x", "dx")),
    *(("below_the_domain", _call(name, self=_tensor([0.5, 3.0]), p=2)) for name in ("mvlgamma", "special_multigammaln")),
]  # fmt: skip


def _opened(call: OperatorCall) -> Iterator[str]:
    """The conditions that a call meets; those of elements too."""
    try:
        with np.errstate(all="ignore"):
            want = expected(call)
    except Undefined as error:
        yield error.condition
        return
    for part in want if isinstance(want, list | tuple) else [want]:
        if isinstance(part, Near):
            yield from (name for name, mask in part.open.items() if mask.any())


@cache
def _drawn(operator: str) -> tuple[OperatorCall, ...]:
    """Planned calls of an operator, and one for each dtype, listed or not."""
    plan = Plan(operator, (0, 0), _CALLS)
    random = np.random.default_rng(zlib.crc32(operator.encode()))
    calls = [draw(operator, random.bytes(CODE_LENGTH) + plan.next().code(operator)) for _ in range(_CALLS)]
    return (*calls, *(draw(operator, bytes(CODE_LENGTH), dtype, least=1) for dtype in ("bool", "int64", "float16")))


def test_what_drawn_calls_leave_open_stands_in_their_rows() -> None:
    rows, met = operators.load(), {(call.operator, name) for name, call in RARE}
    for operator in swept():
        row = rows[operator]
        for call in _drawn(operator):
            try:
                found = set(_opened(call))
            except Refused as error:
                assert error.when in {case.when for case in row.errors}, call
            except Unjudged:
                assert row.half.refuses(call.values()), call
            except (ArithmeticError, AttributeError, TypeError, ValueError):
                assert call.dtype not in row.dtypes, call
            else:
                assert found <= set(row.open), call
                met |= {(operator, name) for name in found}
    named = {(name, one) for name, row in rows.items() for one in row.open if one not in _ELSEWHERE}
    assert named - met == set()


@pytest.mark.parametrize(("name", "call"), RARE, ids=[f"{name}-{call.operator}" for name, call in RARE])
def test_rare_conditions_are_met(name: str, call: OperatorCall) -> None:
    assert name in set(_opened(call))
    assert name in call.row.open
