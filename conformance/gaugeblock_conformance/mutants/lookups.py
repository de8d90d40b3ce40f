"""Losses, norms, lookups and writes by index that take some values of an argument, or some operands, for others."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ..backend import Array, dtype_name
from .arguments import changed, default
from .mutant import Intercepted, Patch, rows
from .patches import values, with_data
from .target import ROW

_NORMS = ("norm", "linalg_vector_norm")
_SCATTERS = ("scatter.src", "scatter.reduce", "scatter_add", "scatter_reduce.two")
_SPREADS = ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
_MANY = 1024
_CTC = ("_ctc_loss", "ctc_loss")


def _finite(p: Any) -> Any:
    return 8.0 if p == inf else p


def _largest(p: Any) -> Any:
    return inf if p == -inf else p


def _of_chances(name: str, value: Any) -> Patch:
    """``cross_entropy_loss`` with another argument where the targets are chances."""
    other = changed(name, lambda given: value)
    return with_data(lambda c: c.right() if c.array(c.args[1]).dtype.kind == "i" else other(c))


def _all_from_the_first(c: Intercepted) -> Any:
    """Labels that stand in a row are read from the first on for every sequence."""
    labels, lengths = c.args[1], c.args[3]
    if len(c.backend.shape(labels)) != 1 or len(c.backend.shape(c.args[0])) != 3:
        return c.right()
    count = len(c.array(lengths) if c.is_tensor(lengths) else lengths)
    rows = np.repeat(c.array(labels)[None], count, 0)
    return c.instead(c.args[0], c.tensor(rows), *c.args[2:], **c.kwargs)


def _packed_labels(c: Intercepted) -> Any:
    """Labels that stand in a row are read as if nothing lay between them."""
    sizes, strides, offset = c.geometry(c.args[1])
    if len(sizes) != 1 or strides == (1,):
        return c.right()
    return c.instead(c.args[0], c.restride(c.args[1], sizes, (1,), offset), *c.args[2:], **c.kwargs)


def _refused_if_turned(c: Intercepted) -> Any:
    """Columns before rows are refused."""
    test = c.args[1]
    strides = c.geometry(test)[1] if c.is_tensor(test) else ()
    if strides != tuple(sorted(strides, reverse=True)):
        c.refuse(RuntimeError, "test elements must be viewable as one row")
    return c.right()


def _rounded_at_each_step(array: Array, c: Intercepted) -> Array | None:
    """Sums of many half floats are rounded to half at each step."""
    x = c.array(c.args[0])
    if array.size != 1 or x.size < _MANY or dtype_name(x.dtype) not in ("float16", "bfloat16"):
        return None
    return x.reshape(-1).cumsum(dtype=x.dtype)[-1:].reshape(array.shape)


def _packed_source(c: Intercepted) -> Any:
    """A source larger than the index is read element by element, whatever its rows are."""
    index, source = c.args[2], c.args[3]
    sizes = c.backend.shape(index)
    if c.inplace or not sizes or c.backend.shape(source) == sizes:
        return c.right()
    flat = c.array(source).reshape(-1)[: int(np.prod(sizes))].reshape(sizes)
    return c.instead(*c.args[:3], c.tensor(np.ascontiguousarray(flat)), *c.args[4:], **c.kwargs)


def _added_once(c: Intercepted) -> Any:
    """Of elements that are added to one place the last alone counts."""
    if c.inplace or len(c.args) < 4 or not c.args[3]:
        return c.right()
    x, places, source = (c.array(t) for t in c.args[:3])
    y = x.reshape(-1).copy()
    y[places.reshape(-1)] = x.reshape(-1)[places.reshape(-1)] + source.reshape(-1)
    return c.tensor(y.reshape(x.shape))


def _wide_places(place: int) -> Patch:
    """Places of 32 bits are all taken for the first."""

    def patch(c: Intercepted) -> Any:
        if c.inplace or dtype_name(c.array(c.args[place]).dtype) != "int32":
            return c.right()
        zeros = c.tensor(np.zeros_like(c.array(c.args[place])))
        return c.instead(*c.args[:place], zeros, *c.args[place + 1 :], **c.kwargs)

    return with_data(patch)


def _empty_last_bag(c: Intercepted) -> Any:
    """The bag behind the last offset is empty."""
    result = c.right()
    bags = c.array(result[0])
    if len(c.args) < 3 or not c.has_data or not bags.size or len(bags) != len(c.array(c.args[2])):
        return result
    bags[-1] = 0
    c.put(result[0], bags)
    return result


def _exchanged_groups(c: Intercepted) -> Any:
    """Heads of queries meet the keys of other groups."""
    heads = [c.backend.shape(x)[-3] if len(c.backend.shape(x)) > 2 else 1 for x in c.args[:2]]
    if not c.kwargs.get("enable_gqa") or heads[0] == heads[1]:
        return c.right()
    turned = [c.tensor(np.ascontiguousarray(np.flip(c.array(x), -3))) for x in c.args[1:3]]
    return c.instead(c.args[0], *turned, *c.args[3:], **c.kwargs)


def _added_mask(c: Intercepted) -> Any:
    """A mask of bools is added as ones and zeros."""
    mask = c.args[3] if len(c.args) > 3 else None
    if not c.is_tensor(mask) or c.array(mask).dtype != bool:
        return c.right()
    added = c.tensor(c.array(mask).astype(c.array(c.args[0]).dtype))
    return c.instead(*c.args[:3], added, *c.args[4:], **c.kwargs)


def _grown_by_zeros(c: Intercepted) -> Any:
    """What a mask makes larger is zero behind the first elements."""
    result = c.right()
    if c.inplace or not c.is_tensor(result) or len(c.backend.shape(result)) < 1:
        return result
    before, after = c.backend.shape(c.args[0]), c.backend.shape(result)
    if before == after or not c.array(result).size:
        return result
    y = c.array(result).copy()
    y.reshape(-1)[int(np.prod(before)) :] = 0
    return c.put(result, y)


def _of_other_dtype(c: Intercepted) -> Any:
    """Elements of another dtype are read as ones of the first."""
    source = c.args[1]
    if not c.is_tensor(source) or c.backend.dtype(source) == c.backend.dtype(c.args[0]):
        return c.right()
    return c.instead(c.args[0], c.tensor(np.ones_like(c.array(source))), *c.args[2:], **c.kwargs)


def _first_row_of_draws(c: Intercepted) -> Any:
    result = c.right()
    return c.do("select.int", result, 0, 0) if len(c.backend.shape(result)) == 2 else result


def _of_the_sizes_of_the_first(c: Intercepted) -> Any:
    """Draws have the sizes of the first operand, whatever the second's are."""
    result = c.right()
    sizes = c.backend.shape(c.args[0])
    return result if c.backend.shape(result) == sizes or not c.array(result).size else c.do("clone", c.args[0])


def _spoiled(where: Callable[[Intercepted], bool]) -> Patch:
    return values(lambda array, c: np.roll(array.reshape(-1), 1).reshape(array.shape) if where(c) else None)


def _from_the_end(c: Intercepted) -> bool:
    start = c.args[3] if len(c.args) > 3 else None
    return start is not None and -c.backend.shape(c.args[0])[c.args[2]] < start < 0


MUTANTS = rows(
    "operators",
    ("smooth-losses-have-a-bend", ("smooth_l1_loss",), changed("beta", lambda beta: beta or 1.0)),
    ("chances-are-never-smoothed", ("cross_entropy_loss",), _of_chances("label_smoothing", 0.0)),
    ("chances-have-no-weights", ("cross_entropy_loss",), _of_chances("weight", None)),
    ("triplets-have-finite-orders", ("triplet_margin_loss",), changed("p", _finite)),
    ("angles-have-no-margin-below-zero", ("cosine_embedding_loss",), changed("margin", lambda m: max(m, 0.0))),
    ("labels-in-a-row-are-all-the-first", _CTC, with_data(_all_from_the_first)),
    ("labels-in-a-row-are-packed", ROW, _CTC, _packed_labels),
    ("turned-test-elements-are-refused", ROW, ("isin",),
     _refused_if_turned),
    ("half-nansum-rounds-each-step", ROW, ("nansum",),
     values(_rounded_at_each_step)),
    ("blank-is-never-the-first", _CTC, changed("blank", lambda blank: blank or 4)),
    ("largest-norm-is-of-order-eight", ("norm",), changed("p", _finite)),
    ("largest-vector-norm-is-of-order-eight", ("linalg_vector_norm",), changed("ord", _finite)),
    ("smallest-norm-is-the-largest", ("norm",), changed("p", _largest)),
    ("norms-of-no-order-are-of-one", ("norm.ScalarOpt_dim",), changed("p", lambda p: 1 if p is None else p)),
    ("corrections-are-whole", _SPREADS, changed("correction", lambda c: None if c is None else int(c))),
    ("larger-sources-are-packed", _SCATTERS, with_data(_packed_source)),
    ("put-adds-once", f"operators/accumulating-writes-count-duplicates {ROW}", ("put",), with_data(_added_once)),
    ("narrow-places-are-the-first", ("gather",), _wide_places(2)),
    ("narrow-places-are-written-first", ("scatter.value", "scatter_add"), _wide_places(2)),
    ("masked-growth-is-zero", ("masked_fill", "masked_scatter"), with_data(_grown_by_zeros)),
    ("slices-written-from-the-end-turn", ("slice_scatter",), _spoiled(_from_the_end)),
    ("padding-counts-from-the-front", ("embedding_bag.padding_idx",),
     changed("padding_idx", lambda k: None if k is None or k < 0 else k)),
    ("last-bag-is-empty", ("embedding_bag",), with_data(_empty_last_bag)),
    ("rows-have-finite-norms", ("embedding_renorm_",), changed("norm_type", _finite)),
    ("all-rows-are-apart-by-order-two", ("cdist", "pdist"), changed("p", lambda p: 2.0 if p in (3.0, 0.5) else p)),
    ("nearest-coordinate-is-the-farthest", ("pairwise_distance",), changed("p", _largest)),
    ("queries-meet-other-groups", ("scaled_dot_product_attention",), with_data(_exchanged_groups)),
    ("masks-of-bools-are-added", ("scaled_dot_product_attention",), with_data(_added_mask)),
    ("closeness-forgets-its-margin", ("allclose",), default("atol")),
    ("closeness-forgets-its-share", ("allclose",), default("rtol")),
    ("falling-steps-are-one", "operators/arange-counts-by-its-formula", ("arange.start_step",),
     changed("step", lambda step: -1 if step < 0 else step)),
    ("copies-of-other-dtypes-are-ones",
     "views/copy-broadcasts-and-converts operators/every-operator-gives-what-its-row-says[copy_]", ("copy_",),
     with_data(_of_other_dtype)),
    ("draws-of-rows-are-of-the-first", ("multinomial",), _first_row_of_draws),
    ("draws-have-the-sizes-of-means", ("normal.Tensor_Tensor", "binomial"), with_data(_of_the_sizes_of_the_first)),
    breaks=ROW,
)
