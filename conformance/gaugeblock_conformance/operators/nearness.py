"""Results judged by what must hold between them, or by an error measured by a norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..failure import NoReproducer
from ..oracles.conversion import cast, component
from ..oracles.near import Claim, Near, Such
from ..oracles.pointwise import spacing
from ..oracles.promotion import FLOAT, KIND, WIDTH_TWIN
from ..session import Handle, Session
from ..values import COMPLEX, FLOATS, LARGEST
from .calls import OperatorCall

_UNTOLD = NoReproducer("the test compares with bounds that it computes")


def dtype_of_kind(call: OperatorCall, kind: str) -> str:
    """The dtype that ``kind`` of :class:`Near` stands for: ``input``, ``real``, ``complex`` or a dtype itself."""
    if kind not in ("input", "real", "complex"):
        return kind
    dtype = call.dtype
    if call.row.promotion == "int_to_float" and KIND[dtype] < FLOAT:
        dtype = "float32"
    if kind == "complex":
        return WIDTH_TWIN.get(dtype, dtype)
    return component(dtype) if kind == "real" else dtype


def tolerance(dtype: str, scale: Any, units: float, least: float = 0.0) -> Array:
    """``units`` machine epsilons of the dtype, but at ``least`` so much, times ``scale``."""
    share = max(units * spacing(np.ones(()), component(dtype)), least)
    with np.errstate(all="ignore"):
        return np.asarray(share * np.asarray(scale, np.longdouble) + spacing(np.zeros(()), component(dtype)))


def judge_near(s: Session, y: Handle, want: Near, dtype: str) -> None:
    """Expect elements as close as ``want`` says, of this dtype."""
    array = np.asarray(want.value)
    s.expect_shape(y, array.shape)
    s.expect_dtype(y, dtype)
    if not s.has_data:
        return
    if dtype not in (*FLOATS, *COMPLEX) or (np.ndim(want.scale) == 0 and want.scale == 0):
        array = cast(array, dtype)
        if want.open and want.free.any():
            array = np.where(want.free, s.read(y), array)
        s.expect_values(y, array, signed_zero=False)
    else:
        with np.errstate(all="ignore"):
            array = np.where(np.abs(array) > LARGEST[component(dtype)], array * np.inf, array)
        assert want.units is not None  # the row's are units of a bound of its own
        limit = tolerance(dtype, want.scale, want.units, want.least)
        s.expect_close(y, array, np.broadcast_to(limit, array.shape), want.free)


def judge_such(s: Session, call: OperatorCall, result: Any, want: Such, widened: Any) -> None:
    """Expect results of these sizes and dtypes of which all claims hold."""
    parts = s.parts(result, len(want.sizes)) if len(want.sizes) > 1 else [result]
    dtypes = [dtype_of_kind(call, kind) for kind in want.kinds]
    for part, sizes, dtype in zip(parts, want.sizes, dtypes, strict=True):
        s.expect_shape(part, sizes)
        s.expect_dtype(part, dtype)
    if not s.has_data:
        return
    with np.errstate(all="ignore"):
        for claim in want.claims(*[widened(s.read(part)) for part in parts]):
            _expect(s, call, claim, dtypes[0])


def _expect(s: Session, call: OperatorCall, claim: Claim, dtype: str) -> None:
    got, want = np.asarray(claim.got), np.asarray(claim.want)
    near = np.abs(got - want) <= tolerance(dtype, claim.scale, claim.units) if _inexact(got, want) else got == want
    if not np.all(near | (got == want)):
        worst = float(np.max(np.abs(got - want))) if _inexact(got, want) else 1.0
        s.fail_computed(f"{call.operator}: {claim.what} (off by {worst:.3g})", _UNTOLD)


def _inexact(*arrays: Array) -> bool:
    return any(a.dtype.kind in "fc" for a in arrays)
