"""A snippet makes the call that the adapter made, with its own arguments, and not the one that it was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.backend import DType
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.runner.rows import new_failure
from gaugeblock_conformance.runner.snippets import check_snippet
from gaugeblock_conformance.session import ConformanceError, Session


@pytest.fixture
def s(fakes: Path) -> Session:
    """A session with an adapter that asks for dtypes and orders of its own."""
    return Session(discovery.load(discovery.resolve("explicit_adapter:Explicit")), QUICK)


def told(s: Session, result: Any, want: Any, dtype: str) -> str:
    with pytest.raises(ConformanceError) as caught:
        s.expect_values(result, want, dtype=dtype)
    return caught.value.snippet


def test_keywords_that_the_adapter_adds_are_shown(s: Session) -> None:
    snippet = told(s, s.call("sum", s.tensor([1, 2], "int32")), 3, "int64")
    assert "y2 = gb.sum(x1, dtype=gb.int32)" in snippet


def test_keywords_that_the_adapter_changes_are_shown(s: Session) -> None:
    snippet = told(s, s.call("argsort", s.tensor([1.0, 2.0]), -1, False), [0, 1], "int64")
    assert "gb.argsort(x1, -1, descending=True)" in snippet


def test_the_shown_call_fails_the_same_way_without_the_adapter(s: Session) -> None:
    y = s.call("argsort", s.tensor([1.0, 2.0]), -1, False)
    with pytest.raises(ConformanceError) as caught:
        s.expect_values(y, [0, 1], dtype="int64")
    failure = new_failure("failed", caught.value.message, got=caught.value.got, snippet=caught.value.snippet)
    assert "explicit_adapter" not in caught.value.snippet
    assert check_snippet(failure).same


def test_a_refused_call_is_shown_as_it_ran(s: Session) -> None:
    with pytest.raises(ConformanceError, match="sum accepted") as caught:
        s.expect_raises(RuntimeError, "sum", s.tensor([1, 2], "int32"))
    assert "    y2 = gb.sum(x1, dtype=gb.int32)\n" in caught.value.snippet


def test_what_is_asked_is_shown_where_the_adapter_changes_nothing(s: Session) -> None:
    snippet = told(s, s.call("neg", s.tensor([1.0])), [1.0], "float32")
    assert "y2 = gb.neg(x1)" in snippet


def test_several_calls_and_tensors_of_the_adapters_own_are_not_shown(s: Session) -> None:
    two = told(s, s.call("mean", s.tensor([1.0, 3.0])), 3.0, "float32")
    assert "y2 = gb.mean(x1)" in two
    other = told(s, s.call("maximum", s.tensor([1.0]), s.tensor([2.0])), [1.0], "float32")
    assert "y5 = gb.maximum(x3, x4)" in other


def test_nothing_is_kept_of_what_ran(s: Session) -> None:
    adapter: Any = s.backend
    s.call("sum", s.tensor([1, 2], "int32"))
    assert adapter.inner.ran is None


def test_shipped_adapters_are_not_asked() -> None:
    loaded = discovery.load(discovery.resolve("reference"))
    plain = Session(loaded, QUICK)
    assert plain._adapter is None
    assert Session(NumpyBackend(), QUICK)._adapter is None
    assert "gb.sum(x1, dtype=gb.int64)" in told(
        plain, plain.call("sum", plain.tensor([1, 2], "int32"), dtype=DType("int64")), 4, "int64"
    )
