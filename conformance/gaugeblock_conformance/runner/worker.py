"""A worker process: loads the backend, then runs one requirement per request.

Requests and replies are JSON lines. The first request is a :class:`Setup`; the first reply is ``ready`` (facts about
the backend) or ``problem``. Then each ``{"run": id, "careful": bool}`` is answered by ``tests``, one ``test`` for each
test begun, and a ``row``. The backend's own standard output and error both go to standard error.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from .. import budget, discovery
from ..problem import UsageProblem, one_line
from ..requirement import TestCase
from . import suite as suites
from .environment import loaded_packages
from .execute import Memo, run_requirement
from .trace import TraceWriter

PR_SET_PDEATHSIG = 1
# Seconds that a test of literals, a property and a long test usually take.
_USUAL = (0.002, 0.1, 2.0)
# Seconds after which a requirement has probably made the backend load or compile more.
_LONG = 0.5


@dataclass(frozen=True)
class Setup:
    """What a worker needs to know before its first requirement."""

    backend: str
    suite: str
    budget: str
    seed: int
    trace: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def take_over_streams() -> tuple[TextIO, TextIO]:
    """Keep the protocol's pipes for ourselves: whoever reads fd 0 now gets nothing, whoever prints reaches stderr."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def die_with_parent() -> None:
    """Let the kernel end this process when the parent is gone, even while the backend hangs (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


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


def main() -> None:
    """Serve requests until standard input ends."""
    die_with_parent()
    requests, replies = take_over_streams()
    faulthandler.enable(file=sys.stderr, all_threads=False)

    def reply(**message: Any) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    setup = Setup(**json.loads(requests.readline()))
    try:
        backend = discovery.load(discovery.resolve(setup.backend))
        suite = suites.load(setup.suite)
        tests = suite.tests()
    except UsageProblem as problem:
        reply(problem=str(problem), status=problem.exit_status)
        return
    except Exception as error:
        reply(problem=f"the suite cannot be loaded: {one_line(error)}", status=2)
        return
    keep_what_there_is()
    reply(
        ready={
            "name": str(backend.name),
            "version": str(backend.version),
            "device": str(backend.device),
            "capabilities": sorted(backend.capabilities),
            "packages": loaded_packages(),
            "families": families(tests),
            "efforts": {name: sum(_USUAL[case.effort] for case in cases) for name, cases in tests.items()},
        }
    )
    effort = budget.named(setup.budget)
    trace: TraceWriter | None = None
    memo: Memo = {}
    for line in requests:
        request = json.loads(line)
        requirement = suite.requirements[request["run"]]
        cases = tests.get(requirement.id, [])
        if request["careful"] and trace is None:
            trace = TraceWriter(Path(setup.trace))
        row = run_requirement(
            backend,
            requirement,
            effort,
            setup.seed,
            tests=cases,
            trace_sink=trace if request["careful"] else None,
            on_test=lambda case: reply(test=case.name),
            memo=None if request["careful"] else memo,
        )
        reply(row=row)
        if row["seconds"] > _LONG:
            keep_what_there_is()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
