"""Results that read memory never written are told as what differs from run to run, others as their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.dialect import AdapterDialect
from gaugeblock_conformance.runner.execute import Scope, run_requirement
from gaugeblock_conformance.runner.same_value import agrees

VALUES = "operators/every-operator-gives-what-its-row-says"


class _Amax(NumpyBackend, ABC):
    """A backend whose ``amax`` is off by :meth:`error`; its snippets call the adapter."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.dialect: Any = AdapterDialect()

    @abstractmethod
    def error(self) -> float:
        """Return what to add to the next result."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator != "amax":
            return result
        return np.asarray(result.astype(np.float64) + self.error()).astype(result.dtype)


class Unwritten(_Amax):
    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.numbers = count(1000, 100)

    def error(self) -> float:
        return next(self.numbers)


class AlwaysWrong(_Amax):
    def error(self) -> float:
        return 1000.0


class RightOnceMore(_Amax):
    """Wrong until a wrong result has been made simpler, and right in another session."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.filled = False

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        self.filled = self.filled or (array.dtype == np.uint8 and array.size == 1024)
        return super().from_numpy(array)

    def error(self) -> float:
        return 0.0 if self.filled else 1000.0


def _failure(backend: NumpyBackend) -> Any:
    row = run_requirement(backend, VALUES, QUICK, 0, scope=Scope(only=("amax",)))
    assert row["failure"] is not None
    assert (row["status"], row["failure"]["operator"]) == ("failed", "amax")
    return row["failure"]


def test_a_value_that_differs_is_not_told_as_a_literal() -> None:
    failure = _failure(Unwritten())
    assert failure["message"].startswith("wrong value of amax's result")
    assert failure["message"].endswith("; it differs from run to run")
    assert failure["got"].startswith("differs from run to run: ")
    lines = failure["snippet"].splitlines()
    assert "assert len(seen) == 1" in lines
    assert lines.index("assert len(seen) == 1") < next(k for k, line in enumerate(lines) if line.startswith("got = "))


@pytest.mark.parametrize(("backend", "raises"), [(Unwritten, True), (AlwaysWrong, False)])
def test_its_snippet_asserts_that_calls_agree(backend: type[NumpyBackend], raises: bool) -> None:
    snippet = _failure(Unwritten())["snippet"]
    upto = snippet[: snippet.index("assert len(seen) == 1")] + "differs = len(seen) > 1\n"
    names: dict[str, Any] = {"backend": backend()}
    body = [line for line in upto.splitlines() if "backend = " not in line]
    exec("\n".join(body), names)
    assert names["differs"] is raises


def test_a_value_that_is_always_wrong_is_told_as_it_is() -> None:
    failure = _failure(AlwaysWrong())
    assert "run to run" not in failure["message"] + failure["got"]
    assert "seen" not in failure["snippet"]


def test_a_value_that_is_right_when_called_again_is_told_so() -> None:
    assert _failure(RightOnceMore())["message"].endswith(
        "(it differs from run to run: right when the call was made again)"
    )


class UnwrittenProducts(Unwritten):
    """The products of empty tensors are never written."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = NumpyBackend.call(self, operator, *args, **kwargs)
        if operator != "prod" or args[0].size:
            return result
        return np.asarray(result + int(self.error())).astype(result.dtype)


def test_a_requirement_that_goes_over_no_operators_tells_it_too() -> None:
    row = run_requirement(UnwrittenProducts(), "dtypes/integer-arithmetic-wraps", QUICK, 0)
    assert row["failure"] is not None
    assert row["failure"]["operator"] is None
    assert row["failure"]["message"].endswith("; it differs from run to run")
    assert "assert len(seen) == 1" in (row["failure"]["snippet"] or "")


def test_any_wrong_value_of_a_snippet_shows_one_that_differs() -> None:
    assert agrees("3.5", "differs from run to run: 1.0, then 2.0", "wrong value")
    assert not agrees("3.5", "1.0", "wrong value")


class Swapped(ReferenceBackend):
    """A backend whose `sub` takes its operands the wrong way round."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        args = (args[1], args[0], *args[2:]) if operator == "sub.Tensor" else args
        return super().call(operator, *args, **kwargs)


def test_rows_of_a_table_are_run_again_in_another_session() -> None:
    asked = "dtypes/half-arithmetic-rounds-once"
    row = run_requirement(Swapped(), asked, QUICK, 0, scope=Scope(only=("sub.Tensor",)))
    assert (row["status"], row["failure"]["operator"]) == ("failed", "sub.Tensor")
