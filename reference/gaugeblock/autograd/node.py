"""Nodes of the graph, which turn gradients of results into those of inputs, and its ends, which add to .grad of leaves.

Registering a hook on a node returns a handle.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..calls.functions import ops
from ..core.dtype import float32
from ..core.fork_safety import fork_safe
from ..dispatch.state import STATE
from ..tensor.hooks import SPECIAL
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor, empty_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, default_strides, meta_of, without_autograd
from .autograd_meta import more_of, requires_grad, unpack

if TYPE_CHECKING:
    from .autograd_meta import Edge

_NUMBERS = itertools.count()


class RemovableHandle:
    """Takes one hook out of its table with `remove`, or at the end of a ``with`` block; doing it again does nothing."""

    __slots__ = ("hooks", "id")

    def __init__(self, hooks: dict[int, Any], hook: Callable[..., Any]) -> None:
        self.hooks = hooks
        self.id = next(_NUMBERS)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


COUNTER = itertools.count()
"""Numbers nodes in the order in which they are made."""
FIRST = (1 << 64) - 1
"""The number of nodes that run as soon as they can: those that accumulate."""


class Hooks:
    """The hooks of a node: on single gradients by result (`tensors`), before and after it runs, retained tensors."""

    __slots__ = ("after", "before", "retained", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[int, dict[int, Callable[[Tensor], Any]]] = {}
        self.retained: dict[int, Any] = {}
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}


class Node:
    """One recorded call: `edges` lead to the nodes of its inputs, None for inputs that need no gradient.

    `metas` are those of its results. A node runs once all gradients that flow into it have been summed. A node
    that `ends` the graph without adding to a gradient is not shown.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "metas", "notes", "released", "sequence")

    edges: tuple[Edge | None, ...]
    metas: tuple[TensorMeta, ...]
    label = "Node"
    runs_undefined = False
    ends = False

    def __init__(self, edges: tuple[Edge | None, ...], metas: tuple[TensorMeta, ...]) -> None:
        self.edges = edges
        self.metas = metas
        self.sequence = next(COUNTER)
        self.hooks: Hooks | None = None
        self.notes: dict[Any, Any] | None = None
        self.released = False

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients of the inputs, one for each edge, from those of the results."""
        raise NotImplementedError(f"{self.label} has no backward")

    def release(self) -> None:
        """Let go of what was saved; a node that saved something cannot run again."""

    def name(self) -> str:
        """The name of the operator with ``Backward`` and the number of its overload."""
        return self.label

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as pairs, ``(None, 0)`` where no gradient is wanted."""
        return tuple((None, 0) if edge is None or edge[0].ends else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for whoever wants to note something about this node."""
        if self.notes is None:
            self.notes = {}
        return self.notes

    def hooked(self) -> Hooks:
        """The hooks, made when there are none yet."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; what it returns replaces grad_inputs."""
        return RemovableHandle(self.hooked().after, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; what it returns replaces grad_outputs."""
        return RemovableHandle(self.hooked().before, fn)

    def filled(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """The gradients of the first results, zeros for those that are tensors and that nothing flows into."""
        pairs = zip(grads, self.metas, strict=False)
        return [zeros_of(meta) if grad is None and meta is not None else grad for grad, meta in pairs]

    def _sequence_nr(self) -> int:
        return self.sequence

    def __call__(self, *grads: Tensor | None) -> Any:
        results = tuple(self.apply(list(grads)))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<{self.label} object at {id(self):#x}>"


def zeros_of(meta: TensorMeta, **options: bool) -> Tensor:
    """Zeros of the sizes, dtype and device of a meta."""
    zeros: Tensor = ops.zeros(meta.sizes, dtype=meta.dtype, device=meta.device, **options)
    return zeros


class NotImplementedNode(Node):
    """Raises when a gradient reaches it."""

    __slots__ = ("label", "message")

    def __init__(self, label: str, message: str, edges: tuple[Edge | None, ...], results: Sequence[Tensor]) -> None:
        super().__init__(edges, tuple(one.meta for one in results))
        self.label = label
        self.message = message

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """RuntimeError that names the operator."""
        raise RuntimeError(self.message)


class GradientEdge(NamedTuple):
    """The edge that a gradient follows: a node and the number of one of its results."""

    node: Node
    output_nr: int


LOCK = fork_safe(threading.RLock())
"""Held while a gradient is added, for several backward passes may share leaves."""


class AccumulateGrad(Node):
    """Adds what arrives to ``variable.grad``, first taking it over if nobody else holds it, else copying it."""

    __slots__ = ("variable",)

    label = "AccumulateGrad"
    runs_undefined = True

    def __init__(self, variable: Tensor) -> None:
        meta = variable.meta
        self.edges = ()
        self.metas = (meta.twin if meta.has_autograd else meta,)  # type: ignore[assignment]
        self.hooks = self.notes = None
        self.released = False
        self.variable = variable
        self.sequence = FIRST
        more = variable.autograd.more
        if more is not None and more.hooks is not None:
            self.hooked().tensors[0] = more.hooks

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Add the gradient and pass nothing on. Post hooks are called even without a gradient."""
        grad = grads.pop()
        meta = self.variable.autograd
        more = more_of(self.variable) if meta.more is None else meta.more
        with LOCK:
            held = more.grad
            if grad is None:
                pass
            elif STATE.grad:
                more.grad = laid_out(grad, self.metas[0]) if held is None else joined(held, grad)
            elif held is None:
                alone = getrefcount(grad) <= ALONE[0] and getrefcount(grad.storage_impl) <= ALONE[1]
                meta, wanted = grad.meta, self.metas[0]
                same = not meta.lazy and (not wanted.dense or meta.strides == wanted.strides)
                sparse = grad.__class__ is SparseTensor
                take = alone and not meta.has_autograd and (sparse or (meta.dense and (meta is wanted or same)))
                more.grad = grad if take else laid_out(grad, self.metas[0])
            elif held.__class__ is SparseTensor and grad.__class__ is not SparseTensor:
                more.grad = grad + held  # type: ignore[operator]
            else:
                unpack(held).add_(unpack(grad))  # type: ignore[attr-defined]
            for hook in () if more.post_hooks is None else tuple(more.post_hooks.values()):
                if hook(self.variable) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return ()


class DeadEnd(Node):
    """Discards the gradient of a view without history that requires a gradient only because its base does."""

    __slots__ = ()

    label = "DeadEnd"
    ends = True

    def __init__(self, view: Tensor) -> None:
        super().__init__((), (without_autograd(view.meta),))
        self.sequence = FIRST

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Discard the gradients."""
        return ()


def accumulator_of(tensor: Tensor) -> Node:
    """Return the node that adds to the gradient of a leaf: one, shared by all uses."""
    meta = tensor.autograd
    more = more_of(tensor) if meta is None or meta.more is None else meta.more
    node: Node | None = None if more.accumulator is None else more.accumulator()
    if node is None:
        node = AccumulateGrad(tensor)
        more.accumulator = weakref.ref(node)
    return node


def _references_of_one() -> tuple[int, int]:
    """The references to a gradient that only `apply` holds, and to its storage."""
    grads = [empty_tensor((1,), float32)]
    grad = grads.pop()
    return getrefcount(grad), getrefcount(grad.storage_impl)


ALONE = _references_of_one()


def joined(held: Any, grad: Any) -> Tensor:
    """Return the sum of two gradients, the strided one first if one is sparse."""
    if held.__class__ is SparseTensor and grad.__class__ is not SparseTensor:
        return grad + held  # type: ignore[no-any-return]
    return held + grad  # type: ignore[no-any-return]


def laid_out(grad: Tensor, wanted: TensorMeta) -> Tensor:
    """A copy of a gradient, strided as its leaf where that is dense, else row-major; a sparse one stays sparse."""
    if (STATE.grad and requires_grad(grad)) or grad.__class__ is SparseTensor:
        copy: Tensor = grad.clone()  # type: ignore[attr-defined]
        return copy
    plain = unpack(grad)
    meta = plain.meta
    strides = wanted.strides if wanted.dense and wanted.sizes == meta.sizes else default_strides(meta.sizes)
    if SPECIAL:
        made: Tensor = ops.empty_strided(meta.sizes, strides, dtype=meta.dtype, device=meta.device)
    else:
        made = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
    made.copy_(plain)  # type: ignore[attr-defined]
    return made
