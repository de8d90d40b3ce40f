"""Step: does a written operand meet itself or another operand in memory?

Undecidable-cheaply cases (gaps, strides that need number theory) are reported as TOO_HARD and let through.
"""

from __future__ import annotations

from enum import Enum
from math import gcd, prod
from typing import NamedTuple

from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, extent, is_non_overlapping_and_dense, recalled

Ints = tuple[int, ...]
INTERNAL_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


class Overlap(Enum):
    """The verdict on one operand, or on a pair."""

    NO = "no"
    YES = "yes"
    FULL = "full"
    PARTIAL = "partial"
    TOO_HARD = "too hard"


class Extent(NamedTuple):
    """The bytes that an operand may reach: identity of its storage, first element, sizes and strides."""

    storage: int
    offset: int
    sizes: Ints
    strides: Ints
    itemsize: int


def internal_overlap(sizes: Ints, strides: Ints) -> Overlap:
    """Return whether several indices of one operand share an element: a stride 0 does, density rules it out."""
    if is_non_overlapping_and_dense(sizes, strides):
        return Overlap.NO
    if any(stride == 0 and size > 1 for size, stride in zip(sizes, strides, strict=True)):
        return Overlap.YES
    return Overlap.TOO_HARD


def pair_overlap(a: Extent, b: Extent) -> Overlap:
    """Return whether two operands share bytes; FULL means the same bytes in the same layout, which is harmless."""
    if a.storage != b.storage or 0 in a.sizes or 0 in b.sizes:
        return Overlap.NO
    if not (is_non_overlapping_and_dense(a.sizes, a.strides) and is_non_overlapping_and_dense(b.sizes, b.strides)):
        return Overlap.TOO_HARD
    a_begin, a_end = _range(a)
    b_begin, b_end = _range(b)
    if (a_begin, a_end) == (b_begin, b_end):
        return Overlap.FULL if a.strides == b.strides else Overlap.PARTIAL
    return Overlap.PARTIAL if a_begin < b_end and b_begin < a_end else Overlap.NO


def _range(operand: Extent) -> tuple[int, int]:
    begin = operand.offset * operand.itemsize
    return begin, begin + prod(operand.sizes) * operand.itemsize


def check_no_internal_overlap(sizes: Ints, strides: Ints) -> None:
    """RuntimeError when a written operand has a stride 0 on a size above 1."""
    if internal_overlap(sizes, strides) is Overlap.YES:
        raise RuntimeError(INTERNAL_OVERLAP)


def extent_of(tensor: Tensor) -> Extent:
    """Return the extent of a tensor."""
    meta = tensor.meta
    return Extent(id(tensor.storage_impl), tensor.offset, meta.sizes, meta.strides, meta.dtype.itemsize)


def check_no_partial_overlap(written: Tensor, other: Tensor) -> None:
    """RuntimeError when a written operand shares some bytes, but not its whole layout, with another."""
    if pair_overlap(extent_of(written), extent_of(other)) is Overlap.PARTIAL:
        raise RuntimeError(PARTIAL_OVERLAP)


def apart(written: Tensor, other: Tensor, elementwise: bool) -> bool:
    """Return whether two tensors on one storage are known to share no byte, as slices and columns are; or, for what is
    computed element by element, that they are the same elements."""
    meta, others = written.meta, other.meta
    begin = other.offset * others.dtype.itemsize - written.offset * meta.dtype.itemsize
    if meta is others and not begin:
        return elementwise
    span, step = recalled(meta.plans, "span and step", _span_and_step, meta)
    other_span, other_step = recalled(others.plans, "span and step", _span_and_step, others)
    if begin >= span or -begin >= other_span or not span:
        return True
    common = gcd(step, other_step)
    return meta.dtype.itemsize <= begin % common <= common - others.dtype.itemsize if common else False


def _span_and_step(meta: TensorMeta) -> tuple[int, int]:
    """Return how many bytes lie between the first and the end of the last element, and a divisor of all distances."""
    steps = [step for step, size in zip(meta.byte_strides, meta.sizes, strict=True) if size > 1]
    return extent(meta.sizes, meta.strides) * meta.dtype.itemsize, gcd(*steps)
