"""Operators declared from a row, a formula and a derivative row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.library import DeclaredOperator, Derivative, declare, derivative_of, load_operators
from gaugeblock.operators.formulas import FORMULAS
from gaugeblock_spec.operators import OperatorTableError

SCHEMA = "halved_sum(Tensor self, Tensor other, float scale=0.5) -> Tensor"
ROW: dict[str, Any] = {
    "schema": SCHEMA,
    "inplace": "halved_sum_(Tensor(a!) self, Tensor other, float scale=0.5) -> Tensor(a!)",
    "out": "halved_sum.out(Tensor self, Tensor other, float scale=0.5, *, Tensor(a!) out) -> Tensor(a!)",
    "variants": ["function", "method"],
    "family": "pointwise",
    "dtypes": "float32+float64",
    "promotion": "default",
    "result": "common",
    "out_cast": "can_cast",
    "ulp": {"float32": 1, "float64": 1},
}
FUNCTIONAL = {field: value for field, value in ROW.items() if field not in ("inplace", "out", "out_cast")}


@pytest.fixture
def operator() -> Iterator[DeclaredOperator]:
    made = declare(ROW, lambda self, other, scale: (self + other) * scale, namespace="decl")
    yield made
    made.remove()


def test_every_form_comes_by_itself(operator: DeclaredOperator) -> None:
    x, y = gb.tensor([[1.0, 2.0], [3.0, 4.0]]).t(), gb.tensor([1.0, 3.0])
    expected = [[1.0, 3.0], [1.5, 3.5]]
    result = operator(x, y)
    assert result.tolist() == expected and result.stride() == (1, 2)
    assert gb.halved_sum(x, y).tolist() == expected
    assert x.halved_sum(y).tolist() == gb.ops.decl.halved_sum(x, y).tolist() == expected
    assert operator(x, y, scale=1).tolist() == [[2.0, 6.0], [3.0, 7.0]]
    assert operator(x, y, 1.0, out=(out := gb.empty(0))) is out and out.tolist() == [[2.0, 6.0], [3.0, 7.0]]
    z = x.clone()
    assert z.halved_sum_(y) is z and z.tolist() == expected
    assert operator(x, y.double()).dtype is gb.float64 and operator(x, y.double()[0]).dtype is gb.float32
    assert operator(x.to("meta"), y.to("meta")).shape == (2, 2)
    assert operator.overload.name() == "decl::halved_sum" and operator.overload.overloadpacket.overloads() == [
        "default", "out",
    ]  # fmt: skip


def test_arguments_and_dtypes_are_checked(operator: DeclaredOperator) -> None:
    x = gb.ones(2)
    with pytest.raises(TypeError, match=r"halved_sum\(\): argument 'scale' .* must be float, not str"):
        operator(x, x, "a")
    with pytest.raises(NotImplementedError, match="\"halved_sum\" not implemented for 'Half'"):
        operator(x.half(), x.half())
    with pytest.raises(RuntimeError, match="broadcast"):
        operator(x, gb.ones(3))


def test_it_goes_again() -> None:
    made = declare(ROW, "(self + other) * scale", namespace="decl")
    with pytest.raises(RuntimeError, match="already"):
        declare(ROW, "self", namespace="decl")
    assert made(gb.ones(1), gb.ones(1)).tolist() == [1.0]
    made.remove()
    assert not hasattr(gb, "halved_sum")
    assert not hasattr(gb.Tensor, "halved_sum") and not hasattr(gb.ops.decl, "halved_sum")
    declare(ROW, "self + other * scale", namespace="decl").remove()


def test_a_derivative_must_match_the_schema_to_the_letter() -> None:
    good = {"name": SCHEMA, "self": "grad * scale", "other": "grad * scale"}
    made = declare(ROW, "(self + other) * scale", derivative=good, namespace="decl")
    derivative = derivative_of("decl::halved_sum")
    assert isinstance(derivative, Derivative) and derivative.setup_context is not None
    ctx = SimpleNamespace()
    ctx.save_for_backward = lambda *tensors: setattr(ctx, "saved_tensors", tensors)
    x = gb.ones(2)
    derivative.setup_context(ctx, (x, x, 0.25), x)
    assert [None if g is None else g.tolist() for g in derivative.backward(ctx, gb.tensor([4.0, 8.0]))] == [
        [1.0, 2.0], [1.0, 2.0], None,
    ]  # fmt: skip
    made.remove()
    for signature in (SCHEMA.replace("=0.5", ""), SCHEMA.replace("0.5", "1.0"), SCHEMA.replace("other", "b")):
        with pytest.raises(ValueError, match="the derivative is declared for"):
            declare(ROW, "self", derivative={**good, "name": signature}, namespace="decl")
    with pytest.raises(ValueError, match="names 'scale', which is no tensor"):
        declare(ROW, "self", derivative={"name": SCHEMA, "scale": "grad"}, namespace="decl")
    with pytest.raises(ValueError, match="is not an expression"):
        declare(ROW, "self", derivative={"name": SCHEMA, "self": "grad *"}, namespace="decl")
    assert "decl::halved_sum" not in gb.dispatch.REGISTRY.operators


def test_rows_that_break_the_format() -> None:
    with pytest.raises(OperatorTableError, match="family"):
        declare({**ROW, "family": "pointy"}, "self", namespace="decl")
    with pytest.raises(ValueError, match="'t' is a Tensor\\[\\]"):
        declare({**FUNCTIONAL, "schema": "f(Tensor[] t) -> Tensor"}, "t", namespace="decl")
    with pytest.raises(ValueError, match="tensors and Scalars first"):
        declare({**FUNCTIONAL, "schema": "f(float a, Tensor self) -> Tensor"}, "self", namespace="decl")
    with pytest.raises(ValueError, match="'nonsense' in 'nonsense\\(self\\)' is neither an argument nor"):
        declare({**ROW, "schema": "f1(Tensor self) -> Tensor", **SINGLE}, "nonsense(self)")
    for schema in ("f(Tensor(a!) self) -> Tensor(a!)", "f_(Tensor self) -> Tensor"):
        with pytest.raises(OperatorTableError, match="field schema is that of the functional form"):
            declare({**FUNCTIONAL, "schema": schema}, "self", namespace="decl")


SINGLE: dict[str, Any] = {
    "variants": ["function"],
    "inplace": "f1_(Tensor(a!) self) -> Tensor(a!)",
    "out": "f1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
}


def test_files_of_rows(tmp_path: Path) -> None:
    rows, derivatives = tmp_path / "rows.yaml", tmp_path / "derivatives.yaml"
    rows.write_text(
        "- schema: thirded(Tensor self) -> Tensor\n  variants: [function]\n  family: pointwise\n"
        "  dtypes: float\n  promotion: default\n  result: common\n"
    )
    derivatives.write_text("- name: thirded(Tensor self) -> Tensor\n  self: grad / 3\n")
    found = load_operators(rows, {"thirded": lambda self: self / 3.0}, derivatives=derivatives, namespace="decl")
    assert found["thirded"](gb.tensor([6.0])).tolist() == [2.0]
    found["thirded"].remove()
    derivatives.write_text("- name: other(Tensor self) -> Tensor\n  self: grad\n")
    with pytest.raises(ValueError, match="derivative of no operator"):
        load_operators(rows, {"thirded": "self"}, derivatives=derivatives)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("inplace", "halved_sum_(Tensor self, Tensor other, float scale=0.5) -> Tensor"),
        ("inplace", "halved_sum_(Tensor(a!) self, Tensor other, float scale=0.5) -> Tensor"),
        ("inplace", "halved_sum_(Tensor(a!) self, Tensor(b!) other, float scale=0.5) -> Tensor(b!)"),
        ("inplace", "halved_sum_(Tensor self, Tensor(a!) other, float scale=0.5) -> Tensor(a!)"),
        ("inplace", "halved_sum_(Tensor(a) self, Tensor other, float scale=0.5) -> Tensor(a)"),
        ("out", "halved_sum.out(Tensor self, Tensor other, float scale=0.5, *, Tensor(a!) out) -> Tensor"),
        ("out", "halved_sum.out(Tensor(a!) self, Tensor other, float scale=0.5) -> Tensor(a!)"),
    ],
)
def test_forms_whose_alias_marks_contradict_them_are_refused(field: str, text: str) -> None:
    with pytest.raises(OperatorTableError, match=f"field {field}: the alias marks of .* are not allowed"):
        declare({**ROW, field: text}, "(self + other) * scale", namespace="decl")
    assert not hasattr(gb, "halved_sum")


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("inplace", "doubled_(Tensor(a!) self, Tensor other, float scale=0.5) -> Tensor(a!)",
         "the name 'doubled_' is not allowed; allowed: 'halved_sum_'"),
        ("out", "doubled.out(Tensor self, Tensor other, float scale=0.5, *, Tensor(a!) out) -> Tensor(a!)",
         "the name 'doubled' is not allowed; allowed: 'halved_sum'"),
        ("inplace", "halved_sum_(Tensor(a!) self, float scale=0.5) -> Tensor(a!)",
         r"the arguments of halved_sum_.* are not allowed; allowed: those of halved_sum\(Tensor self, Tensor other"),
        ("out", "halved_sum.out(Tensor self, Tensor other, float scale=2.0, *, Tensor(a!) out) -> Tensor(a!)",
         r"the arguments of halved_sum\.out.* are not allowed; allowed: those of halved_sum"),
    ],
)  # fmt: skip
def test_forms_of_another_operator_are_refused(field: str, text: str, message: str) -> None:
    with pytest.raises(OperatorTableError, match=f"row halved_sum: field {field}: {message}"):
        declare({**ROW, field: text}, "(self + other) * scale", namespace="decl")
    assert not hasattr(gb, "halved_sum")


def test_a_name_without_a_formula_is_named() -> None:
    with pytest.raises(NotImplementedError, match="'nothing': no formula of this name; a row of"):
        FORMULAS["nothing"]
    assert FORMULAS.get("nothing") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: thirded(Tensor self) -> Tensor", "expected a list of rows, got dict"),
        ("- self: grad", "row 1: field name is required and must be a schema, a string"),
        ("- name: thirded(Tensor self) -> Tensor\n  self: 3", r"field self must be a string, got 3"),
    ],
)
def test_malformed_rows_of_derivatives_are_refused(tmp_path: Path, content: str, message: str) -> None:
    rows, derivatives = tmp_path / "rows.yaml", tmp_path / "derivatives.yaml"
    rows.write_text(
        "- schema: thirded(Tensor self) -> Tensor\n  variants: [function]\n  family: pointwise\n"
        "  dtypes: float\n  promotion: default\n  result: common\n"
    )
    derivatives.write_text(content)
    with pytest.raises(ValueError, match=message):
        load_operators(rows, {"thirded": "self"}, derivatives=derivatives, namespace="decl")
    with pytest.raises(ValueError, match="field name must be a string, got None"):
        declare(ROW, "self", derivative={"self": "grad"}, namespace="decl")


def test_rows_without_a_formula_and_formulas_without_a_row_are_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.yaml"
    rows.write_text(
        "- schema: thirded(Tensor self) -> Tensor\n  variants: [function]\n  family: pointwise\n"
        "  dtypes: float32+float64\n  promotion: default\n  result: common\n  ulp: {float32: 1, float64: 1}\n"
    )
    with pytest.raises(KeyError, match=r"argument 'formulas' has no formula for row 'thirded' of .*; it has halved"):
        load_operators(rows, {"halved": "self"})
    with pytest.raises(KeyError, match="it has none"):
        load_operators(rows, {})
    with pytest.raises(ValueError, match="argument 'formulas' names 'halved', which is no row"):
        load_operators(rows, {"thirded": "self", "halved": "self"})
    with pytest.raises(ValueError, match="argument 'checks' names 'halved', which is no row"):
        load_operators(rows, {"thirded": "self"}, checks={"halved": print})
