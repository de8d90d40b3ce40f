"""Backward passes that begin, end, add up, free or refuse wrongly."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import DType
from .mutant import Intercepted, Patch, rows
from .patches import raises

PASSES = ("backward", "gradients")


def accepts_text(text: str, otherwise: Callable[[Intercepted], Any]) -> Patch:
    """``otherwise`` (call) where the right backend raises RuntimeError with ``text`` in its message."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except RuntimeError as error:
            if re.search(text, str(error)) is None:
                raise
            return otherwise(c)

    return patch


def flags(**changed: Any) -> Patch:
    """The right call with other flags."""
    return lambda c: c.do(c.operator, *c.args, **{**c.kwargs, **changed})


def _ones(c: Intercepted, x: Any) -> Any:
    return c.do("ones", tuple(c.backend.shape(x)), dtype=DType(c.backend.dtype(x)))


def _seeded(c: Intercepted) -> Any:
    """A pass from a result of several elements begins with ones."""
    if c.operator == "backward":
        return c.do("backward", c.args[0], _ones(c, c.args[0]), *c.args[2:], **c.kwargs)
    return c.do("gradients", c.args[0], c.args[1], [_ones(c, c.args[0])], *c.args[3:], **c.kwargs)


def _seed(change: Callable[[Intercepted, Any, Any], Any]) -> Patch:
    """Passes whose seed is changed: (call, result, seed) -> seed."""

    def patch(c: Intercepted) -> Any:
        place = 1 if c.operator == "backward" else 2
        if len(c.args) <= place or c.args[place] is None or isinstance(c.args[0], list | tuple):
            return c.right()
        given = c.args[place]
        seed = change(c, c.args[0], given[0] if isinstance(given, list | tuple) else given)
        return c.do(c.operator, *c.args[:place], [seed] if isinstance(given, list | tuple) else seed,
                    *c.args[place + 1 :], **c.kwargs)  # fmt: skip

    return patch


def _spread(c: Intercepted, y: Any, seed: Any) -> Any:
    sizes = tuple(c.backend.shape(y))
    try:
        np.broadcast_to(np.empty(tuple(c.backend.shape(seed))), sizes)
    except ValueError:
        return seed
    return c.do("expand", seed, sizes)


def _leaves(c: Intercepted) -> list[Any]:
    """The leaves that grad was required of in this example."""
    found: list[Any] = c.memory.setdefault("leaves", [])
    return found


def _with_leaves(patch: Patch) -> Patch:
    """A patch of ``backward`` that may ask for the leaves; ``requires_grad_`` must be among its operators."""

    def noting(c: Intercepted) -> Any:
        if c.operator != "requires_grad_":
            return patch(c)
        _leaves(c).append(c.args[0])
        del _leaves(c)[:-8]
        return c.right()

    return noting


def _overwrites(c: Intercepted) -> Any:
    for x in _leaves(c):
        if "inputs" not in c.kwargs and c.do("is_leaf", x) and c.do("requires_grad", x):
            c.do("set_grad", x, None)
    return c.right()


def _adds_twice(c: Intercepted) -> Any:
    c.do("backward", *c.args, **{**c.kwargs, "retain_graph": True})
    return c.right()


def _fills_fields(c: Intercepted) -> Any:
    found = c.right()
    for x, g in zip(c.args[1], found, strict=False):
        if g is not None and c.do("is_leaf", x):
            c.do("set_grad", x, c.do("detach", g))
    return found


def _zeros_for_unused(c: Intercepted) -> Any:
    return c.do("gradients", *c.args, **{**c.kwargs, "allow_unused": None, "materialize_grads": True})


def _reversed_inputs(c: Intercepted) -> Any:
    found = c.do("gradients", c.args[0], list(reversed(c.args[1])), *c.args[2:], **c.kwargs)
    sizes = [tuple(c.backend.shape(x)) for x in c.args[1]]
    return found if len(set(sizes)) == 1 else found[::-1]


def _silent(c: Intercepted) -> Any:
    return None


def _zeros(c: Intercepted) -> Any:
    return tuple(c.do("zeros_like", x) for x in c.args[1])


def _quiet(c: Intercepted) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return c.right()


def _assigned_cast(c: Intercepted) -> Any:
    """A gradient that does not fit is made to fit."""
    x, value = c.args
    fits = c.do("zeros_like", c.do("detach", x))
    c.do("set_grad", x, c.do("add.Scalar", fits, float(c.array(value).reshape(-1)[0]) if c.array(value).size else 0.0))
    return None


def _row_major(c: Intercepted) -> Any:
    g = c.right()
    if not c.is_tensor(g) or c.do("is_contiguous", g):
        return g
    return c.do("contiguous", g)


def _elsewhere(c: Intercepted) -> Any:
    """The pass runs on a thread of its own."""
    outcome: list[Any] = [None, None]

    def run() -> None:
        try:
            outcome[0] = c.do(c.operator, *c.args, **c.kwargs)
        except Exception as error:
            outcome[1] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if outcome[1] is not None:
        return c.right()
    return outcome[0]


def _loses_a_thread(c: Intercepted) -> Any:
    """Of several concurrent passes one is lost."""
    return c.do("backward_in_threads", list(c.args[0])[:-1])


def _breaks_down(c: Intercepted) -> Any:
    """After an exception in a node the next pass fails as well."""
    if c.memory.pop("broken", False):
        c.refuse(RuntimeError, "the engine is stuck")
    try:
        return c.right()
    except (KeyError, ValueError, ZeroDivisionError):
        c.memory["broken"] = True
        raise


def _not_kept(c: Intercepted) -> Any:
    return None


def _every_gradient_kept(c: Intercepted) -> Any:
    found = c.right()
    if found is None and not c.do("is_leaf", c.args[0]):
        return c.do("zeros_like", c.do("detach", c.args[0]))
    return found


def _recorded_gradients(c: Intercepted) -> Any:
    found = c.right()
    if c.kwargs.get("create_graph"):
        return found
    changed = [c.do("detach", g) if c.is_tensor(g) else g for g in found]
    for g in changed:
        if c.is_tensor(g):
            c.do("requires_grad_", g)
    return tuple(changed)


def _detached(c: Intercepted) -> Any:
    return tuple(c.do("detach", g) if c.is_tensor(g) else g for g in c.right())


def _negated_tangent(c: Intercepted) -> Any:
    primal, tangent = c.right()
    return primal, None if tangent is None else c.do("neg", tangent)


def _fitted_tangent(c: Intercepted) -> Any:
    x, tangent = c.args
    return c.do("make_dual", x, c.do("zeros_like", x)) if c.is_tensor(tangent) else c.right()


def _shared_tangent(c: Intercepted) -> Any:
    """The result of a copy shares the tangent of its argument."""
    y, (_, tangent) = c.right(), c.do("unpack_dual", c.args[0])
    return y if tangent is None else c.do("make_dual", c.do("detach", y), tangent)


def _nodes_of_inputs_rest(c: Intercepted) -> Any:
    """A pass to chosen inputs does not run their nodes."""
    inputs = c.kwargs.get("inputs")
    if inputs is None or len(c.args) > 1:
        return c.right()
    keep = c.kwargs.get("retain_graph")
    found = c.do("gradients", c.args[0], inputs, retain_graph=keep, allow_unused=True)
    for x, gradient in zip(inputs, found, strict=True):
        if gradient is not None and c.do("is_leaf", x):
            held = c.do("grad", x)
            c.do("set_grad", x, gradient if held is None else c.do("add.Tensor", held, gradient))
    return None


MUTANTS = rows(
    "autograd",
    ("missing-seed-is-ones", "autograd/missing-seed-stands-for-one autograd/complex-result-needs-a-seed", PASSES,
     accepts_text("implicitly", _seeded)),
    ("seed-may-broadcast", "autograd/seed-has-the-sizes-of-the-result", PASSES, _seed(_spread)),
    ("seed-is-taken-for-ones", "autograd/backward-multiplies-by-the-transposed-jacobian", PASSES,
     _seed(lambda c, y, seed: _ones(c, seed))),
    ("seed-is-negated", "autograd/backward-multiplies-by-the-transposed-jacobian", PASSES,
     _seed(lambda c, y, seed: c.do("neg", seed))),
    ("backward-overwrites-gradients", "autograd/backward-accumulates", ("backward", "requires_grad_"),
     _with_leaves(_overwrites)),
    ("backward-accumulates-twice", "autograd/gradient-of-a-scalar autograd/backward-accumulates", ("backward",),
     _adds_twice),
    ("grad-fills-the-fields-too", "autograd/grad-leaves-the-fields-alone", ("gradients",), _fills_fields),
    ("retain-graph-is-lost", "autograd/retained-graph-can-be-walked-again autograd/created-graph-is-retained", PASSES,
     flags(retain_graph=False)),
    ("graphs-are-always-retained", "autograd/saved-tensors-are-freed-by-the-pass", PASSES, flags(retain_graph=True)),
    ("create-graph-is-lost", "autograd/created-graph-is-differentiable", PASSES, flags(create_graph=False)),
    ("created-graph-is-constant", "autograd/created-graph-is-differentiable", ("gradients",), _detached),
    ("gradients-always-require-grad", "autograd/plain-gradients-are-not-recorded", ("gradients",), _recorded_gradients),
    ("unused-inputs-are-allowed", "autograd/unused-input-raises", ("gradients",),
     accepts_text("not have been used", lambda c: c.do(c.operator, *c.args, **{**c.kwargs, "allow_unused": True}))),
    ("unused-inputs-are-zero", "autograd/unused-input-may-be-allowed", ("gradients",),
     lambda c: _zeros_for_unused(c) if c.kwargs.get("allow_unused") else c.right()),
    ("unused-inputs-are-never-zero", "autograd/unused-input-may-be-allowed", ("gradients",),
     lambda c: c.do(c.operator, *c.args, **{**c.kwargs, "materialize_grads": False, "allow_unused": True})),
    ("gradients-come-in-reverse", "autograd/grad-leaves-the-fields-alone", ("gradients",), _reversed_inputs),
    ("chosen-inputs-are-ignored", "autograd/chosen-inputs-alone-accumulate", ("backward",),
     lambda c: c.do("backward", *c.args, **{k: v for k, v in c.kwargs.items() if k != "inputs"})),
    ("nodes-of-chosen-inputs-rest", "autograd/hooks-follow-the-chosen-inputs", ("backward",), _nodes_of_inputs_rest),
    ("backward-without-a-graph-is-silent", "autograd/backward-without-a-graph-raises", ("backward",),
     accepts_text("does not require grad", _silent)),
    ("grad-without-a-graph-is-zero", "autograd/plain-gradients-are-not-recorded autograd/missing-graph-is-said",
     ("gradients",), accepts_text("does not require grad", _zeros)),
    ("unkept-gradients-do-not-warn", "autograd/unkept-gradient-warns", ("grad",), _quiet),
    ("retain-grad-is-ignored", "autograd/results-keep-their-gradient-on-request", ("retain_grad",), _not_kept),
    ("every-gradient-is-kept", "autograd/results-keep-their-gradient-on-request", ("grad",), _every_gradient_kept),
    ("any-gradient-can-be-assigned", "autograd/assigned-gradient-must-fit", ("set_grad",),
     accepts_text("", _assigned_cast)),
    ("gradients-are-row-major", "autograd/gradient-has-the-strides-of-its-leaf", ("grad",), _row_major),
    ("backward-runs-on-another-thread", "autograd/cpu-nodes-run-on-the-calling-thread", ("backward",), _elsewhere),
    ("concurrent-passes-lose-one", "autograd/threads-may-share-leaves", ("backward_in_threads",), _loses_a_thread),
    ("exceptions-of-nodes-are-runtime-errors", "autograd/exceptions-end-the-pass", ("backward",),
     raises(RuntimeError, KeyError)),
    ("exceptions-break-the-engine", "autograd/exceptions-end-the-pass", ("backward",), _breaks_down),
    ("saved-versions-are-not-checked",
     "autograd/changed-saved-tensor-raises autograd/function-saves-tensors-with-their-version", PASSES,
     accepts_text("modified by an inplace", _silent)),
    ("freed-graphs-give-nothing", "autograd/saved-tensors-are-freed-by-the-pass", PASSES,
     accepts_text("a second time", _silent)),
    ("tangents-are-negated", "autograd/forward-mode-gives-tangents autograd/forward-and-reverse-mode-agree",
     ("unpack_dual",), _negated_tangent),
    ("clones-share-the-tangent", "autograd/results-have-tangents-of-their-own", ("clone", "add.Scalar"),
     _shared_tangent),
    ("out-forms-take-dual-tensors", "autograd/out-forms-refuse-dual-tensors",
     ("add.out", "mul.out", "sin.out", "exp.out", "cat.out", "sum.IntList_out"),
     accepts_text("out= function", lambda c: c.kwargs["out"])),
    ("dual-tensors-nest", "autograd/dual-tensors-do-not-nest", ("make_dual",),
     accepts_text("a tangent already|dual tensor itself", lambda c: c.args[0])),
    ("tangents-of-any-size-are-taken", "autograd/forward-mode-gives-tangents", ("make_dual",),
     accepts_text("", _fitted_tangent)),
)
