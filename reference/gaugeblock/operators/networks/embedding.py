"""Rows of a table, and bags of rows: their sum, mean or maximum."""

from __future__ import annotations

from ...core import lazy_numpy as np
from ...core.device import cpu, meta_device
from ...core.dtype import DType, int32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.array_view import array_of
from ...tensor.reshaping import contiguous
from ...tensor.scalars import item
from ...tensor.tensor import Tensor, empty_tensor, new_like
from ...tensor.tensor_meta import contiguous_meta
from ...tensor.versions import bump_version
from ..arrays import Array, check_same_device, store, values, widened
from ..conversion import host
from ..invoke import apply
from ..loop_plan import picking
from ..plan import Planned, plannable
from ..ranges import count_by
from .calls import check_dtype

SUM, MEAN, MAX = range(3)


def _check_indices(operator: str, name: str, tensor: Tensor) -> None:
    if tensor.meta.dtype not in (int32, int64):
        raise RuntimeError(
            f"{operator}(): Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, "
            f"Int; but got {UPSTREAM_NAMES[tensor.meta.dtype.name]} instead"
        )


@plannable
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor | Planned[Tensor]:
    """The rows of `weight` that `indices` name; the other arguments matter for gradients only. Raises RuntimeError
    unless weight is a matrix and indices are int32 or int64, IndexError for no such row."""
    if weight.meta.ndim != 2:
        raise RuntimeError(f"embedding(): 'weight' must be 2-D, got {weight.meta.ndim}-D")
    _check_indices("embedding", "indices", indices)
    device = check_same_device("embedding", weight, indices)
    rows, width = weight.meta.sizes
    made = contiguous_meta((*indices.meta.sizes, width), weight.meta.dtype, device)
    if device is not cpu:
        return new_like(made)
    if not indices.meta.contiguous:
        return apply("embedding", weight, contiguous(indices))
    count = indices.meta.numel
    flat, vector = contiguous_meta((count, width), weight.meta.dtype), contiguous_meta((count,), indices.meta.dtype)
    call = picking(flat, weight.meta, vector, 0, (count, 1))._replace(results=(made,))
    if not made.numel:
        _check_range("embedding", values(indices), rows)
        return new_like(made)
    taken = weight, indices
    return Planned.unrun(
        call, taken, call.native(), taken, check=lambda _, indices: _check_range("embedding", values(indices), rows)
    )


def _check_range(operator: str, places: Array, rows: int) -> None:
    if places.size and not (places.min() >= 0 and places.max() < rows):
        wrong = places[(places < 0) | (places >= rows)].flat[0]
        raise IndexError(f"{operator}(): index out of range in self: {wrong} is no row of {rows}")


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows that indices name shortened in place to a norm of `max_norm` at most."""
    _check_indices("embedding_renorm_", "indices", indices)
    if self.meta.ndim != 2:
        raise RuntimeError(f"embedding_renorm_(): 'self' must be 2-D, got {self.meta.ndim}-D")
    if self.meta.device is not cpu:
        bump_version(self)
        return self
    places = np.unique(values(indices))
    if places.size and self.meta.dtype.kind < 2:
        raise RuntimeError(
            f"embedding_renorm_(): norm(): input dtype should be either floating point or complex. Got "
            f"{UPSTREAM_NAMES[self.meta.dtype.name]} instead."
        )
    _check_range("embedding_renorm_", places, self.meta.sizes[0])
    wide = widened(values(self)[places], self.meta.dtype)
    norm = np.linalg.norm(wide, ord=norm_type, axis=1, keepdims=True) if wide.size else np.zeros((places.size, 1))
    changed: Array = values(self).copy()
    changed[places] = np.where(norm > max_norm, wide * (max_norm / (norm + 1e-7)), wide)
    bump_version(self)
    return store(self, changed)


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each class, 0 elsewhere, in a new last dim; -1 counts the classes. Raises RuntimeError for other than int64,
    classes outside the range, and no elements to count classes from."""
    meta = self.meta
    if meta.dtype is not int64:
        raise RuntimeError(
            f"one_hot(): one_hot is only applicable to index tensor of type LongTensor, got "
            f"{UPSTREAM_NAMES[meta.dtype.name]}"
        )
    if not meta.numel:
        if num_classes <= 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from empty tensor.")
        return apply("empty.memory_format", (*meta.sizes, num_classes), dtype=int64, device=meta.device)
    if meta.device is meta_device and num_classes == -1:
        raise NotImplementedError("one_hot(): num_classes must be given for a tensor without data")
    if meta.device is not meta_device:
        given = host(self)
        least, largest = item(apply("min", given)), item(apply("max", given))
        if least < 0:
            raise RuntimeError(f"one_hot(): Class values must be non-negative, got {least}")
        if num_classes == -1:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise RuntimeError(
                f"one_hot(): Class values must be smaller than num_classes, got {largest} of {num_classes}"
            )
    if meta.device is cpu:
        classes = count_by(new_like(contiguous_meta((num_classes,), int64)), (0, 1))
    else:
        classes = apply("arange", num_classes, dtype=int64, device=meta.device)
    found = apply("eq.Tensor", apply("unsqueeze", apply("contiguous", self), -1), classes)
    return apply("to.dtype", found, int64)


def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(a row for each bag, the bag of each index, the sizes of the bags, where each maximum came from).

    Bag k holds the indices from offset k to the next; those equal to `padding_idx`, which counts from the end if it is
    negative, do not count. The three other results are empty or zeros where the mode does not need them. Raises
    RuntimeError for what does not fit, IndexError for a row that there is not.
    """
    _check_bags(weight, indices, offsets, mode, per_sample_weights)
    rows, width = weight.meta.sizes
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"embedding_bag(): padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, "
                f"but got {padding_idx}"
            )
        padding_idx %= rows
    device = check_same_device("embedding_bag", weight, indices, offsets)
    both: DType = int64 if int64 in (indices.meta.dtype, offsets.meta.dtype) else int32
    count, starts_given = indices.meta.numel, offsets.meta.numel
    bags = starts_given - 1 if include_last_offset else starts_given
    result = empty_tensor((bags, width), weight.meta.dtype, device)
    lengths_given = starts_given if mode == SUM else bags
    place_sizes = (bags, width) if mode == MAX else (lengths_given,)
    rest = ((0,) if mode == SUM else (count,), (lengths_given,), place_sizes)
    owner, lengths, places = (empty_tensor(sizes, both, device) for sizes in rest)
    if device is not cpu:
        return result, owner, lengths, places
    flat, begins, every = values(indices), values(offsets), np.arange(count)
    owners = np.searchsorted(begins[:bags], every, "right") - 1
    used = every < (begins[-1] if include_last_offset and starts_given else count if bags else 0)
    counted = used & (flat != padding_idx) if padding_idx is not None else used
    kept, sizes = flat[counted], np.bincount(owners[counted], minlength=bags)
    _check_range("embedding_bag", kept, rows)
    read = widened(values(weight)[kept], weight.meta.dtype)
    if per_sample_weights is not None:
        read = read * values(per_sample_weights)[counted].astype(read.dtype)[:, None]
    filled = sizes > 0
    firsts = (np.cumsum(sizes) - sizes)[filled]
    total = np.zeros((bags, width), read.dtype)
    with np.errstate(all="ignore"):
        if firsts.size:
            total[filled] = (np.maximum if mode == MAX else np.add).reduceat(read, firsts, axis=0)
        array_of(result)[...] = total / np.maximum(sizes, 1)[:, None].astype(read.dtype) if mode == MEAN else total
    if mode != SUM:
        array_of(owner)[...] = np.where(used, owners, 0)
    array_of(lengths)[...] = 0 if mode == SUM else sizes
    array_of(places)[...] = 0 if mode == MAX else array_of(lengths)
    if mode == MAX:
        for bag, first in zip(np.nonzero(filled)[0], firsts, strict=True):
            array_of(places)[bag] = kept[first + np.argmax(read[first : first + sizes[bag]], axis=0)]
    return result, owner, lengths, places


def _check_bags(weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, scale: Tensor | None) -> None:
    name = "embedding_bag"
    _check_indices(name, "indices", indices)
    _check_indices(name, "offsets", offsets)
    check_dtype(name, weight)
    for label, tensor, dims in (("weight", weight, 2), ("indices", indices, 1), ("offsets", offsets, 1)):
        if tensor.meta.ndim != dims:
            raise RuntimeError(f"{name}(): {label} has to be a {dims}D Tensor, but got {tensor.meta.ndim}D")
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError(f"{name}(): mode has to be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    if scale is not None:
        if mode != SUM:
            raise RuntimeError(f"{name}(): embedding_bag: per_sample_weights only supported with mode='sum'")
        if scale.meta.sizes != indices.meta.sizes:
            raise RuntimeError(
                f"{name}(): expected per_sample_weights to have the same shape as indices "
                f"{list(indices.meta.sizes)}, but got {list(scale.meta.sizes)}"
            )
    if offsets.meta.device is cpu and offsets.meta.numel:
        starts = values(offsets)
        if starts[0] != 0:
            raise RuntimeError(
                f"{name}(): offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                f"position 0. However, got {starts[0]}"
            )
        if starts[-1] > indices.meta.numel:
            raise RuntimeError(
                f"{name}(): offsets[-1] can not be greater than input's length {indices.meta.numel} but got "
                f"offsets[-1] of {starts[-1]}"
            )
