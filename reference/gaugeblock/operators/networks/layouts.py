"""Memory formats of images and volumes."""

from __future__ import annotations

from ...core.dtype import DType
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, suggested_format
from ..copy import format_strides


def empty_row_major(meta: TensorMeta, sizes: tuple[int, ...]) -> Tensor:
    """A fresh row-major tensor like one of `meta`, of these sizes."""
    return new_like(contiguous_meta(sizes, meta.dtype, meta.device))


def suggested(meta: TensorMeta, sizes: tuple[int, ...] | None = None, dtype: DType | None = None) -> TensorMeta:
    """Return the meta of a new tensor like one of `meta`, of other sizes and dtype if given: channels last if it
    resembles that."""
    chosen = suggested_format(meta.sizes, meta.strides)
    wanted, kind = meta.sizes if sizes is None else sizes, dtype or meta.dtype
    target = contiguous_meta(wanted, kind, meta.device)
    return target if chosen is None else meta_of(wanted, format_strides(target, chosen), kind, meta.device)


def empty_in_suggested_format(meta: TensorMeta, sizes: tuple[int, ...] | None = None) -> Tensor:
    """A fresh tensor like one of `meta`, of other sizes if given: channels last if it resembles that."""
    return new_like(suggested(meta, sizes))
