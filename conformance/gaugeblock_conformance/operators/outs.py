"""Results and tensors for ``out=``, one or several."""

from __future__ import annotations

from functools import cache
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..session import Session
from .calls import OperatorCall


@cache
def out_count(operator: str) -> int:
    """How many tensors the operator gives."""
    return len(parse(operators.load()[operator].schema).returns)


def result_of(s: Session, call: OperatorCall) -> Any:
    """What the functional form gives, or None where it refuses the call: another test's matter."""
    positional, keywords = call.bind(s.build)
    result, error = s.attempt(call.operator, *positional, **keywords)
    return None if error is not None else result
