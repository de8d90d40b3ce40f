"""Each wrong allocator is caught by every requirement that it breaks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from gaugeblock_conformance.mutants.table import table
from gaugeblock_conformance.session import ConformanceError
from gaugeblock_spec import requirements

FailureOf = Callable[[str, str], ConformanceError]

MUTANTS = [mutant for mutant in table().values() if mutant.kind == "allocator" and not mutant.base]
PAIRS = [(mutant.name, target) for mutant in MUTANTS for target in mutant.breaks if target.startswith("allocator/")]
# Those whose snippets need another device, time or luck.
NOT_SHOWN = {"search-is-linear", "threads-share-blocks"}
SHOWN = [PAIRS[k] for k in range(0, len(PAIRS), 7) if PAIRS[k][0] not in NOT_SHOWN]


def test_every_requirement_has_a_mutant() -> None:
    area = {r.id for r in requirements.load().values() if r.area == "allocator"}
    # The reference's tensors on a CPU have no such cache.
    assert area - {target for _, target in PAIRS} == {"allocator/view-keeps-the-whole-block"}


@pytest.mark.parametrize(("mutant", "identifier"), PAIRS)
def test_mutant_is_caught(failure_of: FailureOf, mutant: str, identifier: str) -> None:
    assert failure_of(mutant, identifier).message


@pytest.mark.parametrize(("mutant", "identifier"), SHOWN)
def test_snippet_holds_on_the_right_backend(failure_of: FailureOf, mutant: str, identifier: str) -> None:
    snippet = failure_of(mutant, identifier).snippet
    done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{snippet}\n{done.stderr}"
