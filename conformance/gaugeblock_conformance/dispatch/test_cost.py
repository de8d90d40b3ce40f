"""The price of a call: the same for long and short tensors, and for a long and a short registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ..failure import NoReproducer
from ..requirement import requirement
from ..session import Handle, Session
from .registry import kernels, suite_operators

_MEASURED = NoReproducer("times are measured")

_ROUNDS = 9
_CALLS = 100
# Wide enough for a machine that is busy with other things; a cost that grows with its cause grows a thousandfold.
_FACTOR = 8.0


def _expect_same_price(s: Session, one: Callable[[], object], other: Callable[[], object], what: str) -> None:
    """Expect that ``other`` takes at most ``_FACTOR`` times as long as ``one``.

    Compares the best times of interleaved rounds, and stops at the first round that shows it.
    """
    best, ratio = [float("inf"), float("inf")], float("inf")
    for _ in range(_ROUNDS):
        for place, action in enumerate((one, other)):
            started = time.perf_counter()
            for _ in range(_CALLS):
                action()
            best[place] = min(best[place], time.perf_counter() - started)
        ratio = best[1] / best[0]
        if ratio <= _FACTOR:
            break
    if ratio > _FACTOR:
        message = f"{what} takes {ratio:.3g} times as long"
        raise s.failure(message, f"at most {_FACTOR:g}", f"{ratio:.3g}", _MEASURED, cause=f"{what} costs more")


# Calls that compute no elements.
_VIEWS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("view", ((2, -1),)), ("unsqueeze", (0,)), ("select.int", (0, 1)), ("slice.Tensor", (0, 1, 3)),
    ("expand", ((3, -1),)), ("as_strided", ((2,), (1,))), ("permute", ((0,),)), ("detach", ()),
)  # fmt: skip
_WITHOUT_ELEMENTS: tuple[tuple[str, int], ...] = (("neg", 1), ("add.Tensor", 2), ("clone", 1))


def _expect_same_price_of(s: Session, operator: str, short: Sequence[Any], long: Sequence[Any], what: str) -> None:
    call = s.backend.call
    raw = [[a.raw if isinstance(a, Handle) else a for a in given] for given in (short, long)]
    s.call(operator, *long)
    _expect_same_price(s, lambda: call(operator, *raw[0]), lambda: call(operator, *raw[1]), f"{operator} of {what}")


@requirement("dispatch/dispatch-cost-is-constant", needs=("views",), slow=True)
def test_views_of_long_tensors(s: Session) -> None:
    def row(s: Session, operator: str, arguments: tuple[Any, ...]) -> None:
        short, long = s.call("zeros", (4,)), s.call("zeros", (2**22,))
        _expect_same_price_of(s, operator, (short, *arguments), (long, *arguments), "4 million elements")

    s.table(_VIEWS, row)


@requirement("dispatch/dispatch-cost-is-constant", slow=True)
def test_calls_without_elements(s: Session) -> None:
    """The cost depends neither on the sizes next to a 0 nor on the sizes of a meta tensor."""

    def row(s: Session, operator: str, operands: int, meta: bool) -> None:
        if meta:
            s.require("meta")
            s.without_data()
        device = {"device": "meta"} if meta else {}
        short, long = (s.call("empty.memory_format", (2 if meta else 0, n), **device) for n in (2, 2**21))
        what = "a meta tensor of 4 million elements" if meta else "no elements next to a long dim"
        _expect_same_price_of(s, operator, [short] * operands, [long] * operands, what)

    s.table([(*call, meta) for call in _WITHOUT_ELEMENTS for meta in (False, True)], row)


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
                f"{ratio:.3g}", _MEASURED, cause="a call costs more in a longer registry",
            )  # fmt: skip
