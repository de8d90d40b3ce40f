"""Results that oracles give with a tolerance, and the exceptions for calls that are not judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backend import Array, Unsupported
from ..problem import one_line

SUITE = "error of the suite"
"""Begins the reason why an operator is not judged for which an oracle fails."""


class Unjudged(LookupError):
    """Raised for a call that has no result to judge."""


class OracleFailed(Unsupported):
    """Raised where an oracle fails for a call, for which no backend is to blame."""

    def __init__(self, operator: str, error: Exception) -> None:
        super().__init__(operator, f"{SUITE}: {one_line(error)}")


class Undefined(Unjudged):
    """Raised by an oracle for arguments of which nothing is said: ``condition`` is a name under ``open`` of the row."""

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self.condition = condition


class Refused(Unjudged):
    """Raised by an oracle for arguments that must be refused: ``when`` is that of one of the row's ``errors``."""

    def __init__(self, when: str) -> None:
        super().__init__(when)
        self.when = when


@dataclass(frozen=True)
class Near:
    """Elements that a result may be away from by ``units`` machine epsilons of its dtype times ``scale``, which says
    what the errors of the steps are measured by: a norm, a sum of absolute terms. Without ``units`` the row's ``ulp``
    counts, for the largest term ``scale``.

    ``kind`` is the dtype of the result where the row does not say it: ``input``, ``real`` or ``complex`` (as the
    input's), or a dtype. A ``scale`` of 0 wants the elements themselves. ``least`` is a relative error allowed in every
    dtype, where PyTorch's approximation in double is no better. ``open`` says by names under ``open`` of the row which
    elements may be anything.
    """

    value: Any
    scale: Any = 0.0
    units: float | None = 16.0
    kind: str = ""
    least: float = 0.0
    open: Mapping[str, Array] = field(default_factory=dict)

    @property
    def free(self) -> Array:
        """Return a mask of the elements that are not judged."""
        free = np.zeros(np.shape(self.value), bool)
        return np.asarray(np.logical_or.reduce([free, *self.open.values()]))


@dataclass(frozen=True)
class Claim:
    """Two arrays made of results and operands that must agree, as close as :class:`Near` says."""

    what: str
    got: Any
    want: Any
    scale: Any = 0.0
    units: float = 16.0


@dataclass(frozen=True)
class Such:
    """Results that are not unique, such as factors up to signs: sizes and kinds of dtype, and what must hold.

    ``claims`` is called with the results, widened as operands are.
    """

    sizes: tuple[tuple[int, ...], ...]
    kinds: tuple[str, ...]
    claims: Callable[..., Iterable[Claim]]


def exactly(value: Array, kind: str) -> Near:
    """Return exact elements, in a dtype that the row does not give."""
    return Near(value, kind=kind)
