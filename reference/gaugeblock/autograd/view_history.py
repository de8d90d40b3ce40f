"""Views and in-place writes: who may be written to, and how the history of base and views follows a write.

A window is what a view shows of its base, in gradients: parts that are read and written where dtypes or layouts differ.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from ..calls.functions import ops
from ..tensor.changing import alone
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, TensorMeta, without_autograd
from ..tensor.versions import HOW_MADE, INFERENCE
from .autograd_meta import (
    AutogradMeta,
    Edge,
    ViewState,
    materialize_autograd_meta,
    requires_grad,
    result_of,
    version,
    view_state,
)
from .engine import fitted
from .node import DeadEnd, Node, accumulator_of, laid_out
from .saved_tensor import FREED


class Window:
    """Sizes, strides and offset of a view within its base, both in elements that are real if one of the two is. `lazy`
    are the bits by which the elements of the view stand for others than those of the base."""

    __slots__ = ("lazy", "offset", "pairs_of_base", "pairs_of_view", "shape", "size", "stride", "strides")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        whole, part = without_autograd(base.meta), without_autograd(view.meta)
        self.pairs_of_base = whole.dtype.is_complex and not part.dtype.is_complex
        self.pairs_of_view = part.dtype.is_complex and not whole.dtype.is_complex
        self.lazy = whole.lazy ^ part.lazy
        self.shape, self.strides, start = whole.sizes, whole.strides, base.offset
        self.size, self.stride, first = part.sizes, part.strides, view.offset
        if self.pairs_of_base:
            self.shape, self.strides, start = _pairs(self.shape, self.strides, start)
        if self.pairs_of_view:
            self.size, self.stride, first = _pairs(self.size, self.stride, first)
        self.offset = first - start

    @property
    def plain(self) -> bool:
        """Return whether the view's elements are elements of the base, as they are."""
        return not (self.lazy or self.pairs_of_base or self.pairs_of_view)

    def _of_base(self, grad: Any) -> Any:
        return ops.view_as_real(grad.resolve_conj()) if self.pairs_of_base else grad

    def _to_base(self, grad: Any) -> Any:
        return ops.view_as_complex(grad.contiguous()) if self.pairs_of_base else grad

    def _flipped(self, part: Any) -> Any:
        part = part.conj() if self.lazy & CONJUGATE and part.is_complex() else part
        return -part if self.lazy & NEGATIVE else part

    def read(self, grad: Any) -> Any:
        """The part of a gradient of the base that the view shows; differentiable."""
        read = _helper("as_strided_scatter_src_back")
        part = read(self._of_base(grad), self.strides, self.size, self.stride, self.offset)
        return self._flipped(ops.view_as_complex(part.contiguous()) if self.pairs_of_view else part)

    def cleared(self, grad: Any) -> Any:
        """A gradient of the base with zeros where the view lies; differentiable."""
        clear = _helper("as_strided_scatter_self_back")
        return self._to_base(clear(self._of_base(grad), self.strides, self.size, self.stride, self.offset))

    def placed(self, part: Any) -> Any:
        """Zeros of the base's sizes with a gradient of the view where it lies; differentiable."""
        flipped = self._flipped(part)
        source = ops.view_as_real(flipped.resolve_conj()) if self.pairs_of_view else flipped
        place = _helper("as_strided_back")
        return self._to_base(place(source, self.shape, self.strides, 0, self.size, self.stride, self.offset))


Ints = tuple[int, ...]


def _pairs(sizes: Ints, strides: Ints, offset: int) -> tuple[Ints, Ints, int]:
    """Complex elements as pairs of real ones."""
    return (*sizes, 2), (*[2 * step for step in strides], 1), 2 * offset


def _helper(name: str) -> Any:
    from .derivative_helpers import helpers

    return helpers()[name]


DEFAULT, FUNCTION, MULTIPLE, NO_GRAD = "default", "function", "multiple", "no_grad"
FORBIDDEN = {
    FUNCTION: "This view was created inside a custom Function (or because an input was returned as-is), and an "
    "in-place write to it would bypass the Function's own backward and give wrong gradients. Clone the output of the "
    "Function before writing to it.",
    MULTIPLE: "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    NO_GRAD: "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
    "moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
    "tracked) or both outside (if you want the inplace to be tracked).",
}

SEVERAL = ("Split", "Chunk", "Unbind")
"""How the names of the operators begin whose results are several views, even if it happens to be one."""


def creation_by(maker: str) -> str:
    """Return how the views in the list that an operator returns came to be."""
    return MULTIPLE if maker.startswith(SEVERAL) else DEFAULT


def grad_fn_of(tensor: Tensor) -> Node | None:
    """Return the node that made the tensor; of a view whose base was written to since, one that reads it from there."""
    meta: AutogradMeta | None = tensor.autograd
    base = tensor.base
    if meta is None:
        return None
    state = meta.view
    if state is None or base is None or base.autograd is None:
        return meta.grad_fn
    return refreshed(tensor, base) if state.version != version(tensor) else meta.grad_fn


def edge_of(tensor: Tensor) -> Edge | None:
    """Return where the gradient of the tensor goes; None when nobody asks for it."""
    meta: AutogradMeta = tensor.autograd
    if meta is None:
        return None
    base = tensor.base
    node = meta.grad_fn if base is None else grad_fn_of(tensor)
    if node is not None:
        return node, meta.output_nr
    return (accumulator_of(tensor), 0) if tensor.requires_grad_flag else None


def recorded_edge(tensor: Tensor) -> Edge | None:
    """Return the edge that a call records for an argument. It leads to a dead end for a view without history that
    requires a gradient only because its base does."""
    edge = edge_of(tensor)
    if edge is None and tensor.base is not None and requires_grad(tensor.base):
        return DeadEnd(tensor), 0
    return edge


def view_of(base: Tensor, plain: Tensor, node: Node | None, nr: int, creation: str, maker: str) -> Tensor:
    """Return the recorded view of a tensor over what a view kernel has just made of its plain tensor."""
    root = base if base.base is None else base.base
    plain.base = None
    meta = base.autograd
    if meta is not None and meta.view is not None and meta.view.creation != DEFAULT:
        creation = meta.view.creation
    view = result_of(plain, node, nr)
    view.base = root
    view.autograd.view = ViewState(version(view), creation, maker, nr)
    return view


def refreshed(view: Tensor, base: Tensor) -> Node | None:
    """The node of a view; when the base was written to since, a new one that reads the view from the base."""
    meta = view.autograd
    if meta is None:
        return None
    state = meta.view
    if state is not None and state.version != version(view) and requires_grad(base):
        if state.creation != DEFAULT:
            raise RuntimeError(_refusal(state, indirect=True))
        node = AsStridedBackward0(edge_of(base), base, view)
        if meta.more is not None:
            _move_retained(view, meta.grad_fn, node)
        meta.grad_fn = node
        meta.output_nr = 0
        state.version = version(view)
    found: Node | None = meta.grad_fn
    return found


def _refusal(state: ViewState, *, indirect: bool) -> str:
    what = "its base or another view of its base has been modified inplace" if indirect else "is being modified inplace"
    if state.creation == NO_GRAD:
        return f"A view was created in no_grad mode and {what} with grad mode enabled. {FORBIDDEN[NO_GRAD]}"
    return f"Output {state.output_nr} of {state.maker} is a view and {what}. {FORBIDDEN[state.creation]}"


def check_inplace(tensor: Tensor) -> None:
    """RuntimeError for a write, to be recorded, into a leaf, a view of one, or a view that may not be written to."""
    meta = tensor.autograd
    base = tensor.base
    if tensor.counter is INFERENCE:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )
    if base is not None:
        if meta is not None and meta.view is not None and meta.view.creation != DEFAULT:
            raise RuntimeError(_refusal(meta.view, indirect=False))
        if tensor.counter.__class__ in HOW_MADE:
            raise RuntimeError(_refusal(view_state(tensor), indirect=False))
        if requires_grad(tensor) and grad_fn_of(base) is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if meta is not None and requires_grad(tensor) and grad_fn_of(tensor) is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def rebase(tensor: Tensor, node: Any, nr: int = 0) -> None:
    """Make `node`, which recorded an in-place write into the tensor, part of its history and of its base's. The tensor
    is its result number `nr`, which is 0 for a view."""
    base = tensor.base
    if base is None:
        meta = tensor.autograd
        if meta is None or meta.grad_fn is None or not tensor.meta.has_autograd:
            meta = materialize_autograd_meta(tensor)
            watch_views(tensor, 2, -2)
        if meta.more is not None:
            _move_retained(tensor, meta.grad_fn, node, nr)
        meta.grad_fn = node
        meta.output_nr = nr
        tensor.requires_grad_flag = False
        return
    base_meta = base.autograd
    if base_meta is None or base_meta.grad_fn is None or not base.meta.has_autograd:
        base_meta = materialize_autograd_meta(base)
        watch_views(base, 3, -2)
    meta = materialize_autograd_meta(tensor)
    copied = CopySlices(edge_of(base), base, tensor, node)
    if base_meta.more is not None:
        _move_retained(base, base_meta.grad_fn, copied)
    base_meta.grad_fn = copied
    base_meta.output_nr = 0
    if meta.view is None:
        meta.view = view_state(tensor)
    meta.view.version = -2
    refreshed(tensor, base)


def _move_retained(tensor: Tensor, before: Node | None, after: Node | None, nr: int = 0) -> None:
    """retain_grad follows the tensor to its new node."""
    more = tensor.autograd.more
    if more.retains and before is not None and after is not None and before.hooks is not None:
        kept = before.hooks.retained.pop(tensor.autograd.output_nr, None)
        if kept is not None:
            after.hooked().retained[nr] = kept


def watch_views(base: Tensor, known: int, seen: int) -> None:
    """Give records to the views that were made of `base` before it had one, found among the collector's objects.

    `known` tensors, the base among them, are on its storage and need not be looked for. `seen` is the version at which
    the views have a history: -2 where they are to get that of the base.
    """
    if not getattr(base, "viewed", False):
        return
    storage = base.storage_impl
    hidden = getrefcount(storage) - known - OWN_REFERENCES
    # With other threads not all objects: a list of them holds tuples and tensors that these are still making.
    for generation in YOUNG if hidden > 0 and alone() else ():
        for one in gc.get_objects(generation):
            if isinstance(one, Tensor) and one.storage_impl is storage:
                hidden -= _watch_view(one, base, seen)
    if hidden > 0:
        hidden -= _watch_referrers(base, seen)
    if hidden > 0 and gc.get_freeze_count():
        gc.unfreeze()
        _watch_referrers(base, seen)


def _watch_referrers(base: Tensor, seen: int) -> int:
    """Watch the views among what refers to `base`; return their references to the storage."""
    return sum(
        _watch_view(one, base, seen)
        for one in gc.get_referrers(base)
        if isinstance(one, Tensor) and hasattr(one, "requires_grad_flag")  # the slot that is filled last
    )


def _watch_view(one: Tensor, base: Tensor, seen: int) -> int:
    """Give a view a record, and return its references to the storage if it had none before, else 0."""
    if one.base is not base:
        return 0
    hidden = one.autograd is None
    state = materialize_autograd_meta(one).view
    if state is not None and (hidden or one.autograd.grad_fn is None):
        state.version = seen
    return 0 if not hidden else 1 if one.counter is not one.storage_impl else 2


OWN_REFERENCES = 2
"""References to a storage from a name in a function and from the call that counts."""
YOUNG = (0, 1)
"""The collector's generations that are looked through before all objects are."""


class AsStridedBackward0(Node):
    """Reads a view from its base by sizes, strides and offset."""

    __slots__ = ("window",)

    label = "AsStridedBackward0"

    def __init__(self, edge: Edge | None, base: Tensor, view: Tensor) -> None:
        super().__init__((edge,), (without_autograd(view.meta),))
        self.window = Window(base, view)

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradient written into zeros of the base's sizes, where the view lies."""
        return (self.window.placed(grads[0]),)


class CopySlices(Node):
    """The gradient of a base that a view was written to: `node` runs on the part of the view, the rest passes."""

    __slots__ = ("base_meta", "node", "view_meta", "window")

    label = "CopySlices"

    def __init__(self, edge: Edge | None, base: Tensor, view: Tensor, node: Any) -> None:
        rest = node.edges[1:] if node.writes_self else node.edges
        super().__init__((edge, *rest), (without_autograd(base.meta),))
        if node.writes_self and node.edges[0] is None:
            node.edges = (edge, *rest)
        self.base_meta: TensorMeta = without_autograd(base.meta)
        self.view_meta: TensorMeta = without_autograd(view.meta)
        self.window = Window(base, view)
        self.node = node

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradient of the base as it was, and those of the other inputs of the write. RuntimeError when freed."""
        if self.released:
            raise RuntimeError(FREED)
        given: Any = grads[0]
        if requires_grad(given) or given.meta.has_autograd or given.class_keys or not self.window.plain:
            return self._anew(given)
        result: Any = laid_out(given, self.base_meta)
        view = self.view_meta
        part = result.as_strided(view.sizes, view.strides, result.storage_offset() + self.window.offset)
        results = list(self.node.apply([part.clone()]))
        own = results.pop(0) if self.node.writes_self else None
        if self.edges[0] is None:
            return (None, *results)
        if own is None:
            part.zero_()
        else:
            part.copy_(fitted(own, view, self.node))
        return (result, *results)

    def _anew(self, given: Any) -> Sequence[Tensor | None]:
        """The same without writing: what is recorded, or elements that are not simply those of the base."""
        results = list(self.node.apply([self.window.read(given)]))
        own = results.pop(0) if self.node.writes_self else None
        if self.edges[0] is None:
            return (None, *results)
        total = self.window.cleared(given)
        if own is not None:
            total = total + self.window.placed(fitted(own, self.view_meta, self.node))
        return (total, *results)

    def release(self) -> None:
        """Let go of what the write saved."""
        self.released = True
        self.node.release()
