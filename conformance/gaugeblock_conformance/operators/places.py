"""Places of elements, where any of several equal elements may be named."""

from __future__ import annotations

import numpy as np

from ..backend import Array
from ..oracles.ordering import ranks
from ..session import Handle, Session
from .calls import OperatorCall


def expect_places(s: Session, call: OperatorCall, y: Handle, want: Array) -> None:
    """Expect ``y`` to name, along the dim of the call, elements equal to those that ``want`` names, none twice."""
    values = call.values()
    x, dim = call.tensors[0].array, values.get("dim")
    dim = -1 if dim is None else dim
    got = s.read(y)
    kept = want
    if not x.ndim:
        x, got, kept = x.reshape(1), got.reshape(1), want.reshape(1)
    elif got.ndim < x.ndim:
        got, kept = np.expand_dims(got, dim), np.expand_dims(want, dim)
    rank = ranks(x)
    inside = (got >= 0) & (got < max(x.shape[dim], 1))
    safe = np.where(inside, got, 0)
    same = inside & (np.take_along_axis(rank, safe, dim) == np.take_along_axis(rank, kept, dim))
    ordered = np.sort(safe, axis=dim)
    twice = (np.diff(ordered, axis=dim) == 0).any()
    if not same.all() or twice:
        s.expect_values(y, want)
