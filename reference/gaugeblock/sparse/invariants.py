"""What must hold of the parts of a sparse tensor, and whether it is looked at when one is made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from ..core import lazy_numpy as np
from ..operators.arrays import Array
from .coo_tensor import places_of

F = TypeVar("F", bound=Callable[..., Any])


class State:
    """Whether the checks that look at elements are made without being asked for."""

    enabled = False


STATE = State()


class check_sparse_tensor_invariants:
    """Switches the checks of invariants on, or off with ``enable=False``: in a with statement, or during the calls of a
    decorated function. The class methods `enable`, `disable` and `is_enabled` do so for good."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Return whether the invariants are checked."""
        return STATE.enabled

    @staticmethod
    def enable() -> None:
        """Check the invariants from now on."""
        STATE.enabled = True

    @staticmethod
    def disable() -> None:
        """Check the invariants no longer."""
        STATE.enabled = False

    def __enter__(self) -> None:
        self.before.append(STATE.enabled)
        STATE.enabled = self.state

    def __exit__(self, *_: object) -> None:
        STATE.enabled = self.before.pop()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with check_sparse_tensor_invariants(self.state):
                return function(*args, **kwargs)

        return checked  # type: ignore[return-value]


def is_checked(asked: bool | None) -> bool:
    """Return whether the invariants of a new tensor are checked."""
    return STATE.enabled if asked is None else asked


def refuse(message: str) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(message)


def check_coo_shapes(
    indices: tuple[int, ...], values: tuple[int, ...], sizes: Sequence[int], sparse_dim: int | None = None
) -> None:
    """Raise RuntimeError unless the sizes of indices and values go together, and with those of the tensor."""
    split = indices[0] if indices else 0
    dense = len(values) - 1
    if len(sizes) != split + dense:
        refuse(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(sizes)}, sparse_dim = {split}, "
            f"dense_dim = {dense}"
        )
    if len(indices) != 2:
        refuse(f"indices must be sparse_dim x nnz, but got: {list(indices)}")
    check_counts(indices, values)
    if tuple(sizes[split:]) != values[1:]:
        refuse(
            f"values has incorrect size, expected {[values[0], *sizes[split:]]}, got {list(values)}"
        )


def check_counts(indices: tuple[int, ...], values: tuple[int, ...]) -> None:
    """Raise RuntimeError unless there are as many values as columns of indices."""
    if indices[1] != values[0]:
        refuse(
            f"indices and values must have same nnz, but got nnz from indices: {indices[1]}, nnz from values: "
            f"{values[0]}"
        )


def check_not_negative(indices: Array) -> None:
    """Raise RuntimeError for a negative index."""
    for dim, row in enumerate(indices):
        if row.size and row.min() < 0:
            refuse(f"found negative index {row.min()} for dim {dim}")


def check_coo_indices(indices: Array, sizes: Sequence[int]) -> None:
    """Raise RuntimeError for an index outside of the size of its dim."""
    check_not_negative(indices)
    for dim, row in enumerate(indices):
        if row.size and row.max() >= sizes[dim]:
            refuse(
                f"size is inconsistent with indices: for dim {dim}, size is {sizes[dim]} but found index {row.max()}"
            )


def check_coalesced(indices: Array, sizes: Sequence[int]) -> None:
    """Raise RuntimeError unless the columns of indices are distinct and in order."""
    places = places_of(indices, sizes)
    if not (np.diff(places) > 0).all():
        refuse("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
