"""Nodes of the graph: where gradients of results become those of inputs. Registering a hook on one returns a handle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def _sequence_nr(self) -> int:
        return self.sequence

    def _input_metadata_of(self, nr: int) -> TensorMeta:
        return self.metas[nr]

    def __call__(self, *grads: Tensor | None) -> Any:
        results = tuple(self.apply(list(grads)))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<{self.label} object at {id(self):#x}>"


class GradientEdge(NamedTuple):
    """The edge that a gradient follows: a node and the number of one of its results."""

    node: Node
    output_nr: int
