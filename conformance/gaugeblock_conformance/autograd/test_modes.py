"""Recording switched off and on: blocks, decorators, threads, factories."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from hypothesis import strategies as hs

from ..backend_autograd import Context, EnableGrad, NoGrad, SetGrad, entered
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import leaf

_UNTOLD = NoReproducer("the calls ran in another thread")

CONTEXTS = hs.sampled_from((NoGrad(), EnableGrad(), SetGrad(True), SetGrad(False)))


def _records(context: Context) -> bool:
    return context in (EnableGrad(), SetGrad(True))


class _Planned(Exception):
    """What a block of the test is left by."""


@requirement("autograd/recording-switches-nest")
@forall(contexts=hs.lists(CONTEXTS, max_size=6), leaves_at=hs.integers(0, 7))
def test_nested_blocks(s: Session, contexts: list[Context], leaves_at: int) -> None:
    def expect(want: bool) -> None:
        s.expect(s.call("is_grad_enabled"), want, "is_grad_enabled")

    def run(depth: int, before: bool) -> None:
        expect(before)
        if depth == leaves_at:
            raise _Planned
        if depth < len(contexts):
            with entered(s.call, contexts[depth]):
                run(depth + 1, _records(contexts[depth]))
            expect(before)

    with contextlib.suppress(_Planned):
        run(0, True)
    expect(True)
    s.expect(s.call("requires_grad", s.call("neg", leaf(s, [1.0]))), True, "requires_grad after all blocks")


@requirement("autograd/recording-switches-nest")
@forall(contexts=hs.lists(CONTEXTS, min_size=1, max_size=5))
def test_results_in_nested_blocks(s: Session, contexts: list[Context]) -> None:
    x = leaf(s, [1.0])
    with entered(s.call, *contexts):
        s.expect(s.call("requires_grad", s.call("neg", x)), _records(contexts[-1]), "requires_grad of a result")


@requirement("autograd/recording-switches-nest")
def test_blocks_left_by_an_error_of_the_backend(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    for context in (NoGrad(), SetGrad(False)):
        _, error = s.attempt("decorated", context, "view", x, (3,))
        s.expect_refusal(error, Exception, "a view of wrong sizes")
        s.expect(s.call("is_grad_enabled"), True, "is_grad_enabled")


@requirement("autograd/recording-switches-decorate")
@forall(context=CONTEXTS, outer=CONTEXTS, times=hs.integers(1, 3))
def test_decorated_functions(s: Session, context: Context, outer: Context, times: int) -> None:
    x = leaf(s, [1.0, 2.0])
    with entered(s.call, outer):
        for _ in range(times):
            y = s.call("decorated", context, "mul.Scalar", x, 2)
            s.expect(s.call("requires_grad", y), _records(context), "requires_grad of a decorated function's result")
            s.expect(s.call("is_grad_enabled"), _records(outer), "is_grad_enabled")


@requirement("autograd/recording-belongs-to-its-thread")
@forall(weight=0.2, contexts=hs.lists(CONTEXTS, min_size=1, max_size=3), inner=CONTEXTS)
def test_other_threads(s: Session, contexts: list[Context], inner: Context) -> None:
    seen: list[Any] = []

    def run() -> None:
        call = s.backend.call
        seen.append(call("is_grad_enabled"))
        with entered(call, inner):
            seen.append(call("is_grad_enabled"))
            ready.set()
            done.wait(10)
        seen.append(call("is_grad_enabled"))

    ready, done = threading.Event(), threading.Event()
    with entered(s.call, *contexts):
        thread = threading.Thread(target=run)
        thread.start()
        ready.wait(10)
        s.expect(s.call("is_grad_enabled"), _records(contexts[-1]), "is_grad_enabled beside another thread")
        done.set()
        thread.join()
        s.expect(s.call("is_grad_enabled"), _records(contexts[-1]), "is_grad_enabled after another thread")
    s.expect(seen, [True, _records(inner), True], "is_grad_enabled of a new thread", _UNTOLD)


@requirement("autograd/factories-may-ask-for-grad-unrecorded")
def test_factories(s: Session) -> None:
    def row(s: Session, operator: str, *arguments: Any) -> None:
        with entered(s.call, NoGrad()):
            x = s.call(operator, *arguments, requires_grad=True)
            s.expect(s.call("requires_grad", x), True, f"requires_grad of {operator}'s result")
            y = s.call(operator, *arguments)
            s.expect(s.call("requires_grad", y), False, f"requires_grad of {operator}'s result")
            z = s.tensor([1.0])
            s.call("requires_grad_", z)
            s.expect(s.call("requires_grad", z), True, "requires_grad after requires_grad_")
        s.expect(s.call("is_leaf", x), True, "is_leaf")
        s.expect(s.call("requires_grad", s.call("neg", x)), True, "requires_grad of a result")

    s.table(
        [("zeros", (2,)), ("ones", (2,)), ("full", (2,), 3.0), ("tensor", [1.0, 2.0]), ("eye", 2), ("arange", 3.0),
         ("linspace", 0.0, 1.0, 3), ("rand", (2,)), ("randn", (2,)), ("empty.memory_format", (2,))], row,
    )  # fmt: skip
