"""Views of a tensor of sizes (2, 3) and writes to them, with what both do to gradients."""

from __future__ import annotations

from collections.abc import Callable
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
Arguments = tuple[Any, ...]
FURTHER: list[tuple[str, Callable[[Session, Handle], Arguments], Any]] = [
    *(
        (operator, lambda s, y, given=given: (y, *given), seen)
        for operator, given, seen in (
            ("transpose.int", (0, 1), lambda a: a.T),
            ("swapaxes", (1, 0), lambda a: a.T),
            ("movedim.int", (0, 1), lambda a: a.T),
            ("moveaxis.intlist", ([0, 1], [1, 0]), lambda a: a.T),
            ("mT", (), lambda a: a.T),
            ("adjoint", (), lambda a: a.T),
            ("reshape", ((3, 2),), lambda a: a.reshape(3, 2)),
            ("flatten.using_ints", (), lambda a: a.reshape(6)),
            ("ravel", (), lambda a: a.reshape(6)),
            ("unflatten.int", (1, (3, 1)), lambda a: a[..., None]),
            ("expand", ((1, 2, 3),), lambda a: a[None]),
            ("broadcast_to", ((2, 3),), lambda a: a[...]),
            ("squeeze", (), lambda a: a[...]),
            ("squeeze.dim", (0,), lambda a: a[...]),
            ("squeeze.dims", ((0, 1),), lambda a: a[...]),
            ("unfold", (1, 2, 2), lambda a: a[:, None, 0:2]),
            ("diagonal", (1,), lambda a: np.einsum("ii->i", a[:, 1:])),
            ("linalg_diagonal", (), lambda a: np.einsum("ii->i", a[:2, :2])),
            ("atleast_3d", (), lambda a: a[..., None]),
            ("slice.Tensor", (0, 1, 2), lambda a: a[1:2]),
            ("__getitem__", (None,), lambda a: a[None]),
            ("__getitem__", ((..., -1),), lambda a: a[..., -1]),
            ("__getitem__", (slice(None, None, 2),), lambda a: a[::2]),
        )
    ),
    ("reshape_as", lambda s, y: (y, s.tensor(X.T)), lambda a: a.reshape(3, 2)),
    ("expand_as", lambda s, y: (y, s.tensor(X)), lambda a: a[...]),
    ("broadcast_tensors", lambda s, y: ([y, s.tensor(X[:1])],), lambda a: a[...]),
    ("broadcast_tensors", lambda s, y: ([y, s.tensor(X[None])],), lambda a: a[None]),
]
"""Views that the draws leave out: operator, its arguments for a tensor, the same of a NumPy array. Of a list of views
the first is meant."""
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
