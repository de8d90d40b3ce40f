"""The functions and methods of sparse layouts as they are called from outside: arguments are checked, then operators
dispatched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..core.dtype import DType
from ..core.errors import check_int, check_ints, type_error
from ..core.layout import Layout, sparse_coo
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import overridable
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from . import functions, members
from . import registration as registration
from .compressed_construction import FUNCTIONS as COMPRESSED
from .compressed_tensor import FORMS
from .construction import sparse_coo_tensor
from .coo_tensor import empty_coo, parts_of


def run(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor that an operator gives."""
    found: Tensor = call(REGISTRY.find(name), *args, **kwargs)
    return found


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Layout | None = None,
    blocksize: Sequence[int] | None = None, dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor in a sparse layout (coordinate form if none is named), with `sparse_dim` or without `dense_dim`
    dims sparse. Raises TypeError for anything but ints and layouts, RuntimeError for what does not fit together."""
    if layout is not None and not isinstance(layout, Layout):
        type_error("to_sparse", "layout", layout, "Layout")
    if blocksize is not None:
        blocksize = check_ints("to_sparse", "blocksize", blocksize)
    if dense_dim is not None:
        dense_dim = check_int("to_sparse", "dense_dim", dense_dim)
    if sparse_dim is not None:
        return run("_to_sparse.sparse_dim", self, check_int("to_sparse", "sparse_dim", sparse_dim))
    return run("_to_sparse", self, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a sparse tensor with strides, a strided one itself or in another dtype. The gradient of the result reaches
    specified elements alone unless `masked_grad` is False. Raises RuntimeError for a sparse tensor and a dtype."""
    return run("_to_dense", self, dtype, masked_grad)


def to_sparse_form(name: str, layout: Layout) -> Callable[..., Tensor]:
    """Return the method that converts to one compressed layout."""

    def convert(self: Tensor, dense_dim: int | None = None) -> Tensor:
        dims = None if dense_dim is None else check_int(name, "dense_dim", dense_dim)
        return run("_to_sparse", self, layout=layout, dense_dim=dims)

    def convert_blocks(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
        dims = None if dense_dim is None else check_int(name, "dense_dim", dense_dim)
        block = check_ints(name, "blocksize", blocksize)
        return run("_to_sparse", self, layout=layout, blocksize=block, dense_dim=dims)

    return _named(name, convert_blocks if FORMS[layout].blocks else convert)


def to_sparse_coo(self: Tensor) -> Tensor:
    """Return the tensor in coordinate form."""
    return run("_to_sparse", self)


def coalesce(self: Tensor) -> Tensor:
    """Return the tensor, if it is coalesced itself, with equal indices summed and in order. Raises RuntimeError unless
    it is in coordinate form."""
    if self.layout is not sparse_coo:
        members.unexpected("coalesce", self.layout)
    return self if parts_of(self).coalesced else run("_coalesce", self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the indices of a sparse tensor. Raises RuntimeError for other sizes, TypeError for a mask
    that is no tensor."""
    if not isinstance(mask, Tensor):
        type_error("sparse_mask", "mask", mask, "Tensor")
    return run("sparse_mask", self, mask)


def resizing(name: str) -> Callable[..., Tensor]:
    """Return the method that changes sizes in place, given by numbers."""

    def resize(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
        dims = check_int(name, "sparse_dim", sparse_dim), check_int(name, "dense_dim", dense_dim)
        return run(name, self, check_ints(name, "size", size), *dims)

    return _named(name, resize)


def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give a tensor in coordinate form the sizes of another in place. Raises RuntimeError where `sparse_resize_` does,
    TypeError for what is no tensor."""
    _check_tensors("resize_as_sparse_", input=input, the_template=the_template)
    return run("resize_as_sparse_", input, the_template)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse and a strided matrix in coordinate form: all elements of the rows that `input`
    specifies. Raises RuntimeError for other layouts and sizes that do not fit, TypeError for what is no tensor."""
    _check_tensors("smm", input=input, mat=mat)
    if input.meta.ndim != 2 or mat.meta.ndim != 2:
        raise RuntimeError(f"smm(): two matrices are expected, got {input.meta.ndim} and {mat.meta.ndim} dims")
    sizes = input.meta.sizes[0], mat.meta.sizes[1]
    return functions.sspaddmm(empty_coo(sizes, 2, input.meta.dtype, input.meta.device), input, mat, 0, 1)


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse and a strided matrix as dense rows, of those that `mat1` specifies. Raises as
    `smm`."""
    _check_tensors("hspmm", mat1=mat1, mat2=mat2)
    return functions.hspmm(mat1, mat2)


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * mat1 @ mat2`` in coordinate form, not coalesced: the elements of `input`, then
    all of the rows that `mat1` specifies. Raises as `smm`."""
    _check_tensors("sspaddmm", input=input, mat1=mat1, mat2=mat2)
    return functions.sspaddmm(input, mat1, mat2, beta, alpha)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return ``mm(input, mat2)``, by its former name."""
    _check_tensors("mm", input=input, mat2=mat2)
    return apply("mm", input, mat2)


def _check_tensors(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if not isinstance(value, Tensor):
            type_error(name, argument, value, "Tensor")


def of_self(name: str) -> Callable[..., Any]:
    """Return the method that is an operator of the tensor alone."""

    def method(self: Tensor) -> Any:
        return call(REGISTRY.find(name), self)

    return _named(name, method)


def _named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Give a method the name under which Python tells of arguments that it does not take."""
    method.__name__ = method.__qualname__ = name
    return method


METHODS: dict[str, Callable[..., Any]] = {
    "to_sparse": to_sparse, "to_sparse_coo": to_sparse_coo, "to_dense": to_dense, "coalesce": coalesce,
    "sparse_mask": sparse_mask,
    "resize_as_sparse_": resize_as_sparse_, "smm": smm, "sspaddmm": sspaddmm,
    **{name: resizing(name) for name in ("sparse_resize_", "sparse_resize_and_clear_")},
    **{f"to_sparse_{FORMS[one].name}": to_sparse_form(f"to_sparse_{FORMS[one].name}", one) for one in FORMS},
    **{name: of_self(name) for name in (
        "is_coalesced", "indices", "values", "_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "crow_indices",
        "col_indices", "ccol_indices", "row_indices")},
}  # fmt: skip
"""Method of tensors -> its function."""
def by_former_name(name: str, function: FunctionType) -> Callable[..., Any]:
    """Return a function under another name, under which Python tells of arguments that it does not take."""
    code = function.__code__.replace(co_name=name, co_qualname=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__doc__, made.__qualname__ = function.__kwdefaults__, function.__doc__, name
    return made


FORMER: dict[str, Any] = {"hsmm": hspmm, "saddmm": sspaddmm, "spmm": mm, "dsmm": mm}
"""Former name -> the function."""
PUBLIC: dict[str, Callable[..., Any]] = {
    "sparse_coo_tensor": sparse_coo_tensor, **COMPRESSED, "resize_as_sparse_": resize_as_sparse_, "smm": smm,
    "hspmm": hspmm, "sspaddmm": sspaddmm, **{name: by_former_name(name, one) for name, one in FORMER.items()},
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {name: overridable(one) for name, one in PUBLIC.items()}
"""Function of the public module -> itself."""
