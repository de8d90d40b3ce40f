"""Failures of autograd's tests are told as snippets that hold on a right backend."""

from __future__ import annotations

import subprocess
import sys

import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.mutants.mutant import MutantBackend
from gaugeblock_conformance.mutants.table import named
from gaugeblock_conformance.session import ConformanceError, Session

registry.load_tests()


def _failure(mutant: str, requirement: str) -> ConformanceError:
    """How the first test of the requirement that catches the mutant tells it."""
    backend = MutantBackend(discovery.load(discovery.resolve("reference")), named(mutant))
    for case in registry.tests()[requirement]:
        session = Session(backend, QUICK)
        session.shrink = False
        try:
            case.function(session)
        except ConformanceError as error:
            return error
    raise AssertionError(f"{mutant} is not caught by {requirement}")


@pytest.mark.parametrize(
    ("mutant", "requirement"),
    [
        ("gradient-of-the-second-factor-is-lost", "gradient-of-a-scalar"),
        ("no-grad-is-ignored", "recorded-iff-grad-is-needed"),
        ("removed-hooks-run", "hooks-can-be-removed"),
        ("leaves-may-be-written", "leaf-cannot-be-written"),
        ("writes-through-views-leave-no-history", "write-through-a-view-reaches-the-base"),
        ("backward-overwrites-gradients", "backward-accumulates"),
        ("dirty-arguments-are-not-marked", "function-may-write-to-its-argument"),
        ("edges-lead-to-the-first-result", "edges-lead-to-the-producers-of-the-arguments"),
        ("tangents-are-negated", "forward-mode-gives-tangents"),
    ],
)
def test_snippet_holds_on_the_right_backend(mutant: str, requirement: str) -> None:
    snippet = _failure(mutant, f"autograd/{requirement}").snippet
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"
