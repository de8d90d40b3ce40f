"""gradcheck and gradgradcheck name the input whose gradient has the wrong sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.gradcheck.check import gradcheck
from gaugeblock_conformance.gradcheck.error import GradcheckError
from gaugeblock_conformance.gradcheck.second import gradgradcheck


class Cut(ReferenceBackend):
    """Gradients lack their last column."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        found = super().call(operator, *args, **kwargs)
        return tuple(gradient[:, :-1] for gradient in found) if operator == "gradients" else found


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (gradcheck, r"the gradient of output 0 by input 1 has sizes \(2, 2\), the input \(2, 3\)"),
        (gradgradcheck, r"the gradient by input 1 has sizes \(2, 2\), the input \(2, 3\)"),
    ],
)
def test_the_input_is_named(check: Callable[..., bool], message: str) -> None:
    """The condition is bool and has no gradient; input 1 is the first that has one."""
    backend = Cut()
    condition = backend.from_numpy(np.arange(6).reshape(2, 3) >= 3)
    x, y = (backend.from_numpy(np.full((2, 3), value), requires_grad=True) for value in (1.0, 2.0))

    def where(condition: Any, x: Any, y: Any) -> Any:
        return backend.call("where.self", condition, x, y)

    with pytest.raises(GradcheckError, match=message):
        check(backend, where, (condition, x, y))
