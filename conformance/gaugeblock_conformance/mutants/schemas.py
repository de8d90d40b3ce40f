"""Arguments that are not taken as the schema has them: defaults, overloads, sizes, dtypes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, Patch, rows
from .patches import floating, values, with_data


def _steeper(c: Intercepted) -> Any:
    """Left out, the slope of ``leaky_relu`` is 0.2."""
    return c.do(c.operator, *c.args, 0.2) if len(c.args) == 1 and not c.kwargs else c.right()


def _twice(c: Intercepted) -> Any:
    """Left out, the scale is 2."""
    return c.do(c.operator, *c.args, 2.0) if len(c.args) == 1 and not c.kwargs else c.right()


def _largest_of_one(c: Intercepted) -> Any:
    """With two tensors the overload for one runs."""
    return c.right() if c.inplace else c.do("max", c.args[0])


def _no_lists(c: Intercepted) -> Any:
    if any(isinstance(value, list) for value in c.args[1:]):
        c.refuse(TypeError, "sizes have to be a tuple")
    return c.right()


def _no_bool(c: Intercepted) -> Any:
    if c.backend.dtype(c.args[0]) == "bool":
        c.refuse(NotImplementedError, "not implemented for bool")
    return c.right()


def _nan_stays(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    return np.where(np.isnan(x), x, array) if floating(x) else None


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


def _values_ignored(c: Intercepted) -> Any:
    """A derivative may be declared with other default values if the same arguments have defaults."""
    given = c.args[0]
    if re.sub("=[^,)]*", "=", given.signature) == re.sub("=[^,)]*", "=", given.schema):
        return c.do("declare_operator", replace(given, signature=given.schema))
    return c.right()


def _replaced(c: Intercepted) -> Any:
    """A second declaration of an operator replaces the first."""
    try:
        return c.right()
    except RuntimeError:
        c.do("release_declarations")
        return c.right()


def _unmarked(c: Intercepted) -> Any:
    """A name that ends in an underscore is taken for that of the functional form."""
    given = c.args[0]
    name, _, rest = given.schema.partition("(")
    return c.do("declare_operator", replace(given, schema=f"{name.rstrip('_')}({rest}"))


MUTANTS = (
    *rows(
        "operators",
        ("slope-has-another-default", "operators/defaults-are-those-of-the-schema[]", ("leaky_relu",), _steeper),
        ("declared-defaults-are-two", "operators/declared-operator-works-end-to-end",
         ("function:scaled_abs", "method:scaled_abs"), _twice),
        ("second-tensor-of-max-is-overlooked", "operators/overload-follows-the-types", ("max.other",), _largest_of_one),
        ("lists-are-no-sizes", "operators/sizes-come-in-any-form", ("view", "expand", "repeat", "permute"), _no_lists),
        ("triangles-are-not-of-bools", "operators/declared-dtypes-are-taken[]", ("tril", "triu"), _no_bool),
        ("sign-of-nan-is-nan", "operators/sign-of-zero-and-nan-is-zero", ("sign", "sgn"),
         with_data(values(_nan_stays))),
    ),
    *rows(
        "operators",
        ("derivatives-have-defaults-of-their-own", "operators/derivative-of-another-signature-is-refused",
         ("declare_operator",), _values_ignored),
        ("declarations-replace-each-other", "operators/inconsistent-declarations-are-refused", ("declare_operator",),
         _replaced),
        ("inplace-names-need-no-marks", "operators/inconsistent-declarations-are-refused", ("declare_operator",),
         _unmarked),
        ("kernels-without-derivative-are-constant", "operators/backward-without-a-derivative-raises",
         ("register_kernel", "backward"), _silent_for("CPU")),
        ("composites-without-derivative-are-constant", "operators/composite-without-a-derivative-is-no-exception",
         ("register_kernel", "backward"), _silent_for("CompositeExplicitAutograd")),
    ),
)
