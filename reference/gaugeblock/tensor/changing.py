"""Changes of a tensor's metadata while calls in other threads may be reading it.

A call reads meta, storage and address of a tensor one after another, without a lock. So every change (`t_`, `set_`,
`resize_`, `x.data = y`, a resize of its storage) goes through `change_metadata` or `Changing`:

1. The tensor's class becomes ChangingTensor, whose members are properties that wait until the change is made.
2. The new metadata is stored.
3. The frames of the calls that run in other threads are recorded. These calls still see the old metadata, and the old
   storage lives until they end; every other call sees the new metadata.

When those calls have ended, the class is Tensor again. With a single thread none of this happens, and calls on tensors
that are not changed pay nothing for it.

The class of a tensor of a user's subclass stays, since programs look at it. The subclass itself gets the properties,
before the first change of one of its tensors, and keeps them: taking them away after every change would make CPython
give up caching the attributes of that class.
"""

from __future__ import annotations

import _weakrefset
import gc
import os
import sys
import threading
import time
import weakref
from _thread import _count
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NoReturn, TypeVar

from ..core.device import cpu
from ..core.fork_safety import fork_safe
from ..memory.storage import Storage
from .tensor import Tensor
from .tensor_meta import TensorMeta, extent, without_autograd

_current_frames = sys._current_frames
_class: Any = object.__dict__["__class__"]
_OURS = ("gaugeblock.", "gaugeblock_spec", "gaugeblock_testing.", "numpy", "llvmlite", "namedtuple_")
"""Prefixes of modules whose code runs within a call of this package."""
_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
_GENERATOR = 0x20
FINALISERS = frozenset({"__del__", "release"})
PATIENCE = 0.05
"""Seconds to wait until a thread leaves its finaliser, which may itself wait for the lock."""
_CALLBACKS = frozenset({weakref.__file__, _weakrefset.__file__})


class _Lock:
    """Held by the thread that changes something."""

    changes = 0
    """Number of changes begun or made; a reader that finds it unchanged read consistent metadata."""

    def __init__(self) -> None:
        self.held = fork_safe(threading.RLock())
        self.sweeping = False

    def renew(self) -> None:
        """Reset in a forked child, where no other thread is sweeping."""
        self.sweeping = False


_LOCK = _Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCK.renew)


_Found = TypeVar("_Found")


def _uncollected(find: Callable[[], _Found]) -> _Found:
    """Return ``find()``, which asks for frames of other threads, with the garbage collector off.

    Up to CPython 3.11 the allocation of a frame object may start a collection. If that runs Python code, another thread
    may go on and leave the frame whose object is being made, which then refers to freed memory.
    """
    wanted = gc.isenabled()
    try:
        gc.disable()
        return find()
    finally:
        if wanted:
            gc.enable()


def alone() -> bool:
    """Return whether this is the main thread and no other thread runs Python code, nor can begin to by itself."""
    return not _count() and len(_uncollected(_current_frames)) == 1


class Before:
    """The metadata of a tensor before a change, for the calls in `frames`, which is None until they are known."""

    __slots__ = ("frames", "meta", "offset", "pointer", "storage_impl", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.frames: set[FrameType] | None = None
        self.tensor = weakref.ref(tensor)
        self.meta = tensor._meta
        self.storage_impl = tensor._storage_impl
        self.offset = tensor._offset
        self.pointer = tensor._pointer if _fits(self.meta, self.storage_impl, self.offset) else 0


CHANGED: dict[int, list[Before]] = {}
"""Id of a tensor -> its changes that running calls do not see yet, the earliest first."""
_RETIRED: list[tuple[set[FrameType], object]] = []
"""Objects that running calls may still read, kept alive until their frames end."""


def _call_of(frame: FrameType | None, *, outer: bool = False) -> tuple[set[FrameType], bool]:
    """Return the frames of the call of this package that `frame` belongs to, and whether the search came to its caller.

    With `outer` those of the calls around it too, which wait for a function of someone else: an import hook or a
    `__torch_function__`. The search stops at a finaliser, since its caller may be a frame that is being deallocated, to
    which CPython allows no reference, and at a generator that has been suspended meanwhile.
    """
    found: set[FrameType] = set()
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if code.co_name in FINALISERS or name in _CALLBACKS:
            return found, False
        generator = code.co_flags & _GENERATOR
        module = frame.f_globals.get("__name__", "gaugeblock.")  # generated code has its own globals
        if module.startswith(_OURS) or module == "gaugeblock":
            if not generator:
                found.add(frame)
        elif not outer and (not name.startswith(_STANDARD) or "-packages" in name):
            return found, True
        frame = frame.f_back
        if frame is None and generator:
            return found, False
    return found, True


def _calls_of_others() -> set[FrameType]:
    """Return the frames of the calls of this package that run in other threads; the collector must be off. Threads in
    finalisers are awaited for a moment, to see the calls around them."""
    found: set[FrameType] = set()
    left = _current_frames()
    left.pop(threading.get_ident(), None)
    ends = time.monotonic() + PATIENCE
    while left:
        calls = {thread: _call_of(frame, outer=True) for thread, frame in left.items()}
        found.update(*[call for call, _ in calls.values()])
        again = {thread for thread, (_, whole) in calls.items() if not whole}
        if not again or time.monotonic() > ends:
            break
        time.sleep(0)
        left = {thread: frame for thread, frame in _current_frames().items() if thread in again}
    return found


def _is_running(frame: FrameType) -> bool:
    """Return whether a function is still running; clear the frame if it has returned."""
    try:
        frame.clear()
    except RuntimeError:
        return True
    return False


def _refuse(meta: TensorMeta, offset: int, storage: Storage) -> NoReturn:
    raise RuntimeError(
        f"setStorage: sizes {list(meta.sizes)}, strides {list(meta.strides)}, storage offset {offset}, and "
        f"itemsize {meta.dtype.itemsize} are out of bounds for storage of size {storage.nbytes}: the storage was "
        f"resized under this tensor"
    )


def _null(tensor: Tensor, meta: TensorMeta, storage: Storage, offset: int) -> int:
    """Return 0, the address of a tensor in no memory. Raise RuntimeError if it has elements that need memory."""
    if not _fits(meta, storage, offset):
        _refuse(meta, offset, storage)
    if meta.numel and meta.device is cpu:
        raise RuntimeError(
            f"a {type(tensor).__name__} of sizes {list(meta.sizes)} has no data of its own: the call reached a "
            f"kernel instead of its __torch_dispatch__"
        )
    return 0


def subclass_pointer(self: Tensor) -> int:
    """Return the address of the first element. Raise RuntimeError for a tensor without memory for its elements."""
    return self._pointer or _null(self, self.meta, self.storage_impl, self.offset)


class UnbackedTensor(Tensor):
    """A tensor whose storage is too small for it; reading its elements raises RuntimeError."""

    __slots__ = ()

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Raise RuntimeError."""
        _refuse(self.meta, self.offset, self.storage_impl)


def _before(tensor: Tensor) -> Before | None:
    """Return the old state if the running call sees it, else None."""
    changes = CHANGED.get(id(tensor))
    if changes is None:
        return None
    if changes[-1].frames is None:
        with _LOCK.held:  # wait until the change is made; this thread may be making it
            pass
    calls, _ = _call_of(sys._getframe(2))
    for change in tuple(changes):
        if change.frames is not None and not calls.isdisjoint(change.frames):
            return change
    forget_ended()
    return None


def _as_before(name: str, document: str) -> property:
    """Return the property of a member, which calls in other threads see as it was before a change."""
    slot = f"_{name}"

    def member(self: Tensor) -> Any:
        while True:
            count, before = _LOCK.changes, _before(self)
            now = getattr(self, slot)
            if before is not None:
                return getattr(before, name)
            if _LOCK.changes == count:
                return now

    return property(member, doc=document)


class ChangingTensor(Tensor):
    """A tensor that calls in other threads see as it was before a change."""

    __slots__ = ()
    __class__: Any = property(lambda self: Tensor)

    meta: TensorMeta = _as_before("meta", "Sizes, strides, dtype and device.")  # type: ignore[assignment]
    storage_impl: Storage = _as_before("storage_impl", "The storage.")  # type: ignore[assignment]
    offset: int = _as_before("offset", "The offset of the first element in the storage.")  # type: ignore[assignment]

    @property
    def pointer(self) -> int:  # type: ignore[override]
        """The address of the first element. Raises RuntimeError when the storage is too small for the tensor."""
        while True:
            count, before = _LOCK.changes, _before(self)
            meta, storage, offset = self._meta, self._storage_impl, self._offset
            pointer = self._pointer
            if before is not None:
                return before.pointer or _null(self, before.meta, before.storage_impl, before.offset)
            if _LOCK.changes == count:
                return pointer or _null(self, meta, storage, offset)


for _kind in (UnbackedTensor, ChangingTensor):
    _kind.__name__ = _kind.__qualname__ = "Tensor"
OWN_CLASSES = frozenset({Tensor, UnbackedTensor, ChangingTensor})
"""The classes of tensors that are not of a user's subclass."""
_MEMBERS = {name: ChangingTensor.__dict__[name] for name in ("meta", "storage_impl", "offset", "pointer")}


def _end(meta: TensorMeta, offset: int) -> int:
    """Return the storage size in bytes that a tensor needs; 0 when it has no elements."""
    needed = extent(meta.sizes, meta.strides)
    return (offset + needed) * meta.dtype.itemsize if needed else 0


def _fits(meta: TensorMeta, storage: Storage, offset: int) -> bool:
    return _end(meta, offset) <= storage.nbytes


def place(tensor: Tensor, meta: TensorMeta, storage: Storage, offset: int) -> None:
    """Set the metadata of `tensor` at once; the caller handles other threads."""
    end, start = _end(meta, offset), offset * meta.dtype.itemsize
    kind = type(tensor)
    # No function is called from here on, so no other thread or signal handler can run in between.
    if end <= storage.nbytes:
        if kind is UnbackedTensor:
            tensor.__class__ = Tensor
        tensor._pointer = storage.pointer + start
    else:
        if kind is Tensor:
            tensor.__class__ = UnbackedTensor
        tensor._pointer = 0
    tensor._meta = meta
    tensor._storage_impl = storage
    tensor._offset = offset


def change_metadata(tensor: Tensor, meta: TensorMeta, storage: Storage, offset: int) -> None:
    """Change the metadata of `tensor`; calls that run in other threads see the old metadata until they end."""
    if alone():
        if CHANGED:
            forget_ended()
        place(tensor, meta, storage, offset)
        return
    with Changing() as changing:
        changing.begin([tensor])
        place(tensor, meta, storage, offset)


def metadata_of(tensor: Tensor) -> tuple[TensorMeta, Storage, int]:
    """Return a consistent meta, storage and offset of a tensor; the meta is the without_autograd one."""
    meta, storage, offset = tensor.meta, tensor.storage_impl, tensor.offset
    return without_autograd(meta), storage, offset


def change_meta(tensor: Tensor, other: Any) -> None:
    """Replace the meta of a tensor by ``other(meta)``, which has the same sizes, strides and dtype."""
    while True:
        meta = tensor._meta
        made = other(meta)
        if tensor._meta is meta:
            tensor._meta = made
            return


class Changing:
    """A change of tensors by one thread; other threads that read them wait until it is over."""

    def __init__(self) -> None:
        self._changes: dict[int, tuple[Tensor, Before]] = {}

    def __enter__(self) -> Changing:
        _LOCK.held.acquire()
        return self

    def begin(self, tensors: Iterable[Tensor]) -> bool:
        """Make other threads wait when they read these tensors; return whether any of them is new."""
        fresh = [one for one in tensors if id(one) not in self._changes]
        for kind in {type(tensor) for tensor in fresh} - OWN_CLASSES:
            if kind.__dict__.get("pointer") is not _MEMBERS["pointer"]:
                for name, member in _MEMBERS.items():
                    type.__setattr__(kind, name, member)
        calls, _ = _call_of(sys._getframe(1))
        for tensor in fresh:
            earlier = CHANGED.get(id(tensor), [])
            if earlier and earlier[0].tensor() is not tensor:  # of a dead tensor
                earlier = []
            for change in earlier:  # this call sees its own change
                if change.frames is not None:
                    change.frames -= calls
            change = Before(tensor)
            CHANGED[id(tensor)] = [*earlier, change]
            _LOCK.changes += 1
            self._changes[id(tensor)] = tensor, change
            if type(tensor) in OWN_CLASSES:
                _class.__set__(tensor, ChangingTensor)
        return bool(fresh)

    def tensors(self) -> list[Tensor]:
        """Return the tensors that are being changed."""
        return [tensor for tensor, _ in self._changes.values()]

    def keep_block(self, storage: Storage, before: Storage) -> None:
        """Let running calls see `before`, the holder of the old block, instead of `storage`."""
        for changes in CHANGED.values():
            for change in changes:
                if change.storage_impl is storage:
                    change.storage_impl = before
        frames = _uncollected(_calls_of_others)
        if frames:
            _RETIRED.append((frames, before))

    def __exit__(self, *_: object) -> None:
        try:
            frames = _uncollected(_calls_of_others)
            for _tensor, change in self._changes.values():
                change.frames = set(frames)
            _LOCK.changes += 1
            if not frames:
                forget_ended()
            elif _sweep not in gc.callbacks:
                gc.callbacks.append(_sweep)
        finally:
            _LOCK.held.release()


def forget_ended() -> None:
    """Drop the old states that no running call sees any more."""
    if _LOCK.sweeping or not _LOCK.held.acquire(blocking=False):
        return
    _LOCK.sweeping = True
    try:
        for key, changes in list(CHANGED.items()):
            for change in changes:
                if change.frames is not None:
                    change.frames = set(filter(_is_running, change.frames))
            kept = [change for change in changes if change.frames is None or change.frames]
            if kept:
                CHANGED[key] = kept
                continue
            tensor = changes[-1].tensor()
            if tensor is not None and type(tensor) is ChangingTensor:
                fits = _fits(tensor._meta, tensor._storage_impl, tensor._offset)
                _class.__set__(tensor, Tensor if fits else UnbackedTensor)
            CHANGED.pop(key, None)
        _RETIRED[:] = [(frames, what) for frames, what in _RETIRED if any(map(_is_running, frames))]
        if not CHANGED and not _RETIRED and _sweep in gc.callbacks:
            gc.callbacks.remove(_sweep)
    finally:
        _LOCK.sweeping = False
        _LOCK.held.release()


def _sweep(phase: str, _: dict[str, Any]) -> None:
    if phase == "stop":
        forget_ended()
