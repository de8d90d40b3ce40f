"""Version counters: how often a tensor's data was changed in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..memory.storage import Storage
from .tensor import Tensor, view_at_same_place
from .tensor_meta import without_autograd


class VersionCounter:
    """A counter of its own, for a tensor that shares storage but not history (`.data`)."""

    __slots__ = ("version",)

    version: int

    def __init__(self, version: int = 0) -> None:
        self.version = version


class CountedStorage(Storage):
    """A storage that a tensor left by ``x.data = y``, whose counter the tensor still shares with the other tensors."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """Return the version of the counter."""
        return int(VERSION_SLOT.__get__(self).version)

    @version.setter
    def version(self, version: int) -> None:
        VERSION_SLOT.__get__(self).version = version


VERSION_SLOT: Any = Storage.__dict__["version"]


def kept_counter(tensor: Tensor) -> Any:
    """Return the counter that `tensor` keeps when it moves to another storage."""
    if tensor.counter is not None:
        return tensor.counter
    storage = tensor.storage_impl
    if storage.__class__ is CountedStorage:
        return VERSION_SLOT.__get__(storage)
    counter = VersionCounter(storage.version)
    storage.__class__ = CountedStorage
    VERSION_SLOT.__set__(storage, counter)
    return counter


class SeveralViews:
    """The counter of views that were made several at once: that of the storage, and a mark of how they were made."""

    __slots__ = ("storage_impl",)

    def __init__(self, storage: Storage) -> None:
        self.storage_impl = storage

    @property
    def version(self) -> int:
        """The version of the storage."""
        return self.storage_impl.version

    @version.setter
    def version(self, version: int) -> None:
        self.storage_impl.version = version


HOW_MADE = {SeveralViews: ("multiple", "Split"), Storage: ("no_grad", "View")}
"""Class of the counter of a view that may not be written to by a recorded call -> how it came to be, and by what."""


def mark_unrecorded(given: Sequence[object], result: Any) -> Any:
    """`result`, its new views marked as taken with recording off of tensors that nobody recorded: their counter is then
    the storage itself. Tensors among `given` are no new ones."""
    old = {id(one) for one in given}
    for view in (result,) if isinstance(result, Tensor) else result:
        if not isinstance(view, Tensor) or view.base is None or view.autograd is not None or id(view) in old:
            continue
        if view.counter is None or view.counter.__class__ is SeveralViews:
            view.counter = view.storage_impl
    return result


def several_views(base: Tensor, views: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The views of `base`, marked as made together; views of tensors with a counter of their own keep that."""
    if base.counter is None:
        counter = SeveralViews(base.storage_impl)
        for view in views:
            view.counter = counter
    return tuple(views)


class Untracked:
    """The counter of tensors made in inference mode and their views: nothing is counted, and they are written to in
    that mode alone, of which `enabled` tells."""

    __slots__ = ("enabled",)

    enabled: Callable[[], bool]


INFERENCE = Untracked()


def version_of(tensor: Tensor) -> int:
    """The number of in-place changes that this tensor knows of. RuntimeError for one made in inference mode."""
    counter = tensor.counter
    if counter is INFERENCE:
        raise RuntimeError("Inference tensors do not track version counter.")
    return tensor.storage_impl.version if counter is None else int(counter.version)


def bump_version(tensor: Tensor) -> None:
    """Count one in-place change. RuntimeError for one of a tensor made in inference mode, made outside of it."""
    if tensor.counter is None:
        tensor.storage_impl.version += 1
    elif tensor.counter is not INFERENCE:
        tensor.counter.version += 1
    else:
        check_written_in_inference(tensor)


def check_written_in_inference(tensor: Tensor) -> None:
    """RuntimeError for a tensor made in inference mode where that mode is off."""
    if tensor.counter is INFERENCE and not INFERENCE.enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. Make a clone to get a normal "
            "tensor before doing inplace update."
        )


def is_inference(tensor: Tensor) -> bool:
    """Return whether the tensor, or what it is a view of, was made in inference mode."""
    return tensor.counter is INFERENCE


def data_of(tensor: Tensor) -> Tensor:
    """A tensor over the same elements whose version counter starts at 0 and is its own."""
    result = view_at_same_place(tensor, without_autograd(tensor.meta))
    result.base = None
    result.counter = VersionCounter()
    return result
