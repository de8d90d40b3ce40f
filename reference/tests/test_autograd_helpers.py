"""The helpers of derivative expressions are those that the spec describes, with its parameters."""

from __future__ import annotations

import inspect

from gaugeblock.autograd.derivative_helpers import helpers
from gaugeblock_spec import derivatives


def test_helpers_are_those_of_the_spec() -> None:
    found = {name: tuple(inspect.signature(function).parameters) for name, function in helpers().items()}
    assert found == dict(derivatives.helpers())
