"""What every call is checked for besides its result: inputs intact, storage gaps untouched, aliasing as promised,
version counters still, and the same call giving the same result."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import accusation
from .aliasing import FREE, FRESH, changes_metadata, promise, writes_first, written_places
from .backend import Array, Backend, Unsupported, numpy_dtype

if TYPE_CHECKING:
    from .conversation import Conversation
    from .handle import Handle

# Every how many calls the costlier checks (versions, repetition) are made.
_SAMPLED = 7
# Results that are allowed to differ when a call is made twice: random draws and uninitialised memory.
UNREPEATABLE = frozenset(
    """rand randn randint randperm bernoulli multinomial normal rand_like randn_like randint_like empty empty_like
    new_empty empty_strided new_empty_strided resize dropout rrelu rrelu_with_noise poisson binomial""".split()
)

# Results are read through NumPy, which refuses larger shapes, even of empty arrays: the product of the sizes other than
# 0, times 16 bytes, must fit in a signed 64-bit integer.
_MOST_ELEMENTS = 2**59 - 1

# From so many bytes on an array is compared part by part, and not copied for that.
_LARGE = 1 << 20


class Root:
    """A storage that the suite filled: the tensor that covers it all, and the bytes that it must hold."""

    __slots__ = ("base", "nbytes", "snapshot", "storage", "trusted")

    def __init__(self, base: Any, snapshot: bytes) -> None:
        self.base = base
        self.snapshot = snapshot
        self.nbytes = len(snapshot)
        self.storage: Any = None
        self.trusted = True


class Purity:
    """Watches the storages of one example."""

    def __init__(self, backend: Backend, has_data: bool, strided: bool) -> None:
        self._backend = backend
        self.has_data = has_data
        self._strided = strided
        self._has_strides: Callable[[Any], bool] = getattr(backend, "is_strided", lambda tensor: True)
        self._roots: list[Root] = []
        self._calls = 0
        self.types: tuple[type, ...] = ()

    def is_tensor(self, value: Any) -> bool:
        if not self.types:
            self.types = (type(self._backend.from_numpy(np.zeros(1, np.float32))),)
        return isinstance(value, self.types)

    def clear(self) -> None:
        self._roots.clear()

    def register(self, base: Any, contents: Array) -> Root:
        """Watch the storage of ``base``, a tensor over all of ``contents``."""
        if type(base) not in self.types:
            self.types = (*self.types, type(base))
        root = Root(base, contents.tobytes())
        self._roots.append(root)
        return root

    def accept(self, handle: Handle) -> None:
        for root in self._roots_of(handle):
            root.snapshot = self._bytes(root)

    def check_all(self, s: Conversation) -> None:
        for root in self._roots:
            self._check_intact(s, root, "the example")

    def check_failed_call(self, s: Conversation, operator: str) -> None:
        """A call that raised must have written nothing."""
        if changes_metadata(operator):
            return
        for root in self._roots:
            self._check_intact(s, root, f"{operator}, which raised,")

    def check_call(self, s: Conversation, operator: str, args: Any, kwargs: Any, result: Any, raw: Any) -> None:
        """All checks of one call that returned ``result``."""
        self._calls += 1
        written = self._written(operator, args, kwargs)
        if changes_metadata(operator) or operator == "__setattr__":
            for handle in written:
                for root in self._roots:
                    root.trusted = root.trusted and root.base is not handle.raw and root is not handle.root
            return
        if not self.has_data:
            return
        if not written:
            for root in self._roots:
                self._check_intact(s, root, operator)
        elif not self._strided and any(handle.root is None for handle in written):
            # What a view shares cannot be seen: it may have been written to any of them.
            for root in self._roots:
                root.snapshot = self._bytes(root)
            return
        else:
            self._check_writes(s, operator, written)
        self._check_aliasing(s, operator, args, result)
        if not written and self._calls % _SAMPLED == 0:
            self._check_repeat(s, operator, result, raw)

    def _check_writes(self, s: Conversation, operator: str, written: list[Handle]) -> None:
        touched = [(root, handle) for handle in written for root in self._roots_of(handle)]
        for root in self._roots:
            if not any(root is t for t, _ in touched):
                self._check_intact(s, root, operator)
        for root in dict.fromkeys(root for root, _ in touched):
            self._check_gaps(s, root, [h for r, h in touched if r is root], operator)

    def _written(self, operator: str, args: Any, kwargs: Any) -> list[Handle]:
        written = [args[k] for k in written_places(operator) if k < len(args) and hasattr(args[k], "raw")]
        if writes_first(operator) and args and hasattr(args[0], "raw"):
            written.insert(0, args[0])
        if kwargs and (out := kwargs.get("out")) is not None:
            written += [h for h in (out if isinstance(out, tuple | list) else [out]) if hasattr(h, "raw")]
        return written

    def _roots_of(self, handle: Handle) -> list[Root]:
        if handle.root is not None:
            return [handle.root]
        if not (self._strided and self._has_strides(handle.raw)):
            return []
        mine = self._backend.storage_id(handle.raw)
        return [root for root in self._roots if self._storage(root) == mine]

    def _storage(self, root: Root) -> Any:
        if root.storage is None:
            root.storage = self._backend.storage_id(root.base)
        return root.storage

    def _bytes(self, root: Root) -> bytes:
        return self._backend.to_numpy(root.base).tobytes()

    def _check_intact(self, s: Conversation, root: Root, operator: str) -> None:
        if not (root.trusted and self.has_data):
            return
        now = self._backend.to_numpy(root.base)
        if not _holds(now, root.snapshot):
            message = f"{operator} changed a tensor that it must not write to"
            self._accuse(s, root, now.tobytes(), message, f"{operator} impure")

    def _check_gaps(self, s: Conversation, root: Root, handles: list[Handle], operator: str) -> None:
        """Bytes of the storage that no written tensor covers are as before; the others become the new truth."""
        if not root.trusted:
            return
        now = self._bytes(root)
        if len(now) != root.nbytes:
            root.trusted = False
            return
        if self._strided:
            covered = np.zeros(root.nbytes, dtype=bool)
            for handle in handles:
                self._cover(covered, handle)
            before, after = (np.frombuffer(b, np.uint8) for b in (root.snapshot, now))
            if ((before != after) & ~covered).any():
                stray = np.where(covered, before, after).tobytes()
                self._accuse(s, root, stray, f"{operator} wrote outside the tensor", f"{operator} writes outside")
        root.snapshot = now

    def _cover(self, covered: Array, handle: Handle) -> None:
        backend = self._backend
        item = numpy_dtype(backend.dtype(handle.raw)).itemsize
        sizes = tuple(backend.shape(handle.raw))
        if 0 in sizes:
            return
        strides = tuple(item * s for s in backend.strides(handle.raw))
        start = item * backend.storage_offset(handle.raw)
        reach = start + item + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if reach > len(covered):
            covered[...] = True
            return
        np.ndarray((*sizes, item), bool, covered, start, (*strides, 1))[...] = True

    def _check_aliasing(self, s: Conversation, operator: str, args: Any, result: Any) -> None:
        if not self._strided:
            return
        promised = promise(operator)
        if promised == FREE or not args:
            return
        first = args[0]
        if promised == FRESH and isinstance(first, list | tuple) and first:
            first = first[0]
        if not hasattr(first, "raw") or not self._has_strides(first.raw):
            return
        for item in result if isinstance(result, list | tuple) else (result,):
            if not hasattr(item, "raw") or not self._has_strides(item.raw):
                continue
            storage = self._backend.storage_id(item.raw)
            if promised == FRESH:
                for root in self._roots:
                    same = root.nbytes and (root.storage or self._storage(root)) == storage
                    if same and s.own_rules.sharing(operator):
                        accusation.broken_promise(s, operator, item, first, shared=True)
            elif storage != self._backend.storage_id(first.raw) and s.own_rules.sharing(operator):
                accusation.broken_promise(s, operator, item, first, shared=False)

    def _check_repeat(self, s: Conversation, operator: str, result: Any, raw: Any) -> None:
        base = operator.split(".")[0]
        if promise(operator) != FRESH or base in UNREPEATABLE or "out" in raw[1] or not hasattr(result, "raw"):
            return
        if not any(self.is_tensor(value) for value in raw[0]) or not s.own_rules.repeatable(operator):
            return
        if prod(max(n, 1) for n in self._backend.shape(result.raw)) > _MOST_ELEMENTS:
            return
        try:
            again = self._backend.call(operator, *raw[0], **raw[1])
        except Unsupported:
            return
        first, second = self._backend.to_numpy(result.raw), self._backend.to_numpy(again)
        if first.dtype != second.dtype or first.tobytes() != second.tobytes():
            accusation.not_repeatable(s, operator, result, first, second)

    def _accuse(self, s: Conversation, root: Root, now: bytes, message: str, cause: str) -> None:
        before = np.frombuffer(root.snapshot, np.uint8)
        after = np.frombuffer(now, np.uint8)
        dtype = numpy_dtype(self._backend.dtype(root.base))
        if len(before) != len(after):
            accusation.wrong_size(s, root, len(before), len(after), message, cause)
        cell = int(np.flatnonzero(before != after)[0]) // dtype.itemsize
        span = slice(cell * dtype.itemsize, (cell + 1) * dtype.itemsize)
        want, got = (b[span].view(dtype)[0] for b in (before, after))
        accusation.wrong_cell(s, root, cell, want, got, message, cause)


def _holds(array: Array, snapshot: bytes) -> bool:
    """Return whether these are the bytes of the array, row-major."""
    if array.nbytes < _LARGE or not array.flags.c_contiguous:
        return array.tobytes() == snapshot
    if array.nbytes != len(snapshot):
        return False
    now, before = array.reshape(-1).view(np.uint8), np.frombuffer(snapshot, np.uint8)
    parts = (slice(k, k + _LARGE) for k in range(0, len(before), _LARGE))
    return all(np.array_equal(now[part], before[part]) for part in parts)
