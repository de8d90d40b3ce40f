"""Views of a tensor of sizes (2, 3) and writes to them, with what both do to gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..session import Handle, Session
from .leaves import leaf

# A view of a tensor of sizes (2, 3): operator, arguments, and the same of a NumPy array.
VIEWS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("select.int", (0, 1), lambda a: a[1]),
    ("select.int", (1, 0), lambda a: a[:, 0]),
    ("narrow", (1, 1, 2), lambda a: a[:, 1:3]),
    ("slice.Tensor", (1, 0, 3, 2), lambda a: a[:, 0:3:2]),
    ("t", (), lambda a: a.T),
    ("view", ((3, 2),), lambda a: a.reshape(3, 2)),
    ("unsqueeze", (1,), lambda a: a[:, None]),
    ("diagonal", (), lambda a: np.einsum("ii->i", a[:2, :2])),
    ("permute", ((1, 0),), lambda a: a.transpose(1, 0)),
    ("as_strided", ((2, 2), (3, 1), 1), lambda a: a[:, 1:3]),
    ("view_as", (None,), lambda a: a.reshape(2, 3)),
    ("__getitem__", ((slice(None), 2),), lambda a: a[:, 2]),
    ("__getitem__", ((..., slice(0, 2)),), lambda a: a[..., 0:2]),
]
# A write: operator, arguments, slope by the old value, slope by a leaf that takes part (None: there is none).
WRITES: list[tuple[str, tuple[Any, ...], float, float | None]] = [
    ("mul_.Scalar", (3,), 3.0, None), ("add_.Scalar", (5,), 1.0, None), ("zero_", (), 0.0, None),
    ("fill_.Scalar", (7,), 0.0, None), ("neg_", (), -1.0, None), ("add_.Tensor", ("leaf",), 1.0, 1.0),
    ("sub_.Tensor", ("leaf",), 1.0, -1.0), ("copy_", ("leaf",), 0.0, 1.0),
]  # fmt: skip
X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PLACES = hs.integers(0, len(VIEWS) - 1)
KINDS = hs.integers(0, len(WRITES) - 1)


def view_of(s: Session, y: Handle, place: int) -> tuple[Handle, Any]:
    """The view of ``y`` and a mask of what it reaches."""
    operator, arguments, model = VIEWS[place]
    v = s.call(operator, y, *[s.tensor(X) if a is None else a for a in arguments])
    reached = np.zeros((2, 3), dtype=bool)
    model(reached)[...] = True
    return v, reached


def write_to(s: Session, v: Handle, kind: int) -> tuple[float, float | None, Handle | None]:
    """Write into ``v``; the slopes, and the leaf that took part."""
    operator, arguments, slope, other = WRITES[kind]
    w = None if other is None else leaf(s, np.float64(2.0))
    s.call(operator, v, *[w if a == "leaf" else a for a in arguments])
    return slope, other, w
