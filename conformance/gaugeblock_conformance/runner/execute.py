"""Runs the tests of one requirement in this process and decides its verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gaugeblock_spec import capabilities
from gaugeblock_spec.requirements import Requirement

from ..backend import Backend, MissingCapability, Unsupported
from ..budget import Budget
from ..pictures import Picture, pictures
from ..problem import one_line, shown, unknown_requirement
from ..requirement import TestCase
from ..rerun import told
from ..session import ConformanceError, OperatorSession, OtherOperators, Outcome, Session
from . import suite as suites
from .preflight import withdrawn_of
from .rows import Failure, Row, Status, new_failure, new_row

ELSEWHERE = "does not judge the operators asked for"
"""Why a requirement is skipped that does not go over the operators that a run is about."""
BY_OWN_RULES = "asked by its own rules"
"""Begins the reason of a requirement that did not hold as the spec has it, but by rules of the library's own."""
_RANK = {"skipped": 0, "passed": 1, "failed": 2}


@dataclass(frozen=True)
class CaseResult:
    """What one test said of the backend: why it was skipped, how it failed, what it did.

    A test that goes over operators has a failure for each that broke the requirement.
    """

    reason: str | None
    failures: Sequence[Failure]
    outcome: Outcome
    tried: int
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Scope:
    """The operators that a requirement is judged for: all, ``only`` some, or all but those to ``avoid``.

    ``at_operator`` is told of each operator before it is judged.
    """

    only: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    at_operator: Callable[[str], None] | None = None


class Trace(Protocol):
    """Is told the source lines so far, all calls by way of the adapter, and the last use of the backend."""

    def __call__(self, text: str) -> None: ...

    def log(self, text: str) -> None: ...

    def at_use(self, use: str) -> None: ...


# Results of tests that check several requirements, so that each is run once in a process.
Memo = dict[TestCase, CaseResult]


def run_requirement(
    backend: Backend,
    requirement: Requirement | str,
    budget: Budget,
    seed: int,
    *,
    tests: Sequence[TestCase] | None = None,
    scope: Scope | None = None,
    trace: Trace | None = None,
    on_test: Callable[[TestCase], None] | None = None,
    memo: Memo | None = None,
) -> Row:
    """Run every test of ``requirement`` against ``backend`` here, without a worker, and return its row.

    ``tests`` defaults to the registered ones, ``scope`` to all operators. ``trace`` is told the source lines so far
    before every use of the backend; ``on_test`` is told of each test before it starts. ``memo`` keeps the results of
    tests that check several requirements from one call to the next.

    Raises:
        UsageProblem: ``requirement`` is an id that the spec does not have.
    """
    scope = scope or Scope()
    if isinstance(requirement, str):
        suite = suites.standard()
        if requirement not in suite.requirements:
            raise unknown_requirement(requirement, suite.requirements)
        tests = suite.tests().get(requirement, []) if tests is None else tests
        requirement = suite.requirements[requirement]
    elif tests is None:
        tests = suites.standard().tests().get(requirement.id, [])
    row = new_row(requirement)
    row["tests"] = [f"{case.module}:{case.line} {case.name}" for case in tests]
    if not tests:
        row["status"], row["reason"] = "skipped", "no test of the suite covers it"
        return row
    skipped: list[str] = []
    failures: list[Failure] = []
    results: list[CaseResult] = []
    started = time.perf_counter()
    for case in tests:
        if on_test is not None:
            on_test(case)
        known = None if memo is None else memo.get(case)
        result = known or _run_case(backend, case, budget, seed, scope, trace, requirement.area)
        if memo is not None and len(case.ids) > 1:
            memo[case] = result
        results.append(result)
        _count(row, backend, result, again=known is not None)
        if result.reason is not None:
            skipped.append(result.reason)
        failures += result.failures
        if result.pictures:
            row.setdefault("pictures", []).extend(result.pictures)
    row["seconds"] = round(time.perf_counter() - started, 6)
    left_out = any(result.outcome.left_out for result in results)
    asked = len(tests) - skipped.count(ELSEWHERE)
    skipped = [reason for reason in skipped if reason != ELSEWHERE]
    if failures:
        row["failure"], *row["further_failures"] = failures
        row["status"] = failures[0]["verdict"]
    elif len(skipped) == asked:
        elsewhere = not asked or scope.only
        row["status"], row["reason"] = "skipped", ELSEWHERE if elsewhere else "; ".join(dict.fromkeys(skipped))
    else:
        own = f"{BY_OWN_RULES}: {'; '.join(row['own_rules'])}" if row["own_rules"] else None
        missing = _left_out(skipped, asked, row["subresults"])
        row["reason"] = "; ".join(filter(None, (missing, own))) or None
        row["status"] = "partial" if missing or left_out else "passed"
    return row


def _left_out(skipped: Sequence[str], tests: int, subresults: dict[str, Status]) -> str | None:
    """Return what a requirement that held was not judged by, or None if nothing was left out."""
    parts = []
    if skipped:
        parts.append(f"{len(skipped)} of {tests} tests skipped: {'; '.join(dict.fromkeys(skipped))}")
    missing = [name for name, status in subresults.items() if status == "skipped"]
    if missing:
        parts.append(f"{len(missing)} of {len(subresults)} operators skipped: {', '.join(missing)}")
    return "; ".join(parts) or None


def _run_case(
    backend: Backend,
    case: TestCase,
    budget: Budget,
    seed: int,
    scope: Scope,
    trace: Trace | None,
    area: str,
) -> CaseResult:
    session = _session(backend, budget, seed, scope)
    missing = [name for name in case.needs if name not in session.capabilities]
    if missing:
        return CaseResult(_missing(backend, missing), (), session.outcome, 0)
    if trace is not None:
        session.trace(trace, trace.at_use, trace.log)
    reason: str | None = None
    failure: Failure | None = None
    whole: dict[str | None, ConformanceError] = {}
    try:
        session.run_and_check_liveness(case.function, session)
    except MissingCapability as absent:
        fault = misused(absent.name, session.capabilities)
        if fault is None:
            reason = _missing(backend, [absent.name])
        else:
            failure = new_failure("failed", f"{case.name}: {fault}", cause=fault, test=case.name)
    except Unsupported as absent:
        reason = f"unsupported operator {absent.operator}"
    except OtherOperators:
        reason = ELSEWHERE
    except ConformanceError as error:
        error.again = error.again or case.function
        whole[None] = session.misbuilt(error) or told(backend, session, session.last_operator(), error)
    except MemoryError as error:
        failure = new_failure("crashed", f"out of memory: {one_line(error)}", test=case.name)
    except Exception as error:
        raised = session.raised_by_backend(error)
        if raised is None:
            failure = new_failure("failed", f"{case.name}: {one_line(error)}", cause=one_line(error), test=case.name)
        else:
            whole[None] = raised
    except BaseException as error:
        failure = new_failure("crashed", f"the backend aborted the test with {one_line(error)}", test=case.name)
    outcome = session.outcome
    if reason is None and failure is None and not whole and outcome.left_out and not outcome.calls:
        reason = f"{BY_OWN_RULES}: {', '.join(outcome.own_rules)}"
    found = {name: told(backend, session, name, error) for name, error in outcome.broken.items()} | whole
    failures = [_failure(case, operator, error) for operator, error in found.items()]
    drawn: list[Picture] = []
    if found:
        drawn = pictures(outcome.first_steps or session.steps(), area, case.name)
        for one, snippet in zip(failures, _through_adapter(backend, case, session, found), strict=True):
            one["adapter_snippet"] = snippet
    if failure is not None:
        failures.append(failure)
    tried = outcome.examples
    if not failures and reason is None and not tried:
        if outcome.unsupported:
            reason = f"unsupported operator {', '.join(sorted(outcome.unsupported))}"
        elif outcome.calls or outcome.tensors:
            tried = 1
        elif not session.has_data:
            reason = "the device holds no data"
        elif scope.only or scope.avoid:
            reason = ELSEWHERE
        else:
            failures = [new_failure("failed", f"{case.name} tried no example at all", test=case.name)]
    return CaseResult(reason, failures, outcome, tried, drawn)


def _missing(backend: Backend, names: Sequence[str]) -> str:
    """Return the reason to skip a test for want of capabilities ``names``, or of those withdrawn from the adapter."""
    withdrawn = [name for name in names if name in withdrawn_of(backend)]
    if withdrawn:
        return f"withdrawn capability {', '.join(withdrawn)}: the adapter fails its check"
    return f"missing capability {', '.join(names)}"


def _session(backend: Backend, budget: Budget, seed: int, scope: Scope) -> Session:
    session = (OperatorSession if scope.only else Session)(backend, budget, seed)
    session.collect = True
    session.only, session.avoided, session.at_operator = scope.only, scope.avoid, scope.at_operator
    return session


def misused(name: str, listed: Collection[str]) -> str | None:
    """Return why the backend must not raise MissingCapability for a capability, or None if it may."""
    if name in listed:
        return f"the backend lists capability {name} and raises MissingCapability for it"
    if name not in capabilities.load():
        return f"the backend raises MissingCapability for {shown(name)}, which is not a capability"
    return None


def _through_adapter(
    backend: Backend, case: TestCase, first: Session, found: dict[str | None, ConformanceError]
) -> list[str | None]:
    """The snippets of the failures ``found`` by way of the adapter, if it may be what broke the requirement."""
    dialect = getattr(backend, "adapter_dialect", None)
    if dialect is None or dialect is first.dialect:
        return [None] * len(found)
    snippets = []
    for operator, error in found.items():
        session = Session(backend, first.budget, first.seed)
        session.dialect = dialect
        session.foremost, session.narrow = [] if operator is None else [operator], operator is not None
        snippets.append(_snippet_again(error.again or case.function, session, error))
    return snippets


def _snippet_again(function: Callable[[Session], None], session: Session, error: ConformanceError) -> str | None:
    try:
        function(session)
    except ConformanceError as again:
        return again.snippet if again.message == error.message else None
    except Exception:
        return None
    return None


def _count(row: Row, backend: Backend, result: CaseResult, again: bool) -> None:
    """Add a test's figures to the row; work that another row has counted already adds examples only."""
    outcome = result.outcome
    _add_subresults(row, outcome)
    row["examples"] += result.tried
    row["unsupported"].update(outcome.unsupported)
    for rule, uses in outcome.own_rules.items():
        row["own_rules"][rule] = row["own_rules"].get(rule, 0) + uses
    row["support"] = _support(backend, outcome.operators, row["support"])
    row["operators"] = max(row["operators"], len(outcome.operators))
    if again:
        row["repeated"] += result.tried
        return
    row["calls"] += outcome.calls
    row["tensors"] += outcome.tensors
    row["noncontiguous"] += outcome.noncontiguous
    row["figures"].update(outcome.figures)


def _add_subresults(row: Row, outcome: Outcome) -> None:
    """Add a test's verdicts on operators; the worst of several tests counts."""
    for operator, examples in outcome.judged.items():
        status: Status = "failed" if operator in outcome.broken else "passed" if examples else "skipped"
        before = row["subresults"].get(operator, "skipped")
        row["subresults"][operator] = max(status, before, key=_RANK.__getitem__)


def _support(backend: Backend, operators: set[str], before: str | None) -> str | None:
    """``fallback`` if the backend says so of any operator called, ``native`` if of none, None if it does not say."""
    ask = getattr(backend, "support", None)
    if ask is None or not operators:
        return before
    answers = {before, *(ask(operator) for operator in operators)}
    return "fallback" if "fallback" in answers else "native" if "native" in answers else None


def _failure(case: TestCase, operator: str | None, error: ConformanceError) -> Failure:
    memory = isinstance(error.__cause__, MemoryError)
    return new_failure(
        "crashed" if memory else "failed",
        _text(error.message) or one_line(error),
        cause=_text(error.cause) or case.name,
        test=case.name,
        operator=operator,
        example={str(name): str(value) for name, value in (error.example or {}).items()},
        expected=_text(error.expected),
        got=_text(error.got),
        snippet=_text(error.snippet),
    )


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)
