"""Mutants generated from the operator table: their rules, and that the tests of their requirement catch them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.mutants import generated, narrow
from gaugeblock_conformance.mutants.__main__ import main
from gaugeblock_conformance.mutants.mutant import MutantBackend
from gaugeblock_conformance.operators.conditions import Condition, judged

# Some of each kind, tried in the tests.
STEP = 17


def test_rules_are_many_and_always_the_same() -> None:
    names = [rule.name for rule in generated.rules()]
    assert len(names) == len(set(names)) == generated.COUNT >= 200
    generated.rules.cache_clear()
    assert names == [rule.name for rule in generated.rules()]


def test_conditions_are_those_that_judged_calls_can_meet() -> None:
    for rule in generated.rules():
        for condition in rule.conditions:
            if condition.kind != "length" and condition.value != "strided":
                assert condition in judged(rule.operator), rule.name


def test_the_first_misreads_a_second_operand_of_two_dims() -> None:
    rule = generated.rules()[0]
    assert (rule.operator, rule.argument, rule.fault) == ("sub.Tensor", "other", "misreads-an-operand")
    right = discovery.load(discovery.resolve("reference"))
    backend = MutantBackend(right, generated.mutant(rule))
    x = right.from_numpy(np.zeros((2, 3), np.float32))
    columns = np.arange(6, dtype=np.float32).reshape(3, 2)
    other = right.call("as_strided", right.from_numpy(columns), (2, 3), (1, 2), 0)
    wrong = right.to_numpy(backend.call("sub.Tensor", x, other))
    assert np.array_equal(wrong, -np.arange(6, dtype=np.float32).reshape(2, 3))
    assert np.array_equal(right.to_numpy(right.call("sub.Tensor", x, other)), -columns.T)
    for harmless in (right.from_numpy(columns.T.copy()), right.call("select.int", other, 0, 1)):
        assert np.array_equal(*(right.to_numpy(b.call("sub.Tensor", x, harmless)) for b in (right, backend)))


@pytest.mark.parametrize("rule", generated.rules()[::STEP], ids=lambda rule: rule.name)
def test_some_are_caught_at_the_standard_budget(rule: generated.Rule) -> None:
    if not registry.tests():
        registry.load_tests()
    right = discovery.load(discovery.resolve("reference"))
    assert narrow.tried(right, rule, narrow.TRIED, seed=0).caught in narrow.TRIED


def test_the_right_backend_is_not_accused() -> None:
    """The tests that catch the mutants of an operator hold for the right backend."""
    harmless = generated.Rule("sub.Tensor", "other", (Condition("dims", "other", "9"),), "drops-the-last")
    if not registry.tests():
        registry.load_tests()
    right = discovery.load(discovery.resolve("reference"))
    assert narrow.tried(right, harmless, narrow.TRIED[:1], seed=0).caught == narrow.MISSED


def test_record_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = generated.rules()[0].name
    arguments = ["--class", "generated", "--only", name, "--budget", "quick", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "100.0% of 1 mutants caught at quick" in capsys.readouterr().out
    record = json.loads((tmp_path / narrow.FILE).read_text())
    assert [row["name"] for row in record["mutants"]] == [name]
    assert record["mutants"][0]["requirement"] == generated.POINTWISE
    assert narrow.missed(record) == []
    page = (tmp_path / narrow.PAGE).read_text()
    assert "| dims and layout and sizes |" in page
    assert name in page


def test_wrong_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--class", "generated", "--only", "sub-tensor"]) == 2
    assert "unknown mutant 'sub-tensor'" in capsys.readouterr().err
    assert main(["--class", "generate"]) == 2
    assert "generated stands alone" in capsys.readouterr().err
