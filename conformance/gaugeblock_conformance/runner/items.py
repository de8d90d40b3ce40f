"""The working half of the pytest plugin: one pytest item per test of the suite, run against one backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from gaugeblock_spec import requirements as spec

from .. import budget, discovery, expectations
from .. import requirement as registry
from ..backend import MissingCapability, Unsupported
from ..expectations.manifest import NOTHING, Manifest
from ..problem import UsageProblem, one_line
from ..requirement import TestCase
from ..session import ConformanceError, Session
from .execute import misused
from .isolation import isolated
from .rows import BROKEN, Failure, Row, new_failure, new_row
from .single_tests import SingleTests, standing_for

IDS = "requirement_ids"
CASE = pytest.StashKey[TestCase]()


class Broken(AssertionError):
    """A broken requirement, told as its report does."""


class Refusal:
    """Stands for :class:`Items` when there is no backend: ends the run after collection, with the reason."""

    def __init__(self, problem: str) -> None:
        self.problem = problem

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self) -> None:
        raise pytest.UsageError(self.problem)


def make(config: pytest.Config) -> Items | Refusal:
    """The plugin to register once the first test module of the suite is collected."""
    if not config.getoption("--backend", None):
        known = ", ".join(discovery.installed())
        return Refusal(f"the conformance tests need --backend NAME[:DEVICE]; known: {known}, or {discovery.FORMS}")
    try:
        return Items(config)
    except UsageProblem as problem:
        return Refusal(str(problem))


class Items:
    """Gives the suite's tests their ids, verdicts, skips and expected failures.

    A requirement that is expected to fail does so if one of its tests fails; it holds unexpectedly if all of them were
    run by this process and none failed, which the last of them tells.

    Raises:
        UsageProblem: a bad option, or a backend that does not load.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.budget = budget.named(config.getoption("gaugeblock_budget") or "quick")
        seed = config.getoption("gaugeblock_seed") or "0"
        if not seed.lstrip("-").isdecimal():
            raise UsageProblem(f"--gaugeblock-seed must be a whole number, not {seed!r}")
        self.seed = int(seed)
        name = discovery.resolve(config.getoption("--backend"))
        self.workers: SingleTests | None = None
        self.backend: Any = None
        if config.getoption("gaugeblock_in_process"):
            self.backend = discovery.load(name)
            facts = {key: getattr(self.backend, key) for key in ("name", "version", "device", "capabilities")}
        else:
            self.workers = SingleTests(name.text, self.budget, self.seed)
            facts = self.workers.facts
        self.capabilities: Collection[str] = facts["capabilities"]
        try:
            self.manifest = _manifest(config.getoption("gaugeblock_expect"), facts)
        except UsageProblem:
            self.pytest_unconfigure()
            raise
        self._expected = {one.requirement: one.reason for one in self.manifest.expected.values()}
        self._done: dict[str, Counter[str]] = {}
        config.addinivalue_line("markers", "requirement(*ids): the requirements of the spec that a test checks")

    def pytest_unconfigure(self) -> None:
        if self.workers is not None:
            self.workers.close()
            self.workers = None

    @pytest.fixture
    def s(self) -> Session | None:
        """A session with the backend named on the command line; None where a worker has it."""
        return None if self.backend is None else Session(self.backend, self.budget, self.seed)

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
        item.stash[CASE] = case
        if self.workers is not None:
            item.obj = partial(self.judge, case)  # type: ignore[attr-defined]
        elif case.may_crash:
            item.obj = isolated(item.obj)  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.requirement(*case.ids))
        item.extra_keyword_matches.update(case.ids)
        missing = [name for name in case.needs if name not in self.capabilities]
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"missing capability {', '.join(missing)}"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A broken requirement tells itself; where in the suite it was noticed says nothing more."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, ConformanceError | Broken):
            report.longrepr = str(call.excinfo.value)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        case = pyfuncitem.stash.get(CASE, None)
        if case is None or self.workers is not None:
            return (yield)
        try:
            result = yield
        except MissingCapability as absent:
            fault = misused(absent.name, self.capabilities)
            if fault is not None:
                pytest.fail(fault)
            self._skip(case, f"missing capability {absent.name}")
        except Unsupported as absent:
            self._skip(case, f"unsupported operator {absent.operator}")
        except ConformanceError as raised:
            running = pyfuncitem.funcargs["s"]
            assert isinstance(running, Session)
            error = running.misbuilt(raised) or raised
            self._fail(case, [new_failure("failed", error.message)], error)
        except Exception as error:
            self._fail(case, [new_failure("failed", one_line(error))], error)
        session = pyfuncitem.funcargs["s"]
        assert isinstance(session, Session)
        outcome = session.outcome
        if not outcome.examples and outcome.unsupported:
            self._skip(case, f"unsupported operator {', '.join(sorted(outcome.unsupported))}")
        self._count(case, "passed")
        return result

    def judge(self, case: TestCase, **arguments: None) -> None:
        """Run a test in a worker, and pass, skip or fail as it says."""
        assert self.workers is not None
        row = self.workers.row(case)
        if row["status"] == "skipped":
            self._skip(case, row["reason"] or "")
        if row["status"] in BROKEN:
            failures = [one for one in (row["failure"], *row["further_failures"]) if one is not None]
            self._fail(case, failures, Broken("\n\n".join(map(_told, failures))))
        self._count(case, "passed")

    def _skip(self, case: TestCase, reason: str) -> NoReturn:
        self._count(case, "skipped")
        pytest.skip(reason)

    def _fail(self, case: TestCase, failures: list[Failure], error: Exception) -> NoReturn:
        """Fail as expected of one of the requirements that the test checks, or else by ``error``."""
        for identifier in case.ids:
            self._done.setdefault(identifier, Counter())["failed"] += 1
        for identifier in case.ids:
            if identifier in self._expected:
                judged = self.manifest.judge(_row_of(case, identifier, failures))
                if judged["status"] == "xfailed":
                    pytest.xfail(f"{identifier}: {judged['reason']}")
                told = [one for one in (judged["failure"], *judged["further_failures"]) if one and one["known"] is None]
                if len(told) < len(failures):
                    error = Broken("\n\n".join(map(_told, told)))
                if judged["reason"]:
                    raise Broken(f"{error}\n{identifier}: {judged['reason']}") from error
        raise error

    def _count(self, case: TestCase, status: str) -> None:
        """Note how a test ended that did not fail. Raises Broken if so a requirement has held that was not to."""
        for identifier in case.ids:
            done = self._done.setdefault(identifier, Counter())
            done[status] += 1
            if identifier in self._expected and not done["failed"] and done["passed"]:
                registry.load_tests()
                here = [one for one in registry.tests()[identifier] if self._has_all(one)]
                if done.total() == len(here):
                    held = f"{identifier} holds, and was expected to fail: {self._expected[identifier]}"
                    raise Broken(f"{held}\ntake it out of {self.manifest.source}")

    def _has_all(self, case: TestCase) -> bool:
        return all(name in self.capabilities for name in case.needs)


def _manifest(expect: str | None, facts: dict[str, Any]) -> Manifest:
    if expect == "none":
        return NOTHING
    found = Path(expect) if expect else expectations.shipped(facts["name"], facts["version"])
    return NOTHING if found is None else expectations.read(found, spec.load(), facts["device"])


def _row_of(case: TestCase, identifier: str, failures: list[Failure]) -> Row:
    row = new_row(standing_for(case), failures[0]["verdict"])
    row["id"] = identifier
    row["failure"], *row["further_failures"] = failures
    return row


def _told(failure: Failure) -> str:
    """A failure as text: what a ConformanceError says, and the last words of a process."""
    lines = [f"[{failure['operator']}] {failure['message']}" if failure["operator"] else failure["message"]]
    lines += [f"{name}: {failure[name]}" for name in ("expected", "got") if failure[name] is not None]
    lines += [f"  {name} = {value}" for name, value in failure["example"].items()]
    if failure["snippet"]:
        lines += ["", failure["snippet"]]
    if failure["output"]:
        lines += ["printed:", failure["output"]]
    return "\n".join(lines)


def _case(function: Any) -> TestCase | None:
    case = getattr(function, "requirement_case", None)
    return case if isinstance(case, TestCase) else None
