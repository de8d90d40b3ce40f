"""MLX beside the array API standard: other forms of its functions, functions that it lacks, and its own rules.

Sums, products and running sums of integers are missing: of their dtypes the documentation says nothing.
"""

from __future__ import annotations

from ..own_rules import OwnRule
from .expressions import table
from .jax_table import UNJUDGED as JAX_UNJUDGED

LACKS = frozenset(
    """signbit copysign.Tensor nextafter nonzero argwhere isin.Tensor_Tensor linalg_svdvals linalg_matrix_power
    linalg_diagonal linalg_vector_norm linalg_matrix_norm movedim.intlist bitwise_and.Scalar_Tensor
    bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor bitwise_left_shift.Scalar_Tensor
    bitwise_right_shift.Scalar_Tensor""".split()
)

MLX = table(
    """
    # without dtype=
    sum                    f       sum(self)
    sum.dim_IntList        f       sum(self, axis=dim, keepdims=keepdim)
    prod                   f       prod(self)
    prod.dim_int           f       prod(self, axis=dim, keepdims=keepdim)
    cumsum                 f       cumsum(self, axis=dim)
    cumprod                f       cumprod(self, axis=dim)
    # in other forms
    var.correction f var(self, axis=dim, ddof=1 if correction is None else correction, keepdims=keepdim)
    std.correction f std(self, axis=dim, ddof=1 if correction is None else correction, keepdims=keepdim)
    sort                   uif     (sort(self, axis=dim), argsort(self, axis=dim))
    sort.stable            uif     (sort(self, axis=dim), argsort(self, axis=dim))
    argsort                uif     argsort(self, axis=dim)
    argsort.stable         uif     argsort(self, axis=dim)
    to.dtype               buifc   self.astype(dtype)
    clone                  buifc   array(self)
    matmul                 fc      matmul(self, other)
    outer                  fc      outer(self, vec2)
    linalg_qr              f       tuple(linalg.qr(A))
    linalg_svd             f       tuple(linalg.svd(A))
    # beyond the standard
    as_strided             buifc   as_strided(self, size, stride, offset=storage_offset)
    transpose.int          buifc   swapaxes(self, dim0, dim1)
    swapaxes               buifc   swapaxes(self, axis0, axis1)
    squeeze                buifc   squeeze(self)
    flatten.using_ints     buifc   flatten(self, start_axis=start_dim, end_axis=end_dim)
    unflatten.int          buifc   unflatten(self, dim, sizes)
    diagonal               buifc   diagonal(self, offset=offset, axis1=dim1, axis2=dim2)
    diag                   buifc   diag(self, k=diagonal)
    isposinf               f       isposinf(self)
    isneginf               f       isneginf(self)
    nan_to_num             f       nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
    kron                   f       kron(self, other)
    inner                  f       inner(self, other)
    tensordot              f       tensordot(self, other, axes=(dims_self, dims_other))
    trace                  f       trace(self)
    addmm                  f       addmm(self, mat1, mat2, alpha=alpha, beta=beta)
    """
)

# Computed in single precision for float64 too, or their derivatives are: there finite differences say nothing.
_SINGLE = frozenset("exp logaddexp sin cos tan".split())
_NOT_THERE = frozenset(
    """exp2 logaddexp2 hypot sinc deg2rad rad2deg i0 angle fmax fmin fmod.Tensor heaviside nansum nanmean trapezoid.x
    trapezoid.dx quantile ravel rot90 fliplr flipud hstack vstack dstack column_stack dot vdot linalg_multi_dot
    linalg_pinv linalg_eigh""".split()
)

UNJUDGED = {
    **{name: row for name, row in JAX_UNJUDGED.items() if name not in _NOT_THERE | _SINGLE},
    **table(
        """
    deg2rad                f       radians(self)
    rad2deg                f       degrees(self)
    rsqrt                  f       rsqrt(self)
    linalg_pinv            f       linalg.pinv(self)
    linalg_eigh            f       tuple(linalg.eigh(self, UPLO=UPLO))
    """
    ),
}

_INDEX = "https://ml-explore.github.io/mlx/build/html/python/ops.html"
_PAGES = "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core"


def _dtype(function: str, operators: str, dtype: str, sentence: str) -> OwnRule:
    source = f"{_PAGES}.{function}.html"
    return OwnRule("dtypes", tuple(operators.split()), {"int64": dtype}, sentence=sentence, source=source)


def _open(operators: str, condition: str, function: str, sentence: str) -> OwnRule:
    words = f"{sentence} (Of rounding and of the signs of zeros the page says nothing.)"
    source = f"{_PAGES}.{function}.html"
    return OwnRule("values", tuple(operators.split()), (condition,), sentence=words, source=source)


RULES = (
    _dtype("argmax", "argmax max.dim[1]", "uint32", "The uint32 array with the indices of the maximum values."),
    _dtype("argmin", "argmin min.dim[1]", "uint32", "The uint32 array with the indices of the minimum values."),
    _dtype("argsort", "argsort sort[1] sort.stable[1]", "uint32",
           "The uint32 array containing indices that sort the input."),
    _dtype("searchsorted", "searchsorted", "uint32", "A uint32 array with the same shape as values."),
    _dtype("count_nonzero", "count_nonzero", "int32", "The counts as an int32 array."),
    OwnRule("texts", ("*",), sentence="(No page of the API gives the text of an error.)", source=_INDEX),
    OwnRule("refusals", ("*",), (TypeError,), sentence="(The pages name types of arguments, and no error for others.)",
            source=_INDEX),
    OwnRule("sharing", ("to.dtype",), sentence="Cast the array to a specified type. (The page does not say whether it "
            "may be the same one.)", source=f"{_PAGES}.array.astype.html"),
    _open("to.dtype", "last place", "array.astype", "Cast the array to a specified type."),
    _open("linspace", "rounding", "linspace", "Generate num evenly spaced numbers over interval [start, stop]."),
    _open("sum cumsum", "sign of zero", "sum", "Sum reduce the array over the given axes."),
    _open("sum", "accumulation", "sum", "Sum reduce the array over the given axes."),
    _open("cumsum", "accumulation", "cumsum", "Return the cumulative sum of the elements along the given axis."),
    _open("prod", "accumulation", "prod", "An product reduction over the given axes."),
    _open("cumprod", "accumulation", "cumprod", "Return the cumulative product of the elements along the given axis."),
    _open("mean", "accumulation", "mean", "Compute the mean(s) over the given axes."),
    _open("var", "accumulation", "var", "Compute the variance(s) over the given axes."),
    _open("std", "accumulation", "std", "Compute the standard deviation(s) over the given axes."),
    OwnRule("refusals", ("as_strided",), sentence="This can lead to the resulting array pointing to invalid memory "
            "locations which can result into crashes.", source=f"{_PAGES}.as_strided.html"),
    OwnRule("refusals", ("__setitem__",), (RuntimeError,), sentence="Note that unlike NumPy, slicing an array creates "
            "a copy, not a view.", source="https://ml-explore.github.io/mlx/build/html/usage/indexing.html"),
)  # fmt: skip

