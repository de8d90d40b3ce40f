"""Tensors that a node saves: checked, when they are used, for not having been written to since."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..dispatch.state import STATE
from ..iteration.types import UPSTREAM_NAMES
from ..tensor.tensor import Tensor
from ..tensor.versions import INFERENCE, version_of
from .accumulate_grad import AccumulateGrad
from .autograd_meta import Edge, result_of
from .node import Node

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


class _Packing(threading.local):
    """The pairs of hooks that pack and unpack what is saved, the innermost last; `refused` says why there are none."""

    pairs: tuple[tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]], ...] = ()
    refused: str | None = None


PACKING = _Packing()


class Packed:
    """What a pack hook returned, with the hook that makes a tensor of it."""

    __slots__ = ("unpack", "value")

    def __init__(self, value: Any, unpack: Callable[[Any], Tensor]) -> None:
        self.value = value
        self.unpack = unpack


def saved(plain: Any, tensor: Any = None) -> Any:
    """What a node keeps of a tensor, by its plain handle. RuntimeError for one made in inference mode."""
    if plain is None:
        return None
    if plain.counter is INFERENCE:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    if PACKING.pairs:
        pack, unpack = PACKING.pairs[-1]
        before, STATE.grad = STATE.grad, False
        try:
            return Packed(pack(plain if tensor is None else tensor), unpack)
        finally:
            STATE.grad = before
    return plain


def used(node: Node, kept: Any, version: int, edge: Edge | None) -> Any:
    """The tensor that a node saved; with its history, which `edge` leads to, while the pass itself is recorded.

    RuntimeError when the tensor was written to since it was saved.
    """
    if kept is None:
        return None
    if kept.__class__ is Packed:
        kept = unpacked(kept)
    elif (kept.storage.version if kept.counter is None else version_of(kept)) != version:
        raise _changed(kept, version, edge)
    return kept if edge is None or not STATE.grad or kept.geometry.dtype.kind < 2 else rejoined(kept, edge)


def unpacked(packed: Packed) -> Tensor:
    """What the hook makes of the packed value, as a plain tensor. TypeError when it is none."""
    from .autograd_meta import plain_of

    tensor = packed.unpack(packed.value)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(tensor).__name__}")
    return plain_of(tensor)


def rejoined(plain: Tensor, edge: Edge) -> Tensor:
    """A handle on the saved elements with the history that they had."""
    node, nr = edge
    return node.variable if isinstance(node, AccumulateGrad) else result_of(plain, node, nr)


def versions_of(tensors: Any) -> tuple[int, ...]:
    """The versions of several plain tensors, 0 for None."""
    return tuple(0 if one is None or one.counter is INFERENCE else version_of(one) for one in tensors)


def _changed(plain: Tensor, version: int, edge: Edge | None) -> RuntimeError:
    geometry = plain.geometry
    kind = UPSTREAM_NAMES[geometry.dtype.name]
    made = ""
    if edge is not None and not isinstance(edge[0], AccumulateGrad):
        made = f", which is output {edge[1]} of {edge[0].name()},"
    from .anomaly import ANOMALY

    hint = (
        "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
        "question was changed in there or anywhere later."
        if ANOMALY.enabled
        else "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "gaugeblock.autograd.set_detect_anomaly(True)."
    )
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind}Tensor {list(geometry.sizes)}]{made} is at version {version_of(plain)}; expected version {version} "
        f"instead. {hint}"
    )
