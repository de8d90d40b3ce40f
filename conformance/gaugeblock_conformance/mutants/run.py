"""Runs trials in child processes, a few at a time, so that a mutant that kills its process is only one row."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from .. import budget as budgets
from .. import discovery
from .mutant import Mutant
from .trial import CAUGHT, Result, ordered, run_trial

CRASHED, TIMEOUT = "crashed", "timeout"


@dataclass(frozen=True)
class Trials:
    """What every trial of a run has in common; ``timeout`` in seconds is for one mutant."""

    base: str
    budget: str = "standard"
    seed: int = 0
    timeout: float = 600.0


@dataclass
class _Running:
    process: Any
    receiver: Connection
    mutant: Mutant
    started: float


def run_all(mutants: Sequence[Mutant], trials: Trials, jobs: int) -> Iterator[Result]:
    """The result of each mutant, as they come.

    Raises:
        UsageProblem: an unknown budget or base, or a base that cannot be loaded.
    """
    budgets.named(trials.budget)
    discovery.load(discovery.resolve(trials.base))
    ordered("")
    # A forked child starts with the suite imported and out of the collector's sight; elsewhere it imports it again.
    gc.collect()
    gc.freeze()
    start = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(start)
    waiting, running, trusted = list(reversed(mutants)), list[_Running](), set[str]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_launch(context, waiting.pop(), trials, frozenset(trusted)))
            wait([child.receiver for child in running], timeout=1.0)
            for child in list(running):
                result = _result(child, trials.timeout)
                if result is not None:
                    running.remove(child)
                    trusted |= {result.test} if result.status == CAUGHT else set()
                    yield result
    finally:
        for child in running:
            child.process.kill()


def _launch(context: Any, mutant: Mutant, trials: Trials, trusted: frozenset[str]) -> _Running:
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, mutant.name, trials, trusted), daemon=True)
    process.start()
    sender.close()
    return _Running(process, receiver, mutant, time.perf_counter())


def _child(sender: Connection, name: str, trials: Trials, trusted: frozenset[str]) -> None:
    from .table import named

    warnings.simplefilter("ignore")
    right = discovery.load(discovery.resolve(trials.base))
    sender.send(run_trial(right, named(name), budgets.named(trials.budget), trials.seed, trusted))


def _result(child: _Running, timeout: float) -> Result | None:
    """What the child said, or how it ended without a word; None while it runs."""
    seconds = round(time.perf_counter() - child.started, 2)
    if child.receiver.poll():
        try:
            result: Result = child.receiver.recv()
        except EOFError:
            child.process.join()
            code = child.process.exitcode
            text = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Result(child.mutant.name, CRASHED, seconds=seconds, text=f"the process ended by {text}")
        child.process.join()
        return result
    if seconds > timeout:
        child.process.kill()
        return Result(child.mutant.name, TIMEOUT, seconds=seconds, text=f"no verdict in {timeout:g} s")
    return None
