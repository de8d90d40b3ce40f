"""An operand that is not built as asked is a verdict on building, and not on the operator called next."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gaugeblock_conformance import strategies as st
from gaugeblock_conformance.backend import Backend
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.building import Misbuilt, fault_of, kind_of
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.forall import forall
from gaugeblock_conformance.runner.execute import Scope, run_requirement
from gaugeblock_conformance.runner.preflight import check_adapter
from gaugeblock_conformance.runner.rows import Row
from gaugeblock_conformance.runner.run import Options, validate
from gaugeblock_conformance.runner.selection import Selection
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_reports import summary
from gaugeblock_spec import requirements as spec

BYTES = "as_strided builds other tensors than asked"
ROWS = "operators/every-operator-gives-what-its-row-says"
SOME = Scope((
    "add.Tensor", "bitwise_not", "cat", "clone", "flip", "gather", "gt.Tensor", "matmul", "neg", "roll", "sort", "sum",
    "tril", "where.self",
))  # fmt: skip


@pytest.fixture
def backend(fakes: Path) -> Callable[[str], Backend]:
    """Return a function that makes a backend which builds operands wrongly, and passes the check of its adapter."""

    def make(name: str) -> Backend:
        made: Backend = getattr(importlib.import_module("misbuilding_backends"), name)()
        assert check_adapter(made) is made
        return made

    return make


@forall(x=st.tensors("int64", layouts=st.WRITABLE))
def negates(s: Session, x: TensorCase) -> None:
    s.expect_values(s.call("neg", s.build(x)), -x.array)


def test_as_strided_is_blamed_for_operands(backend: Callable[[str], Backend]) -> None:
    with pytest.raises(Misbuilt) as caught:
        negates(Session(backend("BytesOfLongs"), QUICK))
    assert caught.value.cause == BYTES
    assert caught.value.message.startswith("as_strided builds another tensor than asked: sizes (")
    assert "neg" not in caught.value.snippet
    assert ".as_strided(" in caught.value.snippet


def test_no_operator_is_blamed(backend: Callable[[str], Backend]) -> None:
    row = run_requirement(backend("BytesOfLongs"), ROWS, QUICK, 0, scope=SOME)
    assert _causes(row) == {BYTES}
    assert row["status"] == "failed"
    assert set(row["subresults"].values()) <= {"passed", "skipped"}
    assert list(row["subresults"].values()).count("passed") > 7


def test_the_run_groups_them_under_one_cause_with_a_snippet_that_shows_it(fakes: Path, tmp_path: Path) -> None:
    chosen = tuple(name for name in spec.load() if name.startswith(("views/transpose", "views/reshape")))
    record = _run("misbuilding_backends:BytesOfLongs", chosen, tmp_path)
    broken = [row for row in record["requirements"] if row["status"] == "failed"]
    groups = summary.failures(record)
    assert len(broken) > 3
    assert [group.cause for group in groups] == [BYTES]
    assert groups[0].shown["snippet_checked"] is True, groups[0].shown["snippet_result"]


def test_the_operator_is_still_blamed_for_what_it_does(backend: Callable[[str], Backend]) -> None:
    row = run_requirement(backend("ForgetsToFlip"), ROWS, QUICK, 0, scope=SOME)
    assert {name for name, status in row["subresults"].items() if status == "failed"} == {"flip"}
    causes = {cause.partition(" at ")[0] for cause in _causes(row)}
    assert causes == {"as_strided builds other tensors than asked", "wrong value of flip's result"}
    assert BYTES in _causes(row)


@pytest.mark.parametrize(
    ("name", "source", "says", "expected", "got"),
    [
        ("BytesOfLongs", TensorCase("int64", (2, 3), (3, 1), 8, 20),
         "sizes (), strides (), offset 1, int64: wrong element ()", "1", "-6510615555426900571"),
        ("ContiguousCubes", TensorCase("uint8", (4, 2, 3), (1, 12, 4)),
         "sizes (2, 2, 2), strides (1, 12, 4), offset 0, uint8: wrong stride", "(1, 12, 4)", "(4, 2, 1)"),
        ("LosesTheLast", np.zeros(41, np.float32), "(41,), float32: wrong element (40,)", "40.0", "7.0"),
    ],
)  # fmt: skip
def test_the_simplest_case_is_told(
    backend: Callable[[str], Backend], name: str, source: TensorCase, says: str, expected: str, got: str
) -> None:
    fault = fault_of(Session(backend(name), QUICK), source)
    assert fault is not None
    assert says in fault.message
    assert (fault.expected, fault.got) == (expected, got)


def test_what_building_raises_is_no_fault_of_the_operator(backend: Callable[[str], Backend]) -> None:
    row = run_requirement(backend("RefusesGaps"), ROWS, QUICK, 0, scope=SOME)
    assert _causes(row) == {"as_strided raises ValueError: no offsets"}
    assert "failed" not in row["subresults"].values()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "bool", "complex64"])
def test_what_is_built_rightly_is_not_blamed(dtype: str) -> None:
    s = Session(NumpyBackend(), QUICK)
    for case in (
        TensorCase(dtype, (2, 3), (3, 1)), TensorCase(dtype, (2, 3), (1, 2), 3, 20),
        TensorCase(dtype, (0, 3), (3, 1), 1, 4),
        TensorCase(dtype, (), (), 2, 5), TensorCase(dtype, (2, 3), (0, 1)), TensorCase(dtype, (1, 3), (7, 2)),
    ):  # fmt: skip
        s.build(case)
        assert fault_of(s, case) is None
        assert fault_of(s, case.array) is None


def test_a_wrong_operator_is_blamed_with_its_own_message() -> None:
    class Wrong(NumpyBackend):
        def call(self, operator: str, *args: object, **kwargs: object) -> object:
            result = super().call(operator, *args, **kwargs)
            return np.asarray(result * 2) if operator == "neg" else result

    with pytest.raises(ConformanceError, match="wrong value of neg's result"):
        negates(Session(Wrong(), QUICK))


def test_each_kind_is_read_back_once() -> None:
    reads = 0

    class Counts(NumpyBackend):
        def to_numpy(self, tensor: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            nonlocal reads
            reads += 1
            return tensor

    s = Session(Counts(), QUICK)
    case = TensorCase("int32", (2, 3), (1, 2))
    for _ in range(3):
        s.build(case)
    assert reads == 1
    s.build(TensorCase("int32", (2, 3), (1, 2), 5, 30))
    assert reads == 2


def test_kinds_tell_layouts_apart() -> None:
    cases = (
        TensorCase("int32", (2, 3), (3, 1), 1), TensorCase("int32", (2, 3), (1, 2)),
        TensorCase("int32", (2, 3), (0, 1)),
        TensorCase("int32", (2, 3), (8, 2)), TensorCase("int32", (0, 3), (4, 1)), TensorCase("int16", (2, 3), (1, 2)),
        TensorCase("int32", (3,), (2,)),
    )  # fmt: skip
    assert len({kind_of(case) for case in cases}) == len(cases)
    assert kind_of(TensorCase("int32", (5, 3), (1, 5))) == kind_of(cases[1])


def _causes(row: Row) -> set[str]:
    return {failure["cause"] for failure in (row["failure"], *row["further_failures"]) if failure is not None}


def _run(backend: str, requirements: tuple[str, ...], folder: Path) -> dict[str, object]:
    class Notes:
        def note(self, text: str) -> None: ...

        def start(self, total: int, done: int) -> None: ...

        def decided(self, row: object) -> None: ...

        def finish(self) -> None: ...

    wanted = Selection(requirements=requirements)
    return validate(Options(backend, folder / "out", wanted, budget="quick", jobs=1, expect="none"), Notes())
