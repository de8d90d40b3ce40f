"""A worker process: loads the backend, then runs one requirement per request.

Requests are JSON lines, the first of them a :class:`Setup`; replies are messages of :mod:`.channel`. The first are
``checking``, one before each check of the adapter, and ``ready`` (facts about the backend) or ``problem``. Then each
``{"run": id, "careful": bool, "avoid": [operator], "only": [operator]}`` is answered by a ``test`` message for each
test begun and by a ``row``. The arguments are the descriptors of requests, replies and the trace.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import budget, discovery
from ..problem import UsageProblem, one_line
from ..requirement import TestCase
from . import suite as suites
from .channel import Sender
from .copies import TWICE, Copies
from .environment import loaded_packages
from .execute import Memo, Scope, run_requirement
from .liveness import Liveness
from .preflight import check_adapter, withdrawn_of
from .rows import new_failure, new_row, trimmed
from .trace import TraceWriter

UNHEARD = 70
"""Exit status of a worker that cannot write its replies."""
_exit, _set_blocking = os._exit, os.set_blocking
# Seconds that a test of literals, a property and a long test usually take.
_USUAL = (0.002, 0.1, 2.0)
# Seconds after which a requirement has probably made the backend load or compile more.
_LONG = 0.5
# Number of tracked objects from which on it pays to exclude them from later collections.
_MUCH = 50_000
_GARBAGE = 10_000
"""Number of objects more than there were after which the youngest are searched for cycles; Python's own 700 cost a test
more than it frees."""


@dataclass(frozen=True)
class Setup:
    """What a worker needs to know before its first requirement.

    ``fatal`` says of capabilities how their probes ended other workers.
    """

    backend: str
    suite: str
    budget: str
    seed: int
    key: str
    operators: tuple[str, ...] = ()
    fatal: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def families(tests: Mapping[str, Sequence[TestCase]]) -> dict[str, str]:
    """Requirement -> a requirement that stands for all those it shares tests with; only where there are any."""
    leader: dict[str, str] = {}
    for identifier, cases in tests.items():
        shared = [other for case in cases for other in case.ids]
        found = {leader[other] for other in shared if other in leader} or {identifier}
        first = min(found)
        for other in (*shared, *(name for name, own in leader.items() if own in found)):
            leader[other] = first
    sizes = Counter(leader.values())
    return {name: first for name, first in leader.items() if sizes[first] > 1}


def keep_what_there_is() -> None:
    """Leave what is loaded by now out of every later collection, which makes the tests a third faster."""
    gc.collect()
    gc.freeze()


def main(arguments: Sequence[str]) -> None:
    """Serve requests until there are no more."""
    requests_fd, replies_fd, trace_fd = map(int, arguments)
    for descriptor in (requests_fd, replies_fd, trace_fd):
        os.set_inheritable(descriptor, False)
    requests = os.fdopen(requests_fd, "r", encoding="utf-8")
    faulthandler.enable(file=sys.stderr, all_threads=False)
    setup = Setup(**json.loads(requests.readline()))
    sender, copies = Sender(replies_fd, bytes.fromhex(setup.key)), Copies()

    def reply(**message: Any) -> None:
        copies.leave_if_copy()
        try:
            sender.send(message)
        except OSError:
            _exit(UNHEARD)

    try:
        backend = discovery.load(discovery.resolve(setup.backend))
        suite = suites.load(setup.suite)
        tests = suite.tests()
        backend = check_adapter(backend, lambda name: reply(checking=name), setup.fatal)
    except UsageProblem as problem:
        reply(problem=str(problem), status=problem.exit_status)
        return
    except Exception as error:
        reply(problem=f"the suite cannot be loaded: {one_line(error)}", status=2)
        return
    gc.set_threshold(_GARBAGE)
    keep_what_there_is()
    reply(
        ready={
            "name": str(backend.name),
            "version": str(backend.version),
            "device": str(backend.device),
            "capabilities": sorted(backend.capabilities),
            "withdrawn": withdrawn_of(backend),
            "own_rules": [rule.to_json() for rule in getattr(backend, "rules", ())],
            "packages": loaded_packages(),
            "families": families(tests),
            "efforts": {name: sum(_USUAL[case.effort] for case in cases) for name, cases in tests.items()},
        }
    )
    effort = budget.named(setup.budget)
    trace = TraceWriter(trace_fd)
    Liveness(backend)
    memo: Memo = {}
    while True:
        _set_blocking(requests_fd, True)  # a backend may have set it otherwise
        line = requests.readline()
        if not line:
            break
        request = json.loads(line)
        requirement = suite.requirements[request["run"]]
        cases = tests.get(requirement.id, [])
        copies.begin()
        row = run_requirement(
            backend,
            requirement,
            effort,
            setup.seed,
            tests=cases,
            scope=Scope(tuple(request["only"]) or tuple(setup.operators), tuple(request["avoid"]), trace.at_operator),
            trace=trace if request["careful"] else None,
            on_test=lambda case: reply(test=case.name),
            memo=None if request["careful"] or request["avoid"] or request["only"] else memo,
        )
        if copies.found():
            row = {**new_row(requirement, "crashed"), "tests": row["tests"], "failure": new_failure("crashed", TWICE)}
        reply(row=trimmed(row))
        if row["seconds"] > _LONG and len(gc.get_objects()) > _MUCH:
            keep_what_there_is()


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    _exit(0)
