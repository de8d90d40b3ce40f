"""The kernels of sparse layouts, put under their dispatch keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..dispatch.dispatcher import MISSING, REGISTRY, Operator, missing_kernel
from ..operators.rows import rows
from . import (
    arithmetic,
    compressed_construction,
    compressed_operators,
    compressing,
    construction,
    conversion,
    copying,
    gathering,
    matrix_product,
    members,
    reductions,
    unary,
    views,
)
from . import tensor_members as tensor_members

ALL = "CompositeExplicitAutograd"
SPARSE = ("SparseCPU", "SparseCsrCPU")
NUMBERS = {"mul.Scalar": True, "div.Scalar": True, "div.Scalar_mode": False, "floor_divide.Scalar": False}
"""Operator of a tensor and a number -> whether it is linear."""
TENSORS = {"div.Tensor": True, "div.Tensor_mode": False, "floor_divide": False}
"""Operator of a tensor and one without dims -> whether it is linear."""


def arithmetic_kernels() -> dict[str, Callable[..., Any]]:
    """Return the kernels of sums, products, quotients and powers, with their in-place forms."""
    fresh = {
        **{name: arithmetic.by_number(name, linear) for name, linear in NUMBERS.items()},
        **{name: arithmetic.by_tensor(name, linear) for name, linear in TENSORS.items()},
        "pow.Tensor_Scalar": arithmetic.power,
    }
    found = {**fresh, **{inplace_name(name): arithmetic.inplace(name, one) for name, one in fresh.items()}}
    for name in ("add.Scalar", "sub.Scalar", "add_.Scalar", "sub_.Scalar", "rsub.Scalar", "rsub.Tensor"):
        found[name] = arithmetic.not_supported
    return found | {
        "add.Tensor": arithmetic.add, "add_.Tensor": arithmetic.add_, "sub.Tensor": arithmetic.sub,
        "sub_.Tensor": arithmetic.sub_, "mul.Tensor": arithmetic.mul, "mul_.Tensor": arithmetic.mul_,
    }  # fmt: skip


def inplace_name(name: str) -> str:
    """Return the name of the in-place form of an operator, empty if it has none."""
    return rows()[name].inplace_name or ""


Kernels = Mapping[str, Callable[..., Any]]
TO_SPARSE: Kernels = {"_to_sparse": compressing.to_sparse}
TO_SPARSE_DIM: Kernels = {"_to_sparse.sparse_dim": compressing.to_sparse_dim}
COMPARED: Kernels = {"is_same_size": members.is_same_size, "is_nonzero": members.is_nonzero}
CONJUGATES: Kernels = {
    "conj": copying.conj, "conj_physical": copying.conj, "conj_physical_": copying.conj_,
    "adjoint": views.adjoint, "real": copying.real,
}  # fmt: skip
TABLES: tuple[tuple[str, Kernels], ...] = (
    (ALL, {name: members.expecting(name) for name in members.EXPECTED if name != "coalesce"}),
    (
        "CPU",
        {
            **members.STRIDED, "_to_sparse.sparse_dim": conversion.dense_to_coo,
            "_to_dense": conversion.dense_to_dense,
            "_sparse_coo_tensor_with_dims_and_tensors": construction.from_parts,
        },
    ),
    (
        "SparseCPU",
        {
            **members.COO, "_to_dense": conversion.to_dense, "sparse_mask": gathering.sparse_mask,
            "clone": copying.clone, "detach": copying.same_parts, "to.dtype": copying.converted,
            "to.device": copying.moved, "copy_": copying.copy_, "zero_": copying.zero_,
            "zeros_like": copying.zeros_like, "empty_like": copying.zeros_like, "resize_as_": copying.resize_as_,
            "sum": reductions.total, "sum.dim_IntList": reductions.sum_dims, "any": reductions.any_of,
            "linalg_vector_norm": reductions.vector_norm, "_local_scalar_dense": reductions.item,
        },
    ),
    ("CPU", {"_sparse_mm": matrix_product.mm_of_strided}),
    ("SparseCPU", arithmetic_kernels()),
    (
        "SparseCPU",
        {
            **{name: getattr(matrix_product, name) for name in ("mm", "mv", "addmm", "bmm", "matmul")},
            "_sparse_mm": matrix_product.mm,
        },
    ),
    (
        "SparseCPU",
        {
            "permute": views.permute, "transpose.int": views.transpose, "t": views.t, "select.int": views.select,
            "unbind.int": views.unbind, "unsqueeze": views.unsqueeze, "index_select": views.index_select,
            "cat": views.cat, "stack": views.stack, "t_": views.changed("t_", views.t),
            "transpose_": views.changed("transpose_", views.transpose),
        },
    ),
    (
        "SparseCsrCPU",
        {
            **compressed_operators.KERNELS, "_to_dense": compressing.to_dense, "clone": copying.clone,
            "detach": copying.same_parts, "to.dtype": copying.converted, "to.device": copying.moved,
            "copy_": copying.copy_, "zeros_like": copying.zeros_like, "empty_like": copying.zeros_like,
        },
    ),
    ("SparseCsrCPU", {name: compressed_operators.on_values(name) for name in (*unary.KEEPING_ZERO, *unary.QUESTIONS)}),
    (
        "SparseCsrCPU",
        {
            one: compressed_operators.on_values_inplace(one)
            for one in map(inplace_name, unary.KEEPING_ZERO)
            if one
        },
    ),
    *[(key, {**COMPARED, **CONJUGATES}) for key in SPARSE],
    ("CPU", {"_sparse_compressed_tensor_unsafe": compressed_construction.from_parts}),
    *[(key, TO_SPARSE) for key in ("CPU", *SPARSE)],
    *[(key, TO_SPARSE_DIM) for key in SPARSE],
    ("CPU", {"sparse_mask": gathering.sparse_mask}),
    ("SparseCPU", {name: unary.on_values(name) for name in (*unary.KEEPING_ZERO, *unary.QUESTIONS)}),
    ("SparseCPU", {
        inplace_name(name): unary.on_values_inplace(name) for name in unary.KEEPING_ZERO if inplace_name(name)
    }),
)
"""Dispatch key -> operators and their kernels."""
COMPOSED = frozenset(
    """to.dtype_layout to.other type_as is_floating_point is_complex is_signed norm.Scalar resolve_conj
    resolve_neg""".split()
)
"""Operators made of others by the dispatcher, which serve sparse tensors as they are."""


def refusing(operator: Operator, key: str) -> Callable[..., Any]:
    """Return the kernel that raises NotImplementedError: the composite one works on strided tensors alone."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise missing_kernel(operator, MISSING, key)

    return refuse


def register() -> None:
    """Put the kernels under their keys. Composite kernels of other operators are kept from sparse tensors."""
    for key, kernels in TABLES:
        for name, kernel in kernels.items():
            REGISTRY.put(name, (key,), kernel)
    own = {name for key, kernels in TABLES for name in kernels}
    for operator in tuple(REGISTRY.operators.values()):
        if "::" in operator.name or operator.name in COMPOSED or operator.name in own:
            continue
        if operator.has_kernel(*COMPOSITE_KEYS):
            for key in SPARSE:
                if not operator.has_kernel(key):
                    REGISTRY.put(operator.name, (key,), refusing(operator, key))


COMPOSITE_KEYS = (ALL, "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
register()
