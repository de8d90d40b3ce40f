"""Faults of dispatchers, kernels and graphs that a single requirement asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from .mutant import Intercepted, Patch, rows

_DEEP = 1000


def _fallback_first(c: Intercepted) -> Any:
    """Once a key has a fallback, kernels for it are dropped."""
    if c.operator == "release_operators":
        c.memory.pop("fallbacks", None)
        return c.right()
    if c.operator == "register_fallback":
        c.memory.setdefault("fallbacks", set()).add(c.args[0])
        return c.right()
    return None if c.args[1] in c.memory.get("fallbacks", ()) else c.right()


def _without_keywords(c: Intercepted) -> Any:
    """A kernel gets what was given by position; the rest has its default."""
    return c.instead(*c.args, **{name: v for name, v in c.kwargs.items() if name in ("device", "z", "n", "y")})


def _unconverted(c: Intercepted) -> Any:
    """Whole numbers stay whole numbers where the schema says float."""
    return tuple(entry.replace(".0", "") if entry.startswith("(") else entry for entry in c.right())


def _not_selected(c: Intercepted) -> Any:
    """A kernel for BackendSelect that chooses by the options is passed over: the default device serves."""
    return None if c.args[1] == "BackendSelect" and c.args[2].action == "select" else c.right()


def _bare_gradient(c: Intercepted) -> Any:
    gradient, _ = c.right()
    return gradient, "bare"


def _unscaled_gradient(c: Intercepted) -> Any:
    gradient, told = c.right()
    return c.do("ones_like", gradient), told


def _silent_for(key: str) -> Patch:
    """Operators whose kernel was registered for ``key`` have a derivative of zero, told by nobody."""

    def patch(c: Intercepted) -> Any:
        if c.operator == "register_kernel":
            c.memory["silent"] = c.args[1] == key and c.args[0] == "no_derivative"
            return c.right()
        if not c.memory.get("silent"):
            return c.right()
        try:
            return c.right()
        except RuntimeError:
            return None

    return patch


def _vector_everywhere(c: Intercepted) -> Any:
    """The vector form is entered for strided operands, by gathering lanes."""
    paths = c.right()
    return replace(paths, vector=np.ones_like(paths.vector), scalar=np.zeros_like(paths.scalar), buffered=False)


def _always_buffered(c: Intercepted) -> Any:
    return replace(c.right(), buffered=True)


def _walked(node: Any, depth: int) -> None:
    if depth > _DEEP:
        raise RecursionError("maximum recursion depth exceeded")
    if node is not None:
        edges = node.next_functions
        if edges:
            _walked(edges[0][0], depth + 1)


def _recursive(c: Intercepted) -> Any:
    """The graph is walked by a function that calls itself."""
    c.by(lambda: _walked(c.do("__getattr__", c.args[0], "grad_fn"), 0))
    return c.right()


def _values_ignored(c: Intercepted) -> Any:
    """A derivative may be declared with other default values if the same arguments have defaults."""
    given = c.args[0]
    if re.sub("=[^,)]*", "=", given.signature) == re.sub("=[^,)]*", "=", given.schema):
        return c.do("declare_operator", replace(given, signature=given.schema))
    return c.right()


def _counting(c: Intercepted) -> Any:
    """Creating a view sums the elements of its base."""
    if c.has_data:
        c.do("sum", c.do("detach", c.args[0]))
    return c.right()


MUTANTS = (
    *rows(
        "dispatcher",
        ("fallbacks-come-before-kernels", "dispatch/fallback-serves-operators-without-kernel",
         ("register_fallback", "register_kernel", "release_operators"), _fallback_first),
        ("fallbacks-are-never-entered", "dispatch/fallback-serves-operators-without-kernel", ("register_fallback",),
         lambda c: None),
        ("keywords-do-not-reach-kernels", "dispatch/kernels-get-all-arguments", ("suite::",), _without_keywords),
        ("kernels-get-unconverted-numbers", "dispatch/kernels-get-all-arguments", ("dispatch_log",), _unconverted),
        ("factories-of-others-are-not-selected", "dispatch/factory-options-pick-the-kernel", ("register_kernel",),
         _not_selected),
        ("gradients-of-wrappers-are-bare", "dispatch/wrapper-passes-through-backward", ("gradient_on_wrapper",),
         _bare_gradient),
        ("gradients-of-wrappers-are-ones", "dispatch/wrapper-passes-through-backward", ("gradient_on_wrapper",),
         _unscaled_gradient),
        ("views-count-elements", "dispatch/dispatch-cost-is-constant[]", ("select", "slice", "unsqueeze"), _counting),
    ),
    *rows(
        "operators",
        ("derivatives-have-defaults-of-their-own", "operators/derivative-of-another-signature-is-refused",
         ("declare_operator",), _values_ignored),
        ("kernels-without-derivative-are-constant", "operators/backward-without-a-derivative-raises",
         ("register_kernel", "backward"), _silent_for("CPU")),
        ("composites-without-derivative-are-constant", "operators/composite-without-a-derivative-is-no-exception",
         ("register_kernel", "backward"), _silent_for("CompositeExplicitAutograd")),
    ),
    *rows(
        "kernels",
        ("vectors-are-gathered", "kernels/vector-form-needs-neighbours", ("paths_of",), _vector_everywhere),
        ("contiguous-operands-are-buffered", "kernels/vector-form-needs-neighbours", ("paths_of",), _always_buffered),
    ),
    *rows(
        "autograd",
        ("graphs-are-walked-recursively", "autograd/long-chains-need-no-recursion", ("backward",), _recursive),
    ),
)
