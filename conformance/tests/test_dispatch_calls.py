"""Failures of the dispatcher's tests are told as snippets that run; the calls behind them do what their table says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from gaugeblock_conformance import backend_dispatch, backend_kernels, discovery
from gaugeblock_conformance.backends.dispatch_calls import Dispatching
from gaugeblock_conformance.backends.kernel_calls import KernelCalls
from gaugeblock_conformance.session import ConformanceError

FailureOf = Callable[[str, str], ConformanceError]


@pytest.mark.parametrize(
    ("mutant", "requirement", "call"),
    [
        ("excluded-keys-count", "dispatch/excluded-keys-count-for-none", "Exclude(key='AutogradCPU'),), 'suite::f'"),
        ("removed-kernel-stays", "dispatch/kernels-are-found-at-run-time", "gb.ops.suite.f("),
        ("mode-sees-calls-twice", "dispatch/mode-sees-every-call-in-order", "backend.call('within', (Mode("),
        ("double-definition-is-accepted", "dispatch/malformed-registrations-raise", "backend.call('define_operator'"),
    ],
)
def test_snippet_holds_on_the_right_backend(failure_of: FailureOf, mutant: str, requirement: str, call: str) -> None:
    snippet = failure_of(mutant, requirement).snippet
    assert snippet is not None
    assert call in snippet
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"


def test_every_call_of_the_tables_is_answered() -> None:
    assert all(hasattr(Dispatching, name) for name in backend_dispatch.CALLS)
    assert all(hasattr(KernelCalls, name) for name in backend_kernels.CALLS if name != "on_instruction_set")


def test_exception_in_another_thread_is_raised_here() -> None:
    backend = discovery.load(discovery.resolve("reference"))
    with pytest.raises(AttributeError):
        backend.call("within", (backend_dispatch.Thread(),), "suite::nothing")
