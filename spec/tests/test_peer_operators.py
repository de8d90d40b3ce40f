"""The operator table against PyTorch: schema strings, variants, accepted dtypes, and the calls that must raise."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from gaugeblock_spec import operators

torch = pytest.importorskip("torch")
BY_SYNTAX = ("index", "slice")
NAMESPACES = ("fft", "linalg", "special")
ROWS = list(operators.load().values())
UNARY = [row for row in ROWS if row.family == "pointwise" and re.search(r"\(Tensor self\)", row.schema)]
BINARY = [row for row in ROWS if row.family == "pointwise" and re.search(r"\(Tensor self, Tensor \w+\)", row.schema)]


def registered(name: str) -> str:
    base, _, overload = name.partition(".")
    for found in torch._C._jit_get_schemas_for_operator(f"aten::{base}"):
        if found.overload_name == overload:
            return str(found).removeprefix("aten::")
    raise AssertionError(f"PyTorch has no operator {name}")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_schema_strings_are_upstreams(row: operators.Operator) -> None:
    for text in (row.schema, row.inplace, row.out):
        if text is not None:
            assert text == registered(operators.schema_name(text))


@pytest.mark.parametrize("row", [row for row in ROWS if not row.base_name.startswith("_")], ids=lambda row: row.name)
def test_names_exist_where_the_row_says(row: operators.Operator) -> None:
    public = {"unique_dim": "unique"}.get(row.base_name, row.base_name)
    for name in (public, *row.aliases):
        if "function" in row.variants and not name.endswith("_") and name not in BY_SYNTAX:
            prefix, _, rest = name.partition("_")
            assert hasattr(torch, name) or (prefix in NAMESPACES and hasattr(getattr(torch, prefix), rest)), name
        if "method" in row.variants and name not in BY_SYNTAX:
            assert hasattr(torch.Tensor, name), name
        if "nn" in row.variants and not name.endswith("_forward"):
            assert hasattr(torch._C._nn, name), name


@pytest.mark.parametrize("row", UNARY + BINARY, ids=lambda row: row.name)
def test_accepted_dtypes(row: operators.Operator) -> None:
    operator = getattr(getattr(torch.ops.aten, row.base_name), row.name.partition(".")[2] or "default")
    accepted = []
    for name in operators.dtype_classes()["all"]:
        operand = torch.ones(2, 3).to(getattr(torch, name))
        try:
            operator(*[operand] * (1 if row in UNARY else 2))
        except (RuntimeError, NotImplementedError):
            continue
        accepted.append(name)
    assert tuple(accepted) == row.dtypes


CASES = [(row, case) for row in ROWS for case in row.errors]


@pytest.mark.parametrize(("row", "case"), CASES, ids=[f"{row.name}-{case.when}" for row, case in CASES])
def test_calls_that_must_raise(row: operators.Operator, case: operators.ErrorCase) -> None:
    scope: dict[str, Any] = dict(vars(torch))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match=case.match) as caught:
            eval(case.example, scope)
    assert type(caught.value).__name__.lstrip("_") == case.raises
