"""Fakes that worker processes can import, and a death that a test asked for."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance import requirement as registry
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.mutants.mutant import MutantBackend
from gaugeblock_conformance.mutants.table import named
from gaugeblock_conformance.runner.run import Options, Record, validate
from gaugeblock_conformance.session import ConformanceError, Session

FAKES = Path(__file__).parent / "fakes"
sys.path.insert(0, str(Path(__file__).parent / "helpers"))


class Silent:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.decisions: list[Any] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def start(self, total: int, done: int) -> None:
        self.notes.append(f"{done} of {total}")

    def decided(self, row: Any) -> None:
        self.decisions.append(row)

    def finish(self) -> None:
        self.notes.append("finished")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes ``fake_suite`` and ``fake_backends`` importable here and in worker processes."""
    monkeypatch.syspath_prepend(str(FAKES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKES), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep))
    return FAKES


@pytest.fixture
def die() -> Callable[[int], None]:
    """``die(signal.SIGABRT)`` ends the (child) process by the signal, without the traceback of an unforeseen death."""

    def end(number: int) -> None:
        faulthandler.disable()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return end


@pytest.fixture
def run_fake(fakes: Path, tmp_path: Path) -> Callable[..., Record]:
    """``run_fake("Wrong", ...)`` runs the fake suite against a fake backend and returns the record."""

    def run(backend: str, **options: Any) -> Record:
        settings: dict[str, Any] = {
            "backend": backend if ":" in backend else f"fake_backends:{backend}",
            "out": tmp_path / "out",
            "suite": "fake_suite:fake",
            "budget": "quick",
            "jobs": 1,
            "check_snippets": False,
        }
        return validate(Options(**{**settings, **options}), Silent())

    return run


@pytest.fixture
def failure_of() -> Callable[[str, str], ConformanceError]:
    """``failure_of(mutant, requirement)``: how the first test of the requirement that catches the mutant tells it."""
    registry.load_tests()

    def tell(mutant: str, requirement: str) -> ConformanceError:
        backend = MutantBackend(discovery.load(discovery.resolve("reference")), named(mutant))
        for case in registry.tests()[requirement]:
            session = Session(backend, QUICK)
            session.shrink = False
            try:
                case.function(session)
            except ConformanceError as error:
                return error
        raise AssertionError(f"{mutant} is not caught by {requirement}")

    return tell
