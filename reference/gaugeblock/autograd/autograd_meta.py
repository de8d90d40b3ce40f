"""What autograd knows of a tensor: the node that made it, its gradient, its hooks, the view that it is.

A tensor with such a record has a `TensorMeta` with the Autograd key and a call cache of its own. Kernels never see it.
They get its `plain` tensor, a shallow and detached copy on the same storage; nodes save that one too, so that no tensor
is kept alive by the node that made it.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.layout import strided
from ..dispatch.state import AUTOGRAD_IN_USE
from ..memory.storage import new_object
from ..tensor.attributes import METHODS, PROPERTIES
from ..tensor.changing import change_meta
from ..tensor.tensor import Tensor, tensor_object
from ..tensor.tensor_meta import TensorMeta, remember, with_autograd, without_autograd
from ..tensor.versions import HOW_MADE, INFERENCE, version_of

if TYPE_CHECKING:
    from .node import Node

Edge = tuple["Node", int]
"""A node and which of its results is meant."""


@dataclass(slots=True)
class GradientState:
    """The parts of a record that most tensors lack: .grad, accumulator, hooks, the tangent of forward mode."""

    accumulator: weakref.ref[Node] | None = None
    grad: Tensor | None = None
    hooks: dict[int, Any] | None = None
    post_hooks: dict[int, Any] | None = None
    retains: bool = False
    tangent: Tensor | None = None
    epoch: int = 0


@dataclass(slots=True)
class ViewState:
    """Of a view: the version at which its node was right, how it was made, by which result of which operator."""

    version: int
    creation: str
    maker: str
    output_nr: int


class AutogradMeta:
    """The record of one tensor; `more` and `view` are None for most."""

    __slots__ = ("grad_fn", "more", "output_nr", "plain", "view")

    plain: Tensor
    grad_fn: Node | None
    output_nr: int
    view: ViewState | None
    more: GradientState | None


def shallow_copy_and_detach(tensor: Tensor) -> Tensor:
    """Another tensor object of the same class on the same storage, no view of it."""
    kind = tensor.__class__
    made = tensor_object(kind, tensor.meta, tensor.storage_impl, tensor.offset)
    made.counter = tensor.counter
    if kind is Tensor:
        made._pointer = tensor.pointer
        return made
    try:
        made._pointer = tensor.pointer
    except RuntimeError:  # no memory, so that reading the other object raises too
        made._pointer = 0
    if hasattr(tensor, "__dict__"):
        made.__dict__.update(tensor.__dict__)
    return made


def new_meta(plain: Tensor, grad_fn: Node | None, output_nr: int) -> AutogradMeta:
    """A record without view and without more."""
    meta: AutogradMeta = new_object(AutogradMeta)
    meta.plain = plain
    meta.grad_fn = grad_fn
    meta.output_nr = output_nr
    meta.view = meta.more = None
    return meta


def result_of(plain: Tensor, grad_fn: Node | None, output_nr: int) -> Tensor:
    """Return the tensor with a node over what a kernel has just made."""
    tensor_meta = plain.meta
    twin = tensor_meta.twin if tensor_meta.twin is not None else with_autograd(tensor_meta)
    if plain.__class__ is Tensor:
        made = tensor_object(Tensor, twin, plain.storage_impl, plain.offset)
        made.counter = plain.counter
        made._pointer = plain.pointer
    else:
        made = shallow_copy_and_detach(plain)
        made._meta = twin
    made.autograd = new_meta(plain, grad_fn, output_nr)
    return made


def materialize_autograd_meta(tensor: Tensor) -> AutogradMeta:
    """Return the record of a tensor, which gets one and the Autograd key if it has none."""
    meta: AutogradMeta | None = tensor.autograd
    tensor_meta = tensor.meta
    if meta is None:
        AUTOGRAD_IN_USE.append(None)
        meta = tensor.autograd = new_meta(shallow_copy_and_detach(tensor), None, 0)
        if tensor.base is not None:
            meta.view = view_state(tensor)
    if not tensor_meta.has_autograd:
        change_meta(tensor, with_autograd)
    return meta


def view_state(view: Tensor) -> ViewState:
    """Return the state of a view made while its base had no record, such as one of several from a call."""
    creation, maker = HOW_MADE.get(view.counter.__class__, ("default", "View"))
    return ViewState(version(view), creation, maker, 0)


def refresh_plain(tensor: Tensor) -> None:
    """Bring record and meta of a tensor up to date after its own metadata were changed. One that got another dtype
    accumulates gradients anew."""
    meta: AutogradMeta = tensor.autograd
    change_meta(tensor, without_autograd)
    if meta.more is not None and meta.plain.meta.dtype is not tensor.meta.dtype:
        meta.more.accumulator = None
    meta.plain = shallow_copy_and_detach(tensor)
    change_meta(tensor, with_autograd)


def unpack(tensor: Tensor) -> Tensor:
    """Return what kernels get for a tensor: itself, or its plain one if it has the Autograd key."""
    if not tensor.meta.has_autograd:
        return tensor
    meta = tensor.autograd
    if meta is None:
        plain = shallow_copy_and_detach(tensor)
        plain._meta = tensor.meta.twin  # type: ignore[assignment]
        return plain
    return meta.plain  # type: ignore[no-any-return]


def more_of(tensor: Tensor) -> GradientState:
    """Return the further part of a tensor's record, which is made if there is none."""
    meta = materialize_autograd_meta(tensor)
    if meta.more is None:
        meta.more = GradientState()
    return meta.more


def requires_grad(tensor: Tensor) -> bool:
    """Return whether gradients are asked for the tensor, or for something that it was computed from or is a view of."""
    if tensor.requires_grad_flag:
        return True
    meta = tensor.autograd
    if meta is not None and meta.grad_fn is not None:
        return True
    base = tensor.base
    return base is not None and base.autograd is not None and requires_grad(base)


def version(tensor: Tensor) -> int:
    """The version of a tensor, -1 of one made in inference mode."""
    return -1 if tensor.counter is INFERENCE else version_of(tensor)


def differentiable(tensor: Tensor) -> bool:
    """Return whether a result of this dtype has a gradient."""
    dtype = tensor.meta.dtype
    return dtype.is_floating_point or dtype.is_complex


METADATA = frozenset(
    """shape dtype device ndim is_complex is_floating_point numel dim size stride itemsize layout is_cuda is_cpu is_meta
    element_size is_contiguous storage_offset is_conj is_neg""".split()
)
"""Attributes of a tensor that say nothing of its elements: for them alone it is not saved."""


class Described:
    """The metadata of a tensor that is not there any more, with those of its members that ask for no more."""

    def __init__(self, meta: TensorMeta, offset: int = 0) -> None:
        self.meta = meta
        self.offset = offset
        self.shape = meta.shape
        self.dtype = meta.dtype
        self.device = meta.device
        self.ndim = meta.ndim
        self.layout = strided


for _name in METADATA - {"shape", "dtype", "device", "ndim", "layout"}:
    setattr(Described, _name, METHODS.get(_name) or PROPERTIES[_name])


class DescribedList:
    """The metadata of several tensors: every attribute is the tuple of theirs."""

    def __init__(self, places: list[tuple[Any, int]]) -> None:
        self._parts = [described(*place) for place in places]

    def __getattr__(self, name: str) -> Any:
        found = [getattr(part, name) for part in self._parts]
        if found and callable(found[0]):
            return lambda *args: tuple(one(*args) for one in found)
        return tuple(found)

    def __len__(self) -> int:
        return len(self._parts)


def described(meta: Any, offset: int = 0) -> Described:
    """Return the metadata of tensors with a meta, kept with it where they begin with their storage."""
    if offset:
        return Described(meta, offset)
    found: Described | None = meta.plans.get(Described)
    return remember(meta.plans, Described, Described(meta)) if found is None else found
