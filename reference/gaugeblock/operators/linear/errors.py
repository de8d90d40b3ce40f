"""What linear algebra raises when a matrix does not allow the operation."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ..arrays import Array


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or an algorithm did not converge."""


def fail(operator: str, infos: Array, reason: str) -> NoReturn:
    """Raise LinAlgError for the first matrix whose info is not 0; `reason` may contain {info}."""
    flat = np.asarray(infos).reshape(-1)
    place = int(np.flatnonzero(flat)[0])
    where = "" if np.ndim(infos) == 0 else f"(Batch element {place}): "
    raise LinAlgError(f"{operator}: {where}{reason.format(info=int(abs(flat[place])))}")


SINGULAR = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{info} is not positive-definite)."
)
NOT_FINITE = "The algorithm failed to converge because the input matrix contained non-finite values."
NOT_CONVERGED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated values."
)
