"""Tensors that a node saves: checked, when they are used, for not having been written to since.

Hooks may pack them: saved_tensors_hooks, save_on_cpu, and allow_mutation_on_saved_tensors, which saves copies.
``node._raw_saved_NAME`` is a saved tensor before it is unpacked.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..core.away import carried
from ..core.device import Device, cpu
from ..core.errors import type_error
from ..core.promotion import UPSTREAM_NAMES
from ..dispatch.state import IN_PYTHON, STATE
from ..tensor.tensor import Tensor
from ..tensor.versions import INFERENCE, version_of
from .autograd_meta import Edge, more_of, result_of, shallow_copy_and_detach, unpack
from .grad_mode import no_grad
from .node import AccumulateGrad

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


PACKING = carried(_Packing())


@dataclass(slots=True)
class Packed:
    """The value that a pack hook returned, with its unpack hook.

    When the hook returns a result of the node unchanged, only the plain tensor is kept (`bare`): a node that refers to
    its own result would live until the garbage collector runs.
    """

    value: Any
    unpack: Callable[[Any], Tensor]
    bare: bool


@dataclass(slots=True, eq=False, weakref_slot=True)
class WithTangent:
    """A saved dual tensor: what a node saves without forward mode, and the tangent."""

    kept: Any
    tangent: Tensor | None
    epoch: int

    def dual(self, tensor: Tensor) -> Tensor:
        """Return the tensor, unpacked from what was kept, as a dual number."""
        made = tensor if tensor.meta.has_autograd else shallow_copy_and_detach(tensor)
        more = more_of(made)
        more.tangent, more.epoch = self.tangent, self.epoch
        return made


def saved(plain: Any, tensor: Any = None, result_of_node: Edge | None = None) -> Any:
    """Return what a node keeps of a tensor, given unpacked; `result_of_node` is set for a result of the node itself.
    Raises RuntimeError for a tensor made in inference mode, and for a pack hook that writes to it."""
    if plain is None:
        return None
    if plain.counter is INFERENCE:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    return _packed(plain, tensor, result_of_node) if PACKING.pairs else plain


def _packed(plain: Tensor, tensor: Tensor | None, result_of_node: Edge | None) -> Packed:
    pack, unpack = PACKING.pairs[-1]
    given = plain if tensor is None else tensor
    if result_of_node is not None:
        given = result_of(shallow_copy_and_detach(plain), *result_of_node)
    version = version_of(plain)
    before, STATE.grad = STATE.grad, False
    try:
        value = pack(given)
    finally:
        STATE.grad = before
    if version_of(plain) != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place: its argument must not be written to. "
            "Return a modified copy instead."
        )
    bare = value is given and result_of_node is not None
    return Packed(plain if bare else value, unpack, bare=bare)


def used(kept: Any, version: int, edge: Edge | None) -> Any:
    """The tensor that a node saved; with its history, which `edge` leads to, while the pass itself is recorded.
    RuntimeError when the tensor was written to since it was saved."""
    if kept is None:
        return None
    return with_history(kept, version, edge) if STATE.grad else checked(kept, version, edge)


def checked(kept: Any, version: int, edge: Edge | None) -> Tensor:
    """Return the saved tensor without history. Raise RuntimeError when it was written to since."""
    if kept.__class__ is WithTangent:
        return kept.dual(checked(kept.kept, version, edge))
    if kept.__class__ is Packed:
        value = kept.value
        if kept.bare and edge is not None:
            value = result_of(shallow_copy_and_detach(value), *edge)
        found = kept.unpack(value)
        if not isinstance(found, Tensor):
            kind = type(found).__name__
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got {kind}")
        return unpack(found)
    if (kept.storage_impl.version if kept.counter is None else version_of(kept)) != version:
        raise _changed(kept, version, edge)
    return kept  # type: ignore[no-any-return]


def with_history(kept: Any, version: int, edge: Edge | None) -> Any:
    """Return the saved tensor with its history; the leaf itself if a leaf was saved unchanged. Raises RuntimeError when
    it was written to since."""
    if kept.__class__ is WithTangent:
        return kept.dual(with_history(kept.kept, version, edge))
    plain = checked(kept, version, edge)
    if edge is None or plain.meta.dtype.kind < 2:
        return plain
    node, nr = edge
    if not isinstance(node, AccumulateGrad):
        return result_of(plain, node, nr)
    leaf = node.variable
    if kept.__class__ is not Packed and plain.storage_impl is leaf.storage_impl and plain.offset == leaf.offset:
        return leaf
    other = result_of(plain, None, 0)  # a leaf on other elements whose gradient is accumulated into the leaf's
    other.requires_grad_flag = True
    more_of(other).accumulator = weakref.ref(node)
    return other


def _changed(plain: Tensor, version: int, edge: Edge | None) -> RuntimeError:
    meta = plain.meta
    kind = UPSTREAM_NAMES[meta.dtype.name]
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
        f"[{kind}Tensor {list(meta.sizes)}]{made} is at version {version_of(plain)}; expected version {version} "
        f"instead. {hint}"
    )


def _check_hooks(function: str, **hooks: object) -> None:
    for name, hook in hooks.items():
        if not callable(hook):
            type_error(function, name, hook, "callable")


class RawSaved:
    """One saved tensor of a node. Raises AttributeError for a name under which the node saved no tensor."""

    __slots__ = ("_node", "_slot")

    def __init__(self, node: Any, name: str) -> None:
        if name not in {use.name for use in node.formulas.values} or name in node.formulas.lists:
            raise AttributeError(f"{node.label!r} object has no attribute '_raw_saved_{name}'")
        self._node = node
        self._slot = f"v_{name}"

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Save the result of ``pack_hook(tensor)`` instead of the tensor; ``unpack_hook`` turns it into a tensor again.

        Raises TypeError unless both are callable, RuntimeError when the node has released the tensor or it already has
        hooks.
        """
        _check_hooks("register_hooks", pack_hook=pack_hook, unpack_hook=unpack_hook)
        kept, holder, slot = getattr(self._node, self._slot), self._node, self._slot
        if kept.__class__ is WithTangent:
            kept, holder, slot = kept.kept, kept, "kept"
        if self._node.released:
            raise RuntimeError(FREED)
        if kept is None:
            raise RuntimeError("register_hooks(): hooks cannot be registered because the node saved None")
        if isinstance(kept, Packed):
            raise RuntimeError("Setting hooks on a saved tensor that already has hooks is not allowed")
        with no_grad():
            value = pack_hook(kept)
        setattr(holder, slot, Packed(value, unpack_hook, bare=False))


class saved_tensors_hooks:
    """Within the block ``pack_hook(tensor)`` is called for every tensor that a node saves, and what it returns is kept
    in its place; ``unpack_hook`` makes a tensor of it when it is needed. The innermost pair counts."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        _check_hooks("saved_tensors_hooks", pack_hook=pack_hook, unpack_hook=unpack_hook)
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        if PACKING.refused is not None:
            raise RuntimeError(PACKING.refused)
        self._before.append(PACKING.pairs)
        IN_PYTHON.append(None)
        PACKING.pairs = (*PACKING.pairs, (self.pack_hook, self.unpack_hook))
        return self

    def __exit__(self, *error: object) -> None:
        PACKING.pairs = self._before.pop()
        IN_PYTHON.pop()


class save_on_cpu(saved_tensors_hooks):
    """Keeps in host memory what nodes of the block save, and brings it back where it was."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> tuple[Device, Any]:
            return tensor.device, tensor.clone() if tensor.device is cpu else tensor.to(cpu)

        def unpack(packed: tuple[Device, Any]) -> Any:
            device, tensor = packed
            return tensor if device is cpu else tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(ContextDecorator):
    """Within the block entering saved_tensors_hooks raises RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> Self:
        if PACKING.pairs:
            raise RuntimeError(self.error_message)
        self._before.append(PACKING.refused)
        PACKING.refused = self.error_message
        return self

    def __exit__(self, *error: object) -> None:
        PACKING.refused = self._before.pop()

    def _recreate_cm(self) -> disable_saved_tensors_hooks:
        return disable_saved_tensors_hooks(self.error_message)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Let saved tensors be written to within the block: nodes save copies, and the backward pass uses them.

    Raises RuntimeError for a backward pass outside the block, and for nested blocks.
    Source: torch.autograd.graph.allow_mutation_on_saved_tensors, which copies only tensors that are written to.
    """

    _active: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        def unpack(copy: Any) -> Any:
            if self not in self._active:
                raise RuntimeError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context")
            return copy

        def pack(tensor: Any) -> Any:
            return tensor.detach().clone()

        super().__init__(pack, unpack)

    def __enter__(self) -> Any:
        if self._active:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        entered = super().__enter__()
        self._active.append(self)
        return entered

    def __exit__(self, *error: object) -> None:
        self._active.remove(self)
        super().__exit__(*error)
