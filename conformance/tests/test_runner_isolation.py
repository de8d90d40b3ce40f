"""A test in a child process: what it raises comes back, and its death is a failure."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from gaugeblock_conformance.failure import ConformanceError
from gaugeblock_conformance.runner.isolation import isolated


def test_a_passing_test_leaves_no_trace() -> None:
    seen: list[int] = []
    isolated(lambda: seen.append(1))()
    assert seen == []


def test_an_exception_comes_back_whole() -> None:
    def fails() -> None:
        raise ConformanceError("wrong", "1", "2", {"x": "3"}, "assert x == 1", "cause")

    with pytest.raises(ConformanceError) as caught:
        isolated(fails)()
    assert (caught.value.message, caught.value.example, caught.value.cause) == ("wrong", {"x": "3"}, "cause")


def test_death_is_a_failure(die: Callable[[int], None]) -> None:
    with pytest.raises(AssertionError, match="SIGSEGV"):
        isolated(lambda: die(signal.SIGSEGV))()


def test_exiting_without_a_result_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="without a result"):
        isolated(lambda: os._exit(3))()


def test_invalid_data_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    pipe = os.pipe

    def noted() -> tuple[int, int]:
        made.extend(pipe())
        return made[-2], made[-1]

    monkeypatch.setattr(os, "pipe", noted)
    with pytest.raises(AssertionError, match="returned invalid data"):
        isolated(lambda: os.write(made[-1], b"garbage") and None)()


def test_returning_twice_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="returned invalid data"):
        isolated(lambda: os.waitpid(child, 0) if (child := os.fork()) else None)()
