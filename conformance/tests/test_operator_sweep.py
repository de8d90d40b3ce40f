"""Sweeps: which calls of an operator are judged, and how its failure is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import command, discovery
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.conditions import Condition, met
from gaugeblock_conformance.operators.drawing import draw
from gaugeblock_conformance.operators.sweep import sweep
from gaugeblock_conformance.session import ConformanceError, Session


class WrongInTwoDims(NumpyBackend):
    """NumPy with a ``sub`` that adds 1 to results of two dims; like NumPy's, it takes no ``alpha``."""

    name = "wrong-in-two-dims"

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return result + 1 if operator == "sub.Tensor" and result.ndim == 2 else result


@pytest.fixture
def session() -> Session:
    return Session(discovery.load(discovery.resolve("numpy")), QUICK, seed=0)


def test_failures_keep_only_the_wishes_that_they_need(session: Session) -> None:
    """A failure under a layout of the second operand is told with simple sizes, and the first operand as it comes."""
    def body(s: Session, call: OperatorCall) -> None:
        apart = Condition("layout", "other", "permuted") in met(call)
        s.expect(apart, False, "a permuted second operand", "'permuted'")

    with pytest.raises(ConformanceError) as caught:
        sweep(session, ["sub.Tensor"], draw, body, whole=True)
    call = caught.value.example["call"]
    assert "'other'" not in call
    assert call.count("strides=") == 1



def test_calls_that_are_not_offered_give_way_to_others(session: Session) -> None:
    judged: list[OperatorCall] = []

    def body(s: Session, call: OperatorCall) -> None:
        if "alpha" in call.arguments:
            raise Unsupported("sub.Tensor", "not in this form")
        judged.append(call)

    sweep(session, ["sub.Tensor"], draw, body, whole=True)
    dims = {condition.value for call in judged for condition in met(call) if condition.kind == "dims"}
    assert dims >= {"0", "1", "2", "3", "4", "5"}
    assert session.outcome.examples == len(judged)
    assert session.outcome.unsupported == {"sub.Tensor": "not in this form"}


@pytest.mark.parametrize(("reason", "asked"), [((), 1), (("not in this form",), 8)])
def test_operators_that_are_not_offered_are_left(session: Session, reason: tuple[str, ...], asked: int) -> None:
    calls: list[OperatorCall] = []

    def body(s: Session, call: OperatorCall) -> None:
        calls.append(call)
        raise Unsupported("sub.Tensor", *reason)

    sweep(session, ["sub.Tensor"], draw, body)
    assert len(calls) == asked
    assert session.outcome.examples == 0


def test_wrong_values_show_beside_arguments_that_are_not_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = f"{__file__}:{WrongInTwoDims.__name__}"
    assert command.main(["validate", backend, "--op", "sub", "--budget", "quick", "--out", f"{tmp_path}"]) == 1
    assert "wrong value of sub.Tensor's result" in capsys.readouterr().out
