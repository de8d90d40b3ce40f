"""The working half of the pytest plugin: one pytest item per test of the suite, run against one backend in process."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_spec import requirements as spec

from .. import budget, discovery, expectations
from ..backend import MissingCapability, Unsupported
from ..expectations.manifest import NOTHING, Manifest
from ..problem import UsageProblem
from ..requirement import TestCase
from ..session import ConformanceError, Session
from .execute import misused
from .isolation import isolated

IDS = "requirement_ids"


class Refusal:
    """Stands for :class:`Items` when there is no backend: ends the run after collection, with the reason."""

    def __init__(self, problem: str) -> None:
        self.problem = problem

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self) -> None:
        raise pytest.UsageError(self.problem)


def make(config: pytest.Config) -> Items | Refusal:
    """The plugin to register once the first test module of the suite is collected."""
    if not config.getoption("gaugeblock_backend"):
        known = ", ".join(discovery.installed())
        return Refusal(f"the conformance tests need --backend NAME[:DEVICE]; known: {known}")
    try:
        return Items(config)
    except UsageProblem as problem:
        return Refusal(str(problem))


class Items:
    """Gives the suite's tests their session, ids, skips and expected failures.

    Raises:
        UsageProblem: a bad option, or a backend that does not load.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.budget = budget.named(config.getoption("gaugeblock_budget") or "quick")
        seed = config.getoption("gaugeblock_seed") or "0"
        if not seed.lstrip("-").isdecimal():
            raise UsageProblem(f"--gaugeblock-seed must be a whole number, not {seed!r}")
        self.seed = int(seed)
        self.backend = discovery.load(discovery.resolve(config.getoption("gaugeblock_backend")))
        self.manifest = self._manifest(config.getoption("gaugeblock_expect"))
        config.addinivalue_line("markers", "requirement(*ids): the requirements of the spec that a test checks")

    def _manifest(self, expect: str | None) -> Manifest:
        if expect == "none":
            return NOTHING
        found = Path(expect) if expect else expectations.shipped(self.backend.name, self.backend.version)
        return NOTHING if found is None else expectations.read(found, spec.load(), self.backend.device)

    @pytest.fixture
    def s(self) -> Session:
        """A session with the backend named on the command line."""
        return Session(self.backend, self.budget, self.seed)

    @pytest.fixture
    def requirement_ids(self, request: pytest.FixtureRequest) -> tuple[str, ...]:
        """The requirements that the running test checks."""
        ids: tuple[str, ...] = request.param
        return ids

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        case = _case(metafunc.function)
        if case is not None:
            metafunc.fixturenames.append(IDS)
            metafunc.parametrize(IDS, [case.ids], ids=["+".join(case.ids)], indirect=True)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        case = _case(getattr(item, "function", None))
        if case is None:
            return
        if case.may_crash:
            item.obj = isolated(item.obj)  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.requirement(*case.ids))
        item.extra_keyword_matches.update(case.ids)
        missing = [name for name in case.needs if name not in self.backend.capabilities]
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"missing capability {', '.join(missing)}"))
        for identifier in case.ids:
            expectation = self.manifest.expected.get(identifier)
            if expectation is not None:
                item.add_marker(pytest.mark.xfail(reason=f"{identifier}: {expectation.reason}", strict=False))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A broken requirement tells itself; where in the suite it was noticed says nothing more."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, ConformanceError):
            report.longrepr = str(call.excinfo.value)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        if _case(pyfuncitem.function) is None:
            return (yield)
        try:
            result = yield
        except MissingCapability as absent:
            fault = misused(absent.name, self.backend.capabilities)
            if fault is not None:
                pytest.fail(fault)
            pytest.skip(f"missing capability {absent.name}")
        except Unsupported as absent:
            pytest.skip(f"unsupported operator {absent.operator}")
        session = pyfuncitem.funcargs["s"]
        assert isinstance(session, Session)
        outcome = session.outcome
        if not outcome.examples and outcome.unsupported:
            pytest.skip(f"unsupported operator {', '.join(sorted(outcome.unsupported))}")
        return result


def _case(function: Any) -> TestCase | None:
    case = getattr(function, "requirement_case", None)
    return case if isinstance(case, TestCase) else None
