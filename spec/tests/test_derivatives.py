"""The derivative table: every file against its JSON Schema and the rows, and what the errors of the loader say."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from gaugeblock_spec import derivatives, operator_rows, schema
from gaugeblock_spec.derivative_checks import (
    check,
    floating_arguments,
    load,
    needs_entry,
    result_names,
    tangent_expressions,
    undeclared,
)
from gaugeblock_spec.derivatives import _ROOT, Derivative, DerivativeError

ROWS = {row["name"]: row for row in operator_rows.rows()}


def checked(text: str) -> Derivative:
    (entry,) = derivatives.parse("test.yaml", text).values()
    check(entry, ROWS[entry.name])
    return entry


@pytest.mark.parametrize("name", derivatives.table_files())
def test_file_follows_json_schema(name: str) -> None:
    rule = json.loads(_ROOT.joinpath("derivative.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(rule)
    content = yaml.safe_load(_ROOT.joinpath("derivatives", name).read_text())
    jsonschema.Draft202012Validator(rule).validate(content)


def test_whole_table_loads() -> None:
    assert load()["mul.Tensor"].formulas[("self",)] == "grad * other.conj()"


def test_every_differentiable_row_has_an_entry() -> None:
    assert undeclared() == ()


def test_entry_kinds() -> None:
    entries = derivatives.parse(
        "t.yaml",
        """
argmax: none
cov: composite
where.self:
  condition: nothing
  "self, other": grad, grad
  tangent: linear
""",
    )
    assert (entries["argmax"].kind, entries["cov"].kind) == ("none", "composite")
    where = entries["where.self"]
    assert (where.kind, where.nothing, where.tangent) == ("formulas", ("condition",), "linear")
    assert where.formulas == {("self", "other"): "grad, grad"} and where.arguments == ("self", "other")


def test_find_reads_one_file() -> None:
    found = derivatives.find("neg", "arithmetic.yaml")
    assert found is not None and found.formulas == {("self",): "-grad"}
    assert derivatives.find("neg", "no_such_file.yaml") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "test.yaml: expected rows by name, got list"),
        ("a: [", "test.yaml, line 2, column 1: not YAML"),
        ("neg: 1", "test.yaml, row neg: 1 is not allowed; allowed: none, composite, or expressions"),
        ("neg: {self: 1}", "row neg: field self: 1 is int; allowed: an expression"),
        ("neg: {other: grad}", "row neg: field other: no tensor argument; allowed: self, tangent"),
        ("add.Tensor: {self: grad}", "row add.Tensor: argument other is missing; give a formula or say 'nothing'"),
        ("neg: {self: grad +}", "row neg: field self: 'grad +' is no expression: invalid syntax"),
        ("neg: {self: gard}", "row neg: field self: unknown name 'gard'; allowed: grad, result, self"),
        ("neg: {self: open(grad)}", "row neg: field self: unknown name 'open'"),
        ("neg: {self: needed}", "row neg: field self: unknown name 'needed'"),
        ("neg: {self: 'grads[0]'}", "row neg: field self: unknown name 'grads'"),
        ("neg: {self: '[g for g in grad]'}", "ListComp is not allowed in"),
        ("neg: {self: grad.__class__}", "'__class__' is neither an operator nor a property"),
        ("neg: {self: linalg.slove(grad)}", "linalg has no operator 'slove'"),
        ("neg: {self: 'scatter_back(grad, other=1)'}", "does not fit helper scatter_back(grad, dim, index, shape)"),
        ("neg: {self: grad, tangent: grad}", "row neg: field tangent, result: unknown name 'grad'"),
        ("neg: {self: grad, tangent: values=self_t}", "field tangent: 'values' is no result; allowed: result"),
        ("neg: {self: grad}\nneg: {self: grad}", "row neg: stands twice"),
        ("add.Tensor: {self: grad, 'other, self': grad}", "row add.Tensor: field other, self: self stands twice"),
    ],
)
def test_errors_name_file_row_and_field(text: str, message: str) -> None:
    with pytest.raises(DerivativeError) as caught:
        checked(text)
    assert message in str(caught.value)


def test_lists_of_results_have_several_gradients() -> None:
    assert checked("unbind.int: {self: 'stack(grads, dim)'}").formulas == {("self",): "stack(grads, dim)"}


def test_names_of_results() -> None:
    assert result_names(schema.parse(ROWS["neg"]["schema"])) == ("result",)
    assert result_names(schema.parse(ROWS["sort"]["schema"])) == ("values", "indices")
    assert result_names(schema.parse(ROWS["var_mean"]["schema"])) == ("result0", "result1")


def test_tangents_of_several_results() -> None:
    entry = checked("sort: {self: grad, tangent: 'values=gather(self_t, dim, indices)'}")
    found = tangent_expressions(entry, schema.parse(ROWS["sort"]["schema"]))
    assert found == {"values": "gather(self_t, dim, indices)"}


def test_which_arguments_and_rows_are_differentiable() -> None:
    assert floating_arguments(ROWS["where.self"]) == ("self", "other")
    assert floating_arguments(ROWS["gather"]) == ("self",)
    wanted = {
        name: needs_entry(ROWS[name])
        for name in ("neg", "sort", "ones_like", "eq.Tensor", "argmax", "gcd", "zeros", "equal")
    }
    assert wanted == {
        "neg": True, "sort": True, "ones_like": True, "eq.Tensor": False, "argmax": False, "gcd": False,
        "zeros": False, "equal": False,
    }  # fmt: skip


def test_helpers_come_with_their_parameters() -> None:
    assert derivatives.helpers()["scatter_back"] == ("grad", "dim", "index", "shape")


def test_digest_depends_on_the_files() -> None:
    assert len(derivatives.digest()) == 64
