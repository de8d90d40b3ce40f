"""One expectation for the result of any pointwise operator of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import Array, dtype_name
from .judged import judged
from .pointwise import bound, expected, zero_sign_is_free

if TYPE_CHECKING:
    from ..session import Handle, Session


def expect_pointwise(
    s: Session, y: Handle, operator: str, arrays: Sequence[Array | None], dtype: str, **numbers: Any
) -> None:
    """Expect ``y`` to be what ``operator`` gives for ``arrays`` and ``numbers`` (as for :func:`expected`): shape,
    dtype, and values within the bound of the operator's row wherever the spec judges them."""
    expect_result(s, y, expected(operator, arrays, dtype, **numbers), operator, arrays, dtype, **numbers)


def expect_result(
    s: Session, y: Handle, want: Array, operator: str, arrays: Sequence[Array | None], dtype: str, **numbers: Any
) -> None:
    """As :func:`expect_pointwise`, where what :func:`expected` gives is known already."""
    limit = bound(operator, arrays, dtype, **numbers)
    s.expect_shape(y, want.shape)
    s.expect_dtype(y, dtype_name(want.dtype))
    if not s.has_data:
        return
    mask = judged(operator, arrays, want, **numbers)
    if not isinstance(limit, float):
        mask = mask & np.isfinite(limit)
    if not mask.all():
        got = s.read(y)
        want = np.where(mask, want, got)
        limit = limit if isinstance(limit, float) else np.where(mask, limit, np.inf)
    if isinstance(limit, float):
        s.expect_values(y, want, ulp=limit, signed_zero=not zero_sign_is_free(operator) and want.dtype.kind != "c")
    else:
        s.expect_close(y, want, limit)
