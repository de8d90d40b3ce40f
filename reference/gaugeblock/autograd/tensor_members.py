"""What autograd gives to Tensor: .grad, .grad_fn, .is_leaf, backward() and the rest."""

from __future__ import annotations

from struct import pack
from typing import Any

from ..core.device import cpu
from ..core.dtype import bfloat16, float16, float32, float64
from ..core.errors import type_error
from ..core.warn import warn
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import NOT_WRAPPED
from ..dispatch.state import STATE
from ..memory.host_allocator import memmove
from ..operators.fill import fill_ones
from ..tensor.changing import change_meta
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, without_autograd
from ..tensor.versions import INFERENCE
from . import hooks
from .autograd_meta import materialize_autograd_meta, more_of, requires_grad, version
from .backward import backward as run_from
from .backward import warn_of_cycle
from .engine import run_backward
from .view_history import grad_fn_of, watch_views

FLOATING = 2
"""The kind of the floating dtypes."""
NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed; autograd.backward() does not fill "
    "it. Call .retain_grad() on the tensor to have it filled, or use .grad of the leaf that was meant."
)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients, or stop asking for them, and return the tensor. RuntimeError unless floating or complex, and
    for a tensor that was computed from others when it is to stop."""
    if not isinstance(requires_grad, (bool, int)):
        type_error("requires_grad_", "requires_grad", requires_grad, "bool")
    if not requires_grad:
        if self.autograd is None:
            return self
        if grad_fn_of(self) is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        self.requires_grad_flag = False
        if self.meta.has_autograd and self.base is None:
            change_meta(self, without_autograd)
        return self
    dtype = self.meta.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, got {dtype}")
    if self.counter is INFERENCE and not STATE.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    meta = materialize_autograd_meta(self)
    if meta.grad_fn is None and not self.requires_grad_flag:
        self.requires_grad_flag = True
        if self.base is None:
            watch_views(self, 2, version(self))
    return self


def get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward() added up; None before the first. Warns for a tensor that is no leaf."""
    meta = self.autograd
    if meta is None:
        return None
    if meta.more is not None and (meta.more.grad is not None or meta.more.retains):
        return meta.more.grad  # type: ignore[no-any-return]
    if not self.requires_grad_flag and grad_fn_of(self) is not None:
        warn(NOT_A_LEAF)
    return None


def set_grad(self: Tensor, grad: Tensor | None) -> None:
    """``x.grad = g``. TypeError unless it is a tensor or None, RuntimeError for other sizes, dtype or device."""
    if grad is None:
        if self.autograd is not None and self.autograd.more is not None:
            self.autograd.more.grad = None
        return
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is self:
        raise RuntimeError("can't assign Variable as its own grad")
    mine, other = self.meta, grad.meta
    if other.dtype is not mine.dtype:
        raise RuntimeError(f"assigned grad has data of a different type: expected {mine.dtype}, got {other.dtype}")
    if other.device is not mine.device:
        raise RuntimeError(f"assigned grad has data located on a different device: {other.device}, not {mine.device}")
    if other.sizes != mine.sizes:
        raise RuntimeError(
            f"assigned grad has data of a different size: expected {list(mine.sizes)}, got {list(other.sizes)}"
        )
    more_of(self).grad = grad


def assign_requires_grad(self: Tensor, value: bool) -> None:
    """Set ``x.requires_grad``. Raise RuntimeError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
    requires_grad_(self, value)


def is_leaf(self: Tensor) -> bool:
    """Return whether the tensor was not computed from one that requires a gradient."""
    return self.autograd is None or grad_fn_of(self) is None


def output_nr(self: Tensor) -> int:
    """Return the number of the tensor among the results of its node."""
    if self.autograd is None:
        return 0
    grad_fn_of(self)
    return int(self.autograd.output_nr)


def retains_grad(self: Tensor) -> bool:
    """Return whether backward() fills .grad although the tensor is no leaf."""
    meta = self.autograd
    return meta is not None and meta.more is not None and meta.more.retains and grad_fn_of(self) is not None


def backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Any = None,
) -> None:  # fmt: skip
    """Add the gradients of this tensor to .grad of the leaves that it was computed from; see autograd.backward."""
    meta = self.autograd
    if gradient is None and inputs is None and meta is not None and self.base is None and self.__class__ is Tensor:
        node, tensor_meta = meta.grad_fn, self.meta
        is_number = tensor_meta.numel == 1 and tensor_meta.dtype.kind == FLOATING
        if node is not None and is_number and tensor_meta.has_autograd:
            seed = _one(tensor_meta.twin)  # type: ignore[arg-type]
            if create_graph:
                warn_of_cycle()
            keep = create_graph if retain_graph is None else retain_graph
            run_backward([((node, meta.output_nr), seed)], keep=keep, create=create_graph)
            return
    run_from(self, gradient, retain_graph, create_graph, inputs=inputs)


ONES = {float16: pack("e", 1), bfloat16: pack("f", 1)[2:], float32: pack("f", 1), float64: pack("d", 1)}
"""The bytes of 1, which `backward` begins with."""


def _one(meta: TensorMeta) -> Tensor:
    """Return a tensor of a meta with one element, which is 1."""
    made = new_like(meta)
    element = ONES.get(meta.dtype)
    if meta.device is cpu and element:
        memmove(made.pointer, element, meta.nbytes)
    else:
        fill_ones(made)
    return made


DETACH = REGISTRY.find("detach_")


def detach_(self: Tensor) -> Tensor:
    """Forget the recorded history, in place. RuntimeError for a view."""
    return call(DETACH, self) if SPECIAL else forget_history(self)


def forget_history(self: Tensor) -> Tensor:
    """detach_ itself. RuntimeError for a view."""
    if self.base is not None and self.autograd is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self.autograd = None
    self.requires_grad_flag = False
    change_meta(self, without_autograd)
    return self


def shown_suffix(self: Tensor) -> str:
    """Return what printing adds: ``requires_grad=True`` or ``grad_fn=<...>``; "" without gradients."""
    if not requires_grad(self):
        return ""
    node = grad_fn_of(self)
    return "requires_grad=True" if node is None else f"grad_fn=<{node.name()}>"


METHODS = {
    "backward": backward, "detach_": detach_, "register_hook": hooks.register_hook, "retain_grad": hooks.retain_grad,
    "register_post_accumulate_grad_hook": hooks.register_post_accumulate_grad_hook, "requires_grad_": requires_grad_,
}  # fmt: skip
PROPERTIES: dict[str, tuple[Any, Any]] = {
    "grad": (get_grad, set_grad), "grad_fn": (grad_fn_of, None), "is_leaf": (is_leaf, None),
    "output_nr": (output_nr, None), "requires_grad": (requires_grad, assign_requires_grad),
    "retains_grad": (retains_grad, None),
}  # fmt: skip


def install() -> None:
    """Put the members on Tensor, in the place of those that load this module."""
    for name, method in METHODS.items():
        setattr(Tensor, name, method)
    for name, (getter, setter) in PROPERTIES.items():
        setattr(Tensor, name, property(getter, setter, doc=getter.__doc__))
    Tensor.grad = Tensor.__dict__["grad"].deleter(lambda self: set_grad(self, None))  # type: ignore[attr-defined]
    NOT_WRAPPED.add(Tensor.__dict__["grad"].__get__)


install()
