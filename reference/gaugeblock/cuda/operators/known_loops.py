"""Pointwise calls on a CUDA device that came before: their result's meta and their loop, for other tensors.

What such a call gives, and how it is computed, follows from metas and numbers alone, and it warns of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.dtype import DEFAULTS
from ...kernels.pointwise import Launch
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, remember
from .pointwise import FORMS, Loop
from .ptx_launch import put_loop

FRESH = frozenset(name for name, (_, form) in FORMS.items() if form == "fresh")
"""Operators whose results have memory of their own."""
WHOLE = frozenset({bool, int})


class KnownLoop:
    """A call's loop, and its values; at the first slot stands the result's address, and `slots` says at which others
    the address of which argument."""

    __slots__ = ("device", "launch", "meta", "nbytes", "slots", "values")

    def __init__(
        self,
        meta: TensorMeta,
        launch: Launch,
        values: list[Any],
        slots: list[tuple[int, int]],
        device: int,
        nbytes: int,
    ) -> None:
        self.meta = meta
        self.launch = launch
        self.values = values
        self.slots = slots
        self.device = device
        self.nbytes = nbytes

    def launched(self, name: str, args: tuple[Any, ...]) -> Tensor:
        """The result of the call with other tensors, its loop put on the current stream. Raises OutOfMemoryError."""
        result = new_like(self.meta)
        values = self.values.copy()
        values[0] = result.pointer
        for slot, place in self.slots:
            values[slot] = args[place].pointer
        put_loop(self.device, name, self.launch, values, self.nbytes)
        return result


def call_key(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A call but for the elements of its tensors; None where that is more than metas and numbers."""
    parts: list[Any] = [name, DEFAULTS.dtype]
    for value in args:
        kind = value.__class__
        if kind is Tensor:
            parts.append(value.meta)
        elif _plain(value, kind):
            parts += kind, value
        else:
            return None
    for option, value in kwargs.items():
        if not _plain(value, value.__class__):
            return None
        parts += option, value.__class__, value
    return tuple(parts)


def _plain(value: Any, kind: type) -> bool:
    """Return whether a number equals no other of its kind, as 0.0 and -0.0 do, and itself, as NaN does not."""
    return kind in WHOLE or (kind is float and value == value and value != 0.0)


def known_loop(args: tuple[Any, ...], key: Any) -> KnownLoop | None:
    """The loop that was learnt from a call with this key."""
    anchor = _anchor(args)
    return None if anchor is None else anchor.plans.get(key)


def _anchor(args: tuple[Any, ...]) -> TensorMeta | None:
    """The meta of the first tensor."""
    for value in args:
        if value.__class__ is Tensor:
            meta: TensorMeta = value.meta
            return meta
    return None


def learn_loop(args: tuple[Any, ...], key: Any, loop: Loop, result: Tensor, device: int, nbytes: int) -> None:
    """Remember the loop of a call whose tensors are on the device, each given once, and its operands as they are."""
    anchor = _anchor(args)
    meta = result.meta
    if anchor is None or not meta.dense or result.storage_impl.version or result.offset:
        return
    slots = []
    for slot, value in enumerate(loop.given, 1):
        if isinstance(value, Tensor):
            places = [place for place, given in enumerate(args) if given is value]
            if len(places) != 1 or value.meta.device is not meta.device:
                return
            slots.append((slot, places[0]))
    if len(slots) == sum(isinstance(value, Tensor) for value in args):
        remember(anchor.plans, key, KnownLoop(meta, loop.launch, loop.values, slots, device, nbytes))
