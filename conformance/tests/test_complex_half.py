"""complex32, which no row lists: a backend without it is not accused, one with it follows the rule of promotion."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock_conformance.backend import DType, Unsupported
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.runner.execute import run_requirement

RULES = ("dtypes/python-number-result-dtype", "dtypes/lower-rank-result-dtype")
WIDE = DType("complex64")


class Wider(ReferenceBackend):
    """The reference, with complex64 where it gives complex32."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "result_type":
            return WIDE if result == "complex32" else result
        if operator == "zeros" or not self.is_tensor(result) or self.dtype(result) != "complex32":
            return result
        return super().call("to.dtype", result, WIDE)

    def is_tensor(self, value: Any) -> bool:
        return hasattr(value, "meta")


class Without(Wider):
    """A backend without complex32."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if "complex32" in (*args, *kwargs.values()):
            raise Unsupported("complex32", "no dtype of this name")
        return super().call(operator, *args, **kwargs)


@pytest.mark.parametrize("rule", RULES)
def test_a_backend_without_it_is_not_accused(rule: str) -> None:
    assert run_requirement(Without(), rule, QUICK, 0)["status"] == "passed"


@pytest.mark.parametrize("rule", RULES)
def test_a_backend_with_it_gives_it_for_half_floats(rule: str) -> None:
    assert run_requirement(ReferenceBackend(), rule, QUICK, 0)["status"] == "passed"
    row = run_requirement(Wider(), rule, QUICK, 0)
    assert row["status"] == "failed" and "complex32" in str(row["failure"])
