"""Cases, operands and summaries of the grid."""

from __future__ import annotations

import math
from time import perf_counter

import pytest
from gaugeblock_benchmarks.cases import GRID, LAYOUTS, OPERATORS, SIZES, Case, Operator, cases
from gaugeblock_benchmarks.explanations import EXPLANATIONS, explain
from gaugeblock_benchmarks.grid import Cell, run_grid
from gaugeblock_benchmarks.operands import turns
from gaugeblock_benchmarks.subject import loop_of
from gaugeblock_benchmarks.summary import geometric_mean, means, slow_cells, table
from gaugeblock_benchmarks.timing import Measurement
from gaugeblock_conformance.discovery import load, resolve

REFERENCE = load(resolve("reference"))


def test_names_and_shapes() -> None:
    found = cases()
    assert len({case.name for case in found}) == len(found)
    assert all(math.prod(case.shape) == case.size for case in found)
    assert {case.layout for case in found} == set(LAYOUTS)
    assert len(cases(("add",), ("contiguous",), (16,))) == 1


def test_unknown_names_are_errors() -> None:
    with pytest.raises(ValueError, match="no operator 'ad'"):
        cases(("ad",))
    with pytest.raises(ValueError, match="no size '17'"):
        cases(sizes=(17,))


@pytest.mark.parametrize("operator", GRID, ids=lambda operator: operator.name)
def test_every_statement_runs(operator: Operator) -> None:
    if "xp.nn" in operator.statement and not hasattr(REFERENCE.module, "nn"):  # type: ignore[attr-defined]
        pytest.skip("the engine has no module nn")
    for case in cases((operator.name,), sizes=(16,)):
        given = turns(case, REFERENCE)
        assert len(given) == 1
        loop_of(case, REFERENCE)(given, 2, perf_counter)


def test_layouts_are_what_they_say() -> None:
    strides = {}
    for layout in LAYOUTS:
        case = Case(OPERATORS[0], layout, SIZES[1])
        a, b = turns(case, REFERENCE)[0]
        assert REFERENCE.shape(a) == case.shape
        strides[layout] = (REFERENCE.strides(a), REFERENCE.dtype(b), REFERENCE.shape(b))
    assert strides["transposed"][0] == (1, 25)
    assert strides["stride 2"][0] == (80, 2)
    assert strides["row broadcast"][2] == (1, 40)
    assert strides["int32+float32"][1] == "int32"
    assert strides["bfloat16"][1] == "bfloat16"


def test_large_operands_are_rotated() -> None:
    assert len(turns(Case(OPERATORS[0], "contiguous", 1_000_000), REFERENCE)) > 1


def test_a_backend_beside_itself() -> None:
    cells = list(run_grid(cases(("add",), ("contiguous",), (16, 1000)), (REFERENCE, REFERENCE), (1,), 0.02))
    assert len(cells) == 2
    assert all(cell.measurement is not None and 0.3 < cell.measurement.ratio < 3 for cell in cells)


def test_explanations_name_cases_that_there_are() -> None:
    for explanation in EXPLANATIONS:
        assert any(explanation.covers(case) for case in cases())
    assert explain(Case(OPERATORS[0], "contiguous", 16)) == ""


def test_summaries() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    fast = Cell(Case(OPERATORS[0], "contiguous", 16), 1, Measurement(1, 2, 0.5, 0.4, 0.6, 0.5, 5))
    slow = Cell(Case(OPERATORS[0], "stride 2", 16), 1, Measurement(2, 1, 2.0, 1.9, 2.1, 2.0, 5))
    absent = Cell(Case(OPERATORS[0], "bfloat16", 16), 1, None, "peer: no such operator")
    assert slow_cells([fast, slow, absent]) == [slow]
    assert "1.00" in means([fast, slow, absent])
    assert "no such operator" in table([fast, slow, absent])
