"""Rows of a table, and bags of rows: their sum, mean or maximum."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from ...core.away import long_call
from ...core.device import cpu, meta_device
from ...core.dtype import DType, bool_, float32, int32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...kernels.conversion import is_half
from ...kernels.embedding_bag import MAX, SUM, bags_kernel, in_registers
from ...kernels.histogram import limits_kernel
from ...tensor.reshaping import contiguous
from ...tensor.scalars import item
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..arrays import Array, check_same_device, values
from ..composition import Part, composite
from ..conversion import host
from ..fill import full_of
from ..invoke import apply
from ..loop_plan import LoopPlan, picking
from ..plan import Planned, plannable
from ..pointwise import formula_kernel
from ..ranges import count_by
from .calls import check_dtype, made

FEW = 1024
"""Classes up to which a plan is kept with their numbers."""
SMALL = 1024
"""Elements of a table that is gone through as a whole, rather than that rows are picked."""
STEPS = 4
"""Steps of work that an element of a row of a bag takes, about."""


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


@composite
def embedding_renorm_(part: Part, self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows that indices name shortened in place to a norm of `max_norm` at most."""
    _check_indices("embedding_renorm_", "indices", indices)
    if self.meta.ndim != 2:
        raise RuntimeError(f"embedding_renorm_(): 'self' must be 2-D, got {self.meta.ndim}-D")
    count, dtype = indices.meta.numel, self.meta.dtype
    if count and dtype.kind < 2:
        raise RuntimeError(
            f"embedding_renorm_(): norm(): input dtype should be either floating point or complex. Got "
            f"{UPSTREAM_NAMES[dtype.name]} instead."
        )
    if self.meta.device is cpu:
        part.check(_check_rows, indices, self.meta.sizes[0])
    if not self.meta.numel:
        return part("zero_", self)
    places = part("to.dtype", part("reshape", indices, (count,)), int64)
    whole = count >= self.meta.sizes[0] or self.meta.numel <= SMALL
    # The same row may be named again: all are read before any is written.
    rows = self if whole else part("index_select", self, 0, places)
    compute = float32 if is_half(dtype) else dtype.to_real()
    norm = part("linalg_vector_norm", rows, norm_type, (1,), True, dtype=compute if is_half(dtype) else None)
    if whole:
        marks = contiguous_meta((self.meta.sizes[0], 1), bool_, self.meta.device)
        none = part.constant(full_of("zeros", marks, 0))
        named = part("scatter.value", none, 0, part("unsqueeze", places, 1), True)
        factor = made(part, "shortening.named", [norm.meta], (norm, named), compute, (max_norm,))
        return part("mul_.Tensor", self, factor)
    factor = made(part, "shortening", [norm.meta], (norm,), compute, (max_norm,))
    return part("index_copy_", self, 0, places, part("to.dtype", part("mul.Tensor", rows, factor), dtype))


def _check_rows(indices: Tensor, rows: int) -> None:
    _check_range("embedding_renorm_", values(indices), rows)


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
        least, largest = _limits(self)
        if least < 0:
            raise RuntimeError(f"one_hot(): Class values must be non-negative, got {least}")
        if num_classes == -1:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise RuntimeError(
                f"one_hot(): Class values must be smaller than num_classes, got {largest} of {num_classes}"
            )
    if meta.device is cpu:
        plans: dict[Any, Any] = meta.plans if num_classes <= FEW else {}
        plan = recalled(plans, ("one_hot", num_classes), _one_hot, meta, num_classes)
        found: Tensor = plan.planned(self).result
        return found
    classes = apply("arange", num_classes, dtype=int64, device=meta.device)
    return apply("to.dtype", apply("eq.Tensor", apply("unsqueeze", self, -1), classes), int64)


def _limits(self: Tensor) -> tuple[int, int]:
    """Return the smallest and the largest of the int64 elements, of which there are some."""
    meta = self.meta
    if meta.device is not cpu or not meta.contiguous:
        given = host(self)
        return item(apply("min", given)), item(apply("max", given))
    cells = array("q", (-1, 0))
    long_call(meta.numel, limits_kernel(int64))(cells.buffer_info()[0], self.pointer, 1, meta.numel, 0, 8)
    largest, least = cells
    return least, largest


def _one_hot(meta: TensorMeta, num_classes: int) -> LoopPlan:
    plan = LoopPlan([meta], [contiguous_meta((*meta.sizes, num_classes), int64)])
    classes = plan.constant(count_by(new_like(contiguous_meta((num_classes,), int64)), (0, 1)))
    (result,), (given,) = plan.results, plan.inputs
    repeated = given._replace(sizes=result.sizes, strides=(*given.strides, 0))
    plan.loop(formula_kernel("eq", [int64, int64], int64, int64), [result], [repeated, classes.expanded(result.sizes)])
    return plan


@plannable
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor] | Planned[tuple[Tensor, Tensor, Tensor, Tensor]]:  # fmt: skip
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
    lengths_given = starts_given if mode == SUM else bags
    place_sizes = (bags, width) if mode == MAX else (lengths_given,)
    rest = ((0,) if mode == SUM else (count,), (lengths_given,), place_sizes)
    metas = [contiguous_meta((bags, width), weight.meta.dtype, device)]
    metas += [contiguous_meta(sizes, both, device) for sizes in rest]
    if device is not cpu:
        return tuple(map(new_like, metas))  # type: ignore[return-value]
    if not bags:
        _check_offsets(offsets, count)
        return tuple(full_of("zeros", one, 0) for one in metas)  # type: ignore[return-value]
    taken = (weight, indices, offsets, *(() if per_sample_weights is None else (per_sample_weights,)))
    key = ("bags", *[one.meta for one in taken[1:]], mode, include_last_offset, padding_idx)

    def check(weight: Tensor, indices: Tensor, offsets: Tensor, *_: Tensor) -> None:
        _check_offsets(offsets, count)
        used = int(values(offsets)[-1]) if include_last_offset else count
        _check_range("embedding_bag", values(indices)[:used], rows)

    given = [one.meta for one in taken]
    fresh = recalled(weight.meta.plans, key, _bags_plan, given, metas, mode, include_last_offset, padding_idx).fresh
    return Planned.unrun(fresh, taken, fresh.native(), taken, check=check)


def _bags_plan(
    given: Sequence[TensorMeta], results: Sequence[TensorMeta], mode: int, include_last_offset: bool,
    padding: int | None,
) -> LoopPlan:  # fmt: skip
    """Return the plan for weight, indices, offsets and perhaps what the rows are scaled by."""
    plan = LoopPlan(given, results)
    plan.refusing = True
    weight, indices, offsets, *scale = given
    written = [*plan.results] if mode != SUM else plan.results[:1]
    if mode == SUM:
        for view in plan.results[2:]:
            plan.fill(view, 0)
    elif include_last_offset:
        plan.fill(plan.results[1], 0)
    adjacent = weight.strides[1] == 1
    if is_half(weight.dtype) and not in_registers(mode, adjacent):
        written.append(plan.temporary(contiguous_meta((weight.sizes[1],), float32)))
    factor = scale[0].dtype if scale else None
    kernel = bags_kernel(weight.dtype, indices.dtype, offsets.dtype, results[1].dtype, mode, factor, adjacent)
    steps = *weight.byte_strides, *indices.byte_strides, *(scale[0].byte_strides if scale else (0,))
    numbers = *weight.sizes, *steps, offsets.numel, indices.numel, -1 if padding is None else padding
    # Owners go with the indices; there is one row of wider floats.
    apart = [view.strides[0] for view in written]
    apart[1:2], apart[4:] = [0] * len(apart[1:2]), [0] * len(apart[4:])
    strides = *apart, 0, 0, offsets.byte_strides[0], *(0 for _ in scale)
    work = STEPS * indices.numel * weight.sizes[1]
    plan.kernel(long_call(work, kernel), [*written, *plan.inputs], (*numbers, 1, results[0].sizes[0], *strides))
    return plan


def _check_bags(weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, scale: Tensor | None) -> None:
    name = "embedding_bag"
    _check_indices(name, "indices", indices)
    _check_indices(name, "offsets", offsets)
    check_dtype(name, weight)
    for label, tensor, dims in (("weight", weight, 2), ("indices", indices, 1), ("offsets", offsets, 1)):
        if tensor.meta.ndim != dims:
            raise RuntimeError(f"{name}(): {label} has to be a {dims}D Tensor, but got {tensor.meta.ndim}D")
    if mode not in range(3):
        raise RuntimeError(f"{name}(): mode has to be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    if scale is not None:
        if mode != SUM:
            raise RuntimeError(f"{name}(): embedding_bag: per_sample_weights only supported with mode='sum'")
        if scale.meta.sizes != indices.meta.sizes:
            raise RuntimeError(
                f"{name}(): expected per_sample_weights to have the same shape as indices "
                f"{list(indices.meta.sizes)}, but got {list(scale.meta.sizes)}"
            )


def _check_offsets(offsets: Tensor, count: int) -> None:
    name = "embedding_bag"
    if offsets.meta.numel:
        starts = values(offsets)
        if starts[0] != 0:
            raise RuntimeError(
                f"{name}(): offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                f"position 0. However, got {starts[0]}"
            )
        if starts[-1] > count:
            raise RuntimeError(
                f"{name}(): offsets[-1] can not be greater than input's length {count} but got "
                f"offsets[-1] of {starts[-1]}"
            )
