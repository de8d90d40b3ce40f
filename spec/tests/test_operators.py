"""The operator table: every file against the JSON Schema, the loader, and what its errors say."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
import yaml
from gaugeblock_spec import operator_freedoms, operators, schema
from gaugeblock_spec.operator_rows import _ROOT

ROW: dict[str, Any] = {
    "schema": "neg(Tensor self) -> Tensor",
    "out": "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "variants": ["function", "method"],
    "family": "pointwise",
    "dtypes": "numeric",
    "promotion": "same",
    "result": "common",
    "out_cast": "exact",
    "ulp": {"float32": 0},
    "name": "neg",
    "file": "test.yaml",
}


@pytest.mark.parametrize("name", operators.table_files())
def test_file_follows_json_schema(name: str) -> None:
    content = yaml.safe_load(_ROOT.joinpath("operators", name).read_text())
    jsonschema.Draft202012Validator(operators.json_schema()).validate(content)


def test_json_schema_is_one_and_describes_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(operators.json_schema())
    for name, rule in operators.json_schema()["$defs"]["row"]["properties"].items():
        assert rule.get("description"), name


def test_page_describes_every_field() -> None:
    page = _ROOT.joinpath("operator_rows.md").read_text()
    for name in operators.json_schema()["$defs"]["row"]["properties"]:
        assert re.search(rf"^\| `{name}` \|", page, re.M), name


def test_add_row() -> None:
    add = operators.load()["add.Tensor"]
    assert add.base_name == "add"
    assert (add.inplace_name, add.out_name) == ("add_.Tensor", "add.out")
    assert (add.family, add.promotion, add.result, add.out_cast) == ("pointwise", "default", "common", "can_cast")
    assert "bool" in add.dtypes and "complex128" in add.dtypes
    assert add.errors[0].raises == "RuntimeError"
    assert [row.name for row in operators.overloads("add")] == ["add.Tensor", "add.Scalar"]


def test_out_dtype_rule_differs_by_operator() -> None:
    table = operators.load()
    assert {name: table[name].out_cast for name in ("add.Tensor", "sin", "abs", "neg", "floor", "sign", "round")} == {
        "add.Tensor": "can_cast", "sin": "can_cast", "abs": "exact", "neg": "exact", "floor": "exact",
        "sign": "exact", "round": "exact",
    }  # fmt: skip
    assert {table[f"{name}.Tensor"].out_cast for name in ("eq", "ne", "lt", "le", "gt", "ge")} == {"any"}


def test_every_schema_parses_and_prints_back() -> None:
    for row in operators.load().values():
        for text in (row.schema, row.inplace, row.out):
            if text is not None:
                assert str(schema.parse(text)) == text


def test_fields_name_arguments_of_the_schema() -> None:
    for row in operators.load().values():
        arguments = {argument.name for argument in schema.parse(row.schema).arguments}
        assert set(row.domain) <= arguments, row.name
        assert {case.argument for case in row.errors} <= arguments, row.name


def test_bounds_are_given_for_results_of_the_row() -> None:
    for row in operators.load().values():
        if row.family == "pointwise" and row.result == "common":
            allowed = {*row.dtypes, "float32"} if row.promotion == "int_to_float" else set(row.dtypes)
            assert set(row.ulp) <= allowed, row.name


def test_dtype_expressions() -> None:
    assert operators.expand_dtypes("complex+bool") == ("bool", "complex64", "complex128")
    assert operators.expand_dtypes("all-int-inexact") == ("bool",)
    assert operators.expand_dtypes("float32") == ("float32",)
    assert operators.expand_dtypes("none") == ()


def test_digest_is_stable() -> None:
    first = operators.digest()
    operators.digest.cache_clear()
    assert operators.digest() == first and len(first) == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "test.yaml, row neg: unknown field colour; allowed: schema, inplace"),
        ({"family": None}, "test.yaml, row neg: field family is missing"),
        ({"family": "points"}, "test.yaml, row neg: field family: 'points' is not allowed; allowed: pointwise, view"),
        ({"variants": "function"}, "test.yaml, row neg: field variants: 'function' is not of type array"),
        ({"variants": ["macro"]}, "field variants, item 1: 'macro' is not allowed; allowed: function, method"),
        ({"dtypes": "numeric+floot"}, "row neg: field dtypes: unknown name 'floot' in 'numeric\\+floot'"),
        ({"ulp": {"float8": 1}}, "field ulp: unknown field float8; allowed: float16"),
        ({"ulp": {"float32": -1}}, "field ulp: field float32: -1 is below 0"),
        ({"ulp": {"float32": "one"}}, "field ulp: field float32: 'one' is not of type number"),
        ({"out_cast": None}, "field out_cast must be present exactly when field out is"),
        ({"inplace": "neg(Tensor self)"}, "field inplace: .* does not match"),
        (
            {"inplace": "abs_(Tensor(a!) self) -> Tensor(a!)"},
            "test.yaml, row neg: field inplace: the name 'abs_' is not allowed; allowed: 'neg_'",
        ),
        (
            {"out": "abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"},
            "test.yaml, row neg: field out: the name 'abs' is not allowed; allowed: 'neg'",
        ),
        (
            {"inplace": "neg_(Tensor self) -> Tensor"},
            r"row neg: field inplace: the alias marks of neg_\(Tensor self\) -> Tensor are not allowed",
        ),
        ({"schema": "neg(Tensr self) -> Tensor"}, "row neg: field schema, column 5: unknown type 'Tensr'"),
        ({"errors": [{"when": "always"}]}, "field errors, item 1: field argument is missing"),
    ],
)
def test_loader_names_file_row_and_field(change: dict[str, Any], message: str) -> None:
    row = {name: value for name, value in {**ROW, **change}.items() if value is not None}
    with pytest.raises(operators.OperatorTableError, match=message):
        operators.operator_from_row(row)


def test_row_must_have_a_schema() -> None:
    with pytest.raises(operators.OperatorTableError, match=r"a\.yaml, row 2: field schema is required"):
        operators.parse_rows("a.yaml", "- schema: neg(Tensor self) -> Tensor\n- family: view\n")
    with pytest.raises(operators.OperatorTableError, match=r"a\.yaml: expected a list of rows, got dict"):
        operators.parse_rows("a.yaml", "schema: 1")
    with pytest.raises(operators.OperatorTableError, match=r"a\.yaml, line 2, column 1: not YAML: did not find"):
        operators.parse_rows("a.yaml", "- schema: [neg\n")


def test_what_a_row_leaves_free() -> None:
    table = operators.load()
    add = table["add.Tensor"]
    assert (add.signed_zero, add.ties, add.bits, add.open) == ("exact", "first", "equal", ())
    assert table["sum.dim_IntList"].dimless == table["index_select"].dimless == "lifted"
    assert table["histc"].dimless == "kept"
    assert (table["sort"].ties, table["sort.stable"].ties) == ("any", "first")
    assert table["max_pool2d"].open == ("no_elements",)
    assert table["linalg_norm"].half.refuses({"ord": 2})
    assert not table["linalg_norm"].half.refuses({"ord": 1})
    assert table["complex"].half.refuses({})


def test_open_conditions_have_a_sentence() -> None:
    named = set(operators.json_schema()["$defs"]["row"]["properties"]["open"]["items"]["enum"])
    used = {name for row in operators.load().values() for name in row.open}
    assert named == set(operator_freedoms.open_conditions()) == used
    page = _ROOT.joinpath("operator_rows.md").read_text()
    assert all(f"`{name}`" in page for name in named)
    assert all(sentence.endswith(".") for sentence in operator_freedoms.open_conditions().values())


@pytest.mark.parametrize("family", ["reduction", "scan", "sort", "linalg", "network"])
def test_values_of_families_are_those_of_rows(family: str) -> None:
    rules = operators.json_schema()["$defs"]["row"]["properties"]
    for field, value in operator_freedoms.of_family(family).items():
        allowed = rules[field].get("enum") or rules[field]["items"]["enum"]
        assert set(value if isinstance(value, list) else [value]) <= set(allowed)
    assert family in rules["family"]["enum"]
