"""Schemas parse, print back unchanged, and bad ones are refused with a position."""

from __future__ import annotations

import pytest
from gaugeblock_spec.schema import Alias, SchemaError, literal, parse

ROUND_TRIPS = [
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor",
    "_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
    "einsum.sublist(Tensor a, ...) -> Tensor",
    "aten::items.str(Dict(str, t) self) -> ((str, t)[])",
    "f(Tensor(a! -> a|b) x, int[2] k=[1, 2], float eps=1e-05, str s=\"it's\", MemoryFormat m=contiguous_format) -> ()",
    "f(Tensor?[] indices, Tensor[](a!) buffers) -> (Tensor(a!), Tensor(b!))",
]

REFUSED = [
    ("f(Tensor x,) -> ()", 11, "expected a type"),
    ("f(Tensor x)", 11, "expected '->'"),
    ("f(int a=1, int b) -> ()", 11, "'b' without a default"),
    ("f(Tensor a=None, ...) -> ()", 17, "'...'"),
    ("f(Bogus x) -> ()", 2, "unknown type 'Bogus'"),
    ("f.default(Tensor x) -> ()", 2, "'default'"),
    ("f(Tensor x) -> () extra", 18, "end of the schema"),
    ("f(Tensor x) -> Nope", 15, "unknown type"),
    ("f(Tensor $x) -> ()", 9, "unexpected character"),
    ("f(int[] k=[1, 2) -> ()", 22, "not closed"),
    ("(Tensor x) -> ()", 0, "operator name"),
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_print_gives_the_string_back(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(("text", "position", "problem"), REFUSED)
def test_malformed_schema_names_the_column(text: str, position: int, problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert problem in str(caught.value)
    assert caught.value.position == position


def test_arguments_are_records() -> None:
    schema = parse("ns::f_.out(Tensor(a!) self, int[2]? size=None, *, Scalar alpha=1, Tensor(b!) out) -> Tensor(a!)")
    assert (schema.namespace, schema.name, schema.overload) == ("ns", "f_", "out")
    assert schema.is_inplace and schema.is_out
    assert [argument.name for argument in schema.positional] == ["self", "size"]
    size = schema.argument("size")
    assert (size.base_type, size.optional, size.is_list, size.list_size) == ("int", True, True, 2)
    assert schema.argument("self").alias == Alias(("a",), mutable=True)
    with pytest.raises(KeyError, match="self, size, alpha, out"):
        schema.argument("dim")


@pytest.mark.parametrize(
    ("text", "value"),
    [("None", None), ("True", True), ("-3", -3), ("1.", 1.0), ("1e-05", 1e-05), ("[]", ()), ("[1, 2]", (1, 2)),
     ("'mean'", "mean"), ('"a\\"b"', 'a"b'), ("contiguous_format", "contiguous_format")],
)  # fmt: skip
def test_default_literals(text: str, value: object) -> None:
    assert literal(text) == value


def test_spacing_does_not_matter_and_a_star_may_repeat() -> None:
    text = "f( Tensor(a  ->  *)x ,*,* , int  y = 3)->(Tensor)"
    assert str(parse(text)) == "f(Tensor(a -> *) x, *, int y=3) -> Tensor"


def test_dunder_names_are_not_inplace() -> None:
    assert not parse("__and__.Tensor(Tensor self, Tensor other) -> Tensor").is_inplace
    assert parse("__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)").argument("self").written
