"""Every call that the operator table says must raise, on the engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock_spec import operators

CASES = [(row, case) for row in operators.load().values() for case in row.errors]


class Names(dict[str, Any]):
    """The engine's public names, looked up as an example uses them; PyTorch keeps some operators in ``_C._nn``."""

    def __missing__(self, name: str) -> Any:
        return SimpleNamespace(_nn=gb.nn.operators) if name == "_C" else getattr(gb, name)


@pytest.mark.parametrize(("row", "case"), CASES, ids=[f"{row.name}-{case.when}" for row, case in CASES])
def test_calls_that_must_raise(row: operators.Operator, case: operators.ErrorCase) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            eval(case.example, {}, Names())
    assert type(caught.value).__name__ == case.raises, caught.value


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda x: gb.cholesky(x), NotImplementedError),
        (lambda x: gb.linalg.eigh(x), NotImplementedError),
        (lambda x: gb.linalg.solve(x, x), RuntimeError),
        (lambda x: gb.kthvalue(x + 1j, 1), NotImplementedError),
        (lambda x: gb.gradient(x + 0.5, spacing=[0.1], dim=[1, 0]), RuntimeError),
        (lambda x: gb.Tensor.__radd__(2, x), TypeError),
        (lambda x: gb.add(x, x, colour=1), TypeError),
    ],
)
def test_classes_of_errors(call: Callable[[Any], Any], kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        call(gb.ones(2, 2, dtype=gb.int64))
    assert type(caught.value) is kind
