"""Copies of sparse tensors: clones, detached and conjugated tensors, other dtypes, deep copies and pickles."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from ..core.device import Device, as_device, meta_device
from ..core.dtype import DType
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.invoke import apply
from ..tensor.getters import set_requires_grad
from ..tensor.hooks import hooks
from ..tensor.sparse_tensor import SparseTensor, sparse_tensor
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import without_autograd
from ..tensor.versions import bump_version
from .coo_tensor import alias, is_coo, parts_of


def same_parts(self: Tensor) -> Tensor:
    """Return another tensor that shares the parts, apart from what is known of them, and takes no part in autograd."""
    parts = parts_of(self)
    return sparse_tensor(without_autograd(self.meta), parts.remade(*[alias(part) for part in parts.tensors]))


def clone(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return a tensor whose parts are copies."""
    parts = parts_of(self)
    return sparse_tensor(without_autograd(self.meta), parts.remade(*[apply("clone", part) for part in parts.tensors]))


def converted(
    self: Tensor, dtype: DType, non_blocking: bool = False, copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor with values of a dtype and the same indices; itself if it has the dtype already."""
    if dtype is self.meta.dtype:
        return clone(self) if copy else self
    return _of_values(self, "to.dtype", dtype)


def conj(self: Tensor) -> Tensor:
    """Return the tensor itself if it is real, else one with conjugated values and the same indices: no bit marks it."""
    return _of_values(self, "conj_physical") if self.meta.dtype.is_complex else self


def real(self: Tensor) -> Tensor:
    """Return the tensor itself if it is real, else one with the real parts of the values."""
    return _of_values(self, "real") if self.meta.dtype.is_complex else self


def imag(self: Tensor) -> Tensor:
    """Return a tensor with the imaginary parts of the values and the same indices. Raises RuntimeError for a real
    one."""
    return _of_values(self, "imag")


def _of_values(self: Tensor, operator: str, *args: Any) -> Tensor:
    """Return a tensor with the same indices and what a linear operator makes of the values."""
    parts = parts_of(self)
    *indices, values = parts.tensors
    made = [*indices, apply(operator, values, *args)]
    return parts.remade(*made).tensor(self.meta.sizes)


def conj_(self: Tensor) -> Tensor:
    """Conjugate the values in place."""
    apply("conj_physical_", parts_of(self).values)
    bump_version(self)
    return self


def moved(
    self: Tensor, device: Device | str, dtype: DType | None = None, non_blocking: bool = False, copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor with its parts on a device and values of a dtype. On the meta device no element is specified.
    Raises NotImplementedError for what would leave the meta device."""
    place = as_device(device)
    if place is self.meta.device:
        return converted(self, dtype or self.meta.dtype, copy=copy)
    parts = parts_of(converted(self, dtype or self.meta.dtype))
    if place is meta_device:
        parts = parts.unspecified()
    return parts.remade(*[apply("to.device", part, place) for part in parts.tensors]).tensor(self.meta.sizes)


def like_other(
    self: Tensor, other: Tensor, non_blocking: bool = False, copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor on the device of another, with its dtype."""
    return moved(self, other.meta.device, other.meta.dtype, copy=copy)


def as_asked(
    self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
    pin_memory: bool | None = None, non_blocking: bool = False, copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor with the dtype and the device that are given. Raises RuntimeError for another layout."""
    if layout is not None and layout is not self.layout:
        raise RuntimeError(f"to(): a tensor of layout {self.layout.name} does not become {layout.name} by to()")
    return moved(self, self.meta.device if device is None else device, dtype, copy=copy)


def become(self: Any, made: Any) -> Tensor:
    """Give a sparse tensor the sizes and the parts of another one on its device, converted to its own dtype. The other
    tensor must not be used again, since the parts are shared."""
    made = apply("to.dtype", made, self.meta.dtype)
    self.parts.take(made.parts)
    self._meta = made.meta.twin if self.meta.has_autograd else made.meta
    if self.autograd is not None:
        hooks.dispatched["refresh_plain"](self)
    bump_version(self)
    return self  # type: ignore[no-any-return]


def write_back(self: Tensor, copy: Tensor) -> None:
    """Give a tensor, strided or sparse, the elements of its copy on another device."""
    if not isinstance(self, SparseTensor):
        apply("copy_", self, copy)
        return
    become(self, apply("to.device", copy, self.meta.device))


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Give the tensor the elements of another in the same layout, converted to its dtype. Raises RuntimeError for
    another layout or other sizes."""
    if not isinstance(self, SparseTensor) or not isinstance(src, SparseTensor) or self.layout is not src.layout:
        raise RuntimeError(
            f"copy_() between tensors of different layouts is not implemented: self is {self.layout.name} and src "
            f"{src.layout.name}"
        )
    if self.meta.sizes != src.meta.sizes:
        raise RuntimeError(
            f"copy_(): sizes of self and src must be equal, got {list(self.meta.sizes)} and {list(src.meta.sizes)}"
        )
    parts_of(self).take(parts_of(clone(converted(src, self.meta.dtype))))
    bump_version(self)
    return self


def zero_(self: Tensor) -> Tensor:
    """Drop all specified elements."""
    parts_of(self).take(parts_of(self).unspecified())
    bump_version(self)
    return self


def new_zeros(
    self: Tensor, size: Sequence[int], *, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of other sizes without specified elements, otherwise like this one unless options say more."""
    place = self.meta.device if device is None else device
    return call(ZEROS, size, dtype=dtype or self.meta.dtype, layout=layout or self.layout, device=place)  # type: ignore[no-any-return]


def zeros_like(self: Tensor, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """Return a tensor of the same sizes and layout without specified elements."""
    made = clone(self) if dtype is None else converted(self, dtype, copy=True)
    return apply("zero_", made)


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return the tensor itself. Raises RuntimeError for other sizes or another layout, to which it cannot change."""
    if not is_coo(the_template) or self.meta.sizes != the_template.meta.sizes:
        raise RuntimeError(
            f"resize_as_(): a sparse tensor of sizes {list(self.meta.sizes)} cannot take those of another, "
            f"{list(the_template.meta.sizes)} in layout {the_template.layout.name}"
        )
    return self


def deep_copy(self: Any, memo: dict[int, Any]) -> Tensor:
    """Return a leaf with copies of the parts, of the gradient and of attributes. Raises RuntimeError within a
    history."""
    if self.autograd is not None and not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol at the moment")
    made: Any = clone(self)
    memo[id(self)] = made
    made.__dict__.update({name: deepcopy(value, memo) for name, value in self.__dict__.items() if name != "parts"})
    if self.requires_grad:
        set_requires_grad(made, True)
        made.grad = deepcopy(self.grad, memo)
    return made  # type: ignore[no-any-return]


def rebuilt(parts: Any, sizes: tuple[int, ...], requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """Return the tensor that a pickle holds."""
    made = parts.tensor(sizes)
    made.__dict__.update(attributes)
    return set_requires_grad(made, True) if requires_grad else made


def reduced(self: Any, protocol: int = 2) -> tuple[Any, ...]:
    """Return the pickle reduction: the parts, the sizes, requires_grad and the attributes."""
    attributes = {name: value for name, value in self.__dict__.items() if name != "parts"}
    return rebuilt, (self.parts, self.meta.sizes, self.requires_grad, attributes)


ZEROS = REGISTRY.find("zeros")
