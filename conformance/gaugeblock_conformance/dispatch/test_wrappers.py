"""Foreign objects and wrapper tensors that answer for operators."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import release

_UNTOLD = NoReproducer("the adapter opens the wrapper to look inside")

PLACES: list[tuple[str, tuple[Any, ...]]] = [
    ("add.Tensor", ("duck", 1)),
    ("add.Tensor", ("x", "duck")),
    ("mul.Tensor", ("x", "duck")),
    ("cat", (["x", "duck"],)),
    ("stack", (["duck"],)),
    ("where.self", ("x", "duck", "x")),
    ("sum", ("duck",)),
    ("neg", ("duck",)),
    ("zeros_like", ("duck",)),
]


def _placed(s: Session, value: Any) -> Any:
    """Tensors for ``x``, None (where a foreign object goes) for ``duck``."""
    if isinstance(value, list | tuple):
        return type(value)(_placed(s, v) for v in value)
    return s.tensor([1.0, 2.0]) if value == "x" else None if value == "duck" else value


@requirement("dispatch/foreign-objects-intercept-operators")
def test_places_of_a_foreign_object(s: Session) -> None:
    def row(s: Session, operator: str, arguments: tuple[Any, ...]) -> None:
        release(s)
        got = s.call("on_ducks", operator, ("A",), *_placed(s, arguments))
        s.expect(got, f"A {operator.split('.')[0]}", "the answer")
        s.expect(s.call("dispatch_log"), ("A",), "objects that were asked")

    s.table(PLACES, row)


@requirement("dispatch/subclass-of-a-class-is-asked-first", "dispatch/declined-by-all-raises")
def test_order_of_classes(s: Session) -> None:
    def row(s: Session, labels: tuple[str, ...], asked: tuple[str, ...], answers: bool) -> None:
        release(s)
        x = s.tensor([1.0])
        arguments = [None, None] if len(labels) == 2 else [x, None]
        if answers:
            got = s.call("on_ducks", "add.Tensor", labels, *arguments)
            s.expect(got, f"{asked[-1]} add", "the answer")
        else:
            s.expect_raises(TypeError, "on_ducks", "add.Tensor", labels, *arguments)
        s.expect(s.call("dispatch_log"), asked, "objects that were asked")

    s.table(
        [
            (("A", "B"), ("A",), True),
            (("A", "B(A)"), ("B",), True),
            (("~A", "B"), ("A", "B"), True),
            (("~A", "~B(~A)"), ("B", "A"), False),
            (("~A", "B(~A)"), ("B",), True),
            (("~A", "~B"), ("A", "B"), False),
            (("~A",), ("A",), False),
        ],
        row,
    )


CALLS: list[tuple[str, tuple[Any, ...], str]] = [
    ("neg", ("x",), "neg"),
    ("add.Tensor", ("x", "x"), "add.Tensor"),
    ("__mul__", ("x", "x"), "mul.Tensor"),
    ("sum", ("x",), "sum"),
    ("gt.Scalar", ("x", 1.5), "gt.Scalar"),
    ("exp", ("x",), "exp"),
]


@requirement("dispatch/wrapper-subclass-sees-every-call")
def test_calls_on_a_wrapper(s: Session) -> None:
    def row(s: Session, operator: str, arguments: tuple[Any, ...], name: str) -> None:
        release(s)
        given = _placed(s, arguments)
        y, told = s.call("on_wrappers", operator, *given)
        s.expect(told, "wrapped", "the result", _UNTOLD)
        s.expect(s.call("dispatch_log"), (f"wrapper {name}",), "operators that the wrapper saw")
        same = bool((s.backend.to_numpy(y) == s.read(s.call(operator, *given))).all())
        s.expect(same, True, f"the wrapped values of {operator} are the plain ones", _UNTOLD)

    s.table(CALLS, row)


@requirement("dispatch/wrapper-passes-through-backward")
@forall(values=hs.lists(hs.integers(-9, 9).map(float), min_size=1, max_size=4), factor=hs.sampled_from((2.0, -3.0)))
def test_gradient_of_a_wrapper(s: Session, values: list[float], factor: float) -> None:
    gradient, told = s.call("gradient_on_wrapper", s.tensor(values), factor)
    s.expect(told, "wrapped", "the gradient", _UNTOLD)
    got = s.backend.to_numpy(gradient).tolist()
    s.expect(got, [factor] * len(values), "elements of the gradient", _UNTOLD)
