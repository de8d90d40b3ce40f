"""The operator of this folder: its own tests, and the suite's generic ones, which need its row and one oracle."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.library import DeclaredOperator, derivative_of
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.operators import tables
from gaugeblock_conformance.operators import test_aliasing as aliasing
from gaugeblock_conformance.operators import test_dtypes as dtypes
from gaugeblock_conformance.operators import test_forms as forms
from gaugeblock_conformance.operators import test_meta as meta
from gaugeblock_conformance.operators import test_values as values
from gaugeblock_conformance.session import Session
from gaugeblock_spec import operators

HERE = Path(__file__).parent


def example() -> Any:
    """The module beside this file."""
    spec = importlib.util.spec_from_file_location("scaled_abs_example", HERE / "scaled_abs.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def scaled_abs() -> Iterator[DeclaredOperator]:
    operator = example().load()
    yield operator
    operator.remove()


X = gb.tensor([[1.0, -2.0, 0.0], [-3.0, 4.0, -0.5]])


def test_function_method_and_operator_agree(scaled_abs: DeclaredOperator) -> None:
    expected = [[2.0, 4.0, 0.0], [6.0, 8.0, 1.0]]
    assert gb.scaled_abs(X, 2.0).tolist() == X.scaled_abs(2.0).tolist() == scaled_abs(X, 2.0).tolist() == expected
    assert gb.ops.examples.scaled_abs(X, scale=2).tolist() == expected
    assert scaled_abs(X).tolist() == X.abs().tolist()


def test_strides_are_those_of_the_input(scaled_abs: DeclaredOperator) -> None:
    assert scaled_abs(X.t()).stride() == (1, 3)
    assert scaled_abs(gb.ones(2, 3, 4, 5).to(memory_format=gb.channels_last)).is_contiguous(
        memory_format=gb.channels_last
    )


def test_dtypes(scaled_abs: DeclaredOperator) -> None:
    assert scaled_abs(X.double(), 0.1).dtype is gb.float64
    for wrong, name in ((gb.tensor([1]), "int64"), (gb.tensor([True]), "bool"), (gb.tensor([1j]), "complex64")):
        with pytest.raises(RuntimeError, match=f"scaled_abs: expected float tensor, got {name}"):
            scaled_abs(wrong)
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        scaled_abs(X.half())
    with pytest.raises(TypeError, match="'scale'"):
        scaled_abs(X, "2")


def test_the_derivative(scaled_abs: DeclaredOperator) -> None:
    derivative = derivative_of(scaled_abs.overload)
    assert derivative is not None and derivative.setup_context is not None
    x, step = X.double(), 1e-6
    ctx = SimpleNamespace()
    ctx.save_for_backward = lambda *tensors: setattr(ctx, "saved_tensors", tensors)
    derivative.setup_context(ctx, (x, 3.0), scaled_abs(x, 3.0))
    by_self, by_scale = derivative.backward(ctx, gb.ones_like(x))
    away = x.abs() > step
    numeric = (scaled_abs(x + step, 3.0) - scaled_abs(x - step, 3.0)) / (2 * step)
    assert gb.allclose(by_self[away], numeric[away]) and by_scale is None
    assert by_self[~away].tolist() == [0.0]


def test_a_derivative_without_the_default_is_refused(tmp_path: Path) -> None:
    from gaugeblock.library import load_operators

    wrong = tmp_path / "derivatives.yaml"
    wrong.write_text((HERE / "derivatives.yaml").read_text().replace("=1.0", ""))
    with pytest.raises(ValueError, match="the derivative is declared for"):
        load_operators(HERE / "scaled_abs.yaml", {"scaled_abs": "self"}, derivatives=wrong, namespace="refused")


class WithScaledAbs(ReferenceBackend):
    """The engine with the operator of this folder."""

    def __init__(self, operator: DeclaredOperator) -> None:
        super().__init__("cpu")
        self.operator = operator

    def _resolve(self, name: str) -> Any:
        if name in ("scaled_abs", "scaled_abs.out"):
            return self.operator
        return super()._resolve(name)


GENERIC = [
    values.test_every_row, forms.test_inplace_bits, forms.test_out_bits,
    forms.test_inplace_metadata, forms.test_out_with_gaps, aliasing.test_storages_follow_the_marks,
    aliasing.test_written_results_reach_no_input, meta.test_metadata_of_results,
    dtypes.test_listed_dtypes, dtypes.test_other_dtypes,
]  # fmt: skip


@pytest.mark.parametrize("check", GENERIC, ids=lambda check: check.__name__)
def test_the_generic_tests_of_the_suite(
    check: Any, scaled_abs: DeclaredOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = operators.parse_rows("scaled_abs.yaml", (HERE / "scaled_abs.yaml").read_bytes())
    table = {**operators.load(), "scaled_abs": operators.operator_from_row(row)}
    monkeypatch.setattr(operators, "load", lambda: table)
    monkeypatch.setitem(tables.WIDE[0], "scaled_abs", lambda x, scale: np.abs(x) * np.longdouble(scale))
    for tests in (values, forms, aliasing, meta, dtypes):
        monkeypatch.setattr(tests, "swept", lambda: ("scaled_abs",))
        monkeypatch.setattr(tests, "shaped", lambda: (), raising=False)
        if hasattr(tests, "operators_with_oracle"):
            monkeypatch.setattr(tests, "operators_with_oracle", lambda: ())
    session = Session(WithScaledAbs(scaled_abs))
    check(session)
    assert session.outcome.examples > 0
