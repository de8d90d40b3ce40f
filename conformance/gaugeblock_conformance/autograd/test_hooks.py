"""Hooks on tensors, leaves and nodes: order, what they return, removal, what they see."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Hook
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .leaves import backward, clear_log, expect_grad, leaf

_UNTOLD = NoReproducer("what hooks were given is compared without the gradients that are None")

# What a hook does: its record, and the same of a number.
ACTIONS: list[tuple[str, Any, Any]] = [
    ("see", None, lambda g: g),
    ("scale", 2, lambda g: g * 2),
    ("scale", -3, lambda g: g * -3),
    ("give", [5.0], lambda g: 5.0),
]
HOOKS = hs.lists(hs.tuples(hs.integers(0, len(ACTIONS) - 1), hs.booleans()), max_size=6)
FACTORS = hs.lists(hs.tuples(hs.integers(-2, 3), hs.booleans()), max_size=3)


def _register(s: Session, y: Handle, hooks: list[tuple[int, bool]], prefix: str = "h") -> tuple[list[Any], Any]:
    """Register hooks, then remove those marked; the entries to be seen for an incoming 1, and what goes on."""
    handles = []
    for k, (which, _) in enumerate(hooks):
        action, argument, _ = ACTIONS[which]
        handles.append(s.call("register_hook", y, Hook(f"{prefix}{k}", action, argument)))
    gradient, entries = 1.0, []
    for k, (which, removed) in enumerate(hooks):
        if removed:
            s.call("remove_hook", handles[k])
        else:
            entries.append(f"{prefix}{k}")
            gradient = ACTIONS[which][2](gradient)
    return entries, gradient


@requirement("autograd/hooks-run-in-the-order-of-registration", "autograd/hooks-can-be-removed")
@forall(hooks=HOOKS, result=hs.booleans())
def test_hooks_of_a_tensor(s: Session, hooks: list[tuple[int, bool]], result: bool) -> None:
    clear_log(s)
    x = leaf(s, [2.0])
    y = s.call("mul.Scalar", x, 7) if result else x
    entries, gradient = _register(s, y, hooks)
    s.call("backward", s.call("mul.Scalar", y, 1))
    s.expect(s.call("autograd_log"), tuple(entries), "hooks that ran")
    expect_grad(s, x, [gradient * (7.0 if result else 1.0)])


@requirement("autograd/hooks-run-in-the-order-of-registration")
def test_values_that_hooks_see(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Tensor", x, x)
    s.call("register_hook", y, Hook("a", "value"))
    s.call("register_hook", y, Hook(None, "scale", 10))
    s.call("register_hook", y, Hook("b", "value"))
    s.call("register_hook", x, Hook("x", "value"))
    s.call("backward", y, s.tensor([3.0, 4.0]))
    want = (("a", [3.0, 4.0]), ("b", [30.0, 40.0]), ("x", [60.0, 160.0]))
    s.expect(s.call("autograd_log"), want, "gradients that hooks saw")


@requirement("autograd/hooks-run-in-the-order-of-registration")
def test_leaf_hook_sees_the_sum(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0])
    s.call("register_hook", x, Hook("x", "value"))
    y = s.call("add.Tensor", s.call("mul.Scalar", x, 3), s.call("mul.Tensor", x, x))
    s.call("backward", y)
    s.expect(s.call("autograd_log"), (("x", [5.0]),), "gradients that the hook saw")


@requirement("autograd/hooks-run-in-the-order-of-registration")
def test_hooks_of_gradients_by_results(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0])
    y = s.call("mul.Scalar", x, 3)
    s.call("register_hook", y, Hook("y", "scale", 10))
    (found,) = s.parts(s.call("gradients", s.call("mul.Scalar", y, 2), [y]), 1)
    s.expect(s.call("autograd_log"), ("y",), "hooks that ran")
    s.expect_values(found, [20.0])


@requirement("autograd/hooks-can-be-removed")
def test_removing_twice_and_between_passes(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0])
    first = s.call("register_hook", x, Hook("first"))
    s.call("register_hook", x, Hook("second"))
    y = s.call("mul.Scalar", x, 3)
    s.call("backward", y, retain_graph=True)
    s.call("remove_hook", first)
    s.call("remove_hook", first)
    s.call("backward", y)
    s.expect(s.call("autograd_log"), ("first", "second", "second"), "hooks that ran")


@requirement("autograd/retained-gradient-is-the-one-after-hooks")
@forall(before=HOOKS, after=HOOKS)
def test_kept_gradients_and_hooks(s: Session, before: list[tuple[int, bool]], after: list[tuple[int, bool]]) -> None:
    clear_log(s)
    x = leaf(s, [2.0])
    y = s.call("mul.Scalar", x, 7)
    _, gradient = _register(s, y, before)
    s.call("retain_grad", y)
    for which, removed in after:
        if not removed:
            s.call("register_hook", y, Hook(None, *ACTIONS[which][:2]))
            gradient = ACTIONS[which][2](gradient)
    s.call("backward", s.call("mul.Scalar", y, 1))
    expect_grad(s, y, [gradient])
    expect_grad(s, x, [7.0 * gradient])


@requirement("autograd/post-accumulate-hooks-see-the-field")
@forall(passes=hs.integers(1, 4), hooks=hs.integers(1, 3), clears=hs.booleans())
def test_hooks_after_accumulation(s: Session, passes: int, hooks: int, clears: bool) -> None:
    clear_log(s)
    x = leaf(s, [2.0])
    for k in range(hooks):
        s.call("register_post_accumulate_grad_hook", x, Hook(f"p{k}", "value"))
    if clears:
        s.call("register_post_accumulate_grad_hook", x, Hook("clear", "clear"))
    want: list[Any] = []
    for turn in range(1, passes + 1):
        backward(s, s.call("mul.Scalar", x, 3))
        want += [(f"p{k}", [3.0 if clears else 3.0 * turn]) for k in range(hooks)]
        want += ["clear"] if clears else []
    s.expect(s.call("autograd_log"), tuple(want), "gradients that hooks saw")
    expect_grad(s, x, None if clears else [3.0 * passes])


@requirement("autograd/post-accumulate-hooks-see-the-field")
def test_removed_hook_after_accumulation(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [2.0])
    handle = s.call("register_post_accumulate_grad_hook", x, Hook("post"))
    s.call("register_hook", x, Hook("tensor"))
    backward(s, s.call("mul.Scalar", x, 3))
    s.call("remove_hook", handle)
    backward(s, s.call("mul.Scalar", x, 3))
    s.expect(s.call("autograd_log"), ("tensor", "post", "tensor"), "hooks that ran")
    s.expect_raises(RuntimeError, "register_post_accumulate_grad_hook", s.call("neg", x), Hook("no"))


@requirement("autograd/node-hooks-run-around-the-node")
def test_order_around_a_node(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Scalar", x, 3)
    node = s.call("grad_fn", y)
    s.call("register_node_hook", node, Hook("post", "value"))
    s.call("register_node_prehook", node, Hook("pre", "value"))
    s.call("retain_grad", y)
    s.call("register_hook", y, Hook("tensor", "scale", 2))
    s.call("backward", y, s.tensor([1.0, 10.0]))
    want = ("tensor", ("pre", ([2.0, 20.0],)), ("post", (([6.0, 60.0],), ([2.0, 20.0],))))
    log = s.call("autograd_log")
    s.expect(len(log), 3, "number of hooks that ran", *s.of_last("len({})"))
    s.expect(log[:2], want[:2], "hooks before the node", *s.of_last("{}[:2]"))
    given = tuple(g for g in log[2][1][0] if g is not None)
    s.expect((log[2][0], (given, log[2][1][1])), want[2], "hook after the node", _UNTOLD)


@requirement("autograd/node-hooks-run-around-the-node")
@forall(pre=FACTORS, post=FACTORS)
def test_node_hooks_scale_gradients(s: Session, pre: list[tuple[int, bool]], post: list[tuple[int, bool]]) -> None:
    x = leaf(s, [1.0, 2.0], "float64")
    y = s.call("neg", x)
    node = s.call("grad_fn", y)
    for name, factors in (("register_node_prehook", pre), ("register_node_hook", post)):
        for factor, removed in factors:
            handle = s.call(name, node, Hook(None, "scale", factor))
            if removed:
                s.call("remove_hook", handle)
    backward(s, y)
    scale = np.prod([float(factor) for factor, removed in (*pre, *post) if not removed])
    expect_grad(s, x, np.full(2, -scale))
