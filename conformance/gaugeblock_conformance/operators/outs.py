"""Results and tensors for ``out=``, one or several."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..case import TensorCase, default_strides
from ..session import Handle, Session
from .calls import OperatorCall


@cache
def out_count(operator: str) -> int:
    """How many tensors the operator gives."""
    return len(parse(operators.load()[operator].schema).returns)


def result_of(s: Session, call: OperatorCall) -> Any:
    """What the functional form gives, or None where it refuses the call."""
    positional, keywords = call.bind(s.build)
    result, error = s.attempt(call.operator, *positional, **keywords)
    return None if error is not None else result


def with_result(body: Callable[[Session, OperatorCall, Any], None]) -> Callable[[Session, OperatorCall], None]:
    """``body`` for a sweep, given also what `result_of` tells; left out where that is None."""

    @wraps(body)
    def check(s: Session, call: OperatorCall) -> None:
        y = result_of(s, call)
        if y is not None:
            body(s, call, y)

    return check


def blank(s: Session, y: Handle, dtype: str | None = None) -> TensorCase:
    """A contiguous tensor of small numbers with the sizes of ``y``, and its dtype or another."""
    sizes = tuple(s.observe("shape", y))
    return TensorCase(dtype or str(s.observe("dtype", y)), sizes, default_strides(sizes), kind="small")
