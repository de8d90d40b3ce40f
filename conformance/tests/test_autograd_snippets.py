"""Failures of autograd's tests are told as snippets that hold on a right backend."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from gaugeblock_conformance.session import ConformanceError

FailureOf = Callable[[str, str], ConformanceError]


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
def test_snippet_holds_on_the_right_backend(failure_of: FailureOf, mutant: str, requirement: str) -> None:
    snippet = failure_of(mutant, f"autograd/{requirement}").snippet
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"
