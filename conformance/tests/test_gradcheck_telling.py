"""Snippets of wrong derivatives, in the terms of libraries that differentiate functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backends.array_api_dialect import ArrayApiDialect
from gaugeblock_conformance.backends.array_api_table import STANDARD
from gaugeblock_conformance.dialect import TorchDialect
from gaugeblock_conformance.gradcheck.error import Entry
from gaugeblock_conformance.gradcheck.telling import snippet
from gaugeblock_conformance.gradcheck.trials import Trial, trials

Gradient = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]


@pytest.fixture
def dialect() -> ArrayApiDialect:
    made = ArrayApiDialect(STANDARD, "import numpy as xp")
    made.gradient = "grad({f})({x})"
    return made


def _trial(operator: str, dtype: str = "float64") -> Trial:
    return next(trial for trial in trials(operator, dtype, 0, 6) if trial.inputs[0].numel and trial.inputs[0].plain)


def _grad(factor: float) -> Gradient:
    """Return central differences, times a factor."""

    def of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def gradient(x: Any) -> Any:
            found = np.zeros_like(x)
            for place in np.ndindex(x.shape):
                step = np.zeros_like(x)
                step[place] = 1e-6
                found[place] = (function(x + step) - function(x - step)) / 2e-6
            return factor * found

        return gradient

    return of


def _first(trial: Trial) -> Entry:
    place = (0,) * len(trial.inputs[0].sizes)
    return Entry(0, 0, place, place, "", 1.0, 2.0, trial.inputs[0].sizes)


def test_a_snippet_holds_for_a_right_gradient_and_fails_for_a_wrong_one(dialect: ArrayApiDialect) -> None:
    trial = _trial("square")
    text = snippet(dialect, trial, "first_order", _first(trial))
    assert text.startswith("import numpy as xp\n")
    assert "gradient = grad(f)(x0)" in text
    assert "gaugeblock" not in text
    exec(text, {"grad": _grad(1.0)})
    with pytest.raises(AssertionError):
        exec(text, {"grad": _grad(1.5)})


def test_where_a_library_has_vjp_the_whole_function_is_differentiated(dialect: ArrayApiDialect) -> None:
    """autograd tracks the elements of an object array, but not the array itself."""
    dialect.vjp = "vjp({f})({x}, {seed})"
    text = snippet(dialect, _trial("square"), "first_order", _first(_trial("square")))
    assert "f = lambda x0: (xp.square(x0))\n" in text
    assert "gradient = vjp(f)(x0, seed).item()" in text

    def vjp(factor: float) -> Callable[[Any], Any]:
        return lambda function: lambda x, seed: _grad(factor)(lambda x: (function(x) * seed).sum())(x)

    exec(text, {"vjp": vjp(1.0)})
    with pytest.raises(AssertionError):
        exec(text, {"vjp": vjp(1.5)})


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_of_a_complex_result_are_differentiated_apart(dialect: ArrayApiDialect, part: str) -> None:
    """Both functions are real: libraries define the gradient of a complex result differently."""
    dialect.vjp = "vjp({f})({x}, {seed})"
    place = (0,) * len(_trial("square").inputs[0].sizes)
    text = snippet(dialect, _trial("square"), "first_order", Entry(0, 0, place, place, part, 1.0, 2.0, place))
    assert f"f = lambda x0: xp.{part}((xp.square(x0)))" in text
    exec(text, {"grad": _grad(1.0)})


def test_a_gradient_of_other_sizes_fails_in_the_snippet(dialect: ArrayApiDialect) -> None:
    text = snippet(dialect, _trial("square"), "first_order", None)
    exec(text, {"grad": _grad(1.0)})
    with pytest.raises(AssertionError):
        exec(text, {"grad": lambda f: lambda x: np.append(x, 1.0)})


def test_a_gradient_that_cannot_be_taken_is_taken(dialect: ArrayApiDialect) -> None:
    text = snippet(dialect, _trial("square"), "first_order", None)
    assert "x0_gradient = grad((lambda x0: (" in text

    def refused(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        raise TypeError("no derivative")

    with pytest.raises(TypeError, match="no derivative"):
        exec(text, {"grad": refused})


@pytest.mark.parametrize(
    ("operator", "dtype", "order", "why"),
    [
        ("square", "complex128", "first_order", "libraries define gradients by complex numbers in different ways"),
        ("square", "float64", "second_order", "finite differences of gradients are taken by the suite"),
        ("sigmoid", "float64", "first_order", "the check needs derivatives by way of the adapter"),
    ],
)
def test_where_there_is_no_snippet_it_says_why(
    dialect: ArrayApiDialect, operator: str, dtype: str, order: str, why: str
) -> None:
    trial = _trial(operator, dtype)
    assert why in snippet(dialect, trial, order, _first(trial))


def test_results_that_do_not_require_grad_fail_the_snippet() -> None:
    text = snippet(TorchDialect("gaugeblock", alias="gb"), _trial("square"), "first_order", None)
    exec(text, {})
    unrecorded = text.replace("gb.square(x0)", "gb.square(x0).detach()")
    assert unrecorded != text
    with pytest.raises(AssertionError, match="no result requires grad"):
        exec(unrecorded, {})
