"""The suite of all operators: what it times, what it leaves out, and that every public operator is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_benchmarks.bench import slower
from gaugeblock_benchmarks.bench.operators import VARIANTS, TableTask, public_operators, table_tasks
from gaugeblock_benchmarks.bench.suites import DEFAULT, known_operators
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.command import main
from gaugeblock_spec import operators

SCOREBOARD = Path(__file__).parents[2] / "reports" / "scoreboard" / "reference-0.1.0"


def test_every_public_operator_is_timed() -> None:
    assert set(public_operators()) == set(operators.load())
    timed = {task.operator for task in table_tasks((), (16,))}
    left_out = {"scalar_tensor", "index.Tensor", "index_put", "item", "is_nonzero", "linalg_tensorinv", "as_strided"}
    assert len(timed) > 0.95 * len(operators.load())
    assert not timed & (left_out - {"linalg_tensorinv"})
    assert {task.variant for task in table_tasks(("exp",), (16,))} == {"contiguous", "strided", "recorded"}
    assert {task.variant for task in table_tasks(("isnan", "normal_"), (16,))} == {"contiguous", "strided"}


@pytest.mark.parametrize("variant", ["contiguous", "strided", "recorded"])
@pytest.mark.parametrize("operator", ["exp", "cumsum", "sum.dim_IntList", "where.self", "cat", "gather", "to.dtype"])
def test_a_task_calls_its_operator(operator: str, variant: str) -> None:
    ready = TableTask(operator, variant, 1000).prepare(ReferenceBackend())
    assert ready.sample is not None
    assert ready.sample.size
    [(step,)] = ready.timed.turns
    first = step()
    assert first.requires_grad == (variant == "recorded")


@pytest.mark.parametrize("operator", ["unsqueeze_", "squeeze_", "resize_as_", "transpose_", "fill_.Scalar"])
def test_calls_of_an_inplace_operator_are_alike(operator: str) -> None:
    [(step,)] = TableTask(operator, "contiguous", 16).prepare(ReferenceBackend()).timed.turns
    assert len({step().ndim for _ in range(3)}) == 1


def test_what_would_take_all_memory_is_left_out() -> None:
    with pytest.raises(Unsupported, match=r"its result would have about 1\.0e\+12 elements"):
        TableTask("kron", "contiguous", 1_000_000).prepare(ReferenceBackend())
    with pytest.raises(Unsupported, match=r"its operands would have 1\.0e\+12 elements"):
        TableTask("addmv", "contiguous", 1_000_000).prepare(ReferenceBackend())


def test_random_numbers_are_not_compared() -> None:
    assert TableTask("randn", "contiguous", 16).prepare(ReferenceBackend()).sample is None


def test_names_of_the_spec_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "logaddexp" in known_operators(("operators",))
    assert "logaddexp" not in known_operators(DEFAULT)
    chosen = ["--suite", "operators", "--ops", "logaddexp", "--sizes", "16"]
    assert main(["bench", "reference", *chosen, "--budget", "quick", "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "record.json").read_text())
    assert [case["layout"] for case in record["cases"]] == ["contiguous", "strided", "recorded"]
    assert {case["results"][0]["status"] for case in record["cases"]} == {"measured"}
    assert "recorded" in capsys.readouterr().out
    assert main(["bench", "reference", "--ops", "logaddexp"]) == 2


def test_reasons_name_operators_and_layouts_of_the_suite() -> None:
    for reason in slower.REASONS:
        assert set(reason.operators.split()) <= set(public_operators())
        assert set(reason.layouts) <= set(VARIANTS)
        assert reason.why


def test_a_reason_is_given_to_slower_calls_of_the_reference_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slower, "REASONS", (slower.Reason("add.Tensor mul.Tensor", ("strided",), (16,), "so"),))
    case = {"suite": "operators", "operator": "add.Tensor", "layout": "strided", "size": 16}
    assert slower.reason(case, "reference", "torch", 1.5) == {"why": "so"}
    for other in ({"operator": "exp"}, {"layout": "recorded"}, {"size": 1000}, {"suite": "overhead"}):
        assert slower.reason(case | other, "reference", "torch", 1.5) == {}
    assert slower.reason(case, "reference", "torch", 1.2) == {}
    assert slower.reason(case, "torch", "reference", 1.5) == {}


def test_each_slower_case_of_the_committed_record_has_its_reason() -> None:
    record = json.loads((SCOREBOARD / "bench-operators.json").read_text(encoding="utf-8"))
    ratios = [(case["id"], ratio) for case in record["cases"] for ratio in case["ratios"]]
    assert len(ratios) > 4000
    slow = [(name, ratio) for name, ratio in ratios if ratio["ratio"] >= slower.SLOWER_FROM]
    assert not [(name, ratio["ratio"]) for name, ratio in slow if "why" not in ratio]
