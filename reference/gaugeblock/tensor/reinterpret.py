"""Views that read the bytes as another dtype, or as conjugate or negative values."""

from __future__ import annotations

from ..core.dtype import REAL_TO_COMPLEX, DType
from ..core.errors import type_error
from .hooks import hooks
from .tensor import Tensor, make_view, new_like, view_at_same_place
from .tensor_meta import CONJUGATE, NEGATIVE, meta_of, preserve_format_strides
from .views import numpy_t, transpose


def view_dtype(self: Tensor, dtype: DType) -> Tensor:
    """The bytes of `self` as `dtype`; another itemsize scales the last dim. Raises RuntimeError when the sizes, strides
    or offset do not divide, or a lazily conjugate tensor is given."""
    if not isinstance(dtype, DType):
        type_error("view", "dtype", dtype, "a dtype")
    meta = self.meta
    old, new = meta.dtype.itemsize, dtype.itemsize
    if meta.lazy:
        raise RuntimeError(
            "torch.Tensor.view is not supported for conjugate or negative view tensors when the dtype changes"
        )
    if old == new:
        return view_at_same_place(self, meta_of(meta.sizes, meta.strides, dtype, meta.device))
    names = f"view(): self.dtype {meta.dtype} viewed as {dtype}: "
    if not meta.ndim:
        raise RuntimeError(names + "self.dim() cannot be 0 when the element sizes differ")
    if meta.strides[-1] != 1:
        raise RuntimeError(names + f"self.stride(-1) must be 1 when the element sizes differ, got {meta.strides[-1]}")

    def scaled(name: str, value: int) -> int:
        if value * old % new:
            raise RuntimeError(names + f"self.{name} must be divisible by {new // old}, got {value}")
        return value * old // new

    size, offset = scaled("size(-1)", meta.sizes[-1]), scaled("storage_offset()", self.offset)
    strides = [scaled(f"stride({dim})", stride) for dim, stride in enumerate(meta.strides[:-1])]
    return make_view(self, meta_of((*meta.sizes[:-1], size), (*strides, 1), dtype, meta.device), offset)


def _real_parts(self: Tensor, dims: tuple[int, ...], first: int, lazy: int) -> Tensor:
    """Real parts of complex elements from number `first` on, with new last dims over neighbours."""
    meta = self.meta
    strides = (*[stride * 2 for stride in meta.strides], *[1 for _ in dims])
    other = meta_of((*meta.sizes, *dims), strides, meta.dtype.to_real(), meta.device, lazy)
    return make_view(self, other, self.offset * 2 + first)


def real(self: Tensor) -> Tensor:
    """The real parts as a view with doubled strides; a real tensor itself."""
    meta = self.meta
    return _real_parts(self, (), 0, meta.lazy & NEGATIVE) if meta.dtype.is_complex else self


def imag(self: Tensor) -> Tensor:
    """The imaginary parts as a view with doubled strides. Raises RuntimeError for a real tensor."""
    meta = self.meta
    if not meta.dtype.is_complex:
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes, got {meta.dtype}.")
    negative = (meta.lazy & NEGATIVE) ^ (NEGATIVE if meta.lazy & CONJUGATE else 0)
    return _real_parts(self, (), 1, negative)


def view_as_real(self: Tensor) -> Tensor:
    """A complex tensor as real pairs in a new last dim of size 2. Raises RuntimeError unless complex, resolved."""
    meta = self.meta
    if not meta.dtype.is_complex:
        raise RuntimeError(f"view_as_real is only supported for complex tensors, got {meta.dtype}")
    if meta.lazy & CONJUGATE:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
            "the original."
        )
    return _real_parts(self, (2,), 0, meta.lazy)


def view_as_complex(self: Tensor) -> Tensor:
    """Real pairs in a last dim of size 2 as a complex tensor. Raises RuntimeError when dtype or layout forbid it."""
    meta = self.meta
    dtype = REAL_TO_COMPLEX.get(meta.dtype)
    if dtype is None:
        raise RuntimeError(
            f"view_as_complex is only supported for float16, float32 and float64 tensors, but got a tensor of "
            f"{meta.dtype}"
        )
    if not meta.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    sizes, strides = meta.sizes, meta.strides
    if sizes[-1] != 2:
        raise RuntimeError(f"view_as_complex: Tensor must have a last dimension of size 2, got {sizes[-1]}")
    if strides[-1] != 1:
        raise RuntimeError(f"view_as_complex: Tensor must have a last dimension with stride 1, got {strides[-1]}")
    for dim, stride in enumerate(strides[:-1]):
        if stride % 2:
            raise RuntimeError(
                f"Tensor must have a stride divisible by 2 for all but last dimension, got stride {stride} at dim {dim}"
            )
    if self.offset % 2:
        raise RuntimeError(f"Tensor must have a storage_offset divisible by 2, got {self.offset}")
    halved = tuple([stride // 2 for stride in strides[:-1]])
    return make_view(self, meta_of(sizes[:-1], halved, dtype, meta.device, meta.lazy), self.offset // 2)


def conj(self: Tensor) -> Tensor:
    """The conjugate as a lazy view of a complex tensor; a real tensor itself."""
    meta = self.meta
    if not meta.dtype.is_complex:
        return self
    other = meta_of(meta.sizes, meta.strides, meta.dtype, meta.device, meta.lazy ^ CONJUGATE)
    return view_at_same_place(self, other)


def adjoint(self: Tensor) -> Tensor:
    """The last two dims swapped, conjugated when complex. Raises RuntimeError for one dim."""
    ndim = self.meta.ndim
    if ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conj(self) if not ndim else conj(transpose(self, -2, -1))


def matrix_h(self: Tensor) -> Tensor:
    """``x.H``: the adjoint of a matrix or a 0-dim tensor. Raises RuntimeError for other ranks."""
    if self.meta.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.meta.ndim}-D tensor. For batches of "
            "matrices, consider using tensor.mH"
        )
    return conj(numpy_t(self))


def is_conj(self: Tensor) -> bool:
    """Return whether the elements in memory stand for their conjugates."""
    return bool(self.meta.lazy & CONJUGATE)


def is_neg(self: Tensor) -> bool:
    """Return whether the elements in memory stand for their negatives."""
    return bool(self.meta.lazy & NEGATIVE)


def resolved(self: Tensor) -> Tensor:
    """`self`, or a copy with the values in memory when they are lazily conjugate or negative."""
    meta = self.meta
    if not meta.lazy:
        return self
    strides = preserve_format_strides(meta.sizes, meta.strides)
    result = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
    if meta.numel:
        hooks.copy_into(result, self)
    return result


def resolve_conj(self: Tensor) -> Tensor:
    """`self` unless it is lazily conjugate, then a copy."""
    return resolved(self) if is_conj(self) else self


def resolve_neg(self: Tensor) -> Tensor:
    """`self` unless it is lazily negative, then a copy."""
    return resolved(self) if is_neg(self) else self
