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
from ..session import Session

IDS = "requirement_ids"


class Items:
    """Registered once the first test module of the suite is collected.

    Raises:
        pytest.UsageError: no backend was named, or it does not load.
    """

    def __init__(self, config: pytest.Config) -> None:
        named = config.getoption("gaugeblock_backend")
        if not named:
            known = ", ".join(discovery.installed())
            raise pytest.UsageError(f"the conformance tests need --backend NAME[:DEVICE]; known: {known}")
        try:
            self.budget = budget.named(config.getoption("gaugeblock_budget") or "quick")
            self.seed = int(config.getoption("gaugeblock_seed") or 0)
            self.backend = discovery.load(discovery.resolve(named))
            self.manifest = self._manifest(config.getoption("gaugeblock_expect"))
        except (UsageProblem, ValueError) as error:
            raise pytest.UsageError(str(error)) from error
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
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        if _case(pyfuncitem.function) is None:
            return (yield)
        try:
            result = yield
        except MissingCapability as absent:
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
