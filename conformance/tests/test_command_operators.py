"""``gaugeblock operators`` and the JSON of ``gaugeblock requirements``: what an author of an adapter looks up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gaugeblock_conformance import command
from gaugeblock_spec import operators, requirements


@pytest.fixture(autouse=True)
def of_a_hundred_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert command.main(list(argv)) == 0
    return capsys.readouterr().out


def read(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(printed(capsys, *argv, "--format", "json"))
    return document


def test_an_operator_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "operators", "add.Tensor").splitlines()
    assert lines[0] == "add.Tensor"
    assert lines[1] == "  schema      add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert lines[2].startswith("  in place    add_.Tensor(Tensor(a!) self")
    assert lines[3].startswith("  out=        add.out(")
    text = " ".join(" ".join(lines).split())
    assert "dtypes bool uint8 int8 int16 int32 int64 float16 bfloat16 float32" in text
    assert "promotion default result common out dtypes can_cast bound 0 ulp for float16" in text
    assert "derivative self: grad; other: grad * alpha.conjugate()" in text
    assert "errors add(tensor([1]), tensor([1]), alpha=1.5): RuntimeError matching 'alpha must not be a" in text
    assert max(map(len, lines)) <= 100


def test_an_operator_without_bound_and_derivative(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "operators", "argmax", "linalg_svd", "sin")
    assert "  derivative  none\n" in text
    assert "  bound       by its definition (operator_rows.md, Accuracy)\n" in text
    assert "  derivative  self: grad * self.cos().conj()" in text


def test_names_of_forms_and_of_all_overloads(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*asked: str) -> set[str]:
        return {operator["name"] for operator in read(capsys, "operators", *asked)["operators"]}

    assert names("add_.Tensor") == names("add.out") == {"add.Tensor"}
    assert names("add") == {operator.name for operator in operators.overloads("add")}
    assert names("div", "--family", "pointwise") <= names("--family", "pointwise")
    assert names() == set(operators.load())


def test_every_operator_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = read(capsys, "operators")
    assert document["schema"] == "gaugeblock-operators/1"
    by_name = {operator["name"]: operator for operator in document["operators"]}
    assert by_name.keys() == operators.load().keys()
    for name, row in operators.load().items():
        assert by_name[name]["schema"] == row.schema
        assert by_name[name]["forms"] == {"functional": name, "inplace": row.inplace_name, "out": row.out_name}
        assert by_name[name]["ulp"] == dict(row.ulp)
        assert len(by_name[name]["errors"]) == len(row.errors)
    assert by_name["sin"]["derivative"]["formulas"][0]["arguments"] == ["self"]
    assert by_name["argmax"]["derivative"] is None


def test_list_of_operators(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "operators", "--family", "scan").splitlines()
    own = [operator for operator in operators.load().values() if operator.family == "scan"]
    assert lines[0] == f"scan ({len(own)})"
    assert len(lines) == len(own) + 1
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["operators", "ad.Tensor"], "unknown operator 'ad.Tensor'; did you mean add.Tensor or "),
        (["operators", "--family", "pointwisee"], "unknown family 'pointwisee'; did you mean pointwise?"),
        (["operators", "add", "--format", "yaml"], "unknown format 'yaml'; known: text, json"),
        (["requirements", "--format", "yaml"], "unknown format 'yaml'; known: text, json"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    assert command.main(argv) == 2
    assert said in capsys.readouterr().err


def test_requirements_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = read(capsys, "requirements", "--area", "views")
    assert document["schema"] == "gaugeblock-requirements/1"
    found = {requirement["id"]: requirement for requirement in document["requirements"]}
    own = {identifier: row for identifier, row in requirements.load().items() if row.area == "views"}
    assert found.keys() == own.keys()
    for identifier, row in own.items():
        assert found[identifier]["sentence"] == row.sentence
        assert found[identifier]["level"] == row.level
        assert found[identifier]["capabilities"] == list(row.capabilities)
    assert {case["name"] for case in found["views/expand-has-stride-zero"]["tests"]} >= {"test_row_to_four_rows"}
