"""Calls that no oracle judges, and elements that it leaves open: the rows of the operator table name all of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import DType, numpy_dtype
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.case import TensorCase, default_strides
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.coverage import swept
from gaugeblock_conformance.operators.drawing import draw
from gaugeblock_conformance.operators.judging import expected, judge
from gaugeblock_conformance.operators.plan import Plan
from gaugeblock_conformance.operators.wishes import CODE_LENGTH
from gaugeblock_conformance.oracles.agreement import expect_pointwise
from gaugeblock_conformance.oracles.judged import CONDITIONS
from gaugeblock_conformance.oracles.near import Near, OracleFailed, Refused, Undefined, Unjudged
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_spec import operators

_CALLS, _TRIES = 24, 2000
# Conditions that other tests look at: of pointwise rows, and of results that are read from old memory.
_ELSEWHERE = {*CONDITIONS, "old_memory"}


def _tensor(values: Any, dtype: str = "float32") -> TensorCase:
    array = np.asarray(values, numpy_dtype(dtype))
    return TensorCase(dtype, array.shape, default_strides(array.shape), literal=tuple(array.reshape(-1).tolist()))


def _call(operator: str, common: str = "float32", **arguments: Any) -> OperatorCall:
    return OperatorCall(operator, arguments, common)


_SQUARE = [[1.0, 0.0], [0.0, 0.5]]
_TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_AREAS = ("trapezoid", "trapz", "cumulative_trapezoid")
# Calls that meet a condition which drawn ones meet too seldom.
RARE: list[tuple[str, OperatorCall]] = [
    ("at_the_tolerance", _call("linalg_matrix_rank", self=_tensor(_SQUARE), tol=0.5)),
    ("at_the_tolerance", _call("linalg_matrix_rank.atol_rtol_float", self=_tensor(_SQUARE), atol=0.5)),
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
    *(("at_a_rounded_edge", _call(name, self=_tensor([0.0, 1 / 3, 1.0]), bins=3))
      for name in ("histc", "histogram.bin_ct")),
    ("nothing_computed", _call("chain_matmul", "bool", matrices=[_tensor([[True]], "bool")])),
    *(("no_elements", _call(name, self=_tensor([]))) for name in ("median", "nanmedian")),
    *(("no_signals", _call(f"fft_{kind}", self=_tensor(np.zeros((0, 2))), dim=-1)) for kind in _TRANSFORMS),
    *(("no_signals", _call(f"fft_{kind}{dims}", self=_tensor(np.zeros((0, 2, 2))), dim=(1, 2)))
      for kind in _TRANSFORMS for dims in "2n"),
    ("empty_matrix", _call("linalg_norm", self=_tensor(np.zeros((0, 3))), ord=1)),
    ("empty_matrix", _call("linalg_matrix_norm", self=_tensor(np.zeros((0, 3))), ord=1)),
    ("empty_matrix", _call("linalg_cond", self=_tensor(np.zeros((0, 0))))),
    ("empty_matrix", _call("linalg_cond.p_str", self=_tensor(np.zeros((0, 0))), p="fro")),
    ("empty_slices", _call("unique_dim", self=_tensor(np.zeros((2, 0))), dim=0)),
    ("empty_slices", _call("unique_consecutive", self=_tensor(np.zeros((2, 0))), dim=0)),
    *(("no_places", _call(f"{name}.x", y=_tensor([]), x=_tensor([]))) for name in _AREAS),
    *(("no_places", _call(f"{name}.dx", y=_tensor([]), dx=1)) for name in _AREAS),
    ("below_the_domain", _call("mvlgamma", self=_tensor([0.5, 3.0]), p=2)),
    ("below_the_domain", _call("special_multigammaln", self=_tensor([0.5, 3.0]), p=2)),
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
    """Planned calls of an operator, and one for each of some dtypes, listed or not."""
    plan = Plan(operator, (0, 0), _CALLS)
    random = np.random.default_rng(zlib.crc32(operator.encode()))
    calls = [draw(operator, random.bytes(CODE_LENGTH) + plan.next().code(operator)) for _ in range(_CALLS)]
    return (*calls, *(draw(operator, bytes(CODE_LENGTH), dtype, least=1) for dtype in ("bool", "int64", "float16")))


def _of_no_elements(operator: str) -> OperatorCall | None:
    """A call of which a tensor has no elements, if the samples have any."""
    random = np.random.default_rng(zlib.crc32(operator.encode()))
    calls = (draw(operator, random.bytes(CODE_LENGTH)) for _ in range(_TRIES))
    return next((call for call in calls if any(0 in case.sizes for case in call.tensors)), None)


def _met(call: OperatorCall) -> set[str]:
    """The conditions that a drawn call meets; expects of one that is refused that its row says so."""
    row = call.row
    refused, known = {case.when for case in row.errors}, row.half.refuses(call.values())
    try:
        found = set(_opened(call))
    except Refused as error:
        return set() if error.when in refused else {error.when}
    except Unjudged:
        return set() if known else {"half"}
    except OracleFailed:
        return {"an error"} if call.dtype in row.dtypes else set()
    return found


def test_what_drawn_calls_leave_open_stands_in_their_rows() -> None:
    rows, met = operators.load(), {(call.operator, name) for name, call in RARE}
    for operator in swept():
        for call in _drawn(operator):
            found = _met(call)
            assert found <= set(rows[operator].open), call
            met |= {(operator, name) for name in found}
    named = {(name, one) for name in swept() for one in rows[name].open if one not in _ELSEWHERE}
    for operator, name in sorted(named - met):
        call = _of_no_elements(operator) if name == "no_elements" else None
        if call is not None:
            met |= {(operator, one) for one in _opened(call)}
        elif rows[operator].family == "network":
            # What is said of a whole family may say nothing of a member.
            named.discard((operator, "no_elements"))
    assert named - met == set()


@pytest.mark.parametrize(("name", "call"), RARE, ids=[f"{name}-{call.operator}" for name, call in RARE])
def test_rare_conditions_are_met(name: str, call: OperatorCall) -> None:
    assert name in set(_opened(call))
    assert name in call.row.open


class Overflowing(ReferenceBackend):
    """The reference, one element of its cross products replaced."""

    def __init__(self, place: int, value: float) -> None:
        super().__init__()
        self.place, self.value = place, value

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "cross":
            super().call("fill_.Scalar", super().call("select.int", result, 0, self.place), self.value)
        return result


# 120000 + 800000 is beyond the largest half float, 65504; 2000 + 400 and 1600 - 1200 are not.
_FACTORS = ([-1.0, 300.0, 500.0], [4.0, -1600.0, 400.0])
_EXACT = [920000.0, 2400.0, 400.0]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 5.0])
def test_elements_whose_terms_overflow_may_be_anything(value: float) -> None:
    a, b = (_tensor(factor, "float16") for factor in _FACTORS)
    call = _call("cross", "float16", self=a, other=b, dim=0)
    assert expected(call).astype(np.float64).tolist() == _EXACT
    _judged(Overflowing(0, value), call)
    with pytest.raises(ConformanceError, match=r"wrong value of cross's result at \(1,\): further"):
        _judged(Overflowing(1, value), call)


def test_an_infinite_operand_does_not_make_a_result_anything() -> None:
    a, b = (_tensor(factor, "float16") for factor in ([np.inf, 1.0, 2.0], [1.0, 1.0, 1.0]))
    call = _call("cross", "float16", self=a, other=b, dim=0)
    with pytest.raises(ConformanceError, match=r"wrong value of cross's result at \(2,\)"):
        _judged(Overflowing(2, np.nan), call)


def _judged(backend: ReferenceBackend, call: OperatorCall) -> None:
    s = Session(backend, QUICK)
    positional, keywords = call.bind(s.build)
    judge(s, call, s.call(call.operator, *positional, **keywords))


@pytest.mark.parametrize("wrong", [True, False])
def test_only_elements_below_the_domain_may_be_anything(wrong: bool) -> None:
    """Of x = 0.5 the logarithm of the gamma function of two dims is not defined, of 3 it is that of 2 Γ(2.5) √π."""
    call = _call("mvlgamma", self=_tensor([0.5, 3.0]), p=2)
    want = expected(call)
    assert want.open["below_the_domain"].tolist() == [True, False]
    assert abs(float(want.value[1]) - 1.5501949939575) < 1e-9
    s = Session(ReferenceBackend(), QUICK)
    y = s.tensor([7.0, 1.0 if wrong else 1.550195])
    if wrong:
        with pytest.raises(ConformanceError, match=r"at \(1,\)"):
            judge(s, call, y)
    else:
        judge(s, call, y)


def test_a_complex_logarithm_may_be_any_of_its_values() -> None:
    call = _call("logcumsumexp", "complex64", self=_tensor([4j, 4j], "complex64"), dim=0)
    s = Session(ReferenceBackend(), QUICK)
    turn = 2 * np.pi
    for first, second in ((4, 4), (4 - turn, 4), (4 + turn, 4 - turn)):
        judge(s, call, s.tensor([complex(0, first), complex(np.log(2), second)], "complex64"))
    with pytest.raises(ConformanceError, match="the exponential of the result is their sum"):
        judge(s, call, s.tensor([4j, complex(np.log(2), -4)], "complex64"))


def test_a_density_is_as_close_as_its_division_is_rounded() -> None:
    """The nearest float32 to 1 / 14 is 3e-9 away from it."""
    call = _call("histogram.bin_ct", self=_tensor([-6.0, 8.0] * 128), bins=1, density=True)
    s = Session(ReferenceBackend(), QUICK)
    edges = s.tensor([-6.0, 8.0])
    judge(s, call, (s.tensor([1 / 14]), edges))
    with pytest.raises(ConformanceError, match="further from the exact result"):
        judge(s, call, (s.tensor([1 / 14 + 1e-6]), edges))


def test_a_density_of_nothing_is_not_a_number() -> None:
    call = _call("histogram.bins_tensor", self=_tensor([]), bins=_tensor([0.0, 1.0, 3.0]), density=True)
    s = Session(ReferenceBackend(), QUICK)
    edges = s.tensor([0.0, 1.0, 3.0])
    judge(s, call, (s.tensor([np.nan, np.nan]), edges))
    with pytest.raises(ConformanceError, match="wrong value"):
        judge(s, call, (s.tensor([0.0, np.nan]), edges))


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (_call("unique_dim", self=_tensor(np.zeros((0, 3))), dim=0, return_counts=True), [(0, 3), (0,), (0,)]),
        (_call("unique_consecutive", self=_tensor(np.zeros((0, 3))), return_inverse=True, return_counts=True),
         [(0,), (0, 3), (0,)]),
        (_call("linalg_matrix_norm.str_ord", self=_tensor(np.zeros((2, 0, 3))), ord="nuc"), [(2,)]),
        (_call("fft_rfft", self=_tensor(np.zeros((3, 0))), n=2), [(3, 2)]),
        (_call("quantile", self=_tensor([1.0]), q=_tensor([])), [(0,)]),
        (_call("corrcoef", self=_tensor(np.zeros((0, 3)))), [(0, 0)]),
    ],
    ids=lambda value: value.operator if isinstance(value, OperatorCall) else "",
)  # fmt: skip
def test_results_of_no_elements_are_judged(call: OperatorCall, want: list[tuple[int, ...]]) -> None:
    found = expected(call)
    parts = found if isinstance(found, list | tuple) else [found]
    assert [np.shape(part.value if isinstance(part, Near) else part) for part in parts] == want


def test_a_correlation_of_single_observations_is_not_a_number() -> None:
    found = expected(_call("corrcoef", self=_tensor([[3.0], [2.0]])))
    assert np.isnan(found.value).all() and found.value.shape == (2, 2)
    assert not found.open["no_variance"].any()


def test_powers_of_zero_without_a_value_may_be_anything() -> None:
    exponents = [-6 + 2j, 1 + 1j, 0j, 3j]
    call = _call("float_power.Scalar", "complex64", self=0, exponent=_tensor(exponents, "complex64"))
    assert expected(call).free.tolist() == [True, False, True, True]
    s, operands = Session(ReferenceBackend(), QUICK), (np.zeros(4, np.complex64), np.array(exponents, np.complex64))
    expect_pointwise(s, s.tensor([np.nan, 0, 1, np.inf], "complex64"), "pow.Tensor_Tensor", operands, "complex64")
    with pytest.raises(ConformanceError, match="wrong value"):
        expect_pointwise(s, s.tensor([0, 1, 1, 1], "complex64"), "pow.Tensor_Tensor", operands, "complex64")


def test_a_matrix_at_the_tolerance_leaves_the_others_of_its_batch_judged() -> None:
    batch = _tensor([_SQUARE, [[1.0, 0.0], [0.0, 2.0]]])
    ranks = expected(_call("linalg_matrix_rank", self=batch, tol=0.5))
    assert ranks.free.tolist() == [True, False] and ranks.value[1] == 2
    other = _tensor([_SQUARE, [[1.0, 0.0], [0.0, 4.0]]])
    inverses = expected(_call("linalg_pinv", self=other, rcond=0.5))
    assert inverses.free.all(axis=(1, 2)).tolist() == [True, False]
    assert inverses.value[1].tolist() == [[0.0, 0.0], [0.0, 0.25]]
    s = Session(ReferenceBackend(), QUICK)
    call = _call("linalg_matrix_rank", self=batch, tol=0.5)
    judge(s, call, s.tensor([7, 2], "int64"))
    with pytest.raises(ConformanceError, match="wrong value"):
        judge(s, call, s.tensor([7, 1], "int64"))
