"""Gradients of tensors that are no leaves, kept on request."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import Program
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import duals
from .leaves import backward, leaf

_UNTOLD = NoReproducer("warnings are no results of calls")

X, W = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, -1.0])


@requirement("autograd/results-keep-their-gradient-on-request")
@forall(program=duals.programs(steps=6), keeps=hs.lists(hs.booleans(), min_size=6, max_size=6))
def test_kept_gradients(s: Session, program: Program, keeps: list[bool]) -> None:
    made: list[Handle] = []

    def call(operator: str, *args: Any) -> Handle:
        y: Handle = s.call(operator, *args)
        if keeps[len(made) % len(keeps)]:
            s.call("retain_grad", y)
        made.append(y)
        return y

    x, w = leaf(s, X), leaf(s, W)
    backward(s, program.run(call, [x, w]))
    reached = duals.reached(program)
    for k, y in enumerate(made):
        keeping = keeps[k % len(keeps)]
        s.expect(s.call("retains_grad", y), keeping, "retains_grad")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = s.call("grad", y)
        there, expression = keeping and k + 2 in reached, f"{s.text('grad', y)} is not None"
        s.expect(found is not None, there, "a kept gradient", expression, [y])
        if isinstance(found, Handle):
            want = _last_by(program, k)
            if np.abs(want).max() < duals.EXACT:
                s.expect_values(found, want, signed_zero=False)


def _last_by(program: Program, step: int) -> Any:
    """The gradient of the sum of the last value by what ``step`` gave, with that value as the variable."""
    values = [duals.Dual(a, np.zeros((3, 3))) for a in (X, W)]
    for k, (operator, *arguments) in enumerate(program.steps):
        y = duals.call(operator, *[values[a.number] if hasattr(a, "number") else a for a in arguments])
        values.append(duals.inputs(y.value)[0] if k == step else y)
    return values[-1].slope.sum(axis=1)


@requirement("autograd/unkept-gradient-warns")
def test_reading_an_unkept_gradient(s: Session) -> None:
    y = s.call("mul.Scalar", leaf(s, [1.0]), 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = s.call("grad", y)
    s.expect(found is None, True, "no gradient", f"{s.text('grad', y)} is None", [y])
    s.expect(len(seen) > 0, True, "a warning", _UNTOLD)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        s.call("grad", leaf(s, [1.0]))
    s.expect(len(seen), 0, "warnings for a leaf", _UNTOLD)
