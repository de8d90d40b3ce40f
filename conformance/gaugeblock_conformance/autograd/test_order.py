"""When nodes run, on which thread, how often, and how many there may be."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Hook, Program
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from . import duals
from .leaves import backward, clear_log, expect_grad, leaf

X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])
CHAIN = 100_000
RECORDING = 15.0
"""Seconds after which a chain is long enough: a device that takes long for a node has its time limit for the rest."""


def _run_with_hooks(s: Session, program: Program, action: str) -> list[int]:
    """Run the program with a hook on each value, then backward; the numbers of values that the last depends on."""
    made: list[Any] = []

    def call(operator: str, *args: Any) -> Any:
        y = s.call(operator, *args)
        s.call("register_hook", y, Hook(str(len(made)), action))
        made.append(y)
        return y

    clear_log(s)
    x, w = leaf(s, X), leaf(s, W)
    backward(s, program.run(call, [x, w]))
    last = len(program.steps) - 1
    reached = {last}
    for k in range(last, -1, -1):
        if k in reached:
            reached |= {a.number - 2 for a in program.steps[k][1:] if hasattr(a, "number") and a.number >= 2}
    return sorted(reached, reverse=True)


@requirement("autograd/node-waits-for-all-its-gradients")
@forall(program=duals.programs(steps=10))
def test_each_value_has_one_gradient(s: Session, program: Program) -> None:
    reached = _run_with_hooks(s, program, "see")
    log = s.call("autograd_log")
    expression = s.of_last("sorted(map(int, {}), reverse=True)")
    s.expect(sorted(map(int, log), reverse=True), reached, "values whose hook ran", *expression)


@requirement("autograd/latest-node-runs-first")
@forall(program=duals.programs(steps=10))
def test_latest_first(s: Session, program: Program) -> None:
    reached = _run_with_hooks(s, program, "see")
    log = s.call("autograd_log")
    s.expect(log, tuple(map(str, reached)), "order of the hooks")


@requirement("autograd/latest-node-runs-first")
def test_accumulators_before_all(s: Session) -> None:
    clear_log(s)
    x, w = leaf(s, [1.0]), leaf(s, [1.0])
    a = s.call("mul.Scalar", w, 2)
    b = s.call("mul.Tensor", a, x)
    c = s.call("neg", a)
    s.call("register_hook", c, Hook("c"))
    s.call("register_hook", a, Hook("a"))
    s.call("register_hook", x, Hook("x"))
    s.call("register_hook", w, Hook("w"))
    s.call("backward", s.call("add.Tensor", c, b))
    s.expect(s.call("autograd_log"), ("c", "x", "a", "w"), "order of the hooks")


@requirement("autograd/node-waits-for-all-its-gradients")
@forall(width=hs.integers(1, 6), depth=hs.integers(1, 4))
def test_diamonds(s: Session, width: int, depth: int) -> None:
    clear_log(s)
    x = leaf(s, [1.0], "float64")
    y = x
    for level in range(depth):
        y = s.call("mul.Scalar", y, 1)
        s.call("register_hook", y, Hook(str(level), "value"))
        parts = [s.call("mul.Scalar", y, k + 1) for k in range(width)]
        y = parts[0]
        for part in parts[1:]:
            y = s.call("add.Tensor", y, part)
    s.call("backward", y)
    slope = width * (width + 1) // 2
    want = tuple((str(level), [float(slope ** (depth - level))]) for level in reversed(range(depth)))
    s.expect(s.call("autograd_log"), want, "gradients that hooks saw")


@requirement("autograd/cpu-nodes-run-on-the-calling-thread")
@forall(branches=hs.integers(1, 6))
def test_thread_of_hooks(s: Session, branches: int) -> None:
    clear_log(s)
    total = None
    for k in range(branches):
        x = leaf(s, [1.0, 2.0])
        y = s.call("exp", s.call("mul.Scalar", x, k))
        s.call("register_hook", y, Hook(f"y{k}", "thread"))
        s.call("register_hook", x, Hook(f"x{k}", "thread"))
        total = y if total is None else s.call("add.Tensor", total, y)
    assert total is not None
    backward(s, total)
    log = s.call("autograd_log")
    s.expect(len(log), 2 * branches, "hooks that ran", *s.of_last("len({})"))
    elsewhere = [entry for entry in log if not entry.endswith(" same")]
    expression = s.of_last("[entry for entry in {} if not entry.endswith(' same')]")
    s.expect(elsewhere, [], "hooks on another thread", *expression)


@requirement("autograd/threads-may-share-leaves")
@forall(weight=0.1, threads=hs.integers(2, 6), length=hs.integers(1, 12))
def test_shared_leaves(s: Session, threads: int, length: int) -> None:
    x, w = leaf(s, [1.0, 2.0], "float64"), leaf(s, [3.0, 4.0], "float64")
    results = []
    for k in range(threads):
        y = s.call("mul.Scalar", x, k + 1)
        for _ in range(length):
            y = s.call("add.Tensor", y, w)
        results.append(s.call("sum", y))
    s.call("backward_in_threads", results)
    expect_grad(s, x, np.full(2, threads * (threads + 1) / 2))
    expect_grad(s, w, np.full(2, float(threads * length)))


@requirement("autograd/threads-may-share-leaves")
def test_threads_on_parts_of_one_graph(s: Session) -> None:
    x = leaf(s, np.arange(4.0))
    shared = s.call("add.Tensor", x, x)
    results = [s.call("sum", s.call("mul.Scalar", shared, k)) for k in range(1, 5)]
    s.call("backward_in_threads", results)
    expect_grad(s, x, np.full(4, 20.0))


def _chain(start: Any, step: Callable[[Any], Any]) -> tuple[Any, int]:
    """Return the last of CHAIN nodes, or of as many as are recorded in RECORDING seconds, and their number."""
    end = time.monotonic() + RECORDING
    last = start
    for count in range(CHAIN):
        if time.monotonic() > end:
            return last, count
        last = step(last)
    return last, CHAIN


@requirement("autograd/long-chains-need-no-recursion", slow=True)
def test_long_chains(s: Session) -> None:
    x = s.tensor([1.0])
    s.call("requires_grad_", x)
    call = s.backend.call

    def chain() -> int:
        y, count = _chain(x.raw, lambda y: call("add.Tensor", y, x.raw))
        call("backward", y)
        return count

    count = s.guard("a chain of 100,000 additions", chain)
    gc.collect()
    expect_grad(s, x, [count + 1.0])


@requirement("autograd/long-chains-need-no-recursion", slow=True)
def test_long_chains_are_released(s: Session) -> None:
    x = s.tensor([1.0])
    s.call("requires_grad_", x)
    call = s.backend.call

    def chain() -> None:
        y, _ = _chain(x.raw, lambda y: call("neg", y))
        del y
        gc.collect()

    s.guard("a chain of 100,000 negations that is dropped", chain)
    expect_grad(s, x, None)
