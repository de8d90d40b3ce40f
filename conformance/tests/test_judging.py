"""Error bounds of sums: as many units as there are terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import Array, UnsupportedDType
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK, STANDARD
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.operators import judging
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.judging import judge
from gaugeblock_conformance.runner.execute import Scope, run_requirement
from gaugeblock_conformance.session import ConformanceError, Session


def _filled(*sizes: int, value: float, dtype: str = "float64") -> TensorCase:
    """A tensor of one value, so that each addition of a long sum errs in the same direction."""
    return TensorCase(dtype, sizes, (0,) * len(sizes), literal=(value,))


def _one_by_one(start: float, term: float, count: int) -> float:
    for _ in range(count):
        start += term
    return start


ADDBMM = OperatorCall(
    "addbmm",
    {"self": _filled(1, 1, value=10.0), "batch1": _filled(5, 1, 5, value=-1.5), "batch2": _filled(5, 5, 1, value=0.1),
     "beta": 2.0, "alpha": 1},
    "float64",
)
MEAN = OperatorCall("mean", {"self": _filled(200, value=0.1)}, "float64")
SUM = OperatorCall("sum", {"self": _filled(200, value=0.1)}, "float64")
CUMSUM = OperatorCall("cumsum", {"self": _filled(40, value=0.1), "dim": 0}, "float64")


def _judge(call: OperatorCall, result: Array) -> None:
    s = Session(NumpyBackend("cpu"))
    judge(s, call, s.tensor(np.asarray(result)))


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (ADDBMM, np.full((1, 1), _one_by_one(20.0, -1.5 * 0.1, 25))),
        (SUM, np.asarray(_one_by_one(0.0, 0.1, 200))),
        (MEAN, np.asarray(_one_by_one(0.0, 0.1, 200) / 200)),
        (CUMSUM, np.cumsum(np.full(40, 0.1))),
    ],
    ids=["addbmm", "sum", "mean", "cumsum"],
)
def test_terms_may_be_added_one_after_the_other(call: OperatorCall, result: Array) -> None:
    _judge(call, result)


@pytest.mark.parametrize(
    ("call", "result", "units"),
    [(ADDBMM, np.full((1, 1), 16.25), 27), (SUM, np.asarray(20.0), 201), (MEAN, np.asarray(0.1), 201)],
    ids=["addbmm", "sum", "mean"],
)
def test_more_than_a_unit_a_term_is_refused(call: OperatorCall, result: Array, units: int) -> None:
    scale = 23.75 if call is ADDBMM else result.max()
    with pytest.raises(ConformanceError, match="further from the exact result"):
        _judge(call, result + units * np.spacing(scale))


def test_the_first_of_a_scan_is_exact_to_the_units_of_its_row() -> None:
    result = np.cumsum(np.full(40, 0.1))
    result[0] += 10 * np.spacing(0.1)
    with pytest.raises(ConformanceError, match="further from the exact result"):
        _judge(CUMSUM, result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("addmm", {"self": (1, 1), "mat1": (1, 1), "mat2": (1, 1)}),
        ("addmv", {"self": (1,), "mat": (1, 1), "vec": (1,)}),
        ("addr", {"self": (1, 1), "vec1": (1,), "vec2": (1,)}),
    ],
)
def test_alpha_may_be_multiplied_with_either_operand_first(
    operator: str, operands: dict[str, tuple[int, ...]], dtype: str
) -> None:
    tiny = float(np.finfo(dtype).smallest_subnormal)
    values = (0.0, 3 * tiny, 1000.0)
    given = {
        name: _filled(*sizes, value=value, dtype=dtype)
        for (name, sizes), value in zip(operands.items(), values, strict=True)
    }
    call = OperatorCall(operator, {**given, "beta": 1, "alpha": 0.5}, dtype)
    for right in (1500 * tiny, 2000 * tiny, 1000 * tiny):
        _judge(call, np.full(operands["self"], right, dtype))
    with pytest.raises(ConformanceError, match="further from the exact result"):
        _judge(call, np.full(operands["self"], 4000 * tiny, dtype))


def test_an_outer_product_with_alpha_rounds_in_its_own_dtype() -> None:
    tiny = float(np.finfo(np.float16).smallest_subnormal)
    vectors = {"vec1": _filled(1, value=3 * tiny, dtype="float16"), "vec2": _filled(1, value=1000.0, dtype="float16")}
    for operator, given in (("addr", vectors), ("addmm", {"mat1": _filled(1, 1, value=3 * tiny, dtype="float16"),
                                                          "mat2": _filled(1, 1, value=1000.0, dtype="float16")})):
        zero = {"self": _filled(1, 1, value=0.0, dtype="float16")}
        call = OperatorCall(operator, {**zero, **given, "beta": 1, "alpha": 0.5}, "float16")
        _judge(call, np.full((1, 1), 1500 * tiny, np.float16))
        rounded = np.full((1, 1), 2000 * tiny, np.float16)
        if operator == "addr":
            _judge(call, rounded)
        else:
            with pytest.raises(ConformanceError, match="further from the exact result"):
                _judge(call, rounded)


POLE = OperatorCall("special_zeta.other_scalar", {"self": _filled(2, value=1.0), "other": 2}, "float64")
SUM_OF_INFINITIES = OperatorCall("sum", {"self": _filled(2, value=np.inf)}, "float64")


@pytest.mark.parametrize("call", [POLE, SUM_OF_INFINITIES], ids=["zeta", "sum"])
def test_infinities_are_exact(call: OperatorCall) -> None:
    result = np.full(2 if call is POLE else (), np.inf)
    _judge(call, result)
    for wrong in (0.0, -np.inf, np.finfo(np.float64).max, np.nan):
        with pytest.raises(ConformanceError, match="wrong value"):
            _judge(call, np.full_like(result, wrong))


def test_an_infinite_complex_result_is_not_finite() -> None:
    call = OperatorCall("sum", {"self": _filled(2, value=complex(np.inf, 1.0), dtype="complex128")}, "complex128")
    _judge(call, np.array(complex(np.inf, 2.0)))
    with pytest.raises(ConformanceError, match="wrong value"):
        _judge(call, np.array(complex(1e300, 2.0)))


def test_no_backend_is_blamed_for_an_oracle_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*operands: Array) -> Array:
        raise TypeError("an operand of another kind")

    monkeypatch.setattr(judging, "oracle_of", lambda operator: (failing, False))
    asked = "operators/every-operator-gives-what-its-row-says"
    row = run_requirement(ReferenceBackend(), asked, QUICK, 0, scope=Scope(only=("kron",)))
    assert (row["status"], row["failure"]) == ("partial", None)
    assert row["unsupported"] == {"kron": "error of the suite: TypeError: an operand of another kind"}


class _WithoutInt64(ReferenceBackend):
    """``abs`` has no kernel for int64."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator.partition(".")[0] in ("abs", "abs_") and self.dtype(args[0]) == "int64":
            try:
                raise NotImplementedError("no kernel for 'Long'")
            except NotImplementedError as error:
                raise UnsupportedDType(operator, "no kernel takes Long") from error
        return super().call(operator, *args, **kwargs)


def test_a_dtype_that_a_device_lacks_breaks_one_requirement() -> None:
    backend, scope = _WithoutInt64(), Scope(only=("abs",))
    row = run_requirement(backend, "operators/declared-dtypes-are-taken", STANDARD, 0, scope=scope)
    assert (row["status"], row["subresults"]) == ("failed", {"abs": "failed"})
    assert row["failure"]["message"] == "abs raised NotImplementedError: no kernel for 'Long'"
    assert "abs(x1)" in row["failure"]["snippet"]
    for other in ("operators/every-operator-gives-what-its-row-says", "operators/other-dtypes-are-refused",
                  "iteration/strided-inputs-give-the-same-values"):  # fmt: skip
        assert run_requirement(backend, other, QUICK, 0, scope=scope)["failure"] is None
