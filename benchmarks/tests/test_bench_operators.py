"""The suite of all operators: what it times, what it leaves out, and that every public operator is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_benchmarks.bench.operators import TableTask, public_operators, table_tasks
from gaugeblock_benchmarks.bench.suites import DEFAULT, known_operators
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.command import main
from gaugeblock_spec import operators


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


def test_what_would_take_all_memory_is_left_out() -> None:
    with pytest.raises(Unsupported, match=r"its result would have about 1\.0e\+12 elements"):
        TableTask("kron", "contiguous", 1_000_000).prepare(ReferenceBackend())


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
