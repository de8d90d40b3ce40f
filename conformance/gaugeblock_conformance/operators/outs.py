"""Results and tensors for ``out=``, one or several."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..case import TensorCase, default_strides
from ..session import Handle, Session
from .calls import OperatorCall


@cache
def out_count(operator: str) -> int:
    """How many tensors the operator gives."""
    return len(parse(operators.load()[operator].schema).returns)


def _over_one_dim(call: OperatorCall) -> bool:
    """The matter of ``operators/transforms-of-one-dim-write-their-out``."""
    if call.row.base_name not in ("fft_ihfftn", "fft_ihfft2"):
        return False
    given = call.arguments.get("dim") or call.arguments.get("s")
    return len(given or call.tensors[0].sizes) == 1


def _by_many_bounds(call: OperatorCall) -> bool:
    """The matter of ``operators/ranks-by-many-bounds-keep-their-out``."""
    if call.row.base_name != "linalg_matrix_rank":
        return False
    matrices, *bounds = call.tensors
    batch = matrices.sizes[:-2]
    return any(np.broadcast_shapes(batch, bound.sizes) != batch for bound in bounds)


def result_of(s: Session, call: OperatorCall) -> Any:
    """What the functional form gives, or None where it refuses the call or its ``out=`` is another test's matter."""
    if _over_one_dim(call) or _by_many_bounds(call):
        return None
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
