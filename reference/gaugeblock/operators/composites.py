"""Public functions that are no operators: those that choose one, and questions about dtypes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.device import cpu
from ..core.dtype import DType, dtype_of_number
from ..core.errors import check_ints, type_error
from ..core.promotion import common_dtype
from ..core.size import Size
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..dispatch.state import OVERRIDING
from ..iteration import dimensions
from ..tensor.hooks import SPECIAL
from ..tensor.reinterpret import is_conj, is_neg
from ..tensor.tensor import Tensor
from .arguments import dtype_argument, tensor_argument
from .fill import NUMBERS
from .invoke import apply, invoke
from .masks import places_finder
from .norms import norm_order
from .searching import part_runs, runs

NONZERO_OUT = REGISTRY.find("nonzero.out")


def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Return the distinct elements (or parts along `dim`) in order; a tuple with the inverse and the counts when asked
    for. Raises IndexError for a dim out of range, TypeError for an argument of another type."""
    _check_tensor("unique", input)
    for name, value in (("sorted", sorted), ("return_inverse", return_inverse), ("return_counts", return_counts)):
        if value.__class__ is not bool:
            type_error("unique", name, value, "bool")
    results: Sequence[Tensor | None]
    if is_plain(input):
        wanted = return_inverse, return_counts
        results = runs(input, *wanted) if dim is None else part_runs("unique_dim", input, dim, *wanted)
    elif dim is None:
        results = invoke("_unique2", input, sorted, return_inverse, return_counts)
    else:
        results = invoke("unique_dim", input, dim, sorted, return_inverse, return_counts)
    return asked(results, return_inverse, return_counts)


def is_plain(input: Tensor) -> bool:
    """Return whether nobody would notice that a call is not dispatched."""
    meta = input.meta
    return input.__class__ is Tensor and meta.device is cpu and not (
        SPECIAL or meta.has_autograd or meta.lazy or meta.dtype.quantized
    )


def asked(results: Sequence[Tensor | None], inverse: bool, counts: bool) -> Any:
    """Return the first result, or a tuple of it with those of the inverse and the counts that are asked for."""
    wanted = [result for result, chosen in zip(results, (True, inverse, counts), strict=True) if chosen]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def _check_tensor(operator: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        type_error(operator, "input", value, "Tensor")


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero, as (count, ndim), or as one vector per dim with `as_tuple`."""
    _check_tensor("nonzero", input)
    if out is not None:
        if not isinstance(out, Tensor):
            type_error("nonzero", "out", out, "Tensor")
        if as_tuple:
            raise RuntimeError("nonzero(): argument 'out' is not supported with as_tuple=True")
        return call(NONZERO_OUT, input, out=out)
    if not as_tuple:
        return places_finder(input.meta)(input) if is_plain(input) else invoke("nonzero", input)
    return invoke("unbind.int", invoke("nonzero", input if input.meta.ndim else invoke("unsqueeze", input, 0)), 1)


def nonzero_method(self: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero, as (count, ndim), or as one vector per dim with `as_tuple`."""
    return nonzero(self, as_tuple=as_tuple)


def norm(
    input: Tensor, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    out: Tensor | None = None, dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """Vector norm of order `p` over dims; "fro" and None are order 2, "nuc" is the sum of a matrix's singular values.

    Raises RuntimeError for another name, for bool and ints, and for an `out` of another dtype.
    """
    _check_tensor("norm", input)
    chosen = dtype_argument("norm", dtype)
    if not isinstance(keepdim, bool):
        type_error("norm", "keepdim", keepdim, "bool")
    if out is not None:
        return _norm_into(out, input, p, dim, keepdim, chosen)
    if p == "nuc":
        dims = tuple(range(input.meta.ndim)) if dim is None else check_ints("norm", "dim", dim)
        return apply("linalg_matrix_norm.str_ord", input, "nuc", dims, keepdim, dtype=chosen)
    return apply("linalg_vector_norm", input, norm_order("norm", p), dim, keepdim, dtype=chosen)


def _norm_into(out: Any, input: Tensor, p: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Tensor:
    if not isinstance(out, Tensor):
        type_error("norm", "out", out, "Tensor")
    wanted = (dtype or input.meta.dtype).to_real()
    if out.meta.dtype is not wanted and wanted.is_floating_point:
        raise RuntimeError(
            f"norm(): Expected out tensor to have dtype {wanted.name}, but got {out.meta.dtype.name} instead"
        )
    if p == "nuc":
        dims = tuple(range(input.meta.ndim)) if dim is None else check_ints("norm", "dim", dim)
        return apply("linalg_matrix_norm.str_ord_out", input, "nuc", dims, keepdim, dtype=dtype, out=out)
    options = {} if dtype is None else {"dtype": dtype}
    form, over = "norm.out" if dtype is None else "norm.dtype_out", () if dim is None else dim
    return apply(form, input, norm_order("norm", p), over, keepdim, **options, out=out)


def norm_method(
    self: Tensor, p: float | str | None = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """norm(self, ...)."""
    return norm(self, p, dim, keepdim, dtype=dtype)


def matrix_product(self: Tensor, other: Any) -> Any:
    """``self @ other``. Raises TypeError unless both are tensors, RuntimeError as matmul."""
    if self.__class__ is not Tensor or other.__class__ is not Tensor or OVERRIDING:
        found = intercept(Tensor.matmul, (self, other), {})  # type: ignore[attr-defined]
        if found is not NOT_OVERRIDDEN:
            return found
    return self.matmul(other) if isinstance(other, Tensor) else NotImplemented  # type: ignore[attr-defined]


def reversed_matrix_product(self: Tensor, other: Any) -> Any:
    """``other @ self`` for an `other` that does not know the product."""
    return other.matmul(self) if isinstance(other, Tensor) else NotImplemented  # type: ignore[attr-defined]


FUNCTIONS = {"unique": unique, "nonzero": nonzero, "norm": norm}
"""Functions of the public module that are methods too."""
METHODS = {
    "unique": unique, "nonzero": nonzero_method, "norm": norm_method, "__matmul__": matrix_product,
    "__rmatmul__": reversed_matrix_product,
}  # fmt: skip

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype in which two tensors or numbers meet. Raises TypeError for other arguments."""
    given = []
    for place, value in enumerate((tensor1, tensor2), start=1):
        if isinstance(value, Tensor):
            given.append((value.meta.dtype, 2 if value.meta.ndim else 1))
        elif isinstance(value, NUMBERS):
            given.append((dtype_of_number(value), 0))
        else:
            type_error("result_type", f"tensor{place}", value, "Tensor or Number")
    return common_dtype(given)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all of `shapes` (tuples or single sizes) stretch to. Raises RuntimeError when they do not fit."""
    return Size(dimensions.broadcast_shapes(check_ints("broadcast_shapes", "shapes", shape) for shape in shapes))


def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Return how many elements a tensor has. Raises TypeError for anything else."""
    return tensor_argument("numel", "input", 1, input).meta.numel


def public_is_conj(input: Tensor) -> bool:
    """Return whether a tensor is lazily conjugate. Raises TypeError for anything else."""
    return is_conj(tensor_argument("is_conj", "input", 1, input))


def public_is_neg(input: Tensor) -> bool:
    """Return whether a tensor is lazily negative. Raises TypeError for anything else."""
    return is_neg(tensor_argument("is_neg", "input", 1, input))
