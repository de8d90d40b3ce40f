"""The kernels of sparse layouts, put under their dispatch keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..dispatch.dispatcher import REGISTRY
from . import conversion, members
from . import declarations as declarations
from . import tensor_members as tensor_members

ALL = "CompositeExplicitAutograd"
TABLES: tuple[tuple[str, Mapping[str, Callable[..., Any]]], ...] = (
    (ALL, {name: members.expecting(name) for name in members.EXPECTED if name != "coalesce"}),
    ("CPU", members.STRIDED),
    (
        "CPU",
        {
            "_to_sparse.sparse_dim": conversion.dense_to_coo, "_to_sparse": conversion.dense_to_sparse,
            "_to_dense": conversion.dense_to_dense, "sparse_mask": conversion.sparse_mask,
        },
    ),
    ("SparseCPU", members.COO),
    ("SparseCPU", {"_to_dense": conversion.to_dense}),
)
"""Dispatch key -> operators and their kernels."""

for _key, _kernels in TABLES:
    for _name, _kernel in _kernels.items():
        REGISTRY.put(_name, (_key,), _kernel)
