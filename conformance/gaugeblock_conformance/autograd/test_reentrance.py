"""Backward passes inside backward passes, and exceptions that end one."""

from __future__ import annotations

import builtins

from hypothesis import strategies as hs

from ..backend_autograd import Hook, Rule
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .leaves import backward, clear_log, expect_grad, leaf

DEEP = 200


@requirement("autograd/backward-inside-backward")
@forall(weight=0.2, depth=hs.integers(0, 12), factor=hs.integers(-3, 3), before=hs.integers(0, 3))
def test_nested_passes(s: Session, depth: int, factor: int, before: int) -> None:
    x = leaf(s, [1.0, 2.0])
    y = x
    for _ in range(before):
        y = s.call("mul.Scalar", y, 2)
    function = s.call("define_function", Rule("scale", "nested", depth, float(factor)))
    y = s.call("apply_function", function, y)
    backward(s, s.call("add.Tensor", y, x))
    expect_grad(s, x, [2.0**before * factor + 1.0] * 2)


@requirement("autograd/backward-inside-backward")
def test_two_nested_nodes(s: Session) -> None:
    x = leaf(s, [1.0])
    function = s.call("define_function", Rule("square", "nested", 3))
    y = s.call("apply_function", function, s.call("apply_function", function, s.call("mul.Scalar", x, 3)))
    s.call("backward", y)
    expect_grad(s, x, [324.0])


@requirement("autograd/nesting-may-be-deep", slow=True)
def test_deep_nesting(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    function = s.call("define_function", Rule("scale", "nested", DEEP, 3.0))
    backward(s, s.call("apply_function", function, x))
    expect_grad(s, x, [3.0, 3.0])


@requirement("autograd/exceptions-end-the-pass")
@forall(
    name=hs.sampled_from(("KeyError", "ValueError", "RuntimeError", "ZeroDivisionError", "NotImplementedError")),
    before=hs.integers(0, 3), after=hs.integers(0, 3), hook=hs.booleans(),
)  # fmt: skip
def test_exceptions_in_nodes(s: Session, name: str, before: int, after: int, hook: bool) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    y = x
    for _ in range(before):
        y = s.call("mul.Scalar", y, 2)
    if hook:
        s.call("register_hook", y if before else s.call("clone", y), Hook(None))
        y = s.call("clone", y)
        s.call("register_hook", y, Hook(None, "raise", name))
    else:
        y = s.call("apply_function", s.call("define_function", Rule("scale", "raise", name)), y)
    for _ in range(after):
        y = s.call("exp", y)
    total = s.call("sum", y)
    s.expect_raises(getattr(builtins, name), "backward", total)
    expect_grad(s, x, None)
    for _ in range(2):
        backward(s, s.call("mul.Scalar", x, 2))
    expect_grad(s, x, [4.0, 4.0])


@requirement("autograd/exceptions-end-the-pass")
def test_exception_inside_a_nested_pass(s: Session) -> None:
    x = leaf(s, [1.0])
    raising = s.call("define_function", Rule("scale", "raise", "KeyError"))
    nested = s.call("define_function", Rule("scale", "nested", 2))
    y = s.call("apply_function", nested, s.call("apply_function", raising, x))
    s.expect_raises(KeyError, "backward", y)
    s.call("backward", s.call("apply_function", nested, x))
    expect_grad(s, x, [2.0])
