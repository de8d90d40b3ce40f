"""Mutants of the chapter on layouts: tensors in coordinate and in compressed form that are not what they should be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..backend import Array, DType
from .mutant import Intercepted, Patch, rows
from .patches import accepts


def _is_sparse(x: Any) -> bool:
    return bool(getattr(x, "is_sparse", False))


def _layout(x: Any) -> str:
    return str(getattr(x, "layout", "strided")).rpartition(".")[2]


def _coo(then: Callable[[Intercepted], Any], place: int = 0) -> Patch:
    """Only calls with a tensor in coordinate form at a place."""
    return lambda c: then(c) if len(c.args) > place and _is_sparse(c.args[place]) else c.right()


def _parts(c: Intercepted, x: Any) -> tuple[Array, Array]:
    return c.array(c.do("_indices", x)), c.array(c.do("_values", x))


def _made(c: Intercepted, indices: Array, values: Array, sizes: Any) -> Any:
    return c.do("sparse_coo_tensor", c.tensor(indices), c.tensor(values), tuple(sizes))


def _last_wins(c: Intercepted, x: Any) -> Array:
    """The elements if of equal indices the last one counted."""
    indices, values = _parts(c, x)
    made = np.zeros(tuple(x.shape), values.dtype)
    for column, value in zip(indices.T, values, strict=True):
        made[tuple(column)] = value
    return made


def _without_nan(c: Intercepted) -> Any:
    """Elements that are NaN are taken for zeros."""
    x = c.args[0]
    return c.instead(c.do("nan_to_num", x) if c.do("is_floating_point", x) else x, *c.args[1:], **c.kwargs)


def _without_zeros(c: Intercepted) -> Any:
    """Sums that are zero are not specified any more."""
    done = c.right()
    indices, values = _parts(c, done)
    kept = values.reshape(len(values), -1).any(axis=1)
    return _marked(c, indices[:, kept], values[kept], done.shape)


def _marked(c: Intercepted, indices: Array, values: Array, sizes: Any) -> Any:
    return c.do("sparse_coo_tensor", c.tensor(indices), c.tensor(values), tuple(sizes), is_coalesced=True)


def _reversed(c: Intercepted) -> Any:
    """The columns in falling order."""
    done = c.right()
    indices, values = _parts(c, done)
    return _marked(c, indices[:, ::-1].copy(), values[::-1].copy(), done.shape)


def _unsummed(c: Intercepted) -> Any:
    """Of equal columns the last is kept."""
    done, x = c.right(), c.args[0]
    found = {tuple(column): value for column, value in zip(_parts(c, x)[0].T.tolist(), _parts(c, x)[1], strict=True)}
    indices, values = _parts(c, done)
    kept = [found[tuple(column)] for column in indices.T.tolist()]
    return _marked(c, indices, np.array(kept, values.dtype).reshape(values.shape), done.shape)


def _with_options(**changed: Any) -> Patch:
    """The call with other options; an option that is None is left out."""

    def patch(c: Intercepted) -> Any:
        options = {**c.kwargs, **{name: value for name, value in changed.items() if name in c.kwargs}}
        return c.instead(*c.args, **{name: value for name, value in options.items() if value is not None})

    return patch


def _larger(c: Intercepted) -> Any:
    """Sizes that are not given are one too large."""
    if len(c.args) != 2:
        return c.right()
    found = c.right().shape
    split = c.args[0].shape[0] if hasattr(c.args[0], "shape") else len(c.args[0])
    sizes = [size + 1 if dim < split else size for dim, size in enumerate(found)]
    return c.instead(*c.args, tuple(sizes), **c.kwargs)


def _around_the_end(c: Intercepted) -> Any:
    """Negative indices count from the end."""
    indices = c.array(c.args[0])
    return c.do(c.operator, c.tensor(np.abs(indices)), *c.args[1:], **c.kwargs)


def _cut(c: Intercepted) -> Any:
    """What is too much of indices or values is left out."""
    indices, values = c.array(c.args[0]), c.array(c.args[1])
    count = min(indices.shape[-1], len(values))
    return c.do(c.operator, c.tensor(indices[..., :count]), c.tensor(values[:count]), *c.args[2:], **c.kwargs)


def _copied_values(c: Intercepted) -> Any:
    if len(c.args) < 2 or not c.is_tensor(c.args[1]):
        return c.right()
    return c.instead(c.args[0], c.do("clone", c.args[1]), *c.args[2:], **c.kwargs)


def _empty_is_refused(c: Intercepted) -> Any:
    if not c.do("_nnz", c.args[0]):
        c.refuse(RuntimeError, "no specified element")
    return c.right()


def _one_by_one(c: Intercepted) -> Any:
    """The operator acts on values whose indices repeat."""
    x = c.args[0]
    indices, _ = _parts(c, x)
    return _made(c, indices, c.array(c.do(c.operator, c.do("_values", x), *c.args[1:])), x.shape)


def _dense_result(c: Intercepted) -> Any:
    done = c.right()
    return c.do("to_dense", done) if _is_sparse(done) else done


def _of_dense(c: Intercepted) -> Any:
    """The operator on strided operands."""
    return c.do(c.operator, *[c.do("to_dense", a) if _is_sparse(a) else a for a in c.args], **c.kwargs)


def _without_alpha(c: Intercepted) -> Any:
    mixed = not _is_sparse(c.args[0]) and len(c.args) > 1 and _is_sparse(c.args[1])
    return c.instead(*c.args) if mixed else c.right()


def _wrapped_index(c: Intercepted) -> Any:
    x, dim, index = c.args
    return c.do(c.operator, x, dim, index % max(x.shape[dim], 1)) if x.shape[dim] else c.right()


def _first_of_equal(c: Intercepted) -> Any:
    """Of values with equal indices one is selected."""
    x = c.args[0]
    return c.do(c.operator, c.tensor(_last_wins(c, x)), *c.args[1:])


def _product_of_last(c: Intercepted) -> Any:
    """Of equal indices the last value takes part in the product."""
    x, y = c.args
    return c.do(c.operator, c.tensor(_last_wins(c, x)), c.do("to_dense", y) if _is_sparse(y) else y)


def _other_dim(c: Intercepted) -> Any:
    x, (dim,) = c.args
    return c.do(c.operator, x, ((dim + 1) % x.dim(),)) if x.dim() > 1 else c.right()


def _unswapped(c: Intercepted) -> Any:
    """Sizes are swapped, indices are not."""
    done, x = c.right(), c.args[0]
    indices, values = _parts(c, x)
    limits = np.array(done.shape[: len(indices)])
    inside = bool(np.less(indices.T, limits).all())
    return _made(c, indices, values, done.shape) if inside else done


def _sparse_gradient(c: Intercepted) -> Any:
    done = c.right()
    return c.do("to_sparse", done) if c.is_tensor(done) and not _is_sparse(done) else done


def _last_step(c: Intercepted) -> Any:
    """Of equal indices the last value is added."""
    x, y = c.args
    return c.do(c.operator, x, c.tensor(_last_wins(c, y)), **c.kwargs)


def _counts(c: Intercepted) -> Any:
    """How many entries each row has, behind a zero."""
    pointers = c.array(c.right())
    if pointers.ndim != 1:
        return c.right()
    return c.tensor(np.concatenate([np.zeros(1, pointers.dtype), np.diff(pointers).astype(pointers.dtype)]))


def _first_of_batch(c: Intercepted) -> Any:
    x, dim, _ = c.args
    batched = _layout(x) == "sparse_csr" and x.dim() == 3 and dim == 0
    return c.instead(x, 0, 0) if batched else c.right()


def _turned_blocks(c: Intercepted) -> Any:
    done = c.right()
    return c.do("transpose.int", done, 1, 2) if done.dim() == 3 else done


def _columns_as_rows(c: Intercepted) -> Any:
    """The rows of columns are given in falling order."""
    plain = c.array(c.right())
    return c.tensor(plain[::-1].copy())


def _of_elements(c: Intercepted) -> Any:
    return c.do(c.operator, c.args[0], (1, 1))


def _same_form(c: Intercepted) -> Any:
    """The transpose is converted back to the form that it had."""
    done, form = c.right(), _layout(c.args[0])
    return c.do(f"to_{form}", done) if form in ("sparse_csr", "sparse_csc") else done


def _compressed_result(c: Intercepted) -> Any:
    """The product with a strided matrix is compressed too."""
    done = c.right()
    return c.do("to_sparse_csr", done) if _layout(c.args[0]) == "sparse_csr" and _layout(done) == "strided" else done


def _falling_columns(c: Intercepted) -> Any:
    """The columns of each row are in falling order."""
    done = c.right()
    if _layout(done) != "sparse_csr":
        return done
    pointers, plain, values = (c.array(c.do(name, done)) for name in ("crow_indices", "col_indices", "values"))
    lines = [np.arange(end - 1, begin - 1, -1) for begin, end in pairwise(pointers.tolist())]
    order = np.concatenate([np.empty(0, np.int64), *lines])
    given = c.tensor(pointers), c.tensor(plain[order]), c.tensor(values[order]), tuple(done.shape)
    return c.do("sparse_csr_tensor", *given)


_MAKE = ("sparse_coo_tensor",)
def _alpha_of_the_first(c: Intercepted) -> Any:
    """`alpha` multiplies a first operand in compressed form."""
    alpha, (first, second) = c.kwargs.get("alpha", 1), c.args[:2]
    if alpha == 1 or not c.is_tensor(second) or c.backend.is_strided(first) or not c.backend.is_strided(second):  # type: ignore[attr-defined]
        return c.right()
    return c.do("add.Tensor", second, first, alpha=alpha)


MUTANTS = (
    *rows(
        "layouts",
        ("conversion-drops-nan", "layouts/dense-to-sparse-and-back-is-exact", ("to_sparse",), _without_nan),
        ("compression-drops-nan", "layouts/compressed-and-back-is-exact",
         ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"), _without_nan),
        ("specified-elements-are-counted-in-blocks", "layouts/coo-parts-have-shapes", ("_nnz",),
         _coo(lambda c: int(c.array(c.do("_values", c.args[0])).size))),
        ("dense-dims-count-as-sparse", "layouts/coo-parts-have-shapes", ("sparse_dim",),
         _coo(lambda c: c.args[0].dim())),
        ("of-equal-indices-the-last-counts", "layouts/duplicate-indices-add-up", ("to_dense",),
         _coo(lambda c: c.tensor(_last_wins(c, c.args[0])))),
        ("coalescing-drops-zeros", "layouts/coalesce-sums-and-sorts", ("coalesce",), _coo(_without_zeros)),
        ("coalescing-sorts-downwards", "layouts/coalesce-sums-and-sorts", ("coalesce",), _coo(_reversed)),
        ("coalescing-keeps-the-last", "layouts/coalesce-sums-and-sorts", ("coalesce",), _coo(_unsummed)),
        ("coalescing-copies", "layouts/coalesced-tensor-is-given-back", ("coalesce",),
         _coo(lambda c: c.do("clone", c.right()))),
        ("nothing-is-known-to-be-coalesced", "layouts/coalesced-tensor-is-given-back", ("is_coalesced",),
         _coo(lambda c: False)),
        ("parts-are-given-as-they-are", "layouts/parts-of-uncoalesced-tensor-are-refused", ("indices", "values"),
         _coo(accepts(RuntimeError, lambda c: c.do(f"_{c.operator}", c.args[0])))),
        ("inferred-sizes-are-one-too-large", "layouts/coo-size-follows-the-indices", _MAKE, _larger),
        ("negative-indices-count-from-the-end", "layouts/coo-size-follows-the-indices", _MAKE,
         accepts(RuntimeError, _around_the_end)),
        ("parts-are-cut-to-fit", "layouts/coo-parts-must-fit", _MAKE, accepts(RuntimeError, _cut)),
        ("coordinates-are-never-checked", "layouts/coo-invariants-are-checked-on-demand", _MAKE,
         _with_options(check_invariants=False)),
        ("claims-of-order-are-believed", "layouts/coo-invariants-are-checked-on-demand", _MAKE,
         lambda c: _with_options(check_invariants=False)(c) if c.kwargs.get("is_coalesced") else c.right()),
        ("coordinates-are-int32", "layouts/coo-indices-are-int64 layouts/coo-parts-have-shapes", ("_indices",),
         _coo(lambda c: c.do("to.dtype", c.right(), DType("int32")))),
        ("values-are-copied", "layouts/coo-shares-its-values", _MAKE, _copied_values),
        ("clones-share-their-parts", "layouts/coo-shares-its-values", ("clone",),
         _coo(lambda c: c.do("detach", c.args[0]))),
        ("sums-of-nothing-are-refused", "layouts/empty-sparse-tensors-are-legal", ("sum",), _coo(_empty_is_refused)),
        ("results-are-strided", "layouts/layout-is-a-property-of-the-tensor", ("neg", "clone", "double"),
         _dense_result),
        ("sparse-tensors-are-contiguous", "layouts/strided-only-calls-are-refused", ("is_contiguous",),
         _coo(lambda c: True)),
        ("sparse-tensors-are-viewed-as-strided-ones", "layouts/strided-only-calls-are-refused", ("view",),
         _coo(accepts(RuntimeError, _of_dense))),
        ("numpy-gets-the-strided-elements", "layouts/strided-only-calls-are-refused", ("numpy",),
         _coo(accepts(TypeError, _of_dense))),
        ("selected-indices-wrap", "layouts/select-of-sparse-is-the-row", ("select",),
         _coo(accepts(IndexError, _wrapped_index))),
        ("of-equal-indices-one-is-selected", "layouts/select-of-sparse-is-the-row", ("select",), _coo(_first_of_equal)),
        ("sparse-plus-strided-is-strided", "layouts/sums-of-layouts", ("add.Tensor", "sub.Tensor", "add.Scalar"),
         _coo(accepts(RuntimeError, _of_dense))),
        ("factors-of-sparse-terms-are-lost", "layouts/sums-of-layouts", ("add.Tensor",), _without_alpha),
        ("sums-of-sparse-are-strided", "layouts/sums-of-layouts", ("add.Tensor",), _coo(_dense_result)),
        ("products-with-sparse-are-strided", "layouts/products-stay-sparse", ("mul.Tensor",), _dense_result),
        ("of-equal-indices-the-last-is-multiplied", "layouts/sparse-matrix-products-are-exact", ("mm", "mv"),
         _coo(_product_of_last)),
        ("products-of-sparse-matrices-are-strided", "layouts/sparse-matrix-products-are-exact", ("mm",), _dense_result),
        ("values-of-equal-indices-are-changed-one-by-one", "layouts/unary-operators-that-keep-zero-act-on-values",
         ("abs", "square", "relu", "sin"), _coo(_one_by_one)),
        ("zeros-are-forgotten-where-they-move", "layouts/unary-operators-that-move-zero-are-refused",
         ("cos", "exp", "sigmoid", "reciprocal"), _coo(accepts(NotImplementedError, _one_by_one))),
        ("transposes-keep-their-indices", "layouts/transpose-of-sparse-swaps-indices", ("transpose", "t"),
         _coo(_unswapped)),
        ("sums-go-over-the-next-dim", "layouts/sum-of-sparse-is-that-of-its-values", ("sum.dim_IntList",),
         _coo(_other_dim)),
        ("sums-of-sparse-count-indices-once", "layouts/sum-of-sparse-is-that-of-its-values", ("sum",),
         lambda c: c.do("sum", c.tensor(_last_wins(c, c.args[0]))) if _is_sparse(c.args[0]) and len(c.args) == 1
         else c.right()),
        ("gradients-of-embeddings-are-strided", "layouts/embedding-gradient-is-sparse", ("grad",), _dense_result),
        ("sums-of-gradients-are-sparse", "layouts/sparse-gradients-accumulate layouts/embedding-gradient-is-sparse",
         ("grad",), _sparse_gradient),
        ("steps-take-the-last-of-equal-rows", "layouts/sparse-gradient-steps-a-dense-parameter", ("add_",),
         _coo(_last_step, 1)),
        ("conversion-forgets-its-history", "layouts/gradients-reach-what-is-specified", ("to_dense",),
         _coo(lambda c: c.do("detach", c.right()))),
        ("values-forget-their-history", "layouts/gradients-reach-what-is-specified", ("values",),
         _coo(lambda c: c.do("detach", c.right()))),
        ("strided-factors-get-no-gradient", "layouts/sparse-products-have-gradients", ("mm", "matmul"),
         _coo(lambda c: c.instead(c.args[0], c.do("detach", c.args[1])))),
        ("pointers-count-each-row", "layouts/csr-rows-own-their-entries", ("crow_indices",), _counts),
        ("compressed-parts-are-never-checked", "layouts/compressed-invariants-are-checked-on-demand",
         ("sparse_csr_tensor",), _with_options(check_invariants=False)),
        ("pointers-are-int64", "layouts/csr-indices-have-one-dtype", ("crow_indices",),
         lambda c: c.do("to.dtype", c.right(), DType("int64"))),
        ("every-batch-is-the-first", "layouts/csr-may-be-batched", ("select",), _first_of_batch),
        ("blocks-are-turned", "layouts/compressed-columns-and-blocks-follow-the-rule", ("values",), _turned_blocks),
        ("rows-of-columns-fall", "layouts/compressed-columns-and-blocks-follow-the-rule", ("row_indices",),
         _columns_as_rows),
        ("blocks-that-do-not-fit-are-elements", "layouts/blocks-divide-the-sizes", ("to_sparse_bsr", "to_sparse_bsc"),
         accepts(RuntimeError, _of_elements)),
        ("transposes-keep-the-form", "layouts/transpose-of-compressed-swaps-the-form", ("transpose",), _same_form),
        ("products-with-compressed-are-compressed", "layouts/compressed-products-are-exact", ("mm",),
         _compressed_result),
        ("alpha-multiplies-the-compressed-matrix", "layouts/compressed-sums-are-exact", ("add",), _alpha_of_the_first),
        ("columns-of-products-fall", "layouts/compressed-results-keep-the-invariants", ("mm",), _falling_columns),
    ),
)
