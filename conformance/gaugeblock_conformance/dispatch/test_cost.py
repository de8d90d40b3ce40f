"""The price of a call: the same for long and short tensors, and for a long and a short registry."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..requirement import requirement
from ..session import Session
from .registry import kernels, suite_operators

_ROUNDS = 9
_CALLS = 300
# Wide enough for a machine that is busy with other things; a cost that grows with its cause grows a thousandfold.
_FACTOR = 8.0


def _expect_same_price(s: Session, one: Callable[[], object], other: Callable[[], object], what: str) -> None:
    """Expect that ``other`` takes at most ``_FACTOR`` times as long as ``one``, by the best of interleaved rounds."""
    best = [float("inf"), float("inf")]
    for _ in range(_ROUNDS):
        for place, action in enumerate((one, other)):
            started = time.perf_counter()
            for _ in range(_CALLS):
                action()
            best[place] = min(best[place], time.perf_counter() - started)
    ratio = best[1] / best[0]
    if ratio > _FACTOR:
        message = f"{what} takes {ratio:.3g} times as long"
        raise s.failure(message, f"at most {_FACTOR:g}", f"{ratio:.3g}", [], cause=f"{what} costs more")


@requirement("dispatch/dispatch-cost-is-constant", needs=("views",), slow=True)
def test_views_of_long_tensors(s: Session) -> None:
    call = s.backend.call
    short, long = s.call("zeros", (4,)), s.call("zeros", (2**22,))
    s.call("view", long, (2, -1))
    _expect_same_price(
        s,
        lambda: call("view", short.raw, (2, -1)),
        lambda: call("view", long.raw, (2, -1)),
        "a view of 4 million elements",
    )


@requirement("dispatch/dispatch-cost-ignores-the-registry", slow=True)
def test_many_operators(s: Session) -> None:
    call = s.backend.call
    with suite_operators(s, "f(Tensor x) -> Tensor"):
        kernels(s, "f", "CPU", action="first")
        x = s.tensor([1.0])
        s.call("suite::f", x)

        def price() -> float:
            best = float("inf")
            for _ in range(_ROUNDS):
                call("dispatch_log")
                started = time.perf_counter()
                for _ in range(_CALLS):
                    call("suite::f", x.raw)
                best = min(best, time.perf_counter() - started)
            return best

        before = price()
        for k in range(300):
            call("define_operator", f"filler{k}(Tensor x) -> Tensor")
        ratio = price() / before
        if ratio > _FACTOR:
            raise s.failure(
                f"a call beside 300 more operators takes {ratio:.3g} times as long", f"at most {_FACTOR:g}",
                f"{ratio:.3g}", [], cause="a call costs more in a longer registry",
            )  # fmt: skip
