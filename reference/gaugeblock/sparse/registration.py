"""The kernels of sparse layouts, put under their dispatch keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..dispatch.dispatcher import REGISTRY
from ..operators.host_copies import on_host
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
    outputs,
    reductions,
    unary,
    views,
)
from . import tensor_members as tensor_members
from .coalescing import coalesced

ALL = "CompositeExplicitAutograd"
DEVICES = ("CUDA", "Meta")
"""Backends other than the CPU that sparse tensors can lie on."""
SPARSE = [f"{functionality}{device}" for functionality in ("Sparse", "SparseCsr") for device in ("CPU", *DEVICES)]
NUMBERS = {"mul.Scalar": True, "div.Scalar": True, "div.Scalar_mode": False, "floor_divide.Scalar": False}
"""Operator of a tensor and a number -> whether it is linear."""
TENSORS = {"div.Tensor": True, "div.Tensor_mode": False, "floor_divide": False}
"""Operator of a tensor and one without dims -> whether it is linear."""


def number_kernels() -> dict[str, Callable[..., Any]]:
    """Return the kernels of products, quotients and powers with numbers, with their in-place forms."""
    fresh = {
        **{name: arithmetic.by_number(name, linear) for name, linear in NUMBERS.items()},
        **{name: arithmetic.by_tensor(name, linear) for name, linear in TENSORS.items()},
        "pow.Tensor_Scalar": arithmetic.power,
    }
    return {**fresh, **{inplace_name(name): arithmetic.inplace(name, one) for name, one in fresh.items()}}


def sum_kernels() -> dict[str, Callable[..., Any]]:
    """Return the kernels of sums and products of two tensors, with their in-place forms."""
    refused = ("add.Scalar", "sub.Scalar", "add_.Scalar", "sub_.Scalar", "rsub.Scalar", "rsub.Tensor")
    return dict.fromkeys(refused, arithmetic.not_supported) | {
        "add.Tensor": arithmetic.add, "add_.Tensor": arithmetic.add_, "sub.Tensor": arithmetic.sub,
        "sub_.Tensor": arithmetic.sub_, "mul.Tensor": arithmetic.mul, "mul_.Tensor": arithmetic.mul_,
    }  # fmt: skip


def inplace_name(name: str) -> str:
    """Return the name of the in-place form of an operator, empty if it has none."""
    return rows()[name].inplace_name or ""


Kernels = Mapping[str, Callable[..., Any]]
COMPARED: Kernels = {"is_same_size": members.is_same_size, "is_nonzero": members.is_nonzero}
CONJUGATES: Kernels = {
    "conj": copying.conj, "conj_physical": copying.conj, "conj_physical_": copying.conj_,
    "adjoint": views.adjoint, "swapaxes": views.swapaxes, "real": copying.real, "imag": copying.imag,
}  # fmt: skip
COPIES: Kernels = {
    "clone": copying.clone, "detach": copying.same_parts, "to.dtype": copying.converted, "to.device": copying.moved,
    "to.other": copying.like_other, "to.dtype_layout": copying.as_asked,
    "copy_": copying.copy_, "zero_": copying.zero_, "zeros_like": copying.zeros_like, "empty_like": copying.zeros_like,
    "new_zeros": copying.new_zeros, "new_empty": copying.new_zeros,
}  # fmt: skip
VALUEWISE = (*unary.KEEPING_ZERO, *unary.QUESTIONS)
ON_PARTS: tuple[tuple[str, Kernels], ...] = (
    (
        "",
        {
            **members.STRIDED, "_to_dense": conversion.dense_to_dense, "_sparse_mm": matrix_product.mm_of_strided,
            "_sparse_coo_tensor_with_dims_and_tensors": construction.from_parts,
            "_sparse_compressed_tensor_unsafe": compressed_construction.from_parts,
        },
    ),
    ("Sparse", {**members.COO, **COPIES, **COMPARED, **CONJUGATES, **number_kernels()}),
    ("Sparse", {
        **outputs.RESIZING, "resize_as_": copying.resize_as_, "sum": reductions.total, "any": reductions.any_of,
        "linalg_vector_norm": reductions.vector_norm, "_local_scalar_dense": reductions.item, "permute": views.permute,
        "transpose.int": views.transpose, "t": views.t, "t_": views.changed("t_", views.t),
        "transpose_": views.changed("transpose_", views.transpose), "movedim.int": views.movedim,
        "movedim.intlist": views.movedim,
    }),
    ("Sparse", {name: unary.on_values(name) for name in VALUEWISE}),
    ("Sparse", {
        inplace_name(name): unary.on_values_inplace(name) for name in unary.KEEPING_ZERO if inplace_name(name)
    }),
    ("SparseCsr", {**compressed_operators.ON_PARTS, **COPIES, **COMPARED, **CONJUGATES}),
    ("SparseCsr", {name: compressed_operators.on_values(name) for name in VALUEWISE}),
    (
        "SparseCsr",
        {
            one: compressed_operators.on_values_inplace(one)
            for one in map(inplace_name, unary.KEEPING_ZERO)
            if one
        },
    ),
)  # fmt: skip
"""Functionality -> operators and their kernels, which work wherever the parts lie; "" stands for strided tensors."""
ON_INDICES: tuple[tuple[str, Kernels], ...] = (
    ("", {"_to_sparse": compressing.to_sparse, "_to_sparse.sparse_dim": conversion.dense_to_coo}),
    ("", {"sparse_mask": gathering.sparse_mask}),
    (
        "Sparse",
        {
            "_coalesce": coalesced, "_to_dense": conversion.to_dense, "sparse_mask": gathering.sparse_mask,
            "sum.dim_IntList": reductions.sum_dims, "_to_sparse": compressing.to_sparse,
            "_to_sparse.sparse_dim": compressing.to_sparse_dim, **sum_kernels(),
        },
    ),
    (
        "Sparse",
        {
            **{name: getattr(matrix_product, name) for name in ("mm", "mv", "addmv", "addmm", "addmm_")},
            "bmm": matrix_product.bmm, "matmul": matrix_product.matmul, "_sparse_mm": matrix_product.mm,
        },
    ),
    (
        "Sparse",
        {
            "select.int": views.select, "unbind.int": views.unbind, "unsqueeze": views.unsqueeze,
            "index_select": views.index_select, "cat": views.cat, "stack": views.stack,
            "narrow_copy": views.narrow_copy, "embedding": views.embedding,
        },
    ),
    (
        "SparseCsr",
        {
            **compressed_operators.ON_INDICES, "_to_dense": compressing.to_dense, "_to_sparse": compressing.to_sparse,
            "_to_sparse.sparse_dim": compressing.to_sparse_dim,
        },
    ),
)
"""Functionality -> operators and their kernels, which read indices in host memory."""
EXPECTING: Kernels = {name: members.expecting(name) for name in members.EXPECTED if name != "coalesce"}
"""Kernels of tensors in the layouts that an operator does not expect."""
COMPOSED = frozenset(
    """type_as is_floating_point is_complex is_signed norm.Scalar resolve_conj
    resolve_neg""".split()
)
"""Operators made of others by the dispatcher, which serve sparse tensors as they are."""


def register() -> None:
    """Put the kernels under their keys. Composite kernels of other operators are kept from sparse tensors."""
    for name, kernel in EXPECTING.items():
        REGISTRY.put(name, (ALL,), kernel)
    for functionality, kernels in ON_PARTS:
        for name, kernel in kernels.items():
            REGISTRY.put(name, [functionality + device for device in ("CPU", *DEVICES)], kernel)
    for functionality, kernels in ON_INDICES:
        for name, kernel in kernels.items():
            REGISTRY.put(name, (f"{functionality}CPU",), kernel)
            REGISTRY.put(name, (f"{functionality}CUDA",), on_host(name, copying.write_back))
    for functionality, kernels in (*ON_PARTS, *ON_INDICES):
        for name in kernels if functionality else ():
            row = rows().get(name)
            if row is not None and row.out_name is not None:
                keys = [functionality + device for device in ("CPU", *DEVICES)]
                REGISTRY.put(row.out_name, keys, outputs.into(name))
    for name in ("add.Tensor", "sub.Tensor"):
        REGISTRY.put(name, ("SparseMeta",), sum_kernels()[name])
    REGISTRY.keep_composites_from(SPARSE, COMPOSED.union(EXPECTING))


register()
