"""explain: the trace of one call."""

from __future__ import annotations

import gaugeblock as gb
import pytest
from gaugeblock.core.tracing import TRACING
from gaugeblock.dispatch.state import STATE
from gaugeblock.tensor.hooks import SPECIAL

A, B = gb.ones(3, 4), gb.ones(4)


def test_arguments_keys_kernel_plan_and_loop() -> None:
    trace = gb.explain(lambda: A + B)
    assert trace.result.tolist() == [[2.0] * 4] * 3
    (stop,) = trace.stops
    assert stop.heading == "aten::add.Tensor"
    assert stop.lines[:3] == [
        "arguments  self = float32[3, 4] on cpu",
        "arguments  other = float32[4] on cpu",
        "arguments  alpha = 1 (default)",
    ]
    assert stop.lines[3:] == [
        "keys       of the arguments: AutocastCPU, AutogradCPU, ADInplaceOrView, CPU",
        "           with this thread's: AutogradCPU, ADInplaceOrView, BackendSelect, CPU",
        "           AutogradCPU: fallthrough",
        "           ADInplaceOrView: fallthrough",
        "           BackendSelect: fallthrough",
        "           CPU: kernel",
    ]
    (kernel,) = stop.inside
    assert kernel.heading.startswith("kernel     CPU: operators.pointwise_operators.add.Tensor pointwise_operators.py:")
    assert any("coalesce" in line for line in kernel.lines)
    assert "loop       add(float32, float32): strided, over [4, 3] (innermost first)" in kernel.lines[-1]
    assert str(trace).splitlines()[-1] == "result: float32[3, 4] on cpu"


def test_an_operator_by_name() -> None:
    trace = gb.explain("add.Tensor", A, A, alpha=2)
    assert trace.result.tolist() == [[3.0] * 4] * 3
    assert "arguments  alpha = 2" in str(trace)
    assert "contiguous, one run of 12 elements" in str(trace)
    assert "reduction sum: [4] elements for each of [3] results" in str(gb.explain(lambda: A.sum(1)))


def test_a_composite_shows_what_is_inside() -> None:
    trace = gb.explain(lambda: gb.zeros(3, device="meta"))
    (zeros,) = trace.stops
    assert [inner.heading for inner in zeros.inside[0].inside] == ["aten::empty.memory_format", "aten::zero_"]


def test_the_trip_of_a_failing_call_is_on_the_exception() -> None:
    with pytest.raises(RuntimeError) as caught:
        gb.explain(lambda: gb.add(A, gb.ones(2, 2)))
    (note,) = caught.value.__notes__
    assert "aten::add.Tensor" in note and "raised     RuntimeError" in note and "result" not in note


def test_nothing_stays_behind() -> None:
    plans = A.meta.plans
    with pytest.raises(ZeroDivisionError):
        gb.explain(lambda: A + A + 1 / 0)
    gb.explain(lambda: A * A)
    assert A.meta.plans is plans
    assert STATE.trace is None and TRACING.hook is None and not SPECIAL


def test_what_cannot_be_explained() -> None:
    with pytest.raises(TypeError, match="'call' must be a callable or an operator's name, not int"):
        gb.explain(3)
    with pytest.raises(RuntimeError, match="nothing_here"):
        gb.explain("nothing_here")
